// Enumerators by their names.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "gradus/error.hpp"
#include "python/bindings/library.hpp"

namespace gradus::python {

/// The enumerator whose number is the place of `text` among `names`; UsageError that suggests the nearest name.
template <class Enum, std::size_t Size>
Enum choice(const char* what, const std::string& text, const std::array<std::string_view, Size>& names) {
  std::string list;
  for (std::size_t index = 0; index < Size; ++index) {
    if (text == names[index]) return static_cast<Enum>(index);
    list += (index == 0 ? "" : ", ") + std::string(names[index]);
  }
  throw UsageError(about(what) + "there is no '" + text + "', only " + list + did_you_mean(text, names),
                   {.code = error_code::unknown_choice, .value = text, .allowed = list});
}

}  // namespace gradus::python
