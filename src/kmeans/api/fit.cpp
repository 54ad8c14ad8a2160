// kmeans(): one fit, or the best of several.
#include <utility>

#include "core/phases.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/checkpointed_job.hpp"
#include "kmeans/api/deliver.hpp"
#include "kmeans/api/fit.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/api/restarts.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

template <class T>
KMeansResult<T> fit(const FitCall<T>& call) {
  const auto start = core::Clock::now();
  const JobPlan<T> plan = plan_of(call);
  const MappedInputs inputs = mapped_inputs(call);
  std::vector<Phase> phases;
  PreparedFit<T> prepared(call, plan, phases, &fit<T>);
  CheckpointedJob<T> checkpointed = checkpointed_job(call, plan, inputs);
  KMeansResult<T> best = Restarts<T>(call, plan, prepared, checkpointed, phases).best();
  deliver(best.labels, call.memory.labels, prepared.points().source());
  report_run(best.report, *plan.variant, plan.here, std::move(phases), start);
  return best;
}

}  // namespace kmeans_detail

namespace detail {

template <class T>
KMeansResult<T> kmeans(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                       const Execution& execution) {
  if (const auto parts = room::in_parts(points, memory.weights, options.clusters, execution))
    return room::fit_on_gpus<T>(points, options, memory, *parts);
  return execution::whole_call<T>("kmeans", execution, [&](const Execution& here, core::Ranks& ranks) {
    const room::FitCall<T> call{points, options, memory, here, ranks};
    return options.standardize ? room::fit_standardized(call) : room::fit(call);
  });
}

}  // namespace detail

#define GRADUS_INSTANTIATE(T)                                                                                \
  template KMeansResult<T> kmeans_detail::fit(const kmeans_detail::FitCall<T>&);                             \
  template KMeansResult<T> detail::kmeans(MatrixView<const T>, const KMeansOptions&, const KMeansMemory<T>&, \
                                          const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus
