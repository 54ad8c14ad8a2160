// Computes means exactly where the sums do not determine them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kmeans/lloyd/relocation.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// A cluster for which the sums do not determine all correctly rounded means, and the columns of these means.
struct DoubtfulMean {
  std::int32_t cluster = 0;
  std::vector<std::int32_t> dims;
};

/// Computes the means of the `wanted` clusters exactly, and rounds each coordinate once to T. Omits the points of
/// `relocations`. Among the other points of each wanted cluster, at least one must have positive weight.
template <class T>
void exact_means(const Problem<T>& problem, const std::int32_t* labels, std::span<const Relocation> relocations,
                 std::span<const DoubtfulMean> wanted, MatrixView<T> centroids, int threads);

/// Returns the maximum of the memory that exact_means() uses. This includes its argument lists, but not the indices of
/// points.
std::uint64_t exact_means_bytes(const Shape& shape);

/// Returns one element per cluster, which is true if the cluster has a point with positive weight.
template <class T>
std::vector<bool> clusters_with_weight(const Problem<T>& problem, const std::int32_t* labels);

}  // namespace gradus::kmeans_detail
