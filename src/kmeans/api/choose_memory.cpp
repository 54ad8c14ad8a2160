// kmeans_choose_memory(): estimates the memory of several fits and of their criteria.
#include <algorithm>

#include "core/checked.hpp"
#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "execution/gpu_group.hpp"
#include "execution/request.hpp"
#include "gradus/kmeans_choose.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/criteria/criteria.hpp"
#include "kmeans/kmeans.hpp"

namespace gradus {

namespace room = kmeans_detail;

MemoryEstimate kmeans_choose_memory(const KMeansShape& shape, const KMeansOptions& options,
                                    const KMeansChoiceOptions& choice, const Execution& execution) {
  execution::check_execution(execution::on_first_gpu(execution));
  room::check_choice_options(options, choice, execution);
  KMeansShape fitted = shape;
  Execution here = execution::run_on_gpu_of(shape.place, "points", execution);
  if (here.memory_limit == 0) here.memory_limit = cpu::available_memory();
  const auto copy = static_cast<std::uint64_t>(shape.points * shape.dimensions * room::bytes_in_job(shape));
  std::uint64_t kept = 0;
  for (const std::int64_t clusters : choice.clusters) {
    // Called only because it throws errors, for example for sizes that are too large.
    kmeans_memory(shape, room::options_of_fit(options, clusters), execution);
    kept = core::checked_add(kept, room::result_bytes(shape, clusters), "centroids");
  }
  if (options.standardize) {
    kept += copy;
    fitted.place = MemoryPlace::host();
    fitted.element_bytes = room::bytes_in_job(shape);
  }
  MemoryEstimate most;
  for (const std::int64_t clusters : choice.clusters) {
    const MemoryEstimate one =
        kmeans_memory(fitted, room::options_of_fit(options, clusters), room::without(kept, here));
    most = {std::max(most.host, one.host), std::max(most.device, one.device)};
  }
  const KMeansCriteriaOptions criteria{
      .metric = options.metric, .silhouette_points = choice.silhouette_points, .seed = options.seed};
  const std::uint64_t judged = room::criteria_bytes(fitted, choice.clusters, criteria, cpu::thread_count(execution)) +
                               (fitted.place.is_host() ? 0 : copy);
  return {core::checked_add(kept, std::max(most.host, judged), "the memory of the job"), most.device};
}

}  // namespace gradus
