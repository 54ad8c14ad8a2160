// kmeans_predict(): finds, for each point, the nearest of the given centroids.
#include <utility>

#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/choose.hpp"
#include "kmeans/api/deliver.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/api/model_call.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/api/prepared_points.hpp"
#include "kmeans/api/run.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/host_copy.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

namespace {

template <class T>
struct PredictCall : ModelCall<T> {
  const KMeansMemory<T>& memory;
  bool needs_labels;  ///< true if the call must write the caller's labels
  core::ExactAccumulator* inertia;
};

/// Returns the options of a fit without iterations. The final assignment of this fit yields the labels of the
/// prediction.
KMeansOptions options_of(KMeansMetric metric) {
  KMeansOptions options;
  options.init = KMeansInit::given;
  options.metric = metric;
  return options;
}

template <class T>
JobPlan<T> check(const PredictCall<T>& call) {
  const KMeansMemory<T>& memory = call.memory;
  call.ranks.agree([&] {
    check_prediction(call.model.centroids, call.points, memory, call.execution);
    if (call.needs_labels) check_labels(memory.labels, call.points.rows());
    check_arguments(call);
  });
  JobPlan<T> plan = place(call, {{memory.weights.place(), "weights"}, {memory.labels.place(), "labels"}});
  plan.weights = weights_of_rank(call.ranks, call.points.shape(), memory.weights);
  return plan;
}

template <class T>
void choose(const PredictCall<T>& call, JobPlan<T>& plan) {
  plan.variant = &call.ranks.agree([&]() -> const Variant& {
    return choose(plan.shape, options_of(call.model.metric), plan.here, call.points.place(),
                  {{plan.weights.place(), "weights"}, {call.memory.labels.place(), "labels"}});
  });
  plan.stays_on_gpu = stays_on_gpu(call.ranks, *plan.variant, call.points.shape());
  choose_threads(plan.shape, *plan.variant, plan.here);
}

template <class T>
void estimate(const PredictCall<T>& call, JobPlan<T>& plan) {
  call.ranks.agree([&] {
    execution::check_memory(
        host_memory(plan.shape, options_of(call.model.metric), plan.here, *plan.variant, SeedingFilter::never),
        plan.here);
    cpu::start_team(cpu::thread_count(plan.here));
  });
}

template <class T>
KMeansPrediction predict(const PredictCall<T>& call) {
  const auto start = core::Clock::now();
  const JobPlan<T> plan = plan_of(call);
  const KMeansModel<T>& model = call.model;
  std::vector<Phase> phases;
  Matrix<T> copied_centroids;
  PreparedPoints<T> prepared(plan, call.points,
                             in_host_memory(model.centroids, "centroids", plan.here, copied_centroids), model.metric,
                             needs_of(*plan.variant, plan.shape, KMeansInit::given, !call.ranks.is_alone(),
                                      plan.variant->memory(plan.shape, cpu::thread_count(plan.here)).device),
                             phases);
  prepared.require_distances(model.centroids.rows());
  Problem<T> problem = prepared.problem();
  problem.metric = model.metric;
  problem.max_iterations = 0;  // no update, only the final assignment
  const VectorView<std::int32_t> labels = call.memory.labels;
  if (!labels.empty() && !labels.place().is_host()) {
    prepared.source().admit(labels.data(), "labels");
    problem.labels_on_gpu = labels.data();
  }
  const std::function<void(std::int64_t)> progress = progress_in("assign", call.points.rows(), plan.here);
  if (plan.here.progress) problem.progress = progress;
  progress(0);
  core::ExactAccumulator exact;
  if (call.inertia != nullptr) problem.rank_inertia = &exact;
  KMeansResult<T> result = run(*plan.variant, problem, plan.here, phases);
  if (call.inertia != nullptr) add_inertia(*plan.variant, problem, result, *call.inertia);
  deliver(result.labels, labels, prepared.source());
  progress(call.points.rows());
  report_run(result.report, *plan.variant, plan.here, std::move(phases), start);
  return {std::move(result.labels), result.inertia, std::move(result.report)};
}

}  // namespace

template <class T>
KMeansPrediction predict_by_model(const ModelCall<T>& model_call, const KMeansMemory<T>& memory, bool needs_labels,
                                  core::ExactAccumulator* inertia) {
  const PredictCall<T> call{model_call, memory, needs_labels, inertia};
  if (call.model.standardization.empty()) return predict(call);
  const StandardizedCall<T> copy(call, check(call));
  KMeansPrediction result = predict(PredictCall<T>{copy.call(), memory, needs_labels, inertia});
  copy.add_to(result.report);
  return result;
}
template KMeansPrediction predict_by_model(const ModelCall<float>&, const KMeansMemory<float>&, bool,
                                           core::ExactAccumulator*);
template KMeansPrediction predict_by_model(const ModelCall<double>&, const KMeansMemory<double>&, bool,
                                           core::ExactAccumulator*);

}  // namespace kmeans_detail

namespace detail {

namespace {

template <class T>
KMeansPrediction predict(const KMeansModel<T>& model, MatrixView<const T> points, const KMeansMemory<T>& memory,
                         const Execution& execution, bool needs_labels = false) {
  if (const auto parts = room::in_parts(points, memory.weights, model.centroids.rows(), execution))
    return room::predict_on_gpus<T>(model, points, memory, *parts, needs_labels);
  constexpr const char* name = room::predict_name;
  return execution::whole_call<T>(name, execution, [&](const Execution& here, core::Ranks& ranks) {
    return room::predict_by_model(room::ModelCall<T>{name, model, points, here, ranks}, memory, needs_labels);
  });
}

}  // namespace

template <class T>
KMeansPrediction kmeans_predict(const KMeansModel<T>& model, MatrixView<const T> points, const KMeansMemory<T>& memory,
                                const Execution& execution) {
  return predict(model, points, memory, execution);
}

template <class T>
KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points,
                                const KMeansMemory<T>& memory, KMeansMetric metric, const Execution& execution) {
  return predict({centroids, metric, {}}, points, memory, execution);
}

template <class T>
KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                                const Execution& execution) {
  return predict({centroids, metric, {}}, points, {}, execution);
}

template <class T>
KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points,
                                VectorView<std::int32_t> labels, KMeansMetric metric, const Execution& execution) {
  return predict({centroids, metric, {}}, points, {.labels = labels}, execution, true);
}

#define GRADUS_INSTANTIATE(T)                                                                                         \
  template KMeansPrediction kmeans_predict(const KMeansModel<T>&, MatrixView<const T>, const KMeansMemory<T>&,        \
                                           const Execution&);                                                         \
  template KMeansPrediction kmeans_predict(MatrixView<const T>, MatrixView<const T>, KMeansMetric, const Execution&); \
  template KMeansPrediction kmeans_predict(MatrixView<const T>, MatrixView<const T>, const KMeansMemory<T>&,          \
                                           KMeansMetric, const Execution&);                                           \
  template KMeansPrediction kmeans_predict(MatrixView<const T>, MatrixView<const T>, VectorView<std::int32_t>,        \
                                           KMeansMetric, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace detail
}  // namespace gradus
