// kmeans_predict(): the nearest of given centroids for each point.
#include <utility>

#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/choose.hpp"
#include "kmeans/api/deliver.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/api/prepared_points.hpp"
#include "kmeans/api/run.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/host_copy.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

namespace {

template <class T>
struct PredictCall {
  MatrixView<const T> centroids;
  MatrixView<const T> points;
  const KMeansMemory<T>& memory;
  KMeansMetric metric;
  const Execution& execution;
  core::Ranks& ranks;
};

/// A prediction is the last assignment of a fit with these options.
KMeansOptions options_of(KMeansMetric metric) {
  KMeansOptions options;
  options.init = KMeansInit::given;
  options.metric = metric;
  return options;
}

template <class T>
JobPlan<T> check(const PredictCall<T>& call) {
  const KMeansMemory<T>& memory = call.memory;
  call.ranks.agree([&] { check_model(call.centroids, call.points, call.metric, call.execution); });
  const auto text = [&] {
    return call_text("kmeans_predict", {.clusters = call.centroids.rows(), .metric = call.metric}) +
           rows_text("centroids", call.centroids);
  };
  JobPlan<T> plan(place_of_job(call.ranks, call.points,
                               {{memory.weights.place(), "weights"},
                                {memory.labels.place(), "labels"},
                                {call.points.place(), "points"},
                                {call.centroids.place(), "centroids"}},
                               text, call.execution, RunsVariant::yes));
  plan.weights = weights_of_rank(call.ranks, call.points, memory.weights);
  return plan;
}

template <class T>
void describe(const PredictCall<T>& call, JobPlan<T>& plan) {
  plan.shape = {call.points.rows(), call.points.columns(), call.centroids.rows(), static_cast<int>(sizeof(T)),
                !plan.weights.empty()};
}

template <class T>
void choose(const PredictCall<T>& call, JobPlan<T>& plan) {
  plan.variant = &call.ranks.agree([&]() -> const Variant& {
    return choose(plan.shape, options_of(call.metric), plan.here, call.points.place(),
                  {{plan.weights.place(), "weights"}, {call.memory.labels.place(), "labels"}});
  });
  plan.stays_on_gpu = stays_on_gpu(*plan.variant, plan.here);
  choose_threads(plan.shape, *plan.variant, plan.here);
}

template <class T>
void estimate(const PredictCall<T>& call, JobPlan<T>& plan) {
  call.ranks.agree([&] {
    execution::check_memory(
        host_memory(plan.shape, options_of(call.metric), plan.here, *plan.variant, SeedingFilter::never), plan.here);
    cpu::start_team(cpu::thread_count(plan.here));
  });
}

template <class T>
KMeansPrediction predict(const PredictCall<T>& call) {
  const auto start = core::Clock::now();
  JobPlan<T> plan = check(call);
  describe(call, plan);
  choose(call, plan);
  estimate(call, plan);

  std::vector<Phase> phases;
  Matrix<T> copied_centroids;
  PreparedPoints<T> prepared(plan, call.points,
                             in_host_memory(call.centroids, "centroids", plan.here, copied_centroids), call.metric,
                             plan.variant->memory(plan.shape, cpu::thread_count(plan.here)).device, phases);
  prepared.require_distances(call.centroids.rows());
  Problem<T> problem = prepared.problem();
  problem.metric = call.metric;
  problem.max_iterations = 0;  // no update: only the last assignment
  const VectorView<std::int32_t> labels = call.memory.labels;
  if (!labels.empty() && !labels.place().is_host()) {
    prepared.source().admit(labels.data(), "labels");
    problem.labels_on_gpu = labels.data();
  }
  const std::function<void(std::int64_t)> progress = progress_in("assign", call.points.rows(), plan.here);
  if (plan.here.progress) problem.progress = progress;
  progress(0);
  KMeansResult<T> result = run(*plan.variant, problem, plan.here, phases);
  deliver(result.labels, labels, prepared.source());
  progress(call.points.rows());
  report_run(result.report, *plan.variant, plan.here, std::move(phases), start);
  return {std::move(result.labels), result.inertia, std::move(result.report)};
}

}  // namespace

}  // namespace kmeans_detail

namespace detail {

template <class T>
KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points,
                                const KMeansMemory<T>& memory, KMeansMetric metric, const Execution& execution) {
  return execution::whole_call<T>("kmeans_predict", execution, [&](const Execution& here, core::Ranks& ranks) {
    ranks.agree([&] { room::check_prediction(centroids, points, memory, here); });
    return room::predict(room::PredictCall<T>{centroids, points, memory, metric, here, ranks});
  });
}

template <class T>
KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                                const Execution& execution) {
  return detail::kmeans_predict(centroids, points, KMeansMemory<T>{}, metric, execution);
}

template <class T>
KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points,
                                VectorView<std::int32_t> labels, KMeansMetric metric, const Execution& execution) {
  const KMeansMemory<T> memory{.labels = labels};
  return execution::whole_call<T>("kmeans_predict", execution, [&](const Execution& here, core::Ranks& ranks) {
    ranks.agree([&] {
      room::check_prediction(centroids, points, memory, here);
      room::check_labels(labels, points.rows());
    });
    return room::predict(room::PredictCall<T>{centroids, points, memory, metric, here, ranks});
  });
}

#define GRADUS_INSTANTIATE(T)                                                                                         \
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
