// The plane as islands of live cells that cannot meet for a while: each is computed by itself, and what lies between
// them, or has come to rest, is not computed at all.
//
// What a cell is after K generations depends on the cells within K of it. Live cells more than 2 K apart therefore have
// nothing to do with each other in K generations. The plane is cut into squares of 2 K cells: cells of squares that do
// not touch are more than 2 K apart, so that each group of touching squares with live cells is an island. After K
// generations new islands are looked for. An island that is what it was K generations before, and has not been joined
// by others, will be so again.
//
// Source: the light cone of cellular automata; skipping what rests, after Golly's QuickLife.
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
  /// The first cell lies at column `left`, a multiple of 64, of row `top`. Bits past the width must be 0.
  Islands(const LifeGridView& cells, std::int64_t left, std::int64_t top);

  /// Takes a grid in which nothing reaches the border on by as many generations, in place.
  using Advance = std::function<void(const LifeGridSpan& cells, std::int64_t generations)>;

  /// Generations that may be computed before new islands are looked for: K, or `most` where that is less.
  std::int64_t next_step(std::int64_t most) const;
  /// All islands by next_step(…) generations.
  void advance(std::int64_t generations, const Advance& advance_grid);

  bool empty() const { return blocks_.empty(); }
  /// Returns true if the rectangle of all blocks is larger than 64 MiB and at most a 16th of it are blocks.
  bool is_sparse() const;
  /// All live cells.
  std::vector<LifeBlock> small_blocks() const;

  /// The rectangle of blocks that holds all cells. `check` is told of its bytes before it is made.
  LifeGrid grid(std::int64_t& left, std::int64_t& top, const std::function<void(std::uint64_t bytes)>& check) const;

 private:
  /// 64 x 64 cells, at rows from 64 y and columns from 64 x on.
  struct Block {
    std::int64_t y = 0;
    std::int64_t x = 0;
    std::array<std::uint64_t, 64> rows = {};
    std::int32_t island = -1;  ///< of the last step; -1: of none, or of several
  };
  struct Island {
    std::vector<std::int32_t> blocks;
  };
  class Collected;
  /// Blocks from the first to the last row and column, ends included.
  struct Rectangle {
    std::int64_t top, bottom, left, right;
    /// Of the cells; 2^64 - 1 if there are as many or more.
    std::uint64_t bytes() const;
  };

  Rectangle rectangle() const;
  int scale() const;
  std::vector<Island> find(int scale) const;
  bool rests(const Island& island) const;

  std::vector<Block> blocks_;
  std::vector<std::int32_t> resting_;  ///< of each island of the last step: its number of blocks if it rests, or 0
  std::int64_t last_step_ = 0;
};

}  // namespace gradus::life_detail
