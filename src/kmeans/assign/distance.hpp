// The canonical squared distance (see gradus/kmeans.hpp) in bulk: the same bits as squared_distance(), by vector
// instructions across points where the machine has fused multiply-add.
#pragma once

#include <cstdint>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// out[c * points.rows() + p] = D(point p, centroid c), for all points and centroids given. Meant for blocks of some
/// hundred points.
template <class T>
void squared_distances(MatrixView<const T> points, MatrixView<const T> centroids, double* out);

/// The same for `count` points and `clusters` centroids of `dimensions` coordinates, each given by its address:
/// out[c * count + p] = D(*points[p], *centroids[c]).
template <class T>
void squared_distances(const T* const* points, std::int64_t count, const T* const* centroids, std::int64_t clusters,
                       std::int64_t dimensions, double* out);

/// out[p] = D(*points[p], *centroids[p]): `count` pairs.
template <class T>
void squared_distances_of_pairs(const T* const* points, const T* const* centroids, std::int64_t count,
                                std::int64_t dimensions, double* out);

/// out[p] = D(point p, centroid labels[p]), by `threads` threads. InterruptedError after a stop request.
template <class T>
void own_squared_distances(MatrixView<const T> points, MatrixView<const T> centroids, const std::int32_t* labels,
                           double* out, int threads, const std::stop_token& stop = {});

}  // namespace gradus::kmeans_detail
