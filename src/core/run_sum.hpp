// Exact sums of a run of values in registers, before they are added to the sums in memory (see exact_sum.hpp).
#pragma once

#include <bit>
#include <cstdint>

#include "core/exact_sum.hpp"
#include "core/host_device.hpp"

namespace gradus::core {

/// The two raw limbs of a run. What leaves a sum is added with its sign turned, and a place that holds no value is
/// added as zero, so that every place of a run costs the same and none a branch.
struct RunSum {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// `limbs`: of the value, or of its negative.
  GRADUS_HOST_DEVICE void add(RawLimbs limbs) {
    high += limbs.high;
    low += limbs.low;
  }

  /// What both limbs hold too much: an empty place left the magic number's own bits; and a value that leaves must take
  /// them away once, while its negative added them once. Rounding is symmetric, so nothing else differs.
  GRADUS_HOST_DEVICE static std::uint64_t excess(std::uint64_t empty_places, std::uint64_t leaving) {
    return (empty_places + 2 * leaving) * static_cast<std::uint64_t>(integer_magic_bits);
  }
};

}  // namespace gradus::core
