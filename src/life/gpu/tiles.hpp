// Cuts a grid into the tiles of cuda_resident. Pure arithmetic, which the CPU can test.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gradus::life_detail {

/// A tile is what a block of threads holds in registers. It is 32 words wide, one per lane of a warp. Each thread holds
/// some rows of its word, and the warps of a block are stacked vertically. Around the cells it owns, a tile has a
/// border of its neighbours' cells, in which incorrect cells spread inwards by one cell per generation.
struct Tiling {
  static constexpr int lanes = 32;
  static constexpr int most_depth = 32;  ///< generations: as many as the border has cells

  int rows = 16;
  int warps = 1;
  int border_words = 1;        ///< left and right; 0 if a tile is as wide as the torus
  std::int64_t own_words = 0;  ///< words that a tile owns, horizontally
  std::int64_t own_rows = 0;   ///< rows that a tile owns
  std::int64_t across = 0;     ///< tiles horizontally
  std::int64_t down = 0;       ///< tiles vertically
  int depth = most_depth;      ///< generations per pass
  bool stays = false;          ///< all tiles fit at once and keep their cells between passes

  std::int64_t tiles() const { return across * down; }
  int threads() const { return warps * lanes; }
};

/// Returns the maximum number of warps per block, limited by registers, for this many rows per thread.
constexpr int most_warps(int rows) { return rows > 16 ? 16 : 32; }

inline void cut_across(Tiling& tiling, std::int64_t words, bool one_wraps) {
  if (one_wraps) {
    tiling.border_words = 0;
    tiling.across = 1;
    tiling.own_words = words;
    return;
  }
  tiling.border_words = 1;
  constexpr std::int64_t most = Tiling::lanes - 2;
  tiling.across = (words + most - 1) / most;
  tiling.own_words = (words + tiling.across - 1) / tiling.across;
  tiling.across = (words + tiling.own_words - 1) / tiling.own_words;
}

/// Returns the tiling of a grid of `height` rows of `words` words. `one_wraps`: the torus is as wide as a warp.
/// `blocks`: the number that the GPU runs at once. `short_rows`: threads may have 8 rows.
///
/// If all tiles fit at once, the cells stay in registers, and a barrier of all blocks separates the passes; it takes as
/// long as some generations. Otherwise each pass reads and writes memory, and larger tiles reduce redundant
/// computation.
inline Tiling tiling_of(std::int64_t height, std::int64_t words, bool one_wraps, std::int64_t generations, int blocks,
                        bool short_rows) {
  Tiling tiling;
  cut_across(tiling, words, one_wraps);
  for (const int rows : {8, 16}) {
    if (rows == 8 && !short_rows) continue;
    tiling.rows = rows;
    for (const int depth : {24, 16, 8}) {
      tiling.depth = static_cast<int>(std::min<std::int64_t>(depth, generations));
      tiling.down = std::max<std::int64_t>(blocks / tiling.across, 1);
      tiling.own_rows = std::max<std::int64_t>((height + tiling.down - 1) / tiling.down, 1);
      tiling.down = (height + tiling.own_rows - 1) / tiling.own_rows;
      const std::int64_t warps = (tiling.own_rows + 2 * tiling.depth + rows - 1) / rows;
      if (tiling.tiles() > blocks || warps > most_warps(rows)) continue;
      tiling.warps = static_cast<int>(warps);
      tiling.stays = true;
      return tiling;
    }
  }
  tiling.rows = 16;
  tiling.stays = false;
  // Uses the full depth of the border, in passes of nearly equal length.
  const std::int64_t passes = (generations + Tiling::most_depth - 1) / Tiling::most_depth;
  tiling.depth = static_cast<int>((generations + passes - 1) / passes);
  tiling.warps = most_warps(tiling.rows);
  tiling.own_rows = std::int64_t{tiling.warps} * tiling.rows - 2 * tiling.depth;
  tiling.down = (height + tiling.own_rows - 1) / tiling.own_rows;
  return tiling;
}

}  // namespace gradus::life_detail
