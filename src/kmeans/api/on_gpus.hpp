// Calls on several GPUs (Execution::gpus). Each GPU gets consecutive rows, and makes the call as one of several ranks.
// Arguments and errors are the same as for the public calls.
#pragma once

#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

template <class T>
KMeansResult<T> fit_on_gpus(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                            const Execution& execution);
template <class T>
KMeansInitialCentroids<T> initial_centroids_on_gpus(MatrixView<const T> points, const KMeansOptions& options,
                                                    const KMeansMemory<T>& memory, const Execution& execution);
/// `needs_labels` is true if the call must write the caller's labels.
template <class T>
KMeansPrediction predict_on_gpus(const KMeansModel<T>& model, MatrixView<const T> points, const KMeansMemory<T>& memory,
                                 const Execution& execution, bool needs_labels);
template <class T>
RunReport transform_on_gpus(const KMeansModel<T>& model, MatrixView<const T> points, MatrixView<T> distances,
                            const Execution& execution);
template <class T>
Matrix<T> transform_on_gpus(const KMeansModel<T>& model, MatrixView<const T> points, const Execution& execution);

}  // namespace gradus::kmeans_detail
