// What every problem's entry point checks before it starts: where memory lies, sizes, the variant asked for, whether it
// runs here, and whether the memory suffices.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/checked.hpp"
#include "core/ladder.hpp"
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

/// UsageError for a view that cannot be true, wherever it lies: see gradus/array.hpp.
template <class T>
void check_view(MatrixView<T> rows, const char* what) {
  detail::check_view(facts_of(rows), what);
}
template <class T>
void check_view(VectorView<T> elements, const char* what) {
  detail::check_view(facts_of(elements), what);
}

/// UsageError where the product of the factors, none of them negative, has more than 63 bits.
void check_size(std::initializer_list<std::int64_t> factors, const char* what);

/// UsageError unless that is what a float or a double takes.
void check_element_bytes(int bytes);

/// Whether a public call lets the rows of its problem be split over ranks (Execution::communicator).
enum class TakesRanks : bool { no, yes };

/// UsageError for what no machine can be asked for, UnsupportedError for ranks of which the call does not know.
void check_execution(const Execution& execution, TakesRanks takes_ranks = TakesRanks::no);

/// UsageError as check_view(), InputError for more rows or columns than any problem can count.
template <class T>
void check_extent(MatrixView<const T> rows, const char* what) {
  check_view(rows, what);
  if (rows.rows() > std::numeric_limits<std::int32_t>::max())
    throw InputError(about(what) + std::to_string(rows.rows()) + " rows are more than the supported 2147483647",
                     {.code = error_code::out_of_range});
  // Twice as many, and a tile of columns more, still fit the 32 bits in which kernels on a GPU count them.
  constexpr std::int64_t most_columns = std::int64_t{1} << 30;
  if (rows.columns() > most_columns)
    throw InputError(about(what) + std::to_string(rows.columns()) + " columns are more than the supported " +
                         std::to_string(most_columns),
                     {.code = error_code::out_of_range});
}

/// Whether two views have bytes in common, wherever they lie. Of views that interleave it is known where their rows are
/// equally far apart, as columns of one matrix are; otherwise they count as overlapping.
bool overlap(const detail::ViewFacts& one, const detail::ViewFacts& other);

/// UsageError where memory for results has bytes in common with what is read. Both views are possible ones.
template <class Written, class Read>
void check_apart(Written results, const char* what, Read input, const char* of) {
  if (overlap(facts_of(results), facts_of(input)))
    throw UsageError(about(what) + "their memory overlaps that of the " + of, {.code = error_code::memory_overlap});
}

/// UsageError as check_view(), InputError unless there is a weight for each of `count` points, or none at all.
template <class T>
void check_number(VectorView<const T> weights, std::int64_t count, const char* what, const char* of) {
  check_view(weights, what);
  if (weights.empty() || weights.size() == count) return;
  throw InputError(about(what) + "there are " + std::to_string(weights.size()) + " weights for " +
                       std::to_string(count) + " " + of + "; one for each is needed",
                   {.code = error_code::shape_mismatch});
}

std::string gpu_number(int gpu);  ///< for a message

/// The request, with the GPU on which the memory lies as the one to run on. UnsupportedError where there is no such GPU
/// or the CPU was asked for, UsageError where it was another GPU.
Execution run_where_it_lies(MemoryPlace place, const char* what, const Execution& execution);

/// What of the caller's may lie on a GPU, for messages.
struct NamedPlace {
  MemoryPlace place;
  const char* what;
};

/// UnsupportedError unless the memory is the host's, or lies where the job runs.
void check_beside(MemoryPlace place, const char* what, bool runs_on_gpu, int gpu);

/// UnsupportedError for a variant that needs `what` in host memory where they lie on a GPU; it names those that take
/// them there.
template <class Variant>
void check_takes_device_input(core::Rows<Variant> variants, const Variant& variant, MemoryPlace place, const char* what,
                              std::string_view problem) {
  if (place.is_host() || variant.device_input) return;
  throw UnsupportedError(
      std::string(problem) + " variant '" + std::string(variant.name) + "' needs " + what +
      " in host memory, but they lie on " + gpu_number(place.gpu) +
      "; the variants that use them there: " + names_of_those_with(&Variant::device_input, variants));
}

