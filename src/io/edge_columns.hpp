// The columns of a table of edges, by their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::io {

/// What a column of a table of edges holds.
enum class Role : std::uint8_t { from, to, weight, none };
inline constexpr std::size_t roles = 3;  ///< but none

/// The words of a name, in small letters: "from_stop_id" has three.
std::vector<std::string> words_of_name(std::string_view text);

/// What a column of that name often holds.
Role role_of(std::string_view name);

/// The columns that a table of edges seems to have, as --columns takes them;
/// empty where that is not clear. A column without a name counts the rows.
std::string columns_by_names(const std::vector<std::string>& names);

}  // namespace gradus::io
