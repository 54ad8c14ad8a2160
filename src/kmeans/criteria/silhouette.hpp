// Silhouettes of several labelings of the same points. Every distance between two points is measured once per group of
// labelings. In each labeling of the group, this distance is added to the sum for the other point's cluster.
//
// A tile of 32 consecutive points, one per vector lane, is compared with all other points, 64 at a time. For each pair,
// the code computes the canonical chain of assign/distance.hpp, a square root, and one addition per labeling. The other
// points are added in ascending order, so the sums of a point have the same bits on any thread and with any vector
// width.
//
// Operations: n^2 (d multiply-adds, a square root and one addition per labeling). Memory: 256 bytes per thread for each
// cluster of each labeling. If these sums would exceed the L2 cache, the labelings are divided into groups, and all
// distances are computed again for each group.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "gradus/array.hpp"

namespace gradus::kmeans_detail {

/// One label per point, from 0 to clusters - 1.
struct Labeling {
  std::vector<std::int32_t> labels;
  std::int64_t clusters = 0;
};

/// Returns the mean silhouette of each labeling. The mean is empty if fewer than two clusters have points, or if every
/// cluster has at most one point. If `half_of_squares` is true, half the squared distance replaces the distance. Throws
/// InterruptedError after a stop request.
template <class T>
std::vector<std::optional<double>> silhouettes(MatrixView<const T> points, std::span<const Labeling> labelings,
                                               bool half_of_squares, int threads, const std::stop_token& stop);

/// Returns the memory needed in addition to points and labels.
std::uint64_t silhouette_bytes(std::int64_t points, std::span<const Labeling> labelings, int threads);

}  // namespace gradus::kmeans_detail
