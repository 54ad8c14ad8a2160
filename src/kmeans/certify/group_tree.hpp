// A binary tree of groups, in which groups that are near to each other meet first.
#pragma once

#include <cstdint>
#include <vector>

namespace gradus::kmeans_detail {

/// A node is a group (a leaf) or the union of two nodes. Its groups have consecutive places.
struct GroupNode {
  std::int32_t left = -1;   ///< index of a node, or -1 for a leaf
  std::int32_t right = -1;  ///< index of a node, or -1 for a leaf
  std::int32_t parent = -1;
  std::int32_t first = 0;  ///< first place
  std::int32_t last = 0;   ///< last place and one

  bool is_leaf() const { return left < 0; }
  std::int32_t size() const { return last - first; }
};

struct GroupTree {
  /// Node g is group g, every other node follows its two parts, and the last node is the union of all groups.
  std::vector<GroupNode> nodes;
};

/// Joins the groups along the maximum spanning tree of (spread_g + spread_h) / |center_g - center_h|^2, in O(groups^2)
/// distances. `centers` has `columns` coordinates per group, and `spreads` the mean squared distance to the center.
GroupTree group_tree(const std::vector<double>& centers, const std::vector<double>& spreads, std::int64_t columns);

}  // namespace gradus::kmeans_detail
