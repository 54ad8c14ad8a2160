// GPU memory sizes, for estimates. Plain C++, also for builds without CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::cuda {

/// The number of pinned buffers for transfers, and their total size in host memory. The CPU fills some buffers while
/// others are being transferred.
inline constexpr int staging_parts = 4;
inline constexpr std::uint64_t staging_bytes = std::uint64_t{16} << 20;

/// Returns the size of an array in GPU memory, in bytes. Each array begins at a multiple of 256 bytes.
constexpr std::uint64_t part_bytes(std::int64_t count, std::size_t element) {
  constexpr std::uint64_t alignment = 256;
  return (static_cast<std::uint64_t>(count) * element + alignment - 1) / alignment * alignment;
}

/// Returns the number of 64-bit scratch words that find_column_ranges() needs.
constexpr std::int64_t column_range_words(std::int64_t columns) { return 3 * columns + 1; }

}  // namespace gradus::cuda
