// The limits of cuda_ordered, for the table of variants.
#pragma once

#include <cstdint>

#include "kmeans/cuda_small_dim.hpp"

namespace gradus::kmeans_detail {

inline constexpr int cuda_ordered_columns = 4;       ///< at most
inline constexpr int cuda_ordered_clusters = 65533;  ///< at most: two more labels of a tile say that it has none

/// Bytes of shared memory that a block of one warp needs.
constexpr std::uint64_t cuda_ordered_shared(const Shape& shape) {
  const auto k = static_cast<std::uint64_t>(shape.clusters);
  return cuda_small_dim_shared(shape) + 2 * k + 132;
}

}  // namespace gradus::kmeans_detail
