// Chooses the first centroids in two levels. A fit of about sqrt(k) clusters divides the points into parts, and a fit
// of each part finds its share of the k centroids. For each point, both fits compare about sqrt(k) centroids, where
// greedy k-means++ compares k.
//
// Both fits have the same bits for any number of threads and ranks, and so have the centroids. With several ranks, each
// rank keeps its rows of a part, and the ranks fit the part together.
//
// Memory: a label and a row number per point, and a copy of one part.
#pragma once

#include <cstdint>
#include <functional>

#include "kmeans/hierarchy/shares.hpp"
#include "kmeans/points/point_source.hpp"

namespace gradus::kmeans_detail {

/// Fits rows of this rank. `held` is the memory that the caller holds, in bytes. Collective.
template <class T>
using FitRows = std::function<KMeansResult<T>(const PointRows<T>& rows, VectorView<const T> weights,
                                              const KMeansOptions& options, std::uint64_t held)>;

/// Returns k x d centroids for fit number `restart`. `points` must be in host memory. If there are fewer different rows
/// than centroids, the centroids are repeated cyclically. `done` receives the number of fitted parts. Collective.
template <class T>
Matrix<T> hierarchical_centroids(const PointSource<T>& points, const KMeansOptions& options, int restart,
                                 const FitRows<T>& fit, const std::function<void(std::int64_t)>& done);

}  // namespace gradus::kmeans_detail
