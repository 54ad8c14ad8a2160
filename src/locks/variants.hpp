// The ladder of locks (variants.cpp).
#pragma once

#include "locks/problem.hpp"

namespace gradus::locks_detail {

core::Rows<Variant> variants();
/// The table of variants, in a form that does not depend on the problem's types.
extern const core::Ladder ladder;

}  // namespace gradus::locks_detail
