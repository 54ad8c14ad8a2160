// kmeans_memory(): estimates the memory of a fit by the same steps as the fit itself.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "core/float_environment.hpp"
#include "cpu/threads.hpp"
#include "execution/gpu_group.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/choose.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/kmeans.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

/// Estimates the memory of a standardized copy in host memory, and of a fit to this copy.
MemoryEstimate standardized_memory(KMeansShape shape, KMeansOptions options, const Execution& here) {
  shape.place = MemoryPlace::host();
  options.standardize = false;
  const auto copy = static_cast<std::uint64_t>(shape.points * shape.dimensions * shape.element_bytes);
  MemoryEstimate memory = kmeans_memory(shape, options, room::without(copy, here));
  memory.host += copy;
  return memory;
}

/// Estimates the memory of a fit that GPUs split into equal parts: the host memory of all parts, and the GPU memory of
/// one.
MemoryEstimate memory_on_gpus(KMeansShape shape, const KMeansOptions& options, const Execution& execution) {
  const std::int64_t parts = std::ssize(execution.gpus);
  shape.points = std::max((shape.points + parts - 1) / parts, std::min(shape.points, options.clusters));
  MemoryEstimate memory = kmeans_memory(shape, options, execution::on_first_gpu(execution));
  memory.host *= static_cast<std::uint64_t>(parts);
  return memory;
}

}  // namespace

MemoryEstimate kmeans_memory(const KMeansShape& shape, const KMeansOptions& options, const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  if (!execution.gpus.empty()) {
    execution::refuse_cpu_with_gpus(execution);
    return memory_on_gpus(shape, options, execution);
  }
  execution::check_execution(execution);
  room::check_options(options);
  execution::check_element_bytes(shape.element_bytes);
  constexpr std::int64_t most_points = std::numeric_limits<std::int32_t>::max();
  if (shape.points < 1 || shape.dimensions < 1 || shape.points > most_points)
    throw UsageError("a fit has 1 to " + std::to_string(most_points) + " points of at least one dimension, not " +
                     std::to_string(shape.points) + " x " + std::to_string(shape.dimensions));
  if (options.clusters > shape.points)
    throw UsageError(std::to_string(options.clusters) + " clusters cannot be made of " + std::to_string(shape.points) +
                     " points");
  execution::check_size({shape.points, shape.dimensions, 64}, "points");
  execution::check_size({4 * cpu::thread_count(execution) + 16, options.clusters, shape.dimensions, 256}, "clusters");
  const Execution here = execution::run_on_gpu_of(shape.place, "points", execution);
  if (options.standardize) return standardized_memory(shape, options, here);
  const room::Shape sizes = room::shape_of(shape, options);
  const auto bytes_of = [&](const room::Variant& variant, room::SeedingFilter filter) {
    return room::host_memory(sizes, options, here, variant, filter);
  };
  const room::Variant& variant =
      room::within_memory(room::choose(sizes, options, here, shape.place), here,
                          [&](const room::Variant& one) { return bytes_of(one, room::SeedingFilter::never); });
  const auto bytes = [&](room::SeedingFilter filter) { return bytes_of(variant, filter); };
  MemoryEstimate memory{.host = bytes(room::seeding_filter(here, variant.device_input, bytes))};
  if (variant.backend != core::Backend::cuda) return memory;
  const auto column_bytes = static_cast<std::uint64_t>(shape.points) * static_cast<std::uint64_t>(shape.element_bytes);
  const std::uint64_t point_bytes = column_bytes * static_cast<std::uint64_t>(shape.dimensions);
  memory.device = room::device_memory(sizes, here, variant);
  if (options.metric == KMeansMetric::cosine) memory.device += point_bytes;
  if (shape.place.is_host()) memory.device += point_bytes + (shape.weighted ? column_bytes : 0);
  return memory;
}

}  // namespace gradus
