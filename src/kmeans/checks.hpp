// What the public calls of k-means check of their arguments before anything else, in this process alone.
#pragma once

#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

/// Checks the arguments of a fit without ranks. Reads no point.
template <class T>
void check_fit(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
               const Execution& execution);

/// Checks the arguments of a prediction or transformation, of `centroids` in the units of `points`.
template <class T>
void check_model(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                 const Execution& execution);
template <class T>
void check_prediction(MatrixView<const T> centroids, MatrixView<const T> points, const KMeansMemory<T>& memory,
                      const Execution& execution);
template <class T>
void check_distances(MatrixView<const T> centroids, MatrixView<const T> points, MatrixView<T> distances);

}  // namespace gradus::kmeans_detail
