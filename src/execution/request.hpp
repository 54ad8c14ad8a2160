// Checks that every public call makes before it starts: the location of memory, sizes, the requested variant, its
// support on this machine, and the available memory.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/checked.hpp"
#include "core/ladder.hpp"
#include "core/variant_options.hpp"
#include "execution/devices.hpp"
#include "execution/machine.hpp"
#include "gradus/array.hpp"
#include "gradus/execution.hpp"

namespace gradus::execution {

template <class T>
detail::ViewFacts facts_of(MatrixView<T> rows) {
  return {rows.data(), rows.rows(), rows.columns(), rows.row_stride(), rows.place(), sizeof(T), alignof(T)};
}
template <class T>
detail::ViewFacts facts_of(VectorView<T> elements) {
  return {elements.data(), elements.size(), 1, 1, elements.place(), sizeof(T), alignof(T)};
}

/// Throws UsageError if the view is malformed (see gradus/array.hpp). The view may be in host memory or on a GPU.
template <class T>
void check_view(MatrixView<T> rows, const char* what) {
  detail::check_view(facts_of(rows), what);
}
template <class T>
void check_view(VectorView<T> elements, const char* what) {
  detail::check_view(facts_of(elements), what);
}

/// Throws UsageError if the product of the factors overflows 63 bits. The factors must not be negative.
void check_size(std::initializer_list<std::int64_t> factors, const char* what);

/// Throws UsageError unless `bytes` is the size of a float or a double.
void check_element_bytes(int bytes);

/// States whether a public call supports rows that are split over ranks (Execution::communicator).
enum class SupportsRanks : bool { no, yes };

/// Throws UsageError for requests that are invalid on every machine. Throws UnsupportedError if the request has ranks
/// and the call does not support ranks.
void check_execution(const Execution& execution, SupportsRanks supports_ranks = SupportsRanks::no);

/// Returns true if the request is for several GPUs.
inline bool is_for_several_gpus(const Execution& execution) { return execution.gpus.size() > 1; }

/// Throws UsageError if the request lists GPUs and asks for the CPU.
void refuse_cpu_with_gpus(const Execution& execution);

/// The largest number of rows for problems that number rows by 32 bits.
inline constexpr std::int64_t most_rows_of_32_bits = std::numeric_limits<std::int32_t>::max();

/// Throws UsageError like check_view(). Throws InputError if there are more than `most_rows` rows, or more columns than
/// any problem supports.
template <class T>
void check_extent(MatrixView<const T> rows, const char* what, std::int64_t most_rows = most_rows_of_32_bits) {
  check_view(rows, what);
  if (rows.rows() > most_rows)
    throw InputError(
        about(what) + std::to_string(rows.rows()) + " rows are more than the supported " + std::to_string(most_rows),
        {.code = error_code::out_of_range});
  // Twice this number, plus a tile of columns, still fits in the 32-bit counters of GPU kernels.
  constexpr std::int64_t most_columns = std::int64_t{1} << 30;
  if (rows.columns() > most_columns)
    throw InputError(about(what) + std::to_string(rows.columns()) + " columns are more than the supported " +
                         std::to_string(most_columns),
                     {.code = error_code::out_of_range});
}

/// Returns true if two views share bytes, in host or GPU memory. Interleaved views with equal row strides, such as
/// columns of one matrix, are compared exactly; other interleaved views count as overlapping.
bool overlap(const detail::ViewFacts& one, const detail::ViewFacts& other);

/// Throws UsageError if memory for results shares bytes with an input. Both views must be well-formed.
template <class Written, class Read>
void check_apart(Written results, const char* what, Read input, const char* of) {
  if (overlap(facts_of(results), facts_of(input)))
    throw UsageError(about(what) + "their memory overlaps the memory of the " + of,
                     {.code = error_code::memory_overlap});
}

/// Throws UsageError like check_view(). Throws InputError if the number of weights is neither `count` nor 0.
template <class T>
void check_number(VectorView<const T> weights, std::int64_t count, const char* what, const char* of) {
  check_view(weights, what);
  if (weights.empty() || weights.size() == count) return;
  throw InputError(about(what) + "there are " + std::to_string(weights.size()) + " weights for " +
                       std::to_string(count) + " " + of + "; one for each is needed",
                   {.code = error_code::shape_mismatch});
}

std::string gpu_number(int gpu);

/// Returns the request with its device set to the GPU that holds the memory. Throws UnsupportedError if this GPU does
/// not exist or if the request names the CPU. Throws UsageError if it names another GPU. Changes no list of GPUs.
Execution run_on_gpu_of(MemoryPlace place, const char* what, const Execution& execution);

/// A memory location of the caller's data, with the data's name for messages.
struct NamedPlace {
  MemoryPlace place;
  const char* what;
};

/// Throws UnsupportedError unless the place is host memory or the GPU that runs the job. The message calls the data
/// `what`.
void check_reachable(MemoryPlace place, const char* what, bool runs_on_gpu, int gpu);

/// Throws UnsupportedError if `what` is on a GPU but the variant needs it in host memory. The message lists the
/// variants that support GPU memory.
template <class Variant>
void check_takes_device_input(core::Rows<Variant> variants, const Variant& variant, MemoryPlace place, const char* what,
                              std::string_view problem) {
  if (place.is_host() || variant.device_input) return;
  throw UnsupportedError(std::string(problem) + " variant '" + std::string(variant.name) + "' needs " + what +
                         " in host memory, but they are on " + gpu_number(place.gpu) +
                         "; the variants that use them there: " + names_with(&Variant::device_input, variants));
}

/// If some places are on GPUs, returns the request with its device set to the GPU of the first of these places. If all
/// places are in host memory, returns the request unchanged. Throws the errors of run_on_gpu_of(), check_reachable()
/// and check_takes_device_input().
template <class Variant>
Execution run_on_gpu_of_views(std::span<const NamedPlace> places, core::Rows<Variant> variants,
                              std::string_view problem, const Execution& execution) {
  const auto there = std::ranges::find_if(places, [](const NamedPlace& one) { return !one.place.is_host(); });
  if (there == places.end()) return execution;
  Execution here = run_on_gpu_of(there->place, there->what, execution);
  for (const NamedPlace& one : places) check_reachable(one.place, one.what, true, here.gpu);
  if (!here.variant.empty())
    check_takes_device_input(variants, core::find_variant(variants, here.variant, problem), there->place, there->what,
                             problem);
  return here;
}

/// Returns true if check_memory() would allow the job to use `needed` bytes.
bool has_memory(std::uint64_t needed, const Execution& execution);

/// Throws OutOfMemoryError if `needed` bytes, in addition to the input, exceed the limit of the job or the available
/// memory. The message ends with the advice `way_out`.
void check_memory(std::uint64_t needed, const Execution& execution, std::string_view way_out = {});

/// Throws OutOfMemoryError if `needed` bytes of GPU memory exceed Execution::gpu_memory_limit.
void check_gpu_memory(std::uint64_t needed, const Execution& execution);

/// A description of this machine, in which the memory of each GPU is at most Execution::gpu_memory_limit.
class GrantedMachine {
 public:
  explicit GrantedMachine(const Execution& execution);
  operator const Machine&() const { return limited_ ? *limited_ : this_machine(); }

