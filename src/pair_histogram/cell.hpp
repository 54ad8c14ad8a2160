// A triclinic periodic cell: its canonical separation, and the brick that filters use, for the CPU and the GPU.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/host_device.hpp"

namespace gradus::pair_histogram_detail {

/// The number of elements of PairHistogramOptions::box for a triclinic cell: three vectors of three numbers each.
inline constexpr std::size_t cell_numbers = 9;

inline bool is_triclinic(const std::vector<double>& box) { return box.size() == cell_numbers; }

/// A triclinic cell. The struct holds only plain data, because kernels receive it by value.
struct Cell {
  double vectors[3][3] = {};  ///< a, b, c
  /// The dot product of row i and a separation is the separation's fraction along vector i.
  double reciprocal[3][3] = {};

  Cell() = default;
  /// Copies the vectors as given. check_box() must have accepted them.
  explicit Cell(const std::vector<double>& box);
  /// Returns the cell whose vectors are the reduced vectors of the lattice, as gradus/pair_histogram.hpp defines them.
  static Cell reduced(const std::vector<double>& box);

  /// Returns the distance between opposite faces, for example V / |b x c|.
  double height(int vector) const;
  double volume() const;
  double least_height() const { return std::fmin(std::fmin(height(0), height(1)), height(2)); }

  /// Returns the canonical squared distance of points with the separation (x, y, z). Operations must not be fused.
  GRADUS_HOST_DEVICE double squared_distance(double x, double y, double z) const {
    double nearest[3] = {x, y, z};
    double whole[3] = {};
    for (int vector = 0; vector < 3; ++vector) {
      const double* const share = reciprocal[vector];
      whole[vector] = std::rint((x * share[0] + y * share[1]) + z * share[2]);
    }
    for (int vector = 0; vector < 3; ++vector)
      for (int axis = 0; axis < 3; ++axis) nearest[axis] = nearest[axis] - whole[vector] * vectors[vector][axis];
    return (nearest[0] * nearest[0] + nearest[1] * nearest[1]) + nearest[2] * nearest[2];
  }

 private:
  void set_reciprocal();
};

/// The lattice of a cell in orthogonal axes: u along the first vector, v in the plane of the first two vectors, and w
/// perpendicular to that plane. Every point has an image in the brick [0, edge 0) x [0, edge 1) x [0, edge 2). Moving
/// by the third vector adds one edge along w and a shift along each of u and v. Moving by the second vector adds one
/// edge along v and a shift along u. No edge is shorter than the least height of the cell. The struct holds only plain
/// data. Results of Brick are accurate to the rounding of double, and only results of Cell are canonical.
struct Brick {
  double axes[3][3] = {};  ///< unit vectors u, v, w
  /// The lattice vectors along these axes: (edge 0, 0, 0), (shift, edge 1, 0), (shift, shift, edge 2). |shift| <= edge
  /// / 2.
  double vectors[3][3] = {};
  double inverse[3] = {};  ///< reciprocals of the edges

  Brick() = default;
  explicit Brick(const Cell& cell);

  GRADUS_HOST_DEVICE double edge(int axis) const { return vectors[axis][axis]; }
  /// Returns the sum of the magnitudes of the shifts along an axis, without the edge.
  double shifts(int axis) const {
    double sum = 0;
    for (int vector = axis + 1; vector < 3; ++vector) sum += std::abs(vectors[vector][axis]);
    return sum;
  }

  /// Sets `place` to the image of (x, y, z) in the brick, as fractions of its edges from 0 to 1.
  GRADUS_HOST_DEVICE void locate(double x, double y, double z, double* place) const {
    for (int axis = 0; axis < 3; ++axis) place[axis] = (x * axes[axis][0] + y * axes[axis][1]) + z * axes[axis][2];
    for (int vector = 2; vector >= 0; --vector) {
      const double whole = std::floor(place[vector] * inverse[vector]);
      for (int axis = 0; axis <= vector; ++axis) place[axis] -= whole * vectors[vector][axis];
      const double share = place[vector] * inverse[vector];
      place[vector] = share < 0 ? 0 : share > 1 ? 1 : share;
    }
  }
};

/// The smallest axis-aligned box that contains a cell.
struct BoundingBox {
  std::array<double, 3> low{};
  std::array<double, 3> length{};
};
BoundingBox bounding_box(const Cell& cell, const std::array<double, 3>& origin);

}  // namespace gradus::pair_histogram_detail
