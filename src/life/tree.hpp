// The plane as a quadtree (LifeTree), as a grid.
#pragma once

#include <cstdint>
#include <string_view>

#include "gradus/life.hpp"
#include "life/bits/cells.hpp"

namespace gradus::life_detail {

struct GridOfTree {
  LifeGrid cells;
  std::int64_t left = 0;
  std::int64_t top = 0;
};

/// A tree that was checked, whose middle is at (left, top).
struct PlacedTree {
  const LifeTree& tree;
  std::int64_t left = 0;
  std::int64_t top = 0;
};

/// Throws InputError for a tree that breaks the rules of LifeTree: nodes that do not come before those that hold them,
/// levels that do not fit, a root that is not there.
void check_tree(const LifeTree& tree);

/// The box of the live cells, for estimates; 2^30 cells on a side where they lie further apart than 2^62.
Box box_of(const PlacedTree& placed);

/// Throws Error, which ends with `way_out`, if no memory holds the smallest grid with all live cells.
void check_rectangle(const PlacedTree& placed, std::string_view way_out, const Execution& execution);

/// The smallest grid that holds all live cells. Errors of check_rectangle(), InterruptedError after a stop
/// request.
GridOfTree grid_of(const PlacedTree& placed, std::string_view way_out, const Execution& execution);

}  // namespace gradus::life_detail
