// How a grid is cut into tiles of cuda_resident: pure numbers, which the processor can check.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gradus::life_detail {

/// A tile is what a block of threads holds in registers: 32 words side by side, one for each lane of a warp, and in
/// each thread some rows of that word; the warps of a block lie one below the other. Around the cells that it is
/// responsible for, a tile holds a border of what its neighbours are responsible for, in which wrong cells creep
/// inwards by one in each generation.
struct Tiling {
  static constexpr int lanes = 32;
  static constexpr int most_depth = 32;  ///< generations: as many as the border is wide

  int rows = 16;               ///< of a thread
  int warps = 1;               ///< of a block
  int border_words = 1;        ///< left and right; 0 where a tile is as wide as the torus
  std::int64_t own_words = 0;  ///< for which a tile is responsible, side by side
  std::int64_t own_rows = 0;   ///< and one below the other
  std::int64_t across = 0;     ///< tiles side by side
  std::int64_t down = 0;       ///< and one below the other
  int depth = most_depth;      ///< generations of a pass
  bool stays = false;          ///< all tiles are held at once, and keep their cells from pass to pass

  std::int64_t tiles() const { return across * down; }
  int threads() const { return warps * lanes; }
};

/// Warps of a block for so many rows of each thread: as many as registers suffice for.
constexpr int most_warps(int rows) { return rows > 16 ? 16 : 32; }

/// Columns of tiles.
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

/// The tiling of a grid of `height` rows of `words` words; `one_wraps`: the torus is as wide as a warp. `blocks`: that
/// the GPU runs at once. `short_rows`: threads may have 8 rows.
///
/// Where all tiles find room at once, the cells stay in registers and passes are separated by a barrier of all blocks,
/// which takes as long as some generations; otherwise each pass reads and writes the memory, and larger tiles mean less
/// that is computed twice.
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
  // As deep as the border allows, in passes of nearly the same length.
  const std::int64_t passes = (generations + Tiling::most_depth - 1) / Tiling::most_depth;
  tiling.depth = static_cast<int>((generations + passes - 1) / passes);
  tiling.warps = most_warps(tiling.rows);
  tiling.own_rows = std::int64_t{tiling.warps} * tiling.rows - 2 * tiling.depth;
  tiling.down = (height + tiling.own_rows - 1) / tiling.own_rows;
  return tiling;
}

}  // namespace gradus::life_detail
