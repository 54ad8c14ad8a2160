// The first centroids.
#pragma once

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// k x d centroids by `options.init` for restart number `restart`; a function of data, options and seed alone.
/// `points` are finite and hold at least k different rows of positive weight. `gpu`: their object where they lie on a
/// GPU, which then does the work; weights and given centroids are in host memory all the same.
template <class T>
Matrix<T> initialize(MatrixView<const T> points, const KMeansOptions<T>& options, const Execution& execution,
                     int restart, const GpuPoints<T>* gpu = nullptr);

}  // namespace gradus::kmeans_detail
