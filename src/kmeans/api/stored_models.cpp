// kmeans_predict() and kmeans_transform() of points of 8 or 16 bits.
#include "gradus/kmeans_stored.hpp"
#include "kmeans/api/model_call.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/api/widened_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

KMeansPrediction kmeans_predict(const KMeansModel<float>& model, const StoredMatrixView& points,
                                const KMeansMemory<float>& memory, const Execution& execution) {
  constexpr const char* name = room::predict_name;
  return room::call_on_stored(
      name, points, execution,
      [&](MatrixView<const float> rows, const Execution& here) {
        return room::predict_on_gpus(model, rows, memory, here, false);
      },
      [&](const Execution& here, core::Ranks& ranks) {
        return room::predict_by_model(room::ModelCall<float>{name, model, points, here, ranks}, memory, false);
      });
}

RunReport kmeans_transform(const KMeansModel<float>& model, const StoredMatrixView& points, MatrixView<float> distances,
                           const Execution& execution) {
  constexpr const char* name = room::transform_name;
  return room::call_on_stored(
      name, points, execution,
      [&](MatrixView<const float> rows, const Execution& here) {
        return room::transform_on_gpus(model, rows, distances, here);
      },
      [&](const Execution& here, core::Ranks& ranks) {
        return room::distances_by_model(room::ModelCall<float>{name, model, points, here, ranks}, distances);
      });
}

Matrix<float> kmeans_transform(const KMeansModel<float>& model, const StoredMatrixView& points,
                               const Execution& execution) {
  constexpr const char* name = room::transform_name;
  return room::call_on_stored(
      name, points, execution,
      [&](MatrixView<const float> rows, const Execution& here) { return room::transform_on_gpus(model, rows, here); },
      [&](const Execution& here, core::Ranks& ranks) {
        return room::distances_by_model(room::ModelCall<float>{name, model, points, here, ranks});
      });
}

}  // namespace gradus
