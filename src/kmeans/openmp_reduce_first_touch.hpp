// How many copies of the sums `openmp_reduce_first_touch` keeps: for the table, and for the rung itself.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kmeans/lloyd/float_sums.hpp"

namespace gradus::kmeans_detail {

/// Pieces into which the rung cuts the share of each thread: enough to even out cores of different speed, of at least
/// some thousand points, and not so many that their sums fill the caches.
inline int first_touch_pieces(const Shape& shape, int threads) {
  constexpr std::int64_t most_pieces = 16;
  constexpr std::int64_t least_points = 4096;
  constexpr std::int64_t most_bytes = std::int64_t{4} << 20;
  const auto bytes = static_cast<std::int64_t>(FloatSums<double>::bytes(shape));
  return static_cast<int>(
      std::clamp<std::int64_t>(std::min(shape.points / threads / least_points, most_bytes / bytes), 1, most_pieces));
}

}  // namespace gradus::kmeans_detail
