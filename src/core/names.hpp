// Names that people type: spelling variants and suggestions for misspelt ones.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::core {

/// The name with every hyphen turned into an underscore.
std::string with_underscores(std::string_view name);

/// " (did you mean 'x'?)" for the candidate with the least edit distance to `name`; when none is near, for the first
/// that begins with it; or "".
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace gradus::core
