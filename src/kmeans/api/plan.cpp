#include "kmeans/api/plan.hpp"

#include <string>

#include "core/checked.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "kmeans/api/choose.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus::kmeans_detail {

template <class T>
JobPlan<T> check(const FitCall<T>& call) {
  const KMeansMemory<T>& memory = call.memory;
  core::Ranks& ranks = call.ranks;
  ranks.agree([&] { check_arguments(call.points, call.options, memory, call.execution, ranks.is_alone()); });
  const auto text = [&] {
    return call_text(call.extent == Extent::fit ? "kmeans" : "kmeans_initial_centroids", call.options) +
           core::call_line("standardize", std::string(call.options.standardize ? "true" : "false")) +
           rows_text("initial centroids", memory.initial_centroids) + checkpoint_text(call.options.checkpoint);
  };
  const execution::NamedPlace places[] = {{call.points.place(), "points"},
                                          {memory.weights.place(), "weights"},
                                          {memory.initial_centroids.place(), "initial centroids"},
                                          {memory.labels.place(), "labels"}};
  JobPlan<T> plan(place_of_job<T>(ranks, call.points.shape(), places, text, call.execution, RunsVariant::yes));
  check_clusters(call.options, plan.rows.all());
  plan.weights = weights_of_rank(ranks, call.points.shape(), memory.weights);
  return plan;
}

template <class T>
void describe(const FitCall<T>& call, JobPlan<T>& plan) {
  const PointRows<T>& points = call.points;
  plan.shape = shape_of({points.rows(), points.columns(), element_bytes(points), !plan.weights.empty(), points.place()},
                        call.options);
  // With several ranks, the GPUs do not compute the distances to the initial centroids.
  if (!call.ranks.is_alone()) plan.shape.first_distances = 0;
}

template <class T>
void choose(const FitCall<T>& call, JobPlan<T>& plan) {
  plan.variant = &call.ranks.agree([&]() -> const Variant& {
    return choose(plan.shape, call.options, plan.here, call.points.place(),
                  {{call.memory.weights.place(), "weights"}, {call.memory.labels.place(), "labels"}});
  });
  plan.stays_on_gpu = stays_on_gpu(call.ranks, *plan.variant, call.points.shape());
  choose_threads(plan.shape, *plan.variant, plan.here);
}

template <class T>
void estimate(const FitCall<T>& call, JobPlan<T>& plan) {
  const auto bytes_of = [&](const Variant& variant, SeedingFilter filter) {
    return core::checked_add(call.copy_bytes,
                             host_memory(plan.shape, call.options, plan.here, variant, filter, call.extent),
                             "the memory of the job");
  };
  plan.variant = &within_memory(*plan.variant, call.execution,
                                [&](const Variant& variant) { return bytes_of(variant, SeedingFilter::never); });
  const auto bytes = [&](SeedingFilter filter) { return bytes_of(*plan.variant, filter); };
  plan.filter = seeding_filter(plan.here, plan.stays_on_gpu, bytes);
  const bool never = call.ranks.any([&] { return plan.filter == SeedingFilter::never; });
  if (never) plan.filter = SeedingFilter::never;
  call.ranks.agree([&] {
    if (never)
      execution::check_memory(
          bytes(SeedingFilter::never), plan.here,
          call.copy_bytes > 0 ? "a standardized copy of the points takes " + core::size_text(call.copy_bytes) + " of it"
                              : "");
    cpu::start_team(cpu::thread_count(plan.here));
  });
}

template <class T>
void check_memory_with_copy(const FitCall<T>& call, JobPlan<T> plan) {
  const std::int64_t rows = call.points.rows();
  const std::int64_t columns = call.points.columns();
  const KMeansOptions plain = without_standardize(call.options);
  // A view of the copy, which does not exist yet. The steps below do not read the points.
  const MatrixView<const T> copy(nullptr, rows, columns);
  const FitCall<T> call_on_copy{copy,
                                plain,
                                call.memory,
                                plan.here,
                                call.ranks,
                                call.extent,
                                core::checked_multiply(static_cast<std::uint64_t>(rows) * sizeof(T),
                                                       static_cast<std::uint64_t>(columns), "points")};
  describe(call_on_copy, plan);
  choose(call_on_copy, plan);
  estimate(call_on_copy, plan);
}

#define GRADUS_INSTANTIATE(T)                             \
  template JobPlan<T> check(const FitCall<T>&);           \
  template void describe(const FitCall<T>&, JobPlan<T>&); \
  template void choose(const FitCall<T>&, JobPlan<T>&);   \
  template void estimate(const FitCall<T>&, JobPlan<T>&); \
  template void check_memory_with_copy(const FitCall<T>&, JobPlan<T>)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
