// Overflow-checked arithmetic on sizes.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "gradus/error.hpp"

namespace gradus::core {

/// Returns a * b. Throws an OutOfMemoryError that names `what` on overflow.
template <std::integral Integer>
Integer checked_multiply(Integer a, Integer b, const char* what) {
  Integer product{};
  if (__builtin_mul_overflow(a, b, &product)) throw OutOfMemoryError(about(what) + "the size overflows");
  return product;
}

/// Returns a + b. Throws an OutOfMemoryError that names `what` on overflow.
template <std::integral Integer>
Integer checked_add(Integer a, Integer b, const char* what) {
  Integer sum{};
  if (__builtin_add_overflow(a, b, &sum)) throw OutOfMemoryError(about(what) + "the size overflows");
  return sum;
}

}  // namespace gradus::core
