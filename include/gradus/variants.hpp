/// The problems of the library and their variants, for programs that list variants, offer a choice for
/// Execution::variant, or compare variants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/export.hpp"
#include "gradus/names.hpp"

namespace gradus {

/// The technology of a variant. `cuda` variants run on a GPU, all others on the CPU.
enum class Backend : std::uint8_t { sequential, openmp, tbb, simd, cuda };
template <>
inline constexpr auto enum_names<Backend> = std::to_array<EnumName<Backend>>({{Backend::sequential, "sequential"},
                                                                              {Backend::openmp, "openmp"},
                                                                              {Backend::tbb, "tbb"},
                                                                              {Backend::simd, "simd"},
                                                                              {Backend::cuda, "cuda"}});

/// A variant of a ladder, with its support on this machine.
struct VariantRow {
  std::string_view name;     ///< the value of Execution::variant
  std::string_view summary;  ///< the idea in one line
  Backend backend = Backend::sequential;
  /// The promise about the result, one of:
  ///
  /// * "same bits": the canonical result on any number of threads.
  /// * "same bits of integers": the canonical result for integers. Floating-point results keep the bound in the
  ///   problem's header.
  /// * "within 0.0001": the textbook's arithmetic, to this relative tolerance.
  /// * "invariants": several results are correct, and all of them satisfy the stated properties.
  std::string contract;
  /// True if the variant can run on this machine for at least one common shape. If a call has another shape that the
  /// variant does not support, the call throws an error.
  bool supported = true;
  std::string reason;  ///< why `supported` is false; otherwise empty
};

/// Returns the names of the problems, such as "kmeans" or "pair_histogram".
GRADUS_EXPORT std::vector<std::string_view> problems();

/// Returns the ladder of a problem, from the first idea to the last. Hyphens and underscores in the name are
/// interchangeable. Detects GPUs. If there is no such problem, throws a UsageError that suggests the most similar name.
GRADUS_EXPORT std::vector<VariantRow> variants(std::string_view problem);

}  // namespace gradus
