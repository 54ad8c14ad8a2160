// Recognises the columns of a table of edges by their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::files {

enum class Role : std::uint8_t { from, to, weight, none };
inline constexpr std::size_t roles = 3;  ///< number of roles, without `none`

/// Splits a name into lower-case words: "from_stop_id" becomes three words.
std::vector<std::string> words_of_name(std::string_view text);

Role role_of(std::string_view name);

/// Returns the value of --columns that the names suggest, or "" in case of doubt. Assumes that a column without a name
/// holds row numbers.
std::string columns_by_names(const std::vector<std::string>& names);

}  // namespace gradus::files
