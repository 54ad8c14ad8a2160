#include "life/quadtree.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/stop.hpp"

namespace gradus::life_detail {

namespace {

using Node = LifeTree::Node;
__extension__ using Int128 = __int128;

constexpr std::int32_t leaf_level = 3;
constexpr std::int64_t farthest = std::int64_t{1} << 62;
constexpr std::string_view stopped = "stopped while scanning the pattern";

std::uint64_t mixed(std::uint64_t value) {
  const core::UInt128 product = static_cast<core::UInt128>(value ^ 0x9e3779b97f4a7c15) * 0xd1342543de82ef95;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_of(const std::array<std::uint32_t, 4>& quarters) {
  return mixed(mixed(std::uint64_t{quarters[0]} << 32 | quarters[1]) ^
               (std::uint64_t{quarters[2]} << 32 | quarters[3]));
}

bool is_empty(const std::array<std::uint32_t, 4>& quarters) {
  return (quarters[0] | quarters[1] | quarters[2] | quarters[3]) == 0;
}

}  // namespace

LifeTreeBuilder::LifeTreeBuilder() : slots_(64) { tree_.nodes.emplace_back(); }

std::uint32_t LifeTreeBuilder::add(const Node& node) {
  if (tree_.nodes.size() > UINT32_MAX) throw Error("a pattern of more than 2^32 different squares");
  tree_.nodes.push_back(node);
  return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
}

void LifeTreeBuilder::grow() {
  std::vector<std::uint32_t> old(2 * slots_.size());
  old.swap(slots_);
  for (const std::uint32_t index : old) {
    if (index == 0) continue;
    const Node& node = tree_.nodes[index];
    std::size_t slot = (node.level == leaf_level ? mixed(node.cells) : hash_of(node.quarters)) & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = index;
  }
}

std::uint32_t LifeTreeBuilder::find_or_add(const Node& node, std::uint64_t hash) {
  std::size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const Node& known = tree_.nodes[slots_[slot]];
    if (known.level == node.level && known.cells == node.cells && known.quarters == node.quarters) return slots_[slot];
  }
  const std::uint32_t index = slots_[slot] = add(node);
  if (++taken_ > slots_.size() / 2) grow();
  return index;
}

std::uint32_t LifeTreeBuilder::leaf(std::uint64_t cells) {
  return cells == 0 ? 0 : find_or_add({.level = leaf_level, .cells = cells}, mixed(cells));
}

std::uint32_t LifeTreeBuilder::node(std::int32_t level, const std::array<std::uint32_t, 4>& quarters) {
  return is_empty(quarters) ? 0 : find_or_add({.level = level, .quarters = quarters}, hash_of(quarters));
}

std::uint32_t LifeTreeBuilder::new_node(std::int32_t level, const std::array<std::uint32_t, 4>& quarters) {
  return is_empty(quarters) ? 0 : add({.level = level, .quarters = quarters});
}

LifeTree LifeTreeBuilder::finish(std::uint32_t root) {
  tree_.root = root;
  slots_ = {};
  return std::move(tree_);
}

// ---- From cells to trees ----

namespace {

/// Builds a tree from blocks. Sorts the blocks in Morton order, because the blocks of each square are then contiguous.
class BlocksToTree {
 public:
  BlocksToTree(std::vector<LifeBlock> blocks, const std::stop_token& stop) : blocks_(std::move(blocks)), stop_(stop) {}

