// Parses values from the command line or an experiment. Each UsageError begins with `name` and states which values are
// allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"

namespace gradus::bench {

/// names_of() returns the names of the choices. form_of() returns the placeholder for them in the help: "a|b|c".
std::vector<std::string> names_of(std::span<const core::Choice> choices);
std::string form_of(std::span<const core::Choice> choices);
template <NamedEnum Enum>
std::vector<std::string> names_of() {
  return names_of(core::detail::choices_of<Enum>);
}

/// Parses an integer in [least, most].
std::int64_t parse_whole(std::string_view name, std::string_view text, std::int64_t least, std::int64_t most);
std::uint64_t parse_unsigned(std::string_view name, std::string_view text, std::uint64_t least, std::uint64_t most);
double parse_real(std::string_view name, std::string_view text, double least, double most);
double parse_positive(std::string_view name, std::string_view text);
/// Returns the index of `text` among `choices`. Hyphens and underscores are equivalent.
std::size_t parse_choice(std::string_view name, std::string_view text, const std::vector<std::string>& choices);
/// Returns the enumerator whose name or alias is `text`.
template <NamedEnum Enum>
Enum parse_enum(std::string_view name, std::string_view text) {
  if (const std::optional<Enum> found = from_string<Enum>(text)) return *found;
  return static_cast<Enum>(parse_choice(name, text, names_of(core::detail::choices_of<Enum>)));
}

/// Splits "a,b,c" into non-empty parts.
std::vector<std::string> parse_list(std::string_view name, std::string_view text);
std::vector<double> parse_real_list(std::string_view name, std::string_view text, double least, double most);
std::vector<int> parse_whole_list(std::string_view name, std::string_view text, int least, int most);

/// Replaces underscores by hyphens: "pair_counts" becomes "pair-counts".
std::string with_hyphens(std::string_view name);

}  // namespace gradus::bench
