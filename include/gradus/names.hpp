/// Names of enumerators. Each public enum has one table of names, which the command line, Python, JSON and C++ share.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

namespace gradus {

/// An enumerator, its name and an accepted alias.
template <class Enum>
struct EnumName {
  Enum value;
  std::string_view name;
  std::string_view alias = {};
};

/// Names of an enum in the order of its enumerators, which are numbered from 0. Specialized next to each enum.
template <class Enum>
inline constexpr std::array<EnumName<Enum>, 0> enum_names{};

template <class Enum>
concept NamedEnum = std::is_enum_v<Enum> && !enum_names<Enum>.empty();

/// Returns the name of an enumerator, or "?" for any other value.
template <NamedEnum Enum>
constexpr std::string_view to_string(Enum value) {
  const auto place = static_cast<std::size_t>(value);
  return place < enum_names<Enum>.size() ? enum_names<Enum>[place].name : "?";
}

/// Returns the enumerator with this name or alias, or nullopt. Hyphens and underscores are interchangeable.
template <NamedEnum Enum>
constexpr std::optional<Enum> from_string(std::string_view text);

namespace detail {

constexpr bool same_name(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  for (std::size_t index = 0; index < one.size(); ++index) {
    const auto hyphen = [](char letter) { return letter == '_' ? '-' : letter; };
    if (hyphen(one[index]) != hyphen(other[index])) return false;
  }
  return true;
}

}  // namespace detail

template <NamedEnum Enum>
constexpr std::optional<Enum> from_string(std::string_view text) {
  for (const EnumName<Enum>& row : enum_names<Enum>)
    if (detail::same_name(row.name, text) || (!row.alias.empty() && detail::same_name(row.alias, text)))
      return row.value;
  return std::nullopt;
}

}  // namespace gradus