  LifeTree make() {
    std::erase_if(blocks_, [](const LifeBlock& block) { return block.cells == 0; });
    if (blocks_.empty()) return builder_.finish(0);
    std::uint64_t widest = 0;  // the largest distance between a coordinate and the centre; -1 counts like 0
    for (const LifeBlock& block : blocks_)
      for (const std::int64_t place : {block.x, block.y})
        widest |= static_cast<std::uint64_t>(place < 0 ? ~place : place);
    const int level = leaf_level + 1 + static_cast<int>(std::bit_width(widest));
    core::RarePoll look(stop_, stopped);
    std::ranges::sort(blocks_, [&](const LifeBlock& a, const LifeBlock& b) {
      look.honour_stop();
      const auto ax = static_cast<std::uint64_t>(a.x) ^ sign;
      const auto ay = static_cast<std::uint64_t>(a.y) ^ sign;
      const auto bx = static_cast<std::uint64_t>(b.x) ^ sign;
      const auto by = static_cast<std::uint64_t>(b.y) ^ sign;
      // The coordinate with the highest differing bit determines the order. On a tie, y determines it.
      const bool by_x = (ay ^ by) < (ax ^ bx) && ((ay ^ by) & (ax ^ bx)) < ((ax ^ bx) & ~(ay ^ by));
      return by_x ? ax < bx : ay < by;
    });
    const std::int64_t half = std::int64_t{1} << (level - 1 - leaf_level);
    return builder_.finish(make(level, -half, -half, blocks_));
  }

 private:
  static constexpr std::uint64_t sign = std::uint64_t{1} << 63;

  /// Returns the node of these blocks. All blocks are within the square whose first block is (x, y).
  std::uint32_t make(int level, std::int64_t x, std::int64_t y, std::span<const LifeBlock> blocks) {
    if (blocks.empty()) return 0;
    if (level == leaf_level) {
      std::uint64_t cells = 0;
      for (const LifeBlock& block : blocks) cells |= block.cells;
      return builder_.leaf(cells);
    }
    if (++made_ % 1024 == 0) core::honour_stop(stop_, stopped);
    const std::int64_t half = std::int64_t{1} << (level - 1 - leaf_level);
    std::array<std::uint32_t, 4> quarters{};
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const std::int64_t quarter_x = x + (quarter % 2 == 1 ? half : 0);
      const std::int64_t quarter_y = y + (quarter / 2 == 1 ? half : 0);
      const auto end = std::ranges::partition_point(blocks, [&](const LifeBlock& block) {
        const bool south = block.y - y >= half;
        const bool east = block.x - x >= half;
        return std::size_t{south} * 2 + std::size_t{east} <= quarter;
      });
      const auto count = static_cast<std::size_t>(end - blocks.begin());
      quarters[quarter] = make(level - 1, quarter_x, quarter_y, blocks.first(count));
      blocks = blocks.subspan(count);
    }
    return builder_.node(level, quarters);
  }

  std::vector<LifeBlock> blocks_;
  const std::stop_token& stop_;
  LifeTreeBuilder builder_;
  std::uint32_t made_ = 0;
};

class GridToTree {
 public:
  GridToTree(const LifeGridView& cells, std::int64_t left, std::int64_t top, const std::stop_token& stop)
      : cells_(cells), left_(left), top_(top), stop_(stop) {}

  LifeTree make() {
    if (cells_.height == 0 || cells_.width == 0) return builder_.finish(0);
    int level = leaf_level + 1;  // the root must have quarters
    const auto half = [&] { return Int128{1} << (level - 1); };
    while (left_ < -half() || top_ < -half() || left_ + cells_.width > half() || top_ + cells_.height > half()) ++level;
    return builder_.finish(make(level, -half(), -half()));
  }

 private:
  std::uint32_t make(int level, Int128 x, Int128 y) {
    const Int128 side = Int128{1} << level;
    if (x >= left_ + cells_.width || y >= top_ + cells_.height || x + side <= left_ || y + side <= top_) return 0;
    if (level == leaf_level)
      return builder_.leaf(cells_at(static_cast<std::int64_t>(x - left_), static_cast<std::int64_t>(y - top_)));
    if (++made_ % 1024 == 0) core::honour_stop(stop_, stopped);
    const Int128 half = side / 2;
    return builder_.node(level, {make(level - 1, x, y), make(level - 1, x + half, y), make(level - 1, x, y + half),
                                 make(level - 1, x + half, y + half)});
  }

