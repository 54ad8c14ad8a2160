// Splits the plane into islands of live cells that cannot interact for some generations. Each island is computed
// separately. Empty space and islands at rest are skipped.
//
// A cell's state after K generations depends on the cells within distance K. Live cells more than 2 K apart therefore
// cannot interact in K generations. The plane is cut into squares whose sides have 2 K cells. If two squares do not
// touch, their cells are more than 2 K apart. So each group of touching squares with live cells is an island. After K
// generations, the islands are determined again. If an island has not merged with another island and equals its state K
// generations earlier, it is at rest: it will repeat.
//
// Source: the light cone of cellular automata; skipping patterns at rest follows Golly's QuickLife.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "gradus/life.hpp"
#include "life/quadtree.hpp"

namespace gradus::life_detail {

class Islands {
 public:
  /// Takes the live cells of a grid. The grid's first cell is in row `top` and column `left`. `left` must be a multiple
  /// of 64. Bits past the width must be 0.
  Islands(const LifeGridView& cells, std::int64_t left, std::int64_t top);

  /// Advances a grid in place. No live cell may reach the border of the grid.
  using Advance = std::function<void(const LifeGridSpan& cells, std::int64_t generations)>;

  /// Returns the number of generations after which the islands must be determined again. It is at most K and at most
  /// `most`.
  std::int64_t next_step(std::int64_t most) const;
  /// Advances all islands. `generations` must be the result of next_step().
  void advance(std::int64_t generations, const Advance& advance_grid);

  bool empty() const { return blocks_.empty(); }
  /// Returns true if the bounding box of all blocks is larger than 64 MiB and the blocks fill at most 1/16 of it.
  bool is_sparse() const;
  std::vector<LifeBlock> small_blocks() const;

  /// Returns the cells in the bounding box of all blocks as a grid. Before it allocates the grid, calls `check` with
  /// the grid's size.
  LifeGrid grid(std::int64_t& left, std::int64_t& top, const std::function<void(std::uint64_t bytes)>& check) const;

 private:
  /// 64 x 64 cells. The first cell is in row `64 * y` and column `64 * x`.
  struct Block {
    std::int64_t y = 0;
    std::int64_t x = 0;
    std::array<std::uint64_t, 64> rows = {};
    std::int32_t island = -1;  ///< index of the island that contained the block in the last step; -1: none or several
  };
  struct Island {
    std::vector<std::int32_t> blocks;
  };
  class Collected;
  /// The blocks in a range of rows and columns. The first and the last row and column are included.
  struct Rectangle {
    std::int64_t top, bottom, left, right;
    /// Returns the size of the cells in bytes, but at most 2^64 - 1.
    std::uint64_t bytes() const;
  };

  Rectangle rectangle() const;
  int scale() const;
  std::vector<Island> find(int scale) const;
  bool rests(const Island& island) const;

  std::vector<Block> blocks_;
  /// For each island in the last step: its number of blocks if it is at rest, otherwise 0.
  std::vector<std::int32_t> resting_;
  std::int64_t last_step_ = 0;
};

}  // namespace gradus::life_detail
