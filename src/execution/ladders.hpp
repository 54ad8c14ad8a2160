// The ladders of all problems, for code that serves every problem.
#pragma once

#include <span>
#include <string_view>

#include "core/ladder.hpp"

namespace gradus::execution {

/// Returns all ladders, in the order in which users see them in lists.
std::span<const core::Ladder* const> ladders();
/// Returns the ladder of a problem. Throws UsageError with a suggestion for an unknown name.
const core::Ladder& find_ladder(std::string_view problem);

}  // namespace gradus::execution
