// Exact sums of a run of values in registers, which are later added to the sums in memory (see exact_sum.hpp).
#pragma once

#include <bit>
#include <cstdint>

#include "core/exact_sum.hpp"
#include "core/host_device.hpp"

namespace gradus::core {

/// The two raw limbs of the sum of a run. A value that leaves the sum is added with its sign reversed, and an empty
/// place is added as zero. So every place of a run costs the same and needs no branch.
struct RunSum {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  GRADUS_HOST_DEVICE void add(RawLimbs limbs) {
    high += limbs.high;
    low += limbs.low;
  }

  /// Returns the excess of both limbs. An empty place adds the bits of integer_magic, which must be removed once. The
  /// negative of a leaving value also adds the bits, although one copy must be removed, so two are in excess. Nothing
  /// else differs, because rounding is symmetric.
  GRADUS_HOST_DEVICE static std::uint64_t excess(std::uint64_t empty_places, std::uint64_t leaving) {
    return (empty_places + 2 * leaving) * static_cast<std::uint64_t>(integer_magic_bits);
  }
};

}  // namespace gradus::core
