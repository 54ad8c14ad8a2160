// Evenly spaced samples of a long sequence, the same on every machine.
#pragma once

#include <cstdint>

namespace gradus::core {

/// Returns element `index` of a sequence of `count` numbers that are evenly spaced over [0, all) and begin with 0.
/// Requires 0 <= index < count <= all. Does not overflow if count is below 2^31.
constexpr std::int64_t evenly_spread(std::int64_t index, std::int64_t count, std::int64_t all) {
  return index * (all / count) + index * (all % count) / count;
}

}  // namespace gradus::core