  /// Returns 8 x 8 cells of the grid, beginning at (x, y). (x, y) may be outside of the grid.
  std::uint64_t cells_at(std::int64_t x, std::int64_t y) const {
    std::uint64_t cells = 0;
    for (std::int64_t row = std::max<std::int64_t>(-y, 0); row < std::min<std::int64_t>(8, cells_.height - y); ++row) {
      const std::uint64_t* const words = cells_.row(y + row);
      const std::int64_t first = std::max<std::int64_t>(x, 0);
      const std::int64_t count = std::min(x + 8, cells_.width) - first;
      std::uint64_t bits = words[first / 64] >> (first % 64);
      if (first % 64 + count > 64) bits |= words[first / 64 + 1] << (64 - first % 64);
      bits &= (std::uint64_t{1} << count) - 1;
      cells |= bits << (first - x) << (8 * row);
    }
    return cells;
  }

  const LifeGridView& cells_;
  Int128 left_, top_;
  const std::stop_token& stop_;
  LifeTreeBuilder builder_;
  std::uint32_t made_ = 0;
};

}  // namespace

LifeTree life_tree(std::vector<LifeBlock> blocks, const std::stop_token& stop) {
  return BlocksToTree(std::move(blocks), stop).make();
}

LifeTree life_tree(const LifeGridView& cells, std::int64_t left, std::int64_t top, const std::stop_token& stop) {
  return GridToTree(cells, left, top, stop).make();
}

void expand(LifeTree& tree) {
  if (tree.root == 0) return;
  const Node whole = tree.nodes[tree.root];
  const auto add = [&](const Node& node) {
    tree.nodes.push_back(node);
    return static_cast<std::uint32_t>(tree.nodes.size() - 1);
  };
  Node root{.level = whole.level + 1};
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    if (whole.level == leaf_level) {
      const std::uint64_t from = quarter / 2 * 32 + quarter % 2 * 4;
      const std::uint64_t to = (1 - quarter / 2) * 32 + (1 - quarter % 2) * 4;
      constexpr std::uint64_t four_rows = 0x0f0f0f0f;
      const std::uint64_t cells = (whole.cells >> from & four_rows) << to;
      root.quarters[quarter] = cells == 0 ? 0 : add({.level = leaf_level, .cells = cells});
    } else if (whole.quarters[quarter] != 0) {
      Node around{.level = whole.level};
      around.quarters[3 - quarter] = whole.quarters[quarter];
      root.quarters[quarter] = add(around);
    }
  }
  tree.root = add(root);
}

// ---- From place to place ----

namespace {

/// Moves a tree. Each square of the moved tree is a window onto four adjacent squares of the given tree.
class Movement {
 public:
  Movement(const LifeTree& tree, std::int64_t across, std::int64_t down, const std::stop_token& stop)
      : tree_(tree), across_(-Int128{across}), down_(-Int128{down}), look_(stop, stopped) {
    const auto farther = static_cast<std::uint64_t>(std::max(std::abs(across), std::abs(down)));
    level_ = std::max(tree_.nodes[tree_.root].level, static_cast<std::int32_t>(std::bit_width(farther)) + 1) + 1;
    // level_ is the level of the moved tree's root. This root is a window onto the given root and the empty space
    // around it.
    while (tree_.nodes[tree_.root].level <= level_) expand(tree_);
    windows_.resize(static_cast<std::size_t>(level_) + 1);
  }

  LifeTree make() {
    std::uint32_t root = window(level_, tree_.nodes[tree_.root].quarters);
    for (std::int32_t level = level_; root != 0 && level > leaf_level + 1; --level) {
      const std::optional<std::array<std::uint32_t, 4>> inner = inner_quarters(builder_.quarters_of(root));
      if (!inner) break;
      root = builder_.node(level - 1, *inner);
    }
    return builder_.finish(root);
  }

