// What a block of the CUDA rungs keeps in shared memory, in bytes: for the table's supports(), and for the launches.
#pragma once

#include <cstdint>

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// Counters of 32 bits in so many copies, and, with weights, one sum of 128 bits for each slot. A multiple of 8.
constexpr std::uint64_t block_histogram_bytes(std::int64_t slots, bool weighted, int copies) {
  const auto count = static_cast<std::uint64_t>(slots);
  return (count * (4 * static_cast<std::uint64_t>(copies) + (weighted ? 16 : 0)) + 7) / 8 * 8;
}

/// A point for each thread: three coordinates and a weight.
constexpr std::uint64_t tile_bytes(int threads, int element_bytes) {
  return static_cast<std::uint64_t>(threads) * 4 * static_cast<std::uint64_t>(element_bytes);
}

/// Copies of a block's histogram: one for each lane of a warp, or fewer where they would crowd out other blocks.
constexpr int histogram_copies(std::int64_t slots, bool weighted) {
  constexpr std::uint64_t room = 32 << 10;
  int copies = 32;
  while (copies > 1 && block_histogram_bytes(slots, weighted, copies) > room) copies /= 2;
  return copies;
}

}  // namespace gradus::pair_histogram_detail
