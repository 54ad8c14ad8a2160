// Bytes that a job takes for a GPU, for estimates. Plain C++: also in builds without CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::cuda {

/// Pinned host memory for the transfers to and from a GPU, in so many parts: some travel while others are filled.
inline constexpr int staging_parts = 4;
inline constexpr std::uint64_t staging_bytes = std::uint64_t{16} << 20;

/// Bytes of an array in the memory of a GPU, where each begins at a multiple of 256.
constexpr std::uint64_t part_bytes(std::int64_t count, std::size_t element) {
  constexpr std::uint64_t alignment = 256;
  return (static_cast<std::uint64_t>(count) * element + alignment - 1) / alignment * alignment;
}

/// Words of 64 bits there that find_column_ranges() needs.
constexpr std::int64_t column_range_words(std::int64_t columns) { return 3 * columns + 1; }

}  // namespace gradus::cuda
