// What readers, writers and HashLife need of a LifeTree: how it is made, where its cells lie, how many they are.
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

/// Levels that a tree may have: its cells have coordinates below 2^(this - 1).
inline constexpr int most_tree_levels = 140;

/// Makes trees in which equal parts are there once.
class LifeTreeBuilder {
 public:
  LifeTreeBuilder();
  /// 8 x 8 cells; 0 for those without a live one.
  std::uint32_t leaf(std::uint64_t cells);
  /// The node of these quarters, which are nodes of this tree; 0 for four empty ones.
  std::uint32_t node(std::int32_t level, const std::array<std::uint32_t, 4>& quarters);
  /// The same for quarters of which the caller knows that there is no node yet.
  std::uint32_t new_node(std::int32_t level, const std::array<std::uint32_t, 4>& quarters);
  std::size_t size() const { return tree_.nodes.size(); }
  const std::array<std::uint32_t, 4>& quarters_of(std::uint32_t index) const { return tree_.nodes[index].quarters; }
  /// The tree with this root. Its builder is of no more use.
  LifeTree finish(std::uint32_t root);

 private:
  std::uint32_t add(const LifeTree::Node& node);
  std::uint32_t find_or_add(const LifeTree::Node& node, std::uint64_t hash);
  void grow();

  LifeTree tree_;
  std::vector<std::uint32_t> slots_;  ///< indices of nodes, by their hash; 0: free
  std::size_t taken_ = 0;
};

/// 8 x 8 cells of the plane, from (8 x, 8 y) on: bit 8 * row + column.
struct LifeBlock {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::uint64_t cells = 0;
};

/// The tree of cells anywhere in the plane. The blocks may come in any order, a place more than once. |x| and |y| are
/// at most 2^60.
LifeTree life_tree(std::vector<LifeBlock> blocks, const std::stop_token& stop = {});
/// The tree of a grid whose first cell is at (left, top), which are between -2^62 and 2^62.
LifeTree life_tree(const LifeGridView& cells, std::int64_t left, std::int64_t top, const std::stop_token& stop = {});

/// The root becomes the middle of one of the next level.
void expand(LifeTree& tree);

/// The root of a tree with the same cells and the same middle that is no larger than they need. It need not be one of
/// the tree's nodes, as its quarters are.
LifeTree::Node tight_root(const LifeTree& tree);

/// The same cells, `across` columns further right and `down` rows further down.
LifeTree moved(const LifeTree& tree, std::int64_t across, std::int64_t down, const std::stop_token& stop = {});

/// The cells in [left, left + width) and [top, top + height).
struct LifeBox {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};
/// The cells of a bounded world of this size: (0, 0) is in the middle.
constexpr LifeBox world_box(std::int64_t width, std::int64_t height) {
  return {-(width / 2), -(height / 2), width, height};
}

/// The smallest box around the live cells of a tree whose middle is at (left, top); 0 x 0 at (0, 0) if no cell is
/// alive; nothing if a place is not in [-2^62, 2^62) or the box has a side of 2^63.
std::optional<LifeBox> bounding_box(const LifeTree& tree, std::int64_t left = 0, std::int64_t top = 0);

/// Live cells; nothing where they are 2^128 or more.
std::optional<LifePopulation> population_of(const LifeTree& tree);

/// Live blocks of the tree, which lies within 62 bits, row by row from the top, each row from the left; nothing where
/// they are more than `most`.
std::optional<std::vector<LifeBlock>> blocks_of(const LifeTree& tree, std::size_t most,
                                                const std::stop_token& stop = {});

/// The cells of a box as a grid. The middle of the tree is at (left, top).
LifeGrid grid_of(const LifeTree& tree, const LifeBox& box, std::int64_t left = 0, std::int64_t top = 0,
                 const std::stop_token& stop = {});

}  // namespace gradus::life_detail
