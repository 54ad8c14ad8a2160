// kmeans_transform(): computes the distances of all points to the given centroids.
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
#include "kmeans/api/estimate.hpp"
#include "kmeans/api/model_call.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/api/prepared_points.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/host_copy.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

namespace {

template <class T>
struct TransformCall : ModelCall<T> {
  MatrixView<T> distances;
};

template <class T>
JobPlan<T> check(const ModelCall<T>& call) {
  call.ranks.agree([&] { check_arguments(call); });
  return place(call, {});
}

template <class T>
JobPlan<T> check(const TransformCall<T>& call) {
  call.ranks.agree([&] {
    check_arguments(call);
    check_distances(call.model.centroids, call.points, call.distances);
  });
  return place(call, {{call.distances.place(), "distances"}});
}

/// Chooses device and threads. There is no choice of variants, because PointSource computes the distances.
template <class T>
void choose(const TransformCall<T>& call, JobPlan<T>& plan) {
  plan.stays_on_gpu = plan.here.device == Device::gpu && (call.ranks.is_alone() || call.points.rows() > 0);
  const double nanoseconds = plan.stays_on_gpu ? endless : nanoseconds_of_distances(plan.shape);
  plan.here.threads = cpu::chosen_threads(nanoseconds, plan.here);
}

template <class T>
void estimate(const TransformCall<T>& call, JobPlan<T>& plan) {
  call.ranks.agree([&] {
    if (plan.stays_on_gpu) execution::require_gpu(execution::this_machine(), plan.here.gpu);
    execution::check_reachable(call.distances.place(), "distances", plan.stays_on_gpu, plan.here.gpu);
    execution::check_memory(transform_memory(call.points, call.model.centroids, call.model.metric, plan.here),
                            plan.here);
    cpu::start_team(cpu::thread_count(plan.here));
  });
}

template <class T>
RunReport transform(const TransformCall<T>& call) {
  const auto start = core::Clock::now();
  const JobPlan<T> plan = plan_of(call);
  const KMeansMetric metric = call.model.metric;
  std::vector<Phase> phases;
  Matrix<T> copied_centroids;
  const PreparedPoints<T> prepared(plan, call.points,
                                   in_host_memory(call.model.centroids, "centroids", plan.here, copied_centroids),
                                   metric, 0, phases);
  if (!call.distances.place().is_host()) prepared.source().admit(call.distances.data(), "distances");
  const std::function<void(std::int64_t)> progress = progress_in("distances", call.points.rows(), plan.here);
  {
    const core::PhaseTimer timer(phases, "distances");
    progress(0);
    call.ranks.agree([&] { prepared.source().distances(prepared.centroids(), metric, call.distances, progress); });
    progress(call.points.rows());
  }
  RunReport report{.device = execution::device_name(plan.stays_on_gpu, plan.here),
                   .threads = cpu::thread_count(plan.here)};
  finish_report(report, std::move(phases), start);
  return report;
}

/// Computes the distances into newly allocated memory.
template <class T>
Matrix<T> transform(const ModelCall<T>& call, const JobPlan<T>& plan) {
  Matrix<T> distances = call.ranks.agree([&] {
    const auto rows = static_cast<std::uint64_t>(call.points.rows());
    const auto row_bytes = static_cast<std::uint64_t>(call.model.centroids.rows()) * sizeof(T);
    const std::uint64_t result = core::checked_multiply(rows, row_bytes, "distances");
    execution::check_memory(
        core::checked_add(result, transform_memory(call.points, call.model.centroids, call.model.metric, plan.here),
                          "the memory of the job"),
        plan.here);
    return Matrix<T>(call.points.rows(), call.model.centroids.rows());
  });
  transform(TransformCall<T>{call, distances.view()});
  return distances;
}

}  // namespace

template <class T>
RunReport distances_by_model(const ModelCall<T>& model_call, MatrixView<T> distances) {
  const TransformCall<T> call{model_call, distances};
  if (call.model.standardization.empty()) return transform(call);
  const StandardizedCall<T> copy(call, check(call));
  RunReport report = transform(TransformCall<T>{copy.call(), distances});
  copy.add_to(report);
  return report;
}
template RunReport distances_by_model(const ModelCall<float>&, MatrixView<float>);
template RunReport distances_by_model(const ModelCall<double>&, MatrixView<double>);

template <class T>
Matrix<T> distances_by_model(const ModelCall<T>& call) {
  const JobPlan<T> plan = check(call);
  if (call.model.standardization.empty()) return transform(call, plan);
  const StandardizedCall<T> copy(call, plan);
  return transform(copy.call(), check(copy.call()));
}
template Matrix<float> distances_by_model(const ModelCall<float>&);
template Matrix<double> distances_by_model(const ModelCall<double>&);

}  // namespace kmeans_detail

namespace detail {

template <class T>
RunReport kmeans_transform(const KMeansModel<T>& model, MatrixView<const T> points, MatrixView<T> distances,
                           const Execution& execution) {
  if (const auto parts = room::in_parts(points, execution))
    return room::transform_on_gpus<T>(model, points, distances, *parts);
  constexpr const char* name = room::transform_name;
  return execution::whole_call<T>(name, execution, [&](const Execution& here, core::Ranks& ranks) {
    return room::distances_by_model(room::ModelCall<T>{name, model, points, here, ranks}, distances);
  });
}

template <class T>
Matrix<T> kmeans_transform(const KMeansModel<T>& model, MatrixView<const T> points, const Execution& execution) {
  if (const auto parts = room::in_parts(points, execution)) return room::transform_on_gpus<T>(model, points, *parts);
  return execution::whole_call<T>(room::transform_name, execution, [&](const Execution& here, core::Ranks& ranks) {
    return room::distances_by_model(room::ModelCall<T>{room::transform_name, model, points, here, ranks});
  });
}

template <class T>
RunReport kmeans_transform(MatrixView<const T> centroids, MatrixView<const T> points, MatrixView<T> distances,
                           KMeansMetric metric, const Execution& execution) {
  return kmeans_transform(KMeansModel<T>{centroids, metric, {}}, points, distances, execution);
}

template <class T>
Matrix<T> kmeans_transform(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                           const Execution& execution) {
  return kmeans_transform(KMeansModel<T>{centroids, metric, {}}, points, execution);
}

#define GRADUS_INSTANTIATE(T)                                                                                       \
  template Matrix<T> kmeans_transform(const KMeansModel<T>&, MatrixView<const T>, const Execution&);                \
  template RunReport kmeans_transform(const KMeansModel<T>&, MatrixView<const T>, MatrixView<T>, const Execution&); \
  template Matrix<T> kmeans_transform(MatrixView<const T>, MatrixView<const T>, KMeansMetric, const Execution&);    \
  template RunReport kmeans_transform(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, KMeansMetric,        \
                                      const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace detail
}  // namespace gradus
