// kmeans_transform(): the distances of all points to given centroids.
#include <utility>

#include "core/checked.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/choose.hpp"
#include "kmeans/api/deliver.hpp"
#include "kmeans/api/prepared_points.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/host_copy.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

namespace {

template <class T>
struct TransformCall {
  MatrixView<const T> centroids;
  MatrixView<const T> points;
  MatrixView<T> distances;
  KMeansMetric metric;
  const Execution& execution;
  core::Ranks& ranks;
};

/// In host memory, beside the result.
template <class T>
std::uint64_t transform_memory(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                               const Execution& execution) {
  const Shape shape{points.rows(), points.columns(), centroids.rows(), static_cast<int>(sizeof(T)), false};
  const bool on_gpu = execution.device == Device::gpu;
  const bool unit_length = metric == KMeansMetric::cosine;
  std::int64_t copied_rows = unit_length || !centroids.place().is_host() ? centroids.rows() : 0;
  if (unit_length && !centroids.place().is_host()) copied_rows += centroids.rows();
  if (unit_length && !on_gpu) copied_rows += points.rows();
  return core::checked_add(column_bytes(shape, cpu::thread_count(execution)),
                           core::checked_multiply(static_cast<std::uint64_t>(copied_rows) * sizeof(T),
                                                  static_cast<std::uint64_t>(points.columns()), "points"),
                           "the memory of the job");
}

template <class T>
JobPlan<T> check(const TransformCall<T>& call) {
  call.ranks.agree([&] { check_distances(call.centroids, call.points, call.distances); });
  const auto text = [&] {
    return call_text("kmeans_transform", {.clusters = call.centroids.rows(), .metric = call.metric}) +
           rows_text("centroids", call.centroids);
  };
  return JobPlan<T>(place_of_job(
      call.ranks, call.points,
      {{call.distances.place(), "distances"}, {call.points.place(), "points"}, {call.centroids.place(), "centroids"}},
      text, call.execution, RunsVariant::no));
}

template <class T>
void describe(const TransformCall<T>& call, JobPlan<T>& plan) {
  plan.shape = {call.points.rows(), call.points.columns(), call.centroids.rows(), static_cast<int>(sizeof(T)), false};
}

/// No variant: the points measure the distances themselves, wherever they are.
template <class T>
void choose(const TransformCall<T>& /*call*/, JobPlan<T>& plan) {
  plan.stays_on_gpu = plan.here.device == Device::gpu;
  const double nanoseconds = plan.stays_on_gpu ? endless : nanoseconds_of_distances(plan.shape);
  plan.here.threads = cpu::chosen_threads(nanoseconds, plan.here);
}

template <class T>
void estimate(const TransformCall<T>& call, JobPlan<T>& plan) {
  call.ranks.agree([&] {
    if (plan.stays_on_gpu) execution::require_gpu(execution::this_machine(), plan.here.gpu);
    execution::check_beside(call.distances.place(), "distances", plan.stays_on_gpu, plan.here.gpu);
    execution::check_memory(transform_memory(call.centroids, call.points, call.metric, plan.here), plan.here);
    cpu::start_team(cpu::thread_count(plan.here));
  });
}

template <class T>
RunReport transform(const TransformCall<T>& call) {
  const auto start = core::Clock::now();
  JobPlan<T> plan = check(call);
  describe(call, plan);
  choose(call, plan);
  estimate(call, plan);

  std::vector<Phase> phases;
  Matrix<T> copied_centroids;
  const PreparedPoints<T> prepared(plan, call.points,
                                   in_host_memory(call.centroids, "centroids", plan.here, copied_centroids),
                                   call.metric, 0, phases);
  if (!call.distances.place().is_host()) prepared.source().admit(call.distances.data(), "distances");
  const std::function<void(std::int64_t)> progress = progress_in("distances", call.points.rows(), plan.here);
  {
    const core::PhaseTimer timer(phases, "distances");
    progress(0);
    call.ranks.agree([&] { prepared.source().distances(prepared.centroids(), call.metric, call.distances, progress); });
    progress(call.points.rows());
  }
  RunReport report{.device = execution::device_name(plan.stays_on_gpu, plan.here),
                   .threads = cpu::thread_count(plan.here)};
  finish_report(report, std::move(phases), start);
  return report;
}

}  // namespace

}  // namespace kmeans_detail

namespace detail {

template <class T>
RunReport kmeans_transform(MatrixView<const T> centroids, MatrixView<const T> points, MatrixView<T> distances,
                           KMeansMetric metric, const Execution& execution) {
  return execution::whole_call<T>("kmeans_transform", execution, [&](const Execution& here, core::Ranks& ranks) {
    ranks.agree([&] { room::check_model(centroids, points, metric, here); });
    return room::transform(room::TransformCall<T>{centroids, points, distances, metric, here, ranks});
  });
}

template <class T>
Matrix<T> kmeans_transform(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                           const Execution& execution) {
  return execution::whole_call<T>("kmeans_transform", execution, [&](const Execution& here, core::Ranks& ranks) {
    Matrix<T> distances = ranks.agree([&] {
      room::check_model(centroids, points, metric, here);
      const Execution at = execution::run_where_it_lies(points.place(), "points", here);
      const auto result = core::checked_multiply(static_cast<std::uint64_t>(points.rows()),
                                                 static_cast<std::uint64_t>(centroids.rows()) * sizeof(T), "distances");
      execution::check_memory(
          core::checked_add(result, room::transform_memory(centroids, points, metric, at), "the memory of the job"),
          at);
      return Matrix<T>(points.rows(), centroids.rows());
    });
    room::transform(room::TransformCall<T>{centroids, points, distances.view(), metric, here, ranks});
    return distances;
  });
}

#define GRADUS_INSTANTIATE(T)                                                                                    \
  template Matrix<T> kmeans_transform(MatrixView<const T>, MatrixView<const T>, KMeansMetric, const Execution&); \
  template RunReport kmeans_transform(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, KMeansMetric,     \
                                      const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace detail
}  // namespace gradus
