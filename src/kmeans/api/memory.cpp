// kmeans_memory(): estimates the memory of a fit by the same steps as the fit itself.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/float_environment.hpp"
#include "cpu/threads.hpp"
#include "execution/gpu_group.hpp"
#include "execution/gpu_support.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/api/choose.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/gpu_tier.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

/// Estimates the memory of a standardized copy in host memory, and of a fit to this copy.
MemoryEstimate standardized_memory(KMeansShape shape, KMeansOptions options, const Execution& here) {
  shape.place = MemoryPlace::host();
  shape.element_bytes = room::bytes_in_job(shape);
  options.standardize = false;
  const auto copy = static_cast<std::uint64_t>(shape.points * shape.dimensions * shape.element_bytes);
  MemoryEstimate memory = kmeans_memory(shape, options, room::without(copy, here));
  memory.host += copy;
  return memory;
}

/// Estimates the memory of a fit on several GPUs: the host memory of all parts, and the GPU memory of the part that
/// needs most, if other programs leave enough free memory on each GPU.
MemoryEstimate memory_on_gpus(const KMeansShape& shape, const KMeansOptions& options, const Execution& execution) {
  execution::refuse_cpu_with_gpus(execution);
  const std::vector<execution::PartGpu> gpus = execution::part_gpus(execution.gpus);
  const std::vector<RowRange> shares = execution::shares_of_gpus(
      std::max(shape.points, std::ssize(gpus)), gpus, [](std::size_t, std::int64_t) -> std::uint64_t { return 0; });
  MemoryEstimate memory;
  for (std::size_t part = 0; part < gpus.size(); ++part) {
    const MemoryEstimate own =
        room::memory_of_part(shape, options, execution, part, std::min(shares[part].rows, shape.points));
    memory.host += own.host;
    memory.device = std::max(memory.device, own.device);
  }
  return memory;
}

}  // namespace

MemoryEstimate room::memory_of_part(KMeansShape shape, const KMeansOptions& options, const Execution& execution,
                                    std::size_t part, std::int64_t rows) {
  Execution here = execution::on_first_gpu(execution);
  here.gpu = execution.gpus[part];
  if (shape.place != MemoryPlace::on_gpu(here.gpu)) shape.place = MemoryPlace::host();
  // A fit has at least as many points as clusters, but a part of it may have fewer.
  shape.points = std::max(rows, std::min(shape.points, options.clusters));
  MemoryEstimate memory = kmeans_memory(shape, options, here);
  if (shape.place.is_host() && shape.points > rows)
    memory.device -= std::min(
        memory.device, static_cast<std::uint64_t>((shape.points - rows) * shape.dimensions * shape.element_bytes));
  return memory;
}

MemoryEstimate kmeans_memory(const KMeansShape& shape, const KMeansOptions& options, const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  const std::optional<Execution> parts = room::in_parts(shape, options.clusters, execution);
  if (parts || !execution.gpus.empty()) return memory_on_gpus(shape, options, parts ? *parts : execution);
  execution::check_execution(execution);
  room::check_options(options);
  if (!room::is_stored(shape)) execution::check_element_bytes(shape.element_bytes);
  if (shape.points < 1 || shape.dimensions < 1 || shape.points > room::most_points)
    throw UsageError("a fit has 1 to " + std::to_string(room::most_points) + " points of at least one dimension, not " +
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
  const auto column_bytes = static_cast<std::uint64_t>(shape.points) * static_cast<std::uint64_t>(sizes.element_bytes);
  const std::uint64_t point_bytes = column_bytes * static_cast<std::uint64_t>(shape.dimensions);
  memory.device = room::device_memory(sizes, here, variant);
  if (options.metric == KMeansMetric::cosine) memory.device += point_bytes;
  if (!shape.place.is_host()) return memory;
  memory.device += point_bytes + (shape.weighted ? column_bytes : 0);
  const execution::Gpu gpu = execution::least_gpu(execution::GrantedMachine(here));
  const std::uint64_t available = std::min(gpu.memory_bytes, gpu.granted_bytes);
  const room::GpuNeeds needs = room::needs_of(variant, sizes, options.init, false, memory.device);
  if (memory.device <= available || !needs.host_rows) return memory;
  const std::optional<room::GpuTierPlan> plan = room::plan_host_rows(*needs.host_rows, available);
  memory.device = plan ? plan->bytes : room::least_gpu_bytes(*needs.host_rows);
  return memory;
}

}  // namespace gradus
