// Silhouettes of several labelings of the same points. Every distance between two points is measured once and added to
// the sums of the other point's cluster in each labeling.
//
// A tile of 32 consecutive points, one per vector lane, is compared with all other points, 64 at a time: the canonical
// chains of lloyd/distance.hpp, a square root, and one addition per labeling to the sum of the other point's cluster.
// The other points come in ascending order, so a point's sums have the same bits for any thread and vector width.
//
// Operations: n^2 (d multiply-adds, a square root and one addition per labeling). Memory: 256 bytes per thread and
// cluster of all labelings. If the sums exceed the L2 cache, groups of labelings each measure all distances.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "gradus/array.hpp"

namespace gradus::kmeans_detail {

/// One label of 0 to clusters - 1 per point.
struct Labeling {
  std::vector<std::int32_t> labels;
  std::int64_t clusters = 0;
};

/// Returns the mean silhouette of each labeling; empty if fewer than two clusters have points, or if no cluster has
/// two. If `half_of_squares`, the distance is half the squared one. Throws InterruptedError after a stop request.
template <class T>
std::vector<std::optional<double>> silhouettes(MatrixView<const T> points, std::span<const Labeling> labelings,
                                               bool half_of_squares, int threads, const std::stop_token& stop);

/// Returns the memory needed in addition to points and labels.
std::uint64_t silhouette_bytes(std::int64_t points, std::span<const Labeling> labelings, int threads);

}  // namespace gradus::kmeans_detail
