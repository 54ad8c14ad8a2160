// Computes the canonical result in a simple way. The oracle is not a rung and shares no code with the variants.
#pragma once

#include <cstdint>
#include <span>

namespace gradus::skeleton_detail {

/// Adds the values digit by digit, in base 256.
inline std::uint64_t oracle(std::span<const std::uint64_t> values, std::uint64_t start) {
  std::uint64_t digits[8] = {};
  for (int digit = 0; digit < 8; ++digit) {
    digits[digit] += start >> (8 * digit) & 255;
    for (const std::uint64_t value : values) digits[digit] += value >> (8 * digit) & 255;
    if (digit < 7) digits[digit + 1] = digits[digit] / 256;
  }
  std::uint64_t sum = 0;
  for (int digit = 0; digit < 8; ++digit) sum |= (digits[digit] & 255) << (8 * digit);
  return sum;
}

}  // namespace gradus::skeleton_detail
