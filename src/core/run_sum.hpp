// Exact sums of a run of values in registers, which are later added to the sums in memory (see exact_sum.hpp).
#pragma once

#include <bit>
#include <cstdint>

#include "core/exact_sum.hpp"
#include "core/host_device.hpp"

namespace gradus::core {

/// The two raw limbs of the sum of a run. To remove a value from the sum, the caller adds the value with its sign
/// reversed. For an empty place, the caller adds zero. So every place of a run costs the same and needs no branch.
struct RunSum {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  GRADUS_HOST_DEVICE void add(RawLimbs limbs) {
    high += limbs.high;
    low += limbs.low;
  }

  /// Returns the excess of both limbs, which the caller subtracts. Afterwards each limb contains the bits of
  /// integer_magic once for each added value, minus once for each removed value. An empty place adds these bits once,
  /// so one copy is in excess. A removed value also adds them once, instead of subtracting them once, so two copies are
  /// in excess. The values themselves need no correction, because rounding is symmetric.
  GRADUS_HOST_DEVICE static std::uint64_t excess(std::uint64_t empty_places, std::uint64_t leaving) {
    return (empty_places + 2 * leaving) * static_cast<std::uint64_t>(integer_magic_bits);
  }
};

}  // namespace gradus::core
