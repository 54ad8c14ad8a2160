// The first centroids.
#pragma once

#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

/// k x d centroids by `options.init` for restart number `restart`; a function of data, options and seed alone.
/// `points` are finite and hold at least k different rows of positive weight.
template <class T>
Matrix<T> initialize(MatrixView<const T> points, const KMeansOptions<T>& options, const Execution& execution,
                     int restart);

}  // namespace gradus::kmeans_detail
