#include "kmeans/api/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "gradus/error.hpp"
#include "kmeans/api/gpu_parts.hpp"
#include "kmeans/api/model_call.hpp"
#include "kmeans/api/on_gpus.hpp"

namespace gradus::kmeans_detail {

namespace {

template <class T>
bool are_zero(VectorView<const T> weights) {
  return std::all_of(weights.data(), weights.data() + weights.size(), [](T weight) { return weight == 0; });
}

/// Returns job(execution). The errors of a GPU count rows from the beginning of the block. Therefore, if a call fails
/// on a GPU, the CPU repeats it and throws the same error with the row's number in the table.
template <class Job>
auto with_rows_of_table(std::int64_t first_row, const Execution& execution, const Job& job) {
  try {
    return job(execution);
  } catch (const InputError&) {
    if (first_row == 0 || execution.device == Device::cpu) throw;
    Execution on_cpu = execution;
    on_cpu.gpus.clear();
    on_cpu.device = Device::cpu;
    on_cpu.variant = {};
    on_cpu.variant_options = {};
    on_cpu.block_size = 0;
    job(on_cpu);
    throw;
  }
}

}  // namespace

template <class T>
Matrix<T> transform_block(const KMeansModel<T>& model, MatrixView<const T> points, std::int64_t first_row,
                          const Execution& execution) {
  return with_rows_of_table(first_row, execution, [&](const Execution& device) {
    if (in_parts(points, device)) return kmeans_transform(model, points, device);
    return execution::whole_call<T>(transform_name, device, [&](const Execution& here, core::Ranks& ranks) {
      return distances_by_model(ModelCall<T>{transform_name, model, points, here, ranks, first_row});
    });
  });
}

template <class T>
BlockPrediction<T>::BlockPrediction(const KMeansModel<T>& model, VectorView<const T> weights, std::int64_t rows)
    : model_(model), weights_(weights), has_weight_(!are_zero(weights)) {
  execution::check_number(weights, rows, "weights", "points");
}

template <class T>
Buffer<std::int32_t> BlockPrediction<T>::add(MatrixView<const T> points, const Execution& execution) {
  VectorView<const T> weights;
  if (!weights_.empty()) weights = {weights_.data() + rows_, points.rows()};
  core::ExactAccumulator inertia;
  // A call throws an error if all its weights are zero. A table may have such a block: its points get labels, but add
  // nothing to the inertia.
  const bool weightless = has_weight_ && !weights.empty() && are_zero(weights);
  const KMeansMemory<T> memory{.weights = weightless ? VectorView<const T>() : weights};
  const auto predict = [&](MatrixView<const T> rows, const KMeansMemory<T>& own, const Execution& device,
                           core::ExactAccumulator& sum) {
    return execution::whole_call<T>(predict_name, device, [&](const Execution& here, core::Ranks& ranks) {
      return predict_by_model(ModelCall<T>{predict_name, model_, rows, here, ranks, rows_}, own, false, &sum);
    });
  };
  KMeansPrediction prediction = with_rows_of_table(rows_, execution, [&](const Execution& device) {
    inertia = {};
    const std::optional<Execution> parts = in_parts(points, memory.weights, model_.centroids.rows(), device);
    if (!parts) return predict(points, memory, device, inertia);
    std::vector<core::ExactAccumulator> sums(parts->gpus.size());
    KMeansPrediction all = GpuParts<T>(points, *parts, memory_of_model_parts(model_.centroids))
                               .run_for_labels(memory, [&](const PointRows<T>& rows, const KMeansMemory<T>& own,
                                                           const Execution& here, int rank) {
                                 return predict(rows.shape(), own, here, sums[static_cast<std::size_t>(rank)]);
                               });
    for (const core::ExactAccumulator& sum : sums) inertia.merge(sum);
    return all;
  });
  if (!weightless) inertia_.merge(inertia);
  if (!std::isfinite(this->inertia()))
    throw InputError(about("points") +
                     "the inertia is beyond the range of double; scale the points or their weights down");
  rows_ += points.rows();
  report_ = std::move(prediction.report);
  report_.phases.clear();
  return std::move(prediction.labels);
}

template <class T>
double BlockPrediction<T>::inertia() const {
  const auto inertia = inertia_.template round<double>();
  return model_.metric == KMeansMetric::cosine ? 0.5 * inertia : inertia;
}

#define GRADUS_INSTANTIATE(T)        \
  template class BlockPrediction<T>; \
  template Matrix<T> transform_block(const KMeansModel<T>&, MatrixView<const T>, std::int64_t, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
