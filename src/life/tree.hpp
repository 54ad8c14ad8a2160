// Conversions from a quadtree (LifeTree) to a grid.
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

/// A checked tree. Its centre is at (left, top).
struct PlacedTree {
  const LifeTree& tree;
  std::int64_t left = 0;
  std::int64_t top = 0;
};

/// Throws InputError for a malformed LifeTree: nodes that do not precede the nodes that contain them, mismatched
/// levels, or a missing root.
void check_tree(const LifeTree& tree);

/// Returns the bounding box of the live cells, for estimates. If live cells are more than 2^62 apart, returns a box
/// with 2^30 cells on a side.
Box box_of(const PlacedTree& placed);

/// If no memory can hold the smallest grid with all live cells, throws Error with a message that ends with `way_out`.
void check_rectangle(const PlacedTree& placed, std::string_view way_out, const Execution& execution);

/// Returns the smallest grid with all live cells. Throws the same errors as check_rectangle(), and InterruptedError
/// after a stop request.
GridOfTree grid_of(const PlacedTree& placed, std::string_view way_out, const Execution& execution);

}  // namespace gradus::life_detail
