// The ladders of all problems, for those who know none of them.
#pragma once

#include <span>
#include <string_view>

#include "core/ladder.hpp"

namespace gradus::execution {

/// In the order of every list that a person sees.
std::span<const core::Ladder* const> ladders();
/// UsageError with a suggestion where there is no problem of this name.
const core::Ladder& find_ladder(std::string_view problem);

}  // namespace gradus::execution
