// Canonical squared distances (see gradus/kmeans.hpp) of many points. They have the same bits as squared_distance(). If
// the machine has fused multiply-add, vector instructions process several points at once.
#pragma once

#include <cstdint>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Computes out[c * points.rows() + p] = D(point p, centroid c). Designed for blocks of some hundred points.
template <class T>
void squared_distances(MatrixView<const T> points, MatrixView<const T> centroids, double* out);

/// Computes out[c * count + p] = D(*points[p], *centroids[c]). `points` and `centroids` contain the addresses of rows
/// with `dimensions` coordinates.
template <class T>
void squared_distances(const T* const* points, std::int64_t count, const T* const* centroids, std::int64_t clusters,
                       std::int64_t dimensions, double* out);

/// Computes out[p] = D(*points[p], *centroids[p]) for `count` pairs of rows.
template <class T>
void squared_distances_of_pairs(const T* const* points, const T* const* centroids, std::int64_t count,
                                std::int64_t dimensions, double* out);

/// Computes out[p] = D(point p, centroid labels[p]). Throws InterruptedError after a stop request.
template <class T>
void own_squared_distances(MatrixView<const T> points, MatrixView<const T> centroids, const std::int32_t* labels,
                           double* out, int threads, const std::stop_token& stop = {});

}  // namespace gradus::kmeans_detail