 private:
  /// Returns the four inner parts, which surround the centre, if all outer parts are empty. Otherwise returns nothing.
  std::optional<std::array<std::uint32_t, 4>> inner_quarters(const std::array<std::uint32_t, 4>& whole) const {
    std::array<std::uint32_t, 4> inner{};
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const std::array<std::uint32_t, 4>& parts = builder_.quarters_of(whole[quarter]);
      for (std::size_t place = 0; place < 4; ++place)
        if (place != 3 - quarter && parts[place] != 0) return std::nullopt;
      inner[quarter] = parts[3 - quarter];
    }
    return inner;
  }

  /// Returns bit `level` of the distance between a window and the first of its four squares. For the outermost window,
  /// the latter distance is the distance of the move plus half of the window's side.
  bool is_far(Int128 distance, std::int32_t level) const {
    if (level == level_ - 1) return distance >= 0;
    return (distance >> std::min(level, 126) & 1) != 0;
  }

  /// Returns the window of this level onto four squares of the same level, in the order nw, ne, sw, se.
  std::uint32_t window(std::int32_t level, std::array<std::uint32_t, 4> squares) {
    if (level < level_ && across_ == 0) squares[1] = squares[3] = 0;
    if (level < level_ && down_ == 0) squares[2] = squares[3] = 0;
    if (is_empty(squares)) return 0;
    if (level == leaf_level) return leaf(squares);
    const auto [known, is_new] = windows_[static_cast<std::size_t>(level)].try_emplace(squares, 0);
    if (!is_new) return known->second;
    look_.honour_stop();
    const std::size_t x = is_far(across_, level - 1) ? 1 : 0;
    const std::size_t y = is_far(down_, level - 1) ? 1 : 0;
    const auto part = [&](std::size_t row, std::size_t column) {
      return tree_.nodes[squares[row / 2 * 2 + column / 2]].quarters[row % 2 * 2 + column % 2];
    };
    std::array<std::uint32_t, 4> quarters{};
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const std::size_t row = y + quarter / 2;
      const std::size_t column = x + quarter % 2;
      quarters[quarter] = window(
          level - 1, {part(row, column), part(row, column + 1), part(row + 1, column), part(row + 1, column + 1)});
    }
    return known->second = builder_.node(level, quarters);
  }

  std::uint32_t leaf(const std::array<std::uint32_t, 4>& squares) {
    const auto across = static_cast<unsigned>(across_ & 7);
    const auto down = static_cast<unsigned>(down_ & 7);
    std::uint64_t cells = 0;
    for (unsigned row = 0; row < 8; ++row) {
      const unsigned from = row + down;
      const std::size_t west = std::size_t{2} * (from / 8);
      const auto row_of = [&](std::size_t square) {
        return tree_.nodes[squares[square]].cells >> (from % 8 * 8) & 0xff;
      };
      cells |= ((row_of(west) | row_of(west + 1) << 8) >> across & 0xff) << (8 * row);
    }
    return builder_.leaf(cells);
  }

  struct Hash {
    std::size_t operator()(const std::array<std::uint32_t, 4>& squares) const { return hash_of(squares); }
  };

  LifeTree tree_;
  Int128 across_, down_;
  core::RarePoll look_;
  std::int32_t level_ = 0;
  std::vector<std::unordered_map<std::array<std::uint32_t, 4>, std::uint32_t, Hash>> windows_;
  LifeTreeBuilder builder_;
};

}  // namespace

LifeTree moved(const LifeTree& tree, std::int64_t across, std::int64_t down, const std::stop_token& stop) {
  if (tree.root == 0 || (across == 0 && down == 0)) return tree;
  return Movement(tree, across, down, stop).make();
}

// ---- From trees to cells ----

