#include "life/tree.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "core/checked.hpp"
#include "core/stop.hpp"
#include "execution/request.hpp"
#include "life/bits/cells.hpp"

namespace gradus::life_detail {

namespace {

constexpr std::int32_t leaf_level = 3;
constexpr std::int32_t greatest_level = 62;  // whose rows are counted in 63 bits

/// The box of a node's live cells, counted from the node's own first cell.
std::vector<Box> boxes_of(const LifeTree& tree) {
  std::vector<Box> boxes(tree.nodes.size());
  for (std::size_t index = 1; index < tree.nodes.size(); ++index) {
    const LifeTree::Node& node = tree.nodes[index];
    Box& box = boxes[index];
    if (node.level == leaf_level) {
      if (node.cells == 0) continue;
      std::uint64_t columns = 0;
      for (int row = 0; row < 8; ++row) columns |= node.cells >> (8 * row) & 0xFF;
      box = {std::countr_zero(node.cells) / 8, 8 - std::countl_zero(node.cells) / 8, std::countr_zero(columns),
             64 - std::countl_zero(columns)};
      continue;
    }
    const std::int64_t half = std::int64_t{1} << (node.level - 1);
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const Box& of = boxes[node.quarters[quarter]];
      if (of.empty()) continue;
      const std::int64_t down = quarter / 2 == 1 ? half : 0;
      const std::int64_t across = quarter % 2 == 1 ? half : 0;
      const Box moved{of.top + down, of.bottom + down, of.left + across, of.right + across};
      if (box.empty()) box = moved;
      else
        box = {std::min(box.top, moved.top), std::max(box.bottom, moved.bottom), std::min(box.left, moved.left),
               std::max(box.right, moved.right)};
    }
  }
  return boxes;
}

}  // namespace

void check_tree(const LifeTree& tree) {
  const auto fail = [](std::size_t index, const std::string& why) {
    throw InputError("tree: node " + std::to_string(index) + " " + why);
  };
  if (tree.nodes.empty()) throw InputError("tree: it has no nodes; node 0 is the empty one");
  for (std::size_t index = 1; index < tree.nodes.size(); ++index) {
    const LifeTree::Node& node = tree.nodes[index];
    if (node.level < leaf_level || node.level > greatest_level)
      fail(index,
           "has level " + std::to_string(node.level) + "; 3 to " + std::to_string(greatest_level) + " are possible");
    if (node.level == leaf_level) continue;
    for (const std::uint32_t quarter : node.quarters) {
      if (quarter >= index)
        fail(index, "has node " + std::to_string(quarter) + " as a quarter, which does not come before it");
      if (quarter != 0 && tree.nodes[quarter].level != node.level - 1)
        fail(index, "of level " + std::to_string(node.level) + " has a quarter of level " +
                        std::to_string(tree.nodes[quarter].level));
    }
  }
  if (tree.root >= tree.nodes.size()) fail(tree.root, "is the root, but there is none of this number");
}

namespace {

/// Where the root's first row and column lie.
std::int64_t corner_of(const LifeTree& tree) {
  return tree.root == 0 ? 0 : -(std::int64_t{1} << (tree.nodes[tree.root].level - 1));
}

}  // namespace

Box box_of(const LifeTree& tree) {
  const Box box = boxes_of(tree)[tree.root];
  const std::int64_t corner = corner_of(tree);
  return {box.top + corner, box.bottom + corner, box.left + corner, box.right + corner};
}

GridOfTree grid_of(const LifeTree& tree, const Execution& execution) {
  GridOfTree result;
  const std::vector<Box> boxes = boxes_of(tree);
  const Box& box = boxes[tree.root];
  if (box.empty()) return result;
  result.top = box.top + corner_of(tree);
  result.left = box.left + corner_of(tree);
  execution::check_memory(core::checked_multiply(static_cast<std::uint64_t>(box.height()),
                                                 static_cast<std::uint64_t>((box.width() + 63) / 64 * 8),
                                                 "the rectangle of the pattern's cells"),
                          execution, "'hashlife' takes such a pattern as it is");
  result.cells = LifeGrid(box.height(), box.width());
  struct Part {
    std::uint32_t node;
    std::int64_t top, left;
  };
  std::vector<Part> parts{{tree.root, -box.top, -box.left}};
  std::int64_t leaves = 0;
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    const LifeTree::Node& node = tree.nodes[part.node];
    if (part.node == 0 || boxes[part.node].empty()) continue;
    if (node.level > leaf_level) {
      const std::int64_t side = std::int64_t{1} << (node.level - 1);
      for (std::size_t quarter = 0; quarter < 4; ++quarter)
        parts.push_back({node.quarters[quarter], part.top + (quarter / 2 == 1 ? side : 0),
                         part.left + (quarter % 2 == 1 ? side : 0)});
      continue;
    }
    if (++leaves % 65536 == 0) core::honour_stop(execution.stop, "stopped while unfolding a tree");
    for (std::uint64_t rest = node.cells; rest != 0; rest &= rest - 1) {
      const int bit = std::countr_zero(rest);
      result.cells.set(part.top + bit / 8, part.left + bit % 8);
    }
  }
  return result;
}

}  // namespace gradus::life_detail
