// GPU memory sizes, for estimates. Plain C++, also for builds without CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::cuda {

/// Pinned host memory for transfers, in staging_parts buffers: some are in transit while others are filled.
inline constexpr int staging_parts = 4;
inline constexpr std::uint64_t staging_bytes = std::uint64_t{16} << 20;

/// Returns the bytes of an array in GPU memory, where each array begins at a multiple of 256.
constexpr std::uint64_t part_bytes(std::int64_t count, std::size_t element) {
  constexpr std::uint64_t alignment = 256;
  return (static_cast<std::uint64_t>(count) * element + alignment - 1) / alignment * alignment;
}

/// Returns the 64-bit words of scratch memory that find_column_ranges() needs.
constexpr std::int64_t column_range_words(std::int64_t columns) { return 3 * columns + 1; }

}  // namespace gradus::cuda
