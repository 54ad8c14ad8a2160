// The plane as a quadtree (LifeTree), as a grid.
#pragma once

#include <cstdint>

#include "gradus/life.hpp"
#include "life/bits/cells.hpp"

namespace gradus::life_detail {

struct GridOfTree {
  LifeGrid cells;
  std::int64_t left = 0;
  std::int64_t top = 0;
};

/// InputError for a tree that breaks the rules of LifeTree: nodes that do not come before those that hold them, levels
/// that do not fit, a root that is not there.
void check_tree(const LifeTree& tree);

/// The box of the live cells of a tree that was checked, for estimates; 2^30 cells on a side where they lie further
/// apart than 2^62.
Box box_of(const LifeTree& tree);

/// The smallest grid that holds all live cells. Error where there is no memory for it, InterruptedError after a stop
/// request. The tree was checked.
GridOfTree grid_of(const LifeTree& tree, const Execution& execution);

}  // namespace gradus::life_detail
