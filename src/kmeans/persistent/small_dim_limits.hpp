// The limits of cuda_small_dim, and its memory.
#pragma once

#include <cstdint>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

inline constexpr int cuda_small_dim_columns = 16;  ///< maximum number of columns
inline constexpr int cuda_narrow_clusters = 254;   ///< largest number of clusters whose labels fit in a byte

/// Returns the shared memory, in bytes, for a block of two warps. The number is for the kernel that supports any number
/// of columns.
constexpr std::uint64_t cuda_small_dim_shared(const Shape& shape) {
  // The stages of two warps, if rows have the maximum length.
  constexpr std::uint64_t stages = std::uint64_t{2} * 2 * 128 * (4 * 8 + 2);
  constexpr std::uint64_t queues = std::uint64_t{2} * 160 * 4;
  const auto k = static_cast<std::uint64_t>(shape.clusters);
  const auto d = static_cast<std::uint64_t>(shape.dimensions);
  const std::uint64_t words = k * (2 * d + (shape.weighted ? 2 : 0) + 1);
  const std::uint64_t entry = 4 * (d <= 4 ? (d + 4) / 4 * 4 : d <= 8 ? 12 : 20);
  return 16 * k + 16 * words + k * entry + 2 * (k * d + 1) * static_cast<std::uint64_t>(shape.element_bytes) + stages +
         queues;
}

/// Limits of the history between two polls by the host. The first limit is a number of iterations, the second a number
/// of bytes.
inline constexpr std::int64_t cuda_history_limit = 4096;
inline constexpr std::uint64_t cuda_history_bytes = std::uint64_t{64} << 20;

/// Returns the GPU memory, in bytes, that is needed in addition to points and weights: for labels, four copies of the
/// sums, and the history.
constexpr std::uint64_t cuda_small_dim_bytes(const Shape& shape) {
  const auto k = static_cast<std::uint64_t>(shape.clusters);
  const auto d = static_cast<std::uint64_t>(shape.dimensions);
  const std::uint64_t centroids = k * d * static_cast<std::uint64_t>(shape.element_bytes);
  const std::uint64_t sums = 8 * k * (2 * d + 3);
  const std::uint64_t of_an_iteration = 64 + centroids + sums + 16 * k;
  const std::uint64_t iterations = std::uint64_t{cuda_history_limit} * of_an_iteration;
  const std::uint64_t history = iterations < cuda_history_bytes ? iterations : cuda_history_bytes;
  return centroids + 4 * sums + (history > of_an_iteration ? history : of_an_iteration) +
         2 * static_cast<std::uint64_t>(shape.points);
}

}  // namespace gradus::kmeans_detail