namespace {

/// The rows and columns of a square that contain live cells: [first, last]. If there are no live cells, first > last.
struct Extent {
  Int128 left = 0, right = -1, top = 0, bottom = -1;
};

Extent extent_of_leaf(std::uint64_t cells) {
  std::uint64_t columns = cells | cells >> 32;
  columns |= columns >> 16;
  columns = (columns | columns >> 8) & 0xff;
  return {std::countr_zero(columns), 63 - std::countl_zero(columns), std::countr_zero(cells) / 8,
          (63 - std::countl_zero(cells)) / 8};
}

void include(Extent& whole, const Extent& part, Int128 x, Int128 y, bool& any) {
  const Extent moved{part.left + x, part.right + x, part.top + y, part.bottom + y};
  if (!any) whole = moved;
  else
    whole = {std::min(whole.left, moved.left), std::max(whole.right, moved.right), std::min(whole.top, moved.top),
             std::max(whole.bottom, moved.bottom)};
  any = true;
}

template <class Use>
void for_live_blocks(const LifeTree& tree, std::uint32_t index, std::int64_t x, std::int64_t y, const Use& use) {
  if (index == 0) return;
  const Node& node = tree.nodes[index];
  if (node.level == leaf_level) return use(LifeBlock{x, y, node.cells});
  const std::int64_t half = std::int64_t{1} << (node.level - 1 - leaf_level);
  for (std::size_t quarter = 0; quarter < 4; ++quarter)
    for_live_blocks(tree, node.quarters[quarter], x + (quarter % 2 == 1 ? half : 0), y + (quarter / 2 == 1 ? half : 0),
                    use);
}

}  // namespace

LifeTree::Node tight_root(const LifeTree& tree) {
  Node root = tree.nodes[tree.root];
  for (;;) {
    if (root.level <= leaf_level + 1) return root;
    Node inner{.level = root.level - 1};
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const Node& part = tree.nodes[root.quarters[quarter]];
      for (std::size_t place = 0; place < 4; ++place)
        if (place != 3 - quarter && part.quarters[place] != 0) return root;
      inner.quarters[quarter] = part.quarters[3 - quarter];
    }
    root = inner;
  }
}

std::optional<LifeBox> bounding_box(const LifeTree& tree, std::int64_t left, std::int64_t top) {
  if (tree.root == 0) return LifeBox{};
  // Nodes follow their parts, so one pass suffices.
  std::vector<Extent> extents(tree.root + std::size_t{1});
  for (std::size_t index = 1; index <= tree.root; ++index) {
    const Node& node = tree.nodes[index];
    if (node.level == leaf_level) {
      extents[index] = extent_of_leaf(node.cells);
      continue;
    }
    if (node.level > most_tree_levels - 20) return std::nullopt;
    const Int128 half = Int128{1} << (node.level - 1);
    bool any = false;
    for (std::size_t quarter = 0; quarter < 4; ++quarter)
      if (node.quarters[quarter] != 0)
        include(extents[index], extents[node.quarters[quarter]], quarter % 2 == 1 ? half : 0,
                quarter / 2 == 1 ? half : 0, any);
  }
  const Extent& inside = extents[tree.root];
  const Int128 middle = Int128{1} << (tree.nodes[tree.root].level - 1);
  const Extent all{inside.left - middle + left, inside.right - middle + left, inside.top - middle + top,
                   inside.bottom - middle + top};
  const Int128 width = all.right - all.left + 1;
  const Int128 height = all.bottom - all.top + 1;
  if (all.left < -farthest || all.top < -farthest || all.right >= farthest || all.bottom >= farthest ||
      std::max(width, height) > INT64_MAX)
    return std::nullopt;
  return LifeBox{static_cast<std::int64_t>(all.left), static_cast<std::int64_t>(all.top),
                 static_cast<std::int64_t>(width), static_cast<std::int64_t>(height)};
}

