// kmeans_initial_centroids(): chooses the initial centroids of a fit, but does not fit.
#include <algorithm>
#include <span>
#include <utility>

#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/deliver.hpp"
#include "kmeans/api/fit.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/api/prepared_fit.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/host_copy.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/standardization/standardization.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

namespace {

template <class T>
KMeansInitialCentroids<T> initial_centroids(const FitCall<T>& call) {
  const auto start = core::Clock::now();
  call.ranks.agree([&] { check_no_labels(call.memory); });
  const JobPlan<T> plan = plan_of(call);
  std::vector<Phase> phases;
  FirstCentroids<T> first = PreparedFit<T>(call, plan, phases, &fit<T>).first_centroids(0);
  RunReport report{.device = execution::device_name(plan.stays_on_gpu, plan.here),
                   .threads = cpu::thread_count(plan.here)};
  finish_report(report, std::move(phases), start);
  return {std::move(first.centroids), std::move(first.rows), std::move(report)};
}

/// Copies those rows of the caller's points that have the given global numbers. Each row may be on any rank.
template <class T>
Matrix<T> rows_of_points(const FitCall<T>& call, const JobPlan<T>& plan, std::span<const std::int64_t> numbers) {
  if (call.points.place().is_host()) return rows_at(plan.rows, call.points, numbers);
  Matrix<T> rows(std::ssize(numbers), call.points.columns());
  for (std::int64_t index = 0; index < rows.rows(); ++index) {
    Matrix<T> copy;
    const MatrixView<const T> row = in_host_memory(
        call.points.shape().slice(numbers[static_cast<std::size_t>(index)], 1), "points", plan.here, copy);
    std::copy_n(row.row(0), row.columns(), rows.row(index));
  }
  return rows;
}

/// Chooses the centroids among standardized points and returns them in the units of the data.
template <class T>
KMeansInitialCentroids<T> initial_centroids_standardized(const FitCall<T>& call) {
  call.ranks.agree([&] { check_no_labels(call.memory); });
  const JobPlan<T> plan = check(call);
  check_memory_with_copy(call, plan);
  const StandardizedPoints<T> points(call.points, plan.rows, plan.here);
  Matrix<T> copy;
  KMeansInitialCentroids<T> first =
      initial_centroids(FitCall<T>{points.rows(), without_standardize(call.options),
                                   points.standardized(call.memory, copy), points.here(), call.ranks, call.extent});
  if (call.options.init == KMeansInit::given)
    first.centroids =
        Matrix<T>::copy_of(in_host_memory(call.memory.initial_centroids, "initial centroids", points.here(), copy));
  else if (call.options.init == KMeansInit::hierarchical)
    first.centroids = restored(std::as_const(first.centroids).view(), points.by());
  else first.centroids = rows_of_points(call, plan, first.rows);
  points.add_to(first.report);
  return first;
}

}  // namespace

}  // namespace kmeans_detail

KMeansInitialCentroids<float> kmeans_initial_centroids(const StoredMatrixView& points, const KMeansOptions& options,
                                                       const KMeansMemory<float>& memory, const Execution& execution) {
  if (const auto parts = room::in_parts(points, memory.weights, options.clusters, execution))
    return room::initial_centroids_on_gpus<float>(points, options, memory, *parts);
  return execution::whole_call<float>(
      "kmeans_initial_centroids", execution, [&](const Execution& here, core::Ranks& ranks) {
        const room::FitCall<float> call{points, options, memory, here, ranks, room::Extent::first_centroids};
        return options.standardize ? room::initial_centroids_standardized(call) : room::initial_centroids(call);
      });
}

namespace detail {

template <class T>
KMeansInitialCentroids<T> kmeans_initial_centroids(MatrixView<const T> points, const KMeansOptions& options,
                                                   const KMeansMemory<T>& memory, const Execution& execution) {
  if (const auto parts = room::in_parts(points, memory.weights, options.clusters, execution))
    return room::initial_centroids_on_gpus<T>(points, options, memory, *parts);
  return execution::whole_call<T>(
      "kmeans_initial_centroids", execution, [&](const Execution& here, core::Ranks& ranks) {
        const room::FitCall<T> call{points, options, memory, here, ranks, room::Extent::first_centroids};
        return options.standardize ? room::initial_centroids_standardized(call) : room::initial_centroids(call);
      });
}

template KMeansInitialCentroids<float> kmeans_initial_centroids(MatrixView<const float>, const KMeansOptions&,
                                                                const KMeansMemory<float>&, const Execution&);
template KMeansInitialCentroids<double> kmeans_initial_centroids(MatrixView<const double>, const KMeansOptions&,
                                                                 const KMeansMemory<double>&, const Execution&);

}  // namespace detail
}  // namespace gradus
