// Options that only some variants have (Execution::variant_options). Such a variant has a separate options struct. The
// variant's row points to the table of this struct (core/options.hpp).
#pragma once

#include <span>
#include <string_view>

#include "core/options.hpp"
#include "gradus/execution.hpp"

namespace gradus::core {

/// A variant and the table of its options. The table is null if the variant has no options.
struct VariantOptions {
  std::string_view variant;
  const OptionTable* table = nullptr;
};

/// Parses the value of an option. Throws UsageError if the option does not allow this value.
Value value_of(const Option& row, std::string_view text);

/// Throws UsageError if the variant lacks a requested option, or if an option does not allow its requested value. `all`
/// lists the variants of the problem.
void check_variant_options(const Execution& execution, const VariantOptions& variant,
                           std::span<const VariantOptions> all, std::string_view problem);

/// Returns the options struct of a variant with the requested values. check_variant_options() must have accepted these
/// values.
template <class Options>
Options variant_options(const Execution& execution) {
  Options options;
  for (const VariantOption& given : execution.variant_options)
    if (const Option* row = find_option(option_rows<Options>, given.name))
      row->set(&options, value_of(*row, given.value));
  return options;
}

}  // namespace gradus::core
