// Samples of a long sequence that are the same wherever they are taken.
#pragma once

#include <cstdint>

namespace gradus::core {

/// Number `index` of `count` that are spread evenly over [0, all), beginning with 0; 0 <= index < count <= all. Nothing
/// overflows where count is below 2^31.
constexpr std::int64_t evenly_spread(std::int64_t index, std::int64_t count, std::int64_t all) {
  return index * (all / count) + index * (all % count) / count;
}

}  // namespace gradus::core
