// The limits of cuda_small_dim, for the table of variants.
#pragma once

#include <cstdint>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

inline constexpr int cuda_small_dim_columns = 16;  ///< at most
inline constexpr int cuda_narrow_clusters = 254;   ///< up to as many, a label is a byte

/// Bytes of shared memory that a block of two warps needs, whatever the number of columns that its kernel is made for.
constexpr std::uint64_t cuda_small_dim_shared(const Shape& shape) {
  constexpr std::uint64_t stages = std::uint64_t{2} * 2 * 128 * (4 * 8 + 2);  // of two warps, the longest
  constexpr std::uint64_t queues = std::uint64_t{2} * 160 * 4;
  const auto k = static_cast<std::uint64_t>(shape.clusters);
  const auto d = static_cast<std::uint64_t>(shape.dimensions);
  const std::uint64_t words = k * (2 * d + (shape.weighted ? 2 : 0) + 1);
  const std::uint64_t entry = 4 * (d <= 4 ? (d + 4) / 4 * 4 : d <= 8 ? 12 : 20);
  return 16 * k + 16 * words + k * entry + 2 * (k * d + 1) * static_cast<std::uint64_t>(shape.element_bytes) + stages +
         queues;
}

/// Bytes on the GPU beside points and weights, but for a history of fixed length: labels, and sums in four copies.
constexpr std::uint64_t cuda_small_dim_bytes(const Shape& shape) {
  const auto k = static_cast<std::uint64_t>(shape.clusters);
  const auto d = static_cast<std::uint64_t>(shape.dimensions);
  return k * d * static_cast<std::uint64_t>(shape.element_bytes) + 8 * 4 * k * (2 * d + 3) +
         2 * static_cast<std::uint64_t>(shape.points);
}

}  // namespace gradus::kmeans_detail
