// Builds, moves, measures and counts LifeTrees, for readers, writers and HashLife.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "core/philox.hpp"
#include "gradus/life.hpp"

namespace gradus::life_detail {

/// The maximum level of a tree. The magnitudes of its coordinates are below 2^(most_tree_levels - 1).
inline constexpr int most_tree_levels = 140;

/// Builds trees in which equal parts share a node.
class LifeTreeBuilder {
 public:
  LifeTreeBuilder();
  /// Returns the leaf of 8 x 8 cells, or 0 if none is alive.
  std::uint32_t leaf(std::uint64_t cells);
  /// Returns the node that consists of these quarters, or 0 if all four are empty. The quarters belong to the tree that
  /// is being built.
  std::uint32_t node(std::int32_t level, const std::array<std::uint32_t, 4>& quarters);
  /// Makes a node of these quarters. The caller must know that the tree has no such node yet.
  std::uint32_t new_node(std::int32_t level, const std::array<std::uint32_t, 4>& quarters);
  std::size_t size() const { return tree_.nodes.size(); }
  const std::array<std::uint32_t, 4>& quarters_of(std::uint32_t index) const { return tree_.nodes[index].quarters; }
  /// Returns the tree with this root and invalidates the builder.
  LifeTree finish(std::uint32_t root);

 private:
  std::uint32_t add(const LifeTree::Node& node);
  std::uint32_t find_or_add(const LifeTree::Node& node, std::uint64_t hash);
  void grow();

  LifeTree tree_;
  std::vector<std::uint32_t> slots_;  ///< hash table of node indices; 0: free slot
  std::size_t taken_ = 0;
};

/// A square of 64 cells of the plane. Its first cell is at (8 * x, 8 * y). Cell (row, column) is bit 8 * row + column.
struct LifeBlock {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::uint64_t cells = 0;
};

/// Returns the tree of these blocks, which may be anywhere in the plane. Blocks may be in any order, and the same place
/// may occur several times. |x| and |y| must not exceed 2^60.
LifeTree life_tree(std::vector<LifeBlock> blocks, const std::stop_token& stop = {});
/// Returns the tree of a grid whose first cell is at (left, top). `left` and `top` must be between -2^62 and 2^62.
LifeTree life_tree(const LifeGridView& cells, std::int64_t left, std::int64_t top, const std::stop_token& stop = {});

/// Makes the root the centre of a new root, one level higher.
void expand(LifeTree& tree);

/// Returns the root of the smallest tree with the same cells and centre. The root may be a new node, but its quarters
/// are nodes of the given tree.
LifeTree::Node tight_root(const LifeTree& tree);

/// Moves the cells `across` columns to the right and `down` rows down.
LifeTree moved(const LifeTree& tree, std::int64_t across, std::int64_t down, const std::stop_token& stop = {});

/// The cells in [left, left + width) x [top, top + height).
struct LifeBox {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};
/// Returns the box of a bounded world of this size, whose centre is (0, 0).
constexpr LifeBox world_box(std::int64_t width, std::int64_t height) {
  return {-(width / 2), -(height / 2), width, height};
}

/// Returns the smallest box around the live cells of a tree centred at (left, top). If no cell is alive, returns a 0 x
/// 0 box at (0, 0). If a coordinate is outside [-2^62, 2^62) or the box has a side of 2^63, returns nothing.
std::optional<LifeBox> bounding_box(const LifeTree& tree, std::int64_t left = 0, std::int64_t top = 0);

/// Counts the live cells. Returns nothing if there are 2^128 or more.
std::optional<LifePopulation> population_of(const LifeTree& tree);

/// Returns the live blocks of a tree with 62-bit coordinates, row by row from the top, and from left to right within a
/// row. Returns nothing if there are more than `most`.
std::optional<std::vector<LifeBlock>> blocks_of(const LifeTree& tree, std::size_t most,
                                                const std::stop_token& stop = {});

/// Returns the cells of a box as a grid. The tree's centre is at (left, top).
LifeGrid grid_of(const LifeTree& tree, const LifeBox& box, std::int64_t left = 0, std::int64_t top = 0,
                 const std::stop_token& stop = {});

}  // namespace gradus::life_detail
