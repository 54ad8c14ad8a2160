// kmeans_predict() and kmeans_transform() of points of 8 or 16 bits.
#include "execution/whole_call.hpp"
#include "gradus/kmeans_stored.hpp"
#include "kmeans/api/model_call.hpp"
#include "kmeans/api/on_gpus.hpp"

namespace gradus {

namespace room = kmeans_detail;

KMeansPrediction kmeans_predict(const KMeansModel<float>& model, const StoredMatrixView& points,
                                const KMeansMemory<float>& memory, const Execution& execution) {
  if (const auto parts = room::in_parts(points, memory.weights, model.centroids.rows(), execution))
    return room::predict_on_gpus<float>(model, points, memory, *parts, false);
  constexpr const char* name = room::predict_name;
  return execution::whole_call<float>(name, execution, [&](const Execution& here, core::Ranks& ranks) {
    return room::predict_by_model(room::ModelCall<float>{name, model, points, here, ranks}, memory, false);
  });
}

RunReport kmeans_transform(const KMeansModel<float>& model, const StoredMatrixView& points, MatrixView<float> distances,
                           const Execution& execution) {
  if (const auto parts = room::in_parts<float>(points, {}, 0, execution))
    return room::transform_on_gpus<float>(model, points, distances, *parts);
  constexpr const char* name = room::transform_name;
  return execution::whole_call<float>(name, execution, [&](const Execution& here, core::Ranks& ranks) {
    return room::distances_by_model(room::ModelCall<float>{name, model, points, here, ranks}, distances);
  });
}

Matrix<float> kmeans_transform(const KMeansModel<float>& model, const StoredMatrixView& points,
                               const Execution& execution) {
  if (const auto parts = room::in_parts<float>(points, {}, 0, execution))
    return room::transform_on_gpus<float>(model, points, *parts);
  constexpr const char* name = room::transform_name;
  return execution::whole_call<float>(name, execution, [&](const Execution& here, core::Ranks& ranks) {
    return room::distances_by_model(room::ModelCall<float>{name, model, points, here, ranks});
  });
}

}  // namespace gradus
