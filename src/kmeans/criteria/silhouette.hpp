// Silhouettes of several labelings of the same points. The labelings form groups. For each group, the distance from one
// point to another is computed once. For each labeling of the group, it is added to the first point's sum for the
// cluster of the second point.
//
// A tile of 32 consecutive points, one per vector lane, is compared with all other points, 64 at a time. For each pair,
// the code computes the canonical chain of assign/distance.hpp, a square root, and one addition per labeling. The other
// points are added in ascending order, so the sums of a point have the same bits on any thread and with any vector
// width.
//
// Operations: n^2 (d multiply-adds, a square root and one addition per labeling). Memory: 256 bytes per thread for each
// cluster of each labeling. These bytes hold sums. If the sums of all labelings fit in the L2 cache, there is only one
// group.
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
/// cluster has at most one point. If `half_of_squares` is true, uses half the squared distances instead of the
/// distances. Throws InterruptedError after a stop request.
template <class T>
std::vector<std::optional<double>> silhouettes(MatrixView<const T> points, std::span<const Labeling> labelings,
                                               bool half_of_squares, int threads, const std::stop_token& stop);

/// Returns the memory needed in addition to points and labels.
std::uint64_t silhouette_bytes(std::int64_t points, std::span<const Labeling> labelings, int threads);

}  // namespace gradus::kmeans_detail
