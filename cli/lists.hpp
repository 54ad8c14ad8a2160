// Options that take several values, separated by commas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"

namespace gradus::cli {

/// "a,b,c" as its parts; UsageError that begins with `name` for an empty one.
std::vector<std::string> parse_list(std::string_view name, std::string_view text);
std::vector<double> parse_real_list(std::string_view name, std::string_view text, double least, double most);
std::vector<int> parse_whole_list(std::string_view name, std::string_view text, int least, int most);

}  // namespace gradus::cli
