// The ladder of locks (variants.cpp).
#pragma once

#include "locks/problem.hpp"

namespace gradus::locks_detail {

core::Rows<Variant> variants();
/// The variants for code that does not know the problem's types.
extern const core::Ladder ladder;

}  // namespace gradus::locks_detail
