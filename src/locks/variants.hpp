// The ladder of locks (variants.cpp).
#pragma once

#include "locks/problem.hpp"

namespace gradus::locks_detail {

/// In the order of the ladder.
core::Rows<Variant> variants();
/// The same for those who do not know the problem.
extern const core::Ladder ladder;

}  // namespace gradus::locks_detail
