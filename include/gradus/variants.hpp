/// The problems that the library knows, and the ladder of variants of each: for programs that list them, offer a choice
/// for Execution::variant, or run one after another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/export.hpp"
#include "gradus/names.hpp"

namespace gradus {

/// What a variant is made with. Those of `cuda` run on a GPU, all others on the processor.
enum class Backend : std::uint8_t { sequential, openmp, tbb, simd, cuda };
template <>
inline constexpr auto enum_names<Backend> = std::to_array<EnumName<Backend>>({{Backend::sequential, "sequential"},
                                                                              {Backend::openmp, "openmp"},
                                                                              {Backend::tbb, "tbb"},
                                                                              {Backend::simd, "simd"},
                                                                              {Backend::cuda, "cuda"}});

/// A rung of a ladder, as this machine sees it.
struct VariantRow {
  std::string_view name;     ///< the value of Execution::variant
  std::string_view summary;  ///< one line: the idea
  Backend backend = Backend::sequential;
  /// "same bits": its result is the canonical one on any number of threads. "same bits of whole numbers": so it is
  /// where the data are integers, and floating-point results keep the bound of the problem's header. "within 0.0001":
  /// the textbook's arithmetic, to this relative tolerance. "invariants": there is no one right result, and what must
  /// be true of it is.
  std::string contract;
  /// Whether it runs here with at least one usual shape of the problem; what else a shape asks for, the call tells.
  bool supported = true;
  std::string reason;  ///< why it does not; empty where it does
};

/// The names of the problems: "kmeans", "pair_histogram", "shortest_paths".
GRADUS_EXPORT std::vector<std::string_view> problems();

/// The ladder of a problem (a hyphen stands for an underscore), in the order in which one idea follows from another.
/// Looks for GPUs. UsageError that suggests the nearest name where there is no such problem.
GRADUS_EXPORT std::vector<VariantRow> variants(std::string_view problem);

}  // namespace gradus
