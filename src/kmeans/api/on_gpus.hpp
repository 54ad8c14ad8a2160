// Calls in parts on GPUs: on several GPUs (Execution::gpus), or on one GPU that cannot number all points at once. Each
// part has consecutive rows, and makes the call as one of several ranks. Arguments and errors are the same as for the
// public calls.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "gradus/kmeans.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/gpu/limits.hpp"
#include "kmeans/points/point_rows.hpp"

namespace gradus::kmeans_detail {

/// If the call must run in parts, returns its request, which lists a GPU for each part. If there are more than
/// `most_of_a_part` points, lists each GPU as often as necessary. `clusters` is 0 for a call that uses a GPU only if
/// the request or the points name one; otherwise the library may choose a GPU for the parts.
std::optional<Execution> in_parts(const KMeansShape& shape, std::int64_t clusters, const Execution& execution,
                                  std::int64_t most_of_a_part = most_points_on_gpu);
/// Overloads for calls with these points and weights.
template <class T>
std::optional<Execution> in_parts(const std::type_identity_t<PointRows<T>>& points, VectorView<const T> weights,
                                  std::int64_t clusters, const Execution& execution,
                                  std::int64_t most_of_a_part = most_points_on_gpu) {
  return in_parts({points.rows(), points.columns(), element_bytes(points), !weights.empty(), points.place()}, clusters,
                  execution, most_of_a_part);
}
template <class T>
std::optional<Execution> in_parts(MatrixView<const T> points, const Execution& execution) {
  return in_parts<T>(points, {}, 0, execution);
}

template <class T>
KMeansResult<T> fit_on_gpus(const PointRows<T>& points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                            const Execution& execution);
template <class T>
KMeansInitialCentroids<T> initial_centroids_on_gpus(const PointRows<T>& points, const KMeansOptions& options,
                                                    const KMeansMemory<T>& memory, const Execution& execution);
/// `needs_labels` is true if the call must write the caller's labels.
template <class T>
KMeansPrediction predict_on_gpus(const KMeansModel<T>& model, const PointRows<T>& points, const KMeansMemory<T>& memory,
                                 const Execution& execution, bool needs_labels);
template <class T>
RunReport transform_on_gpus(const KMeansModel<T>& model, const PointRows<T>& points, MatrixView<T> distances,
                            const Execution& execution);
template <class T>
Matrix<T> transform_on_gpus(const KMeansModel<T>& model, const PointRows<T>& points, const Execution& execution);

}  // namespace gradus::kmeans_detail
