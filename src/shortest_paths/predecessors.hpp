// Finds predecessors after the distances are known. The canonical rule of integers depends only on distances and
// weights, so every variant gets the same predecessors. In floating-point, finds trees of shortest paths.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>

#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

/// Returns true if two vertices are on a cycle of length 0. `distances` has the same form as Problem::distances.
template <class C>
bool has_zero_cycle(MatrixView<const C> distances, C greatest, int threads, const std::stop_token& stop);

/// Finds the predecessors in the rows of `sources`, or in all rows if there are no sources.
///
/// In integers, finds the canonical predecessors. If the graph has a cycle of length 0, `fewest_edges` must be true.
///
/// In floating-point, finds trees of routes whose lengths are within the bound of gradus/shortest_paths.hpp. No edge
/// may be negative. Cycles of length 0 need no `fewest_edges`. A predecessor is the lowest vertex whose rounded sum
/// equals the distance within a few roundings. If a row of such predecessors is no tree, edges that enter its cycles
/// replace some of them. If a tree is still not found or a route is too long, grows the tree of that row instead.
template <class T, class C>
void find_predecessors(const Graph<T>& graph, std::int64_t edges, MatrixView<const C> distances, C greatest,
                       bool fewest_edges, MatrixView<std::int32_t> predecessors, std::span<const std::int64_t> sources,
                       int threads, const std::stop_token& stop);

/// For floating-point: grows a tree of routes from each vertex in `sources`. If `sources` is empty, grows a tree from
/// each vertex of the graph. `distances` determine the order in which vertices are visited. If `replace` is set, the
/// lengths along the trees replace the distances. `predecessors` may be empty.
template <class T, class C>
void grow_trees(const Graph<T>& graph, MatrixView<C> distances, bool replace, MatrixView<std::int32_t> predecessors,
                std::span<const std::int64_t> sources, int threads, const std::stop_token& stop);

}  // namespace gradus::shortest_paths_detail
