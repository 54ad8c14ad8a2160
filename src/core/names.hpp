// Compares names that users type: treats hyphens and underscores alike, and suggests a name if one is misspelled.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::core {

/// Returns the name with every hyphen replaced by an underscore.
std::string with_underscores(std::string_view name);

/// Returns " (did you mean 'x'?)" for the candidate with the smallest edit distance to `name`. If no candidate is
/// similar, suggests the first one that begins with `name`. If no candidate begins with `name`, returns "".
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace gradus::core
