#include "kmeans/api/choose.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "cpu/chosen_threads.hpp"
#include "kmeans/points/gpu_tier.hpp"
#include "kmeans/quality/moves.hpp"
#include "kmeans/ranks.hpp"
#include "kmeans/sizes/limited_sizes.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Returns true if the variant supports checkpoints. A variant that supports checkpoints can resume a fit of any other
/// such variant.
bool has_checkpoints(const Variant& variant) { return variant.contract.kind == core::Contract::same_bits; }

void check_checkpoint(const Variant& variant, const KMeansCheckpoint& checkpoint) {
  if (checkpoint.file.empty() || has_checkpoints(variant)) return;
  std::string names;
  for (const Variant& other : variants())
    if (has_checkpoints(other)) names += (names.empty() ? "'" : ", '") + std::string(other.name) + "'";
  throw UnsupportedError(
      "kmeans variant '" + std::string(variant.name) +
      "' does not support checkpoints, because its sums depend on the order of additions; the variants that do: " +
      names);
}

/// Returns the settings for the choice of a variant. Hierarchical first centroids and moves need points in host memory.
Execution place_of_variant(const KMeansOptions& options, const Execution& execution) {
  Execution place = execution;
  const bool needs_host = options.init == KMeansInit::hierarchical || asks_for_moves(options);
  if (needs_host && execution.variant.empty() && execution.device == Device::automatic) place.device = Device::cpu;
  return place;
}

void check_init(const Variant& variant, KMeansInit init) {
  if (init != KMeansInit::hierarchical || variant.backend != core::Backend::cuda) return;
  throw UnsupportedError(
      option("KMeansOptions::init", to_string(init)) + ": these first centroids are found on the CPU",
      {.argument = "init",
       .value = std::string(to_string(init)),
       .remedy = "run the fit on the CPU, or find them there and pass them to a fit on the GPU"});
}

const Variant& wanted_variant(const Shape& shape, const Execution& execution) {
  const Variant& variant = execution::wanted_variant(
      variants(), static_cast<const Variant& (*)(const Shape&, const execution::Machine&, Device)>(choose), shape,
      execution, "kmeans");
  const bool is_asked_for = !execution.variant.empty() || execution.device != Device::automatic;
  if (execution.communicator == nullptr || is_asked_for || variant.backend != core::Backend::cuda) return variant;
  return choose(shape, machine_of_rank(execution), execution.device);
}

}  // namespace

const Variant& choose(const Shape& shape, const KMeansOptions& options, const Execution& execution, MemoryPlace points,
                      std::initializer_list<execution::NamedPlace> others) {
  const Variant& variant =
      has_size_limits(options) ? limited_sizes_rung : wanted_variant(shape, place_of_variant(options, execution));
  check_init(variant, options.init);
  execution::check_takes_device_input(variants(), variant, points, "points", "kmeans");
  for (const execution::NamedPlace& other : others) {
    execution::check_reachable(other.place, other.what, variant.backend == core::Backend::cuda, execution.gpu);
    execution::check_takes_device_input(variants(), variant, other.place, other.what, "kmeans");
  }
  execution::check_variant_options(variants(), variant, execution, "kmeans");
  check_checkpoint(variant, options.checkpoint);
  // If the variant can read points in host memory, GpuPoints checks the limit of the GPU's memory.
  Execution here = execution;
  if (points.is_host() && reads_host_rows(variant)) here.gpu_memory_limit = 0;
  execution::check_runs_here(variant, shape, here, "kmeans");
  return variant;
}

const Variant* with_less_memory(const Variant& variant, const Execution& execution) {
  struct Row {
    std::string_view name;
    std::string_view with_less_memory;
  };
  static constexpr Row rows[] = {{"simd_bounds", "simd_large_dim"}, {"simd_grid", "simd_small_dim"}};
  if (!execution.variant.empty()) return nullptr;
  const auto* const row = std::ranges::find(rows, variant.name, &Row::name);
  return row == std::end(rows) ? nullptr : &core::find_variant(variants(), row->with_less_memory, "kmeans");
}

template <class T>
bool stays_on_gpu(core::Ranks& ranks, const Variant& variant, MatrixView<const T> points) {
  const bool stays = ranks.all([&] { return points.rows() > 0 && variant.device_input; });
  ranks.agree([&] {
    if (!stays && !points.place().is_host())
      throw UnsupportedError(about("points") + "they are on " + execution::gpu_number(points.place().gpu) +
                             ", but other ranks have no points or use the CPU; pass host memory");
  });
  return stays;
}
template bool stays_on_gpu(core::Ranks&, const Variant&, MatrixView<const float>);
template bool stays_on_gpu(core::Ranks&, const Variant&, MatrixView<const double>);

void choose_threads(const Shape& shape, const Variant& variant, Execution& execution) {
  const bool is_free = execution.threads == 0 && variant.backend == core::Backend::simd &&
                       variant.contract.kind == core::Contract::same_bits;
  execution.threads = cpu::chosen_threads(is_free ? nanoseconds_of_a_pass(shape) : endless, execution);
}

}  // namespace gradus::kmeans_detail
