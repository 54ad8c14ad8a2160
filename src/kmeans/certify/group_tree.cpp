#include "kmeans/certify/group_tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace gradus::kmeans_detail {

namespace {

struct GroupEdge {
  double remoteness = std::numeric_limits<double>::infinity();  ///< squared distance in units of the spreads
  std::int32_t one = 0;
  std::int32_t other = 0;
};

/// Returns the edges of the spanning tree with the least remoteness, by Prim's algorithm.
std::vector<GroupEdge> spanning_tree(const std::vector<double>& centers, const std::vector<double>& spreads,
                                     std::int64_t columns) {
  const auto groups = static_cast<std::int32_t>(spreads.size());
  const auto remoteness = [&](std::int32_t g, std::int32_t h) {
    double squares = 0;
    for (std::int64_t column = 0; column < columns; ++column) {
      const double difference = centers[static_cast<std::size_t>(g * columns + column)] -
                                centers[static_cast<std::size_t>(h * columns + column)];
      squares += difference * difference;
    }
    const double spread = spreads[static_cast<std::size_t>(g)] + spreads[static_cast<std::size_t>(h)];
    return spread > 0 ? squares / spread : squares > 0 ? std::numeric_limits<double>::max() : 0;
  };
  std::vector<GroupEdge> nearest(spreads.size());
  std::vector<bool> joined(spreads.size());
  std::vector<GroupEdge> tree;
  std::int32_t current = 0;
  while (std::ssize(tree) + 1 < groups) {
    joined[static_cast<std::size_t>(current)] = true;
    std::int32_t next = -1;
    for (std::int32_t group = 0; group < groups; ++group) {
      const auto place = static_cast<std::size_t>(group);
      if (joined[place]) continue;
      const double from_current = remoteness(current, group);
      if (!(nearest[place].remoteness <= from_current)) nearest[place] = {from_current, current, group};
      if (next < 0 || nearest[place].remoteness < nearest[static_cast<std::size_t>(next)].remoteness) next = group;
    }
    tree.push_back(nearest[static_cast<std::size_t>(next)]);
    current = next;
  }
  return tree;
}

}  // namespace

GroupTree group_tree(const std::vector<double>& centers, const std::vector<double>& spreads, std::int64_t columns) {
  std::vector<GroupEdge> edges = spanning_tree(centers, spreads, columns);
  std::stable_sort(edges.begin(), edges.end(),
                   [](const GroupEdge& a, const GroupEdge& b) { return a.remoteness < b.remoteness; });
  GroupTree tree;
  tree.nodes.resize(spreads.size());
  std::vector<std::int32_t> up(spreads.size());  // leads from a node towards the largest node that holds it
  std::iota(up.begin(), up.end(), 0);
  const auto top = [&](std::int32_t node) {
    while (up[static_cast<std::size_t>(node)] != node) {
      std::int32_t& above = up[static_cast<std::size_t>(node)];
      above = up[static_cast<std::size_t>(above)];
      node = above;
    }
    return node;
  };
  for (const GroupEdge& edge : edges) {
    const auto joint = static_cast<std::int32_t>(tree.nodes.size());
    GroupNode node;
    node.left = top(edge.one);
    node.right = top(edge.other);
    for (const std::int32_t part : {node.left, node.right}) {
      tree.nodes[static_cast<std::size_t>(part)].parent = joint;
      up[static_cast<std::size_t>(part)] = joint;
    }
    up.push_back(joint);
    tree.nodes.push_back(node);
  }
  for (GroupNode& node : tree.nodes)  // sizes first
    node.last = node.is_leaf() ? 1
                               : tree.nodes[static_cast<std::size_t>(node.left)].last +
                                     tree.nodes[static_cast<std::size_t>(node.right)].last;
  for (std::size_t index = tree.nodes.size(); index-- > 0;) {
    const GroupNode node = tree.nodes[index];
    if (node.is_leaf()) continue;
    GroupNode& left = tree.nodes[static_cast<std::size_t>(node.left)];
    GroupNode& right = tree.nodes[static_cast<std::size_t>(node.right)];
    left.first = node.first;
    left.last += left.first;
    right.first = left.last;
    right.last += right.first;
  }
  return tree;
}

}  // namespace gradus::kmeans_detail
