// Points of pair counts, sorted into columns of cells along the last coordinate, and the plan of the filter.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "pair_histogram/problem.hpp"
#include "pair_histogram/sky/sky_kernel.hpp"
#include "pair_histogram/sky/sky_rule.hpp"

namespace gradus::pair_histogram_detail {

/// The range of coordinates of all points, in the order of a SkyPoint.
struct SkyRange {
  SkyPoint lowest{};
  SkyPoint highest{};
};

/// A coordinate as an integer number of steps, and its cells.
struct SkyAxis {
  bool is_periodic = false;
  double origin = 0;
  double step = 1;     ///< length of a step
  int span_bits = 31;  ///< all coordinates are within 2^span_bits steps
  std::int64_t cells = 1;
  double reach = 0;  ///< greatest separation of a pair in a bin

  std::int64_t key(double coordinate) const;
  std::int64_t steps(std::int32_t wrapped) const;
  std::int64_t cell(std::int64_t key) const;
  double cell_length() const;
};

/// A neighbour of a cell along an axis, and a lower bound for the distance between points of both cells, in units of
/// the reach along this axis.
struct SkyNeighbour {
  std::int64_t cell;
  double apart;
};

struct SkyGrid {
  std::array<SkyAxis, 3> axes;
  double unit = 1;       ///< greatest separation of a pair in a bin
  bool is_tube = false;  ///< pairs in reach are within a cylinder along the last coordinate, otherwise within a sphere

  SkyGrid(const SkyRule& rule, const SkyRange& range, std::int64_t points);
  std::int64_t columns() const { return axes[0].cells * axes[1].cells; }
  std::int64_t cells() const { return columns() * axes[2].cells; }
  std::int64_t column(const SkyPoint& point) const;
  /// Returns the cells along an axis that may be in reach of a cell, each once.
  std::vector<SkyNeighbour> neighbours(std::size_t axis, std::int64_t cell) const;
  /// Returns the greatest extent of a group along an axis, in steps. With more, coordinates relative to the group would
  /// be inaccurate or, in a box, wrap around within reach.
  std::int64_t longest_group(std::size_t axis) const;
  /// Returns the greatest difference of keys of two points whose distance across the columns is at least the root of
  /// `square`, in units of the reach across, or a negative number if such points are out of reach.
  std::int64_t key_reach(double square) const;
};

/// The tables of a filter. A pair is certain if it is farther from all edges than the error bound.
class SkyTables {
 public:
  SkyTables(const SkyRule& rule, const SkyGrid& grid);
  SkyView view() const;

 private:
  SkyView view_;
  std::vector<EdgeTable> tables_;
  std::optional<SkyRegisters> registers_;
};

/// One set of points, sorted.
struct SkyPoints {
  std::vector<std::int64_t> starts;  ///< first point of each column, and the number of points
  std::vector<std::int32_t> order;   ///< the row of each sorted point
  std::vector<std::int64_t> keys;
  std::array<std::vector<std::int32_t>, 3> steps;
  std::array<std::vector<float>, 3> places;  ///< in units of the reach; empty with a fixed line of sight
  std::vector<std::int64_t> weights;
  std::vector<std::int32_t> regions;

  SkyColumns columns() const;
};

/// Throws InterruptedError after a stop request.
template <class T>
SkyPoints sorted_sky_points(const SkyRule& rule, const SkyGrid& grid, MatrixView<const T> points, int threads,
                            const std::stop_token& stop);

}  // namespace gradus::pair_histogram_detail
