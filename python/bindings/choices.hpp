// Parses names of enumerators.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "gradus/error.hpp"
#include "python/bindings/library.hpp"

namespace gradus::python {

/// Throws UsageError for an unknown name, and suggests the nearest choice.
[[noreturn]] inline void refuse_name(std::string_view what, const std::string& name,
                                     std::span<const core::Choice> choices) {
  std::vector<std::string_view> names;
  std::string list;
  for (const core::Choice& choice : choices) {
    names.push_back(choice.name);
    list += (list.empty() ? "" : ", ") + std::string(choice.name);
  }
  throw UsageError(about(what) + "there is no '" + name + "', only " + list + did_you_mean(name, names),
                   {.code = error_code::unknown_choice, .value = name, .allowed = list});
}

/// Returns the enumerator with the given name or alias.
template <NamedEnum Enum>
Enum choice(const char* what, const std::string& name) {
  if (const std::optional<Enum> found = from_string<Enum>(name)) return *found;
  refuse_name(what, name, core::detail::choices_of<Enum>);
}

}  // namespace gradus::python
