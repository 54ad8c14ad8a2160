// The ladder of locks (variants.cpp).
#pragma once

#include "locks/problem.hpp"

namespace gradus::locks_detail {

/// Returns the variants in ladder order.
core::Rows<Variant> variants();
/// The variants for code that does not know the problem's types.
extern const core::Ladder ladder;

}  // namespace gradus::locks_detail