/// The request, with the GPU on which the first of these that does not lie in host memory lies as the one to run on, if
/// there is one. Errors as those of run_where_it_lies(), check_beside() and check_takes_device_input().
template <class Variant>
Execution where_views_lie(std::span<const NamedPlace> places, core::Rows<Variant> variants, std::string_view problem,
                          const Execution& execution) {
  const auto there = std::ranges::find_if(places, [](const NamedPlace& one) { return !one.place.is_host(); });
  if (there == places.end()) return execution;
  Execution here = run_where_it_lies(there->place, there->what, execution);
  for (const NamedPlace& one : places) check_beside(one.place, one.what, true, here.gpu);
  if (!here.variant.empty())
    check_takes_device_input(variants, core::find_variant(variants, here.variant, problem), there->place, there->what,
                             problem);
  return here;
}

/// Whether a job may take `needed` bytes beyond its input: see check_memory().
bool has_memory(std::uint64_t needed, const Execution& execution);

/// OutOfMemoryError where `needed` bytes are more than the job may take or the machine has. `way_out`: what takes less.
void check_memory(std::uint64_t needed, const Execution& execution, std::string_view way_out = {});

/// OutOfMemoryError where `needed` bytes of a GPU are more than Execution::gpu_memory_limit.
void check_gpu_memory(std::uint64_t needed, const Execution& execution);

/// This machine, with no more memory of its GPUs than Execution::gpu_memory_limit.
class GrantedMachine {
 public:
  explicit GrantedMachine(const Execution& execution);
  operator const Machine&() const { return limited_ ? *limited_ : this_machine(); }

 private:
  std::optional<Machine> limited_;  ///< a copy takes longer than a small job
};

/// The variant that `execution` names, or else the one that `choose` takes for the shape and this machine.
template <class Variant, class Shape>
const Variant& wanted_variant(core::Rows<Variant> variants,
                              const Variant& (*choose)(const Shape&, const Machine&, Device), const Shape& shape,
                              const Execution& execution, std::string_view problem) {
  if (execution.device == Device::gpu) require_gpu(this_machine(), execution.gpu);
  if (execution.variant.empty()) return choose(shape, GrantedMachine(execution), execution.device);
  return core::find_variant(variants, execution.variant, problem);
}

/// UsageError where the variant does not run on the device asked for, or has no use for a block size that is given.
void check_device(const core::VariantInfo& variant, const Execution& execution, std::string_view problem);

/// UsageError as check_device, UnsupportedError where this machine cannot run the variant on such a shape,
/// OutOfMemoryError where the request does not grant it the GPU's memory.
template <class Variant, class Shape>
void check_runs_here(const Variant& variant, const Shape& shape, const Execution& execution, std::string_view problem) {
  check_device(variant, execution, problem);
  if (const core::Support support = variant.supports(shape, GrantedMachine(execution)); !support)
    throw UnsupportedError(std::string(problem) + " variant '" + std::string(variant.name) +
                           "' cannot run here: " + support.reason);
  // Without a limit nobody asks: the estimate takes as long as a tiny job.
  if (execution.gpu_memory_limit != 0) check_gpu_memory(variant.memory(shape, 1).device, execution);
}

/// wanted_variant(), with the errors of check_runs_here().
template <class Variant, class Shape>
const Variant& choose(core::Rows<Variant> variants, const Variant& (*best)(const Shape&, const Machine&, Device),
                      const Shape& shape, const Execution& execution, std::string_view problem) {
  const Variant& variant = wanted_variant(variants, best, shape, execution, problem);
  check_runs_here(variant, shape, execution, problem);
  return variant;
}

/// What the job runs on, human-readable.
const std::string& device_name(bool on_gpu, const Execution& execution);

}  // namespace gradus::execution