 private:
  std::optional<Machine> limited_;  ///< set only if there is a limit, because a copy takes longer than a small job
};

/// Returns the variant that `execution` names. If it names none, returns the variant that `choose` selects for the
/// shape and this machine.
template <class Variant, class Shape>
const Variant& wanted_variant(core::Rows<Variant> variants,
                              const Variant& (*choose)(const Shape&, const Machine&, Device), const Shape& shape,
                              const Execution& execution, std::string_view problem) {
  if (execution.device == Device::gpu) require_gpu(this_machine(), execution.gpu);
  if (execution.variant.empty()) return choose(shape, GrantedMachine(execution), execution.device);
  return core::find_variant(variants, execution.variant, problem);
}

/// Throws UsageError if the variant does not run on the requested device, or if it ignores the requested block size.
void check_device(const core::VariantInfo& variant, const Execution& execution, std::string_view problem);

/// Throws the errors of check_device(). Throws UnsupportedError if the variant cannot run this shape on this machine.
/// Throws OutOfMemoryError if the variant needs more GPU memory than the request allows.
template <class Variant, class Shape>
void check_runs_here(const Variant& variant, const Shape& shape, const Execution& execution, std::string_view problem) {
  check_device(variant, execution, problem);
  if (const core::Support support = variant.supports(shape, GrantedMachine(execution)); !support)
    throw UnsupportedError(std::string(problem) + " variant '" + std::string(variant.name) +
                           "' cannot run here: " + support.reason);
  // The estimate takes as long as a tiny job, so it is computed only if the request limits the GPU memory.
  if (execution.gpu_memory_limit != 0) check_gpu_memory(variant.memory(shape, 1).device, execution);
}

/// Throws UsageError unless the variant supports the options that the request sets.
template <class Variant>
void check_variant_options(core::Rows<Variant> variants, const Variant& variant, const Execution& execution,
                           std::string_view problem) {
  if (execution.variant_options.empty()) return;
  std::vector<core::VariantOptions> all;
  for (const Variant& other : variants) all.push_back({other.name, other.options});
  core::check_variant_options(execution, {variant.name, variant.options}, all, problem);
}

/// Returns wanted_variant(). Throws the errors of check_variant_options() and check_runs_here().
template <class Variant, class Shape>
const Variant& choose(core::Rows<Variant> variants, const Variant& (*best)(const Shape&, const Machine&, Device),
                      const Shape& shape, const Execution& execution, std::string_view problem) {
  const Variant& variant = wanted_variant(variants, best, shape, execution, problem);
  check_variant_options(variants, variant, execution, problem);
  check_runs_here(variant, shape, execution, problem);
  return variant;
}

/// Returns the human-readable name of the device that runs the job.
const std::string& device_name(bool on_gpu, const Execution& execution);

}  // namespace gradus::execution
