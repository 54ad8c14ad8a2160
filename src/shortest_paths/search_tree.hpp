// Shortest routes from one vertex, or from all vertices at once, along edges of any sign. The routes always form a
// tree.
//
// Labels are corrected edge by edge in the order of a queue (Bellman and Ford). When a vertex gets a better label, all
// its descendants are detached at once, because their labels will improve too. If the tail of the improving edge is a
// descendant, the edge would close a negative cycle. A cycle is therefore detected before it arises, and every label is
// the length of a route that visits no vertex twice, so nothing wraps.
//
// In floating-point, rounding may make an edge close a cycle that is not negative. Such an edge is skipped, so the tree
// stays a tree. A detached vertex accepts a label as good as its old one. Rounded sums never decrease when a summand
// increases. The vertex therefore returns to the tree, at the latest along its old edges.
//
// Source: B. V. Cherkassky, A. V. Goldberg, "Negative-cycle detection algorithms" (1999), after R. E. Tarjan (1981).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/stop.hpp"

namespace gradus::shortest_paths_detail {

template <class Label>
class SearchTree {
 public:
  explicit SearchTree(std::int64_t vertices)
      : n_(vertices), label_(size(n_)), parent_(size(n_ + 1), none), next_(size(n_ + 1)), previous_(size(n_ + 1)),
        depth_(size(n_ + 1)), labelled_(size(n_)), queued_(size(n_)), queue_(size(n_)) {}

  /// Finds, for each vertex, the smallest label of any route from `source`. If `source` is negative, routes may start
  /// at any vertex, and labels are at most 0. `order` lists the vertices to visit first, in this order. `order` must
  /// contain the source, or all vertices if routes may start anywhere. is_negative(cycle) receives the vertices of a
  /// cycle in order. It must throw if the cycle is negative, and return otherwise.
  template <class Graph, class IsNegative>
  void search(const Graph& graph, std::int64_t source, const std::vector<std::int32_t>& order,
              const IsNegative& is_negative, const std::stop_token& stop) {
    core::RarePoll look(stop, "stopped while searching for routes");
    start(source, order);
    while (queue_length_ > 0) {
      const std::int32_t u = pop();
      look.honour_stop();
      if (parent_[size(u)] == none) continue;  // detached after it was queued, so a new label will queue it again
      graph.for_each_edge_from(u, [&](std::int64_t v, auto weight) {
        const auto to = static_cast<std::int32_t>(v);
        const Label label = label_[size(u)] + static_cast<Label>(weight);
        if (!improves(to, label)) return;
        if (parent_[size(to)] != none) {
          if (is_below(u, to)) {
            is_negative(cycle(u, to));
            return;
          }
          detach(to);
        }
        attach(to, u, label);
      });
    }
  }

  bool reached(std::int64_t v) const { return parent_[size(v)] != none; }
  Label label(std::int64_t v) const { return label_[size(v)]; }
  /// Returns the parent of a vertex, or -1 at the beginning of a route.
  std::int32_t predecessor(std::int64_t v) const { return parent_[size(v)] == root() ? -1 : parent_[size(v)]; }

 private:
  static constexpr std::int32_t none = -1;

  static std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }
  // Root of the tree, which is no vertex of the graph.
  std::int32_t root() const { return static_cast<std::int32_t>(n_); }

  void start(std::int64_t source, const std::vector<std::int32_t>& order) {
    std::fill(parent_.begin(), parent_.end(), none);
    std::fill(labelled_.begin(), labelled_.end(), false);
    std::fill(queued_.begin(), queued_.end(), false);
    next_[size(root())] = previous_[size(root())] = root();
    depth_[size(root())] = 0;
    queue_begin_ = queue_length_ = 0;
    for (const std::int32_t v : order) {
      if (source < 0 || v == source) attach(v, root(), 0);
      else push(v);
    }
  }

  bool improves(std::int32_t v, Label label) const {
    if (!labelled_[size(v)] || label < label_[size(v)]) return true;
    return parent_[size(v)] == none && !(label > label_[size(v)]);
  }

  /// Returns true if u is v or a descendant of v.
  bool is_below(std::int32_t u, std::int32_t v) const {
    if (depth_[size(u)] < depth_[size(v)]) return false;
    while (depth_[size(u)] > depth_[size(v)]) u = parent_[size(u)];
    return u == v;
  }

  /// Returns the cycle that the edge from u to v closes, in order, starting with its lowest vertex.
  std::vector<std::int32_t> cycle(std::int32_t u, std::int32_t v) const {
    std::vector<std::int32_t> vertices{u};
    while (vertices.back() != v) vertices.push_back(parent_[size(vertices.back())]);
    std::reverse(vertices.begin(), vertices.end());
    std::rotate(vertices.begin(), std::min_element(vertices.begin(), vertices.end()), vertices.end());
    return vertices;
  }

  /// Removes v and its descendants from the tree. The descendants follow v in the preorder list.
  void detach(std::int32_t v) {
    const std::int32_t before = previous_[size(v)];
    const std::int32_t depth = depth_[size(v)];
    std::int32_t after = v;
    do {
      parent_[size(after)] = none;
      after = next_[size(after)];
    } while (after != root() && depth_[size(after)] > depth);
    next_[size(before)] = after;
    previous_[size(after)] = before;
  }

  void attach(std::int32_t v, std::int32_t to, Label label) {
    const std::int32_t after = next_[size(to)];
    next_[size(to)] = previous_[size(after)] = v;
    previous_[size(v)] = to;
    next_[size(v)] = after;
    parent_[size(v)] = to;
    depth_[size(v)] = depth_[size(to)] + 1;
    label_[size(v)] = label;
    labelled_[size(v)] = true;
    push(v);
  }

  void push(std::int32_t v) {
    if (queued_[size(v)]) return;
    queued_[size(v)] = true;
    queue_[size((queue_begin_ + queue_length_++) % n_)] = v;
  }

  std::int32_t pop() {
    const std::int32_t v = queue_[size(queue_begin_)];
    queue_begin_ = (queue_begin_ + 1) % n_;
    --queue_length_;
    queued_[size(v)] = false;
    return v;
  }

  std::int64_t n_;
  std::vector<Label> label_;
  std::vector<std::int32_t> parent_;
  std::vector<std::int32_t> next_;  ///< circular list of the tree in preorder, through the root
  std::vector<std::int32_t> previous_;
  std::vector<std::int32_t> depth_;
  std::vector<std::uint8_t> labelled_;
  std::vector<std::uint8_t> queued_;
  std::vector<std::int32_t> queue_;  ///< circular buffer of queued vertices
  std::int64_t queue_begin_ = 0;
  std::int64_t queue_length_ = 0;
};

}  // namespace gradus::shortest_paths_detail
