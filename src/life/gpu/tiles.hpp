// Divides a grid into the tiles of cuda_resident. Contains only arithmetic, so tests can run it on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gradus::life_detail {

/// A tile is the part of the grid that a block of threads holds in registers. It is 32 words wide, one word per lane of
/// a warp. Each thread holds one word in each of several rows, and the warps of a block are stacked vertically. A tile
/// owns the cells in its middle. Around them is a border, which holds cells of the neighbouring tiles. From the outer
/// edge of the border, incorrect cells spread inwards by one cell per generation.
struct Tiling {
  static constexpr int lanes = 32;
  static constexpr int most_depth = 32;  ///< maximum number of generations per pass, and width of the border in cells

  int rows = 16;
  int warps = 1;
  int border_words = 1;  ///< words of the border on the left and on the right; 0 if a tile is as wide as the torus
  std::int64_t own_words = 0;  ///< number of words that a tile owns in each of its rows
  std::int64_t own_rows = 0;   ///< rows that a tile owns
  std::int64_t across = 0;     ///< number of tiles side by side
  std::int64_t down = 0;       ///< number of tiles on top of each other
  int depth = most_depth;      ///< generations per pass
  bool stays = false;          ///< true if all tiles fit on the GPU at once and keep their cells between passes

  std::int64_t tiles() const { return across * down; }
  int threads() const { return warps * lanes; }
};

/// Returns the maximum number of warps per block for this many rows per thread. Registers limit the number.
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

/// Returns the tiling of a grid of `height` rows with `words` words each. `one_wraps` is true if the grid is a torus
/// that is as wide as a tile. `short_rows` is true if threads may have only 8 rows. `blocks` is the number of blocks
/// that the GPU runs at once.
///
/// If the GPU can hold all tiles at once, the cells stay in registers, and a barrier of all blocks separates the
/// passes. (The barrier takes as long as a few generations.) Otherwise each pass reads and writes memory, and tiles are
/// larger to reduce redundant computation.
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
  // Reduces the depth so that all passes have nearly the same number of generations.
  const std::int64_t passes = (generations + Tiling::most_depth - 1) / Tiling::most_depth;
  tiling.depth = static_cast<int>((generations + passes - 1) / passes);
  tiling.warps = most_warps(tiling.rows);
  tiling.own_rows = std::int64_t{tiling.warps} * tiling.rows - 2 * tiling.depth;
  tiling.down = (height + tiling.own_rows - 1) / tiling.own_rows;
  return tiling;
}

}  // namespace gradus::life_detail
