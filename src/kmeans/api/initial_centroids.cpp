// kmeans_initial_centroids(): the first centroids of a fit, and no more.
#include <utility>

#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/deliver.hpp"
#include "kmeans/api/prepared_fit.hpp"
#include "kmeans/kmeans.hpp"

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
  FirstCentroids<T> first = PreparedFit<T>(call, plan, phases).first_centroids(0);
  RunReport report{.device = execution::device_name(plan.stays_on_gpu, plan.here),
                   .threads = cpu::thread_count(plan.here)};
  finish_report(report, std::move(phases), start);
  return {std::move(first.centroids), std::move(first.rows), std::move(report)};
}

}  // namespace

}  // namespace kmeans_detail

namespace detail {

template <class T>
KMeansInitialCentroids<T> kmeans_initial_centroids(MatrixView<const T> points, const KMeansOptions& options,
                                                   const KMeansMemory<T>& memory, const Execution& execution) {
  if (options.standardize)
    return execution::whole_call([&] {
      room::check_no_labels(memory);
      room::check_fit(points, options, memory, execution);
      return room::first_centroids_standardized(points, options, memory, execution);
    });
  return execution::whole_call<T>(
      "kmeans_initial_centroids", execution, [&](const Execution& here, core::Ranks& ranks) {
        return room::initial_centroids(
            room::FitCall<T>{points, options, memory, here, ranks, room::Extent::first_centroids});
      });
}

template KMeansInitialCentroids<float> kmeans_initial_centroids(MatrixView<const float>, const KMeansOptions&,
                                                                const KMeansMemory<float>&, const Execution&);
template KMeansInitialCentroids<double> kmeans_initial_centroids(MatrixView<const double>, const KMeansOptions&,
                                                                 const KMeansMemory<double>&, const Execution&);

}  // namespace detail
}  // namespace gradus
