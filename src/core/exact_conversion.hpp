// Lossless conversion of numbers: the rule of the file readers, the command line and the Python package.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

namespace gradus::core {

/// Returns true if `To` holds the value exactly. Every floating-point type holds NaN and infinity.
template <class To, class From>
constexpr bool is_exact_in(From value) {
  if constexpr (std::floating_point<From>) {
    static_assert(std::floating_point<To>);
    const auto back = static_cast<From>(static_cast<To>(value));
    return !(back < value) && !(back > value);
  } else if constexpr (std::integral<To>) {
    return std::in_range<To>(value);
  } else {
    const auto bits = static_cast<std::uint64_t>(value);
    const std::uint64_t magnitude = std::cmp_less(value, 0) ? 0 - bits : bits;
    return magnitude == 0 || std::bit_width(magnitude) - std::countr_zero(magnitude) <= std::numeric_limits<To>::digits;
  }
}

}  // namespace gradus::core
