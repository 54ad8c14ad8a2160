// The limits of cuda_small_dim, for the table of variants.
#pragma once

#include <cstdint>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

inline constexpr int small_dim_columns = 16;           ///< at most
inline constexpr int small_dim_narrow_clusters = 254;  ///< up to as many, a label is a byte

/// Bytes of shared memory that a block needs at least, whatever the number of columns that its kernel is made for.
constexpr std::uint64_t cuda_small_dim_shared(const Shape& shape) {
  constexpr std::uint64_t queues = 32 * 160 * 4;  // of 32 warps with four points for each lane
  const auto k = static_cast<std::uint64_t>(shape.clusters);
  const auto d = static_cast<std::uint64_t>(shape.dimensions);
  const std::uint64_t words = k * (2 * d + (shape.weighted ? 2 : 0) + 1);
  const std::uint64_t entry = 4 * (d <= 4 ? (d + 4) / 4 * 4 : d <= 8 ? 12 : 20);
  return 16 * k + 16 * words + (k + 1) * entry + 2 * (k * d + 1) * static_cast<std::uint64_t>(shape.element_bytes) +
         queues;
}

}  // namespace gradus::kmeans_detail
