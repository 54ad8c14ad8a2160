// A triclinic periodic cell: the canonical separation in it, for the processor and for a GPU.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/host_device.hpp"

namespace gradus::pair_histogram_detail {

/// Of the numbers of PairHistogramOptions::box that are the three vectors of a cell.
inline constexpr std::size_t cell_numbers = 9;

inline bool is_triclinic(const std::vector<double>& box) { return box.size() == cell_numbers; }

/// Plain data: kernels take it by value.
struct Cell {
  double vectors[3][3] = {};     ///< a, b, c
  double reciprocal[3][3] = {};  ///< the scalar product of a separation with one of these is its share of a, b, c

  Cell() = default;
  /// The vectors are possible ones: see check_box().
  explicit Cell(const std::vector<double>& box);

  /// V / |b x c| and so on: from one face of the cell to the opposite one.
  double height(int vector) const;
  double volume() const;
  double least_height() const { return std::fmin(std::fmin(height(0), height(1)), height(2)); }

  /// The canonical squared distance of points that are x, y, z apart. No operation is fused with another.
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
};

/// The least box along the axes that holds the cell.
struct Around {
  std::array<double, 3> low{};
  std::array<double, 3> length{};
};
Around box_around(const Cell& cell, const std::array<double, 3>& origin);

}  // namespace gradus::pair_histogram_detail
