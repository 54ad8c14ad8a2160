// pair_histogram_memory(), and the estimates that pair_histogram() checks against memory limits.
#include <algorithm>

#include "core/float_environment.hpp"
#include "cpu/threads.hpp"
#include "execution/gpu_group.hpp"
#include "execution/gpu_memory.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/api/steps.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/prepare.hpp"
#include "pair_histogram/ranks.hpp"

namespace gradus {

namespace room = pair_histogram_detail;

bool room::is_beyond_half(const Shape& shape, const PairHistogramOptions& options) {
  return options.beyond_half && shape.reach > greatest_reach(options.box);
}

const room::Variant& room::choose_within(const Shape& shape, const PairHistogramOptions& options,
                                         const Execution& execution) {
  if (!is_beyond_half(shape, options)) return choose(shape, execution);
  Execution how = execution;
  if (how.device == Device::automatic && how.gpus.empty()) how.device = Device::cpu;
  if (how.variant.empty() && how.device == Device::cpu) how.variant = "simd_brute_force";
  const Variant& variant = choose(shape, how);
  const bool is_textbook = variant.backend != core::Backend::simd && !variant.device_input;
  if (is_textbook || how.variant == "simd_brute_force") return variant;
  throw UnsupportedError(
      "pairs past half of the box are counted by simd_brute_force, openmp_privatized, openmp_shared "
      "and sequential, not by " +
      std::string(variant.name) + "; name one of them, or run on the CPU without naming a variant");
}

core::Memory room::estimate(const Shape& shape, const Variant& variant, const Execution& execution) {
  core::Memory memory = variant.memory(shape, cpu::thread_count(execution));
  // Each bin takes an edge and a threshold in Bins, and an edge, a count and, if weighted, a weight in the result.
  const std::uint64_t bin_bytes = shape.weighted ? 40 : 32;
  const std::int64_t travels =  // number of words that a rank sends; the summation keeps two copies of them
      execution.communicator == nullptr ? 0 : words_on_ranks(shape.bins + 2, shape.weighted ? shape.sum_words : 0);
  memory.host += bin_bytes * static_cast<std::uint64_t>(shape.bins + 2) +
                 2 * sizeof(std::uint64_t) * static_cast<std::uint64_t>(travels);
  return memory;
}

std::uint64_t room::estimate_copies(const PairHistogramShape& shape, const PairHistogramOptions& options) {
  const auto rows = static_cast<std::uint64_t>(shape.points + shape.others);
  const std::uint64_t copies = (options.dimensions.empty() ? 0 : 1) + (options.fold ? 1 : 0);
  return copies * rows * static_cast<std::uint64_t>(shape.dimensions * shape.element_bytes);
}

namespace {

std::uint64_t copied_bytes(const PairHistogramShape& shape) {
  if (!shape.place.is_host()) return 0;
  return static_cast<std::uint64_t>(shape.points + shape.others) *
         static_cast<std::uint64_t>(shape.dimensions + (shape.weighted ? 1 : 0)) *
         static_cast<std::uint64_t>(shape.element_bytes);
}

Execution check(const PairHistogramShape& shape, const Execution& execution) {
  execution::check_execution(execution, execution::SupportsRanks::yes);
  Execution here = execution::run_on_gpu_of(shape.place, "points", execution);
  if (here.communicator != nullptr) here.device = room::device_on_ranks(execution);
  return here;
}

/// Returns all variants that the job may choose. The choice depends on the points' values, which are unknown here.
std::vector<const room::Variant*> choose_all(const room::Shape& shape, const PairHistogramOptions& arranged,
                                             const Execution& here) {
  if (!here.variant.empty() || room::is_beyond_half(shape, arranged))
    return {&room::choose_within(shape, arranged, here)};
  std::vector<const room::Variant*> variants = room::choosable(shape, execution::this_machine(), here.device);
  // A block size applies only to GPUs. A job on the CPU rejects it.
  if (here.block_size != 0) std::erase_if(variants, [](const room::Variant* one) { return !one->device_input; });
  if (here.block_size != 0 && variants.empty()) room::choose(shape, here);
  return variants;
}

}  // namespace

MemoryEstimate pair_histogram_memory(const PairHistogramShape& shape, const PairHistogramOptions& options,
                                     const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  if (execution::is_for_several_gpus(execution)) {
    PairHistogramShape part = shape;
    part.place = execution::place_for_each_gpu(shape.place, execution);
    MemoryEstimate memory = pair_histogram_memory(part, options, execution::on_first_gpu(execution));
    memory.host *= execution.gpus.size();
    return memory;
  }
  const Execution here = check(shape, execution);
  PairHistogramShape described = shape;
  const PairHistogramOptions arranged = room::arranged_options(options, described.dimensions);
  const room::Shape sizes = room::describe_shape(described, arranged, here);
  const std::uint64_t copies = room::estimate_copies(shape, options);
  MemoryEstimate most;
  for (const room::Variant* variant : choose_all(sizes, arranged, here)) {
    const core::Memory memory = room::estimate(sizes, *variant, here);
    most.host = std::max(most.host, memory.host + copies);
    if (variant->device_input) most.device = std::max(most.device, memory.device + copied_bytes(shape));
  }
  return most;
}

}  // namespace gradus
