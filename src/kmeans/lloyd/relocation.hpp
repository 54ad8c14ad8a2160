// Chooses the points that become the centroids of empty clusters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// A point that leaves its cluster and becomes the centroid of an empty cluster.
struct Relocation {
  std::int64_t point = 0;  ///< index among the points of all ranks
  std::int32_t from = 0;
  std::int32_t to = 0;
  double weight = 1;
};

/// Returns one relocation for each cluster of `empty`, in ascending order. The farthest point moves to the first empty
/// cluster. On ties, the point with the lowest row moves first. A point is not relocated if it has no weight, or if it
/// is the last point with weight in its cluster. If there are fewer different points than clusters, the last empty
/// clusters get no point and stay surplus (KMeansFewerDistinct).
template <class T>
std::vector<Relocation> relocate(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels,
                                 const std::vector<std::int32_t>& empty);

/// Returns the coordinates of the relocated points as a matrix in host memory.
template <class T>
Matrix<T> rows_of(const Problem<T>& problem, std::span<const Relocation> moves);

}  // namespace gradus::kmeans_detail