std::optional<LifePopulation> population_of(const LifeTree& tree) {
  std::vector<core::UInt128> populations(tree.root + std::size_t{1});
  for (std::size_t index = 1; index <= tree.root; ++index) {
    const Node& node = tree.nodes[index];
    if (node.level == leaf_level) populations[index] = static_cast<unsigned>(std::popcount(node.cells));
    else
      for (const std::uint32_t quarter : node.quarters)
        if (__builtin_add_overflow(populations[index], populations[quarter], &populations[index])) return std::nullopt;
  }
  const core::UInt128 all = populations[tree.root];
  return LifePopulation{static_cast<std::uint64_t>(all >> 64), static_cast<std::uint64_t>(all)};
}

namespace {

/// Calls use(block) for every live block of a tree with 63-bit coordinates.
template <class Use>
void for_all_live_blocks(const LifeTree& tree, const Use& use) {
  const Node root = tight_root(tree);
  const std::int64_t half = root.level == leaf_level ? 0 : std::int64_t{1} << (root.level - 1 - leaf_level);
  for (std::size_t quarter = 0; quarter < 4; ++quarter)
    for_live_blocks(tree, root.quarters[quarter], quarter % 2 == 1 ? 0 : -half, quarter / 2 == 1 ? 0 : -half, use);
}

/// Returns the tree or, if its root is a leaf, a larger tree around it.
const LifeTree& with_quarters(const LifeTree& given, LifeTree& larger) {
  if (given.nodes[given.root].level != leaf_level) return given;
  larger = given;
  expand(larger);
  return larger;
}

}  // namespace

std::optional<std::vector<LifeBlock>> blocks_of(const LifeTree& given, std::size_t most, const std::stop_token& stop) {
  if (given.root == 0) return std::vector<LifeBlock>{};
  LifeTree larger;
  const LifeTree& tree = with_quarters(given, larger);
  std::vector<std::uint64_t> counts(tree.root + std::size_t{1});
  for (std::size_t index = 1; index <= tree.root; ++index) {
    const Node& node = tree.nodes[index];
    if (node.level == leaf_level) counts[index] = 1;
    else
      for (const std::uint32_t quarter : node.quarters)
        counts[index] = std::min(counts[index] + counts[quarter], std::uint64_t{most} + 1);
  }
  if (counts[tree.root] > most) return std::nullopt;
  std::vector<LifeBlock> blocks;
  blocks.reserve(counts[tree.root]);
  core::RarePoll look(stop, stopped);
  for_all_live_blocks(tree, [&](const LifeBlock& block) {
    look.honour_stop();
    blocks.push_back(block);
  });
  std::ranges::sort(blocks, [&](const LifeBlock& a, const LifeBlock& b) {
    look.honour_stop();
    return a.y != b.y ? a.y < b.y : a.x < b.x;
  });
  return blocks;
}

LifeGrid grid_of(const LifeTree& given, const LifeBox& box, std::int64_t left, std::int64_t top,
                 const std::stop_token& stop) {
  LifeGrid grid(box.height, box.width);
  if (given.root == 0) return grid;
  LifeTree larger;
  const LifeTree& tree = with_quarters(given, larger);
  core::RarePoll look(stop, stopped);
  for_all_live_blocks(tree, [&](const LifeBlock& block) {
    look.honour_stop();
    for (std::int64_t row = 0; row < 8; ++row) {
      const std::int64_t y = block.y * 8 + row + top - box.top;
      if (y < 0 || y >= box.height) continue;
      std::uint64_t bits = block.cells >> (8 * row) & 0xff;
      std::int64_t x = block.x * 8 + left - box.left;
      if (bits == 0 || x <= -8 || x >= box.width) continue;
      if (x < 0) bits >>= -x;
      x = std::max<std::int64_t>(x, 0);
      if (x + 8 > box.width) bits &= (std::uint64_t{1} << (box.width - x)) - 1;
      std::uint64_t* const words = grid.words() + y * grid.stride();
      words[x / 64] |= bits << (x % 64);
      if (x % 64 > 56 && x / 64 + 1 < grid.stride()) words[x / 64 + 1] |= bits >> (64 - x % 64);
    }
  });
  return grid;
}

}  // namespace gradus::life_detail
