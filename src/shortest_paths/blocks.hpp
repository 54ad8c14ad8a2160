// Common code of the blocked rungs: the division of a matrix into blocks, and the loops over one block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stop_token>

#include "cpu/threads.hpp"
#include "shortest_paths/problem.hpp"

namespace gradus::shortest_paths_detail {

using cpu::Range;

/// The default side of tiles. Tiles of this side were the fastest in the published experiment.
inline constexpr std::int64_t usual_tile = 64;

template <class T>
std::int64_t tile_of(const Problem<T>& problem) {
  return problem.tile > 0 ? problem.tile : usual_tile;
}

inline Range tile_range(std::int64_t index, std::int64_t tile, std::int64_t n) {
  return {index * tile, std::min((index + 1) * tile, n)};
}

/// A range divided at a multiple of the tile's side. The second half is at most as long as the first. If the range has
/// a single tile, the second half is empty.
struct Halves {
  Range first;
  Range second;
};
inline Halves halves(Range range, std::int64_t tile) {
  const std::int64_t tiles = (range.size() + tile - 1) / tile;
  const std::int64_t middle = std::min(range.begin + (tiles + 1) / 2 * tile, range.end);
  return {{range.begin, middle}, {middle, range.end}};
}

/// Runs the textbook's loops on one block: the routes from `rows` to `columns` through `via`. The loops may read blocks
/// that overlap the block that they write. The result is still correct, because `via` is the outermost loop. After a
/// stop request, returns early, and the caller must handle the request. Blocks of the usual size do not poll for stop
/// requests.
template <class C>
void relax_block(MatrixView<C> distances, Range rows, Range via, Range columns, const std::stop_token& stop) {
  constexpr std::int64_t small_area = std::int64_t{256} * 256;
  const bool large = rows.size() * columns.size() > small_area;
  for (std::int64_t between = via.begin; between < via.end; ++between) {
    const C* const onward = distances.row(between);
    for (std::int64_t from = rows.begin; from < rows.end; ++from) {
      if (large && stop.stop_requested()) return;
      const C to_stop = distances(from, between);
      C* const row = distances.row(from);
#pragma GCC ivdep  // the two rows are identical or disjoint
      for (std::int64_t to = columns.begin; to < columns.end; ++to) {
        const C by_way = to_stop + onward[to];
        row[to] = by_way < row[to] ? by_way : row[to];
      }
    }
  }
}

}  // namespace gradus::shortest_paths_detail
