#include "life/tree.hpp"

#include <optional>
#include <string>

#include "core/checked.hpp"
#include "execution/request.hpp"
#include "life/quadtree.hpp"

namespace gradus::life_detail {

namespace {

constexpr std::int32_t leaf_level = 3;
constexpr std::int32_t greatest_level = most_tree_levels - 20;  // higher levels are room for growth during a run

}  // namespace

void check_tree(const LifeTree& tree) {
  const auto fail = [](std::size_t index, const std::string& why) {
    throw InputError(about("tree") + "node " + std::to_string(index) + " " + why);
  };
  if (tree.nodes.empty()) throw InputError(about("tree") + "it has no nodes; node 0 is the empty one");
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

Box box_of(const PlacedTree& placed) {
  const std::optional<LifeBox> box = bounding_box(placed.tree, placed.left, placed.top);
  // No memory can hold a grid with this side, but the size of the grid in bytes does not overflow.
  constexpr std::int64_t far = std::int64_t{1} << 29;
  if (!box) return {-far, far, -far, far};
  return {box->top, box->top + box->height, box->left, box->left + box->width};
}

namespace {

/// Returns the bounding box of the live cells. Throws the same errors as check_rectangle().
LifeBox rectangle_of(const PlacedTree& placed, std::string_view way_out, const Execution& execution) {
  const std::optional<LifeBox> box = bounding_box(placed.tree, placed.left, placed.top);
  if (!box) throw Error("live cells are farther than 2^62 from each other or from (0, 0); " + std::string(way_out));
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(box->height),
                             static_cast<std::uint64_t>(box->width / 64 + 1) * 8, &bytes))
    throw Error("the live cells are in a rectangle of " + std::to_string(box->width) + " x " +
                std::to_string(box->height) + ", which no memory holds; " + std::string(way_out));
  execution::check_memory(bytes, execution, way_out);
  return *box;
}

}  // namespace

void check_rectangle(const PlacedTree& placed, std::string_view way_out, const Execution& execution) {
  rectangle_of(placed, way_out, execution);
}

GridOfTree grid_of(const PlacedTree& placed, std::string_view way_out, const Execution& execution) {
  const LifeBox box = rectangle_of(placed, way_out, execution);
  return {grid_of(placed.tree, box, placed.left, placed.top, execution.stop), box.left, box.top};
}

}  // namespace gradus::life_detail
