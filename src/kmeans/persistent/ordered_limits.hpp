// The limits of cuda_ordered, and the test that excludes a cluster for a whole box of points. Plain C++, so that tests
// need no GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.hpp"
#include "kmeans/persistent/small_dim_limits.hpp"

namespace gradus::kmeans_detail {

inline constexpr int cuda_ordered_columns = 4;  ///< maximum number of columns
/// Maximum number of clusters. There are two more label values, for tiles without a common label.
inline constexpr int cuda_ordered_clusters = 65533;

/// Returns the shared memory, in bytes, that a block of one warp needs.
constexpr std::uint64_t cuda_ordered_shared(const Shape& shape) {
  const auto k = static_cast<std::uint64_t>(shape.clusters);
  constexpr std::uint64_t queue_and_moves = 32 * 16 + 160 * 8;
  return cuda_small_dim_shared(shape) + 2 * k + queue_and_moves + 8;
}

/// Returns the memory, in bytes, that is needed to order n points. It includes the order itself.
constexpr std::uint64_t order_bytes(std::uint64_t n) { return 17 * n + (std::uint64_t{16} << 20); }

/// Returns the GPU memory, in bytes, that is needed in addition to points and weights. It consists of the memory of
/// cuda_small_dim, of the ordered points and weights, and of the state, box and sums of each tile of at least 32
/// points.
constexpr std::uint64_t cuda_ordered_bytes(const Shape& shape) {
  const auto n = static_cast<std::uint64_t>(shape.points);
  const auto d = static_cast<std::uint64_t>(shape.dimensions);
  const std::uint64_t of_tiles = (n / 32 + 1) * (4 + 8 * d + 8 * (2 * d + 2));
  return cuda_small_dim_bytes(shape) + order_bytes(n) +
         n * (d + (shape.weighted ? 1 : 0)) * static_cast<std::uint64_t>(shape.element_bytes) + of_tiles;
}

/// Returns an error bound for the difference of two scores of a point with `columns` coordinates. Without errors, this
/// difference would be half the difference of the canonical squared distances. cuda_small_dim.cu derives the bound.
constexpr float filter_bound(int columns) {
  const auto d = static_cast<float>(columns);
  return (6 * d * d + 16 * d) * 0x1p-24f;
}

/// A bounding box of points, in the filter's coordinates.
template <int Columns>
struct Box {
  float middle[Columns];
  float half[Columns];  ///< half of each width, rounded up
};

/// Compares two clusters for all points x in a box. The score of a cluster is |c|^2 / 2 - x.c. Returns a lower bound of
/// the score of `entry` minus the score of `other`. If this bound exceeds twice filter_bound(), every point of the box
/// is farther from the cluster of `entry` than from the cluster of `other`. Both arrays contain |c|^2 / 2, and then -c.
template <int Columns, int Length>
GRADUS_HOST_DEVICE float least_gap(const float (&entry)[Length], const float (&other)[Length],
                                   const Box<Columns>& box) {
  static_assert(Length > Columns);
  float gap = entry[0] - other[0];
  for (int dim = 0; dim < Columns; ++dim) {
    const float step = entry[1 + dim] - other[1 + dim];
    gap = std::fma(box.middle[dim], step, gap);
    gap = std::fma(-box.half[dim], std::fabs(step), gap);
  }
  return gap;
}

}  // namespace gradus::kmeans_detail
