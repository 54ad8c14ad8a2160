// The silhouette of several labelings of the same points: every distance between two points is measured once and added
// to the sums of its cluster in each labeling.
//
// 32 points, neighbours in a vector, meet all others 64 at a time: the canonical chains of lloyd/distance.hpp, a square
// root, and for each labeling one addition to the sum of the other point's cluster. Others come in ascending order, so
// that a point's sums have the same bits whichever thread takes it and however wide its vectors are.
//
// Operations: n^2 (d multiply-adds, a square root and an addition for each labeling). Memory: 256 bytes for each
// cluster of all labelings and thread; they are taken in groups that stay in the second cache, and each group measures
// anew.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "gradus/array.hpp"

namespace gradus::kmeans_detail {

/// A label of 0 to clusters - 1 for each point.
struct Labeling {
  std::vector<std::int32_t> labels;
  std::int64_t clusters = 0;
};

/// The mean silhouette of each labeling; none where fewer than two clusters have points, or no cluster has two.
/// `half_of_squares`: the distance is half of the squared one. InterruptedError after a stop request.
template <class T>
std::vector<std::optional<double>> silhouettes(MatrixView<const T> points, std::span<const Labeling> labelings,
                                               bool half_of_squares, int threads, const std::stop_token& stop);

/// What it takes beside points and labels.
std::uint64_t silhouette_bytes(std::int64_t points, std::span<const Labeling> labelings, int threads);

}  // namespace gradus::kmeans_detail
