// Exact sums of short runs of values. A run is summed in registers, and its sum is then added to the sums in memory
// (see exact_sum.hpp).
#pragma once

#include <bit>
#include <cstdint>

#include "core/exact_sum.hpp"
#include "core/host_device.hpp"

namespace gradus::core {

/// The two raw limbs of the sum of a run. To remove a value from the sum, the caller adds the value with its sign
/// reversed. For an empty place, the caller adds zero. Every place of a run therefore costs the same, and no branch is
/// needed.
struct RunSum {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  GRADUS_HOST_DEVICE void add(RawLimbs limbs) {
    high += limbs.high;
    low += limbs.low;
  }

  /// Returns the number that the caller must subtract from each limb. Let n be the number of added values and m the
  /// number of removed values. After the subtraction, each limb contains the bits of integer_magic n - m times. Before,
  /// it contains them once for every place. An empty place should not count, and a removed value should count
  /// negatively. So an empty place contributes one copy to the excess, and a removed value contributes two. The values
  /// themselves need no correction, because rounding is symmetric.
  GRADUS_HOST_DEVICE static std::uint64_t excess(std::uint64_t empty_places, std::uint64_t leaving) {
    return (empty_places + 2 * leaving) * static_cast<std::uint64_t>(integer_magic_bits);
  }
};

}  // namespace gradus::core
