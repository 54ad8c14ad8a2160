// Predecessors, by a pass after the distances: the canonical rule asks for distances and weights alone, so every
// variant gets the same ones. And what is as long: shortest routes of floating numbers, vertex by vertex.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>

#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

/// Whether two vertices lie on a cycle of length 0. `distances` are those of a Problem.
template <class C>
bool has_zero_cycle(MatrixView<const C> distances, C greatest, int threads, const std::stop_token& stop);

/// The canonical predecessors of whole numbers. `fewest_edges`: the graph has a cycle of length 0.
template <class T, class C>
void find_predecessors(const Graph<T>& graph, std::int64_t edges, MatrixView<const C> distances, C greatest,
                       bool fewest_edges, MatrixView<std::int32_t> predecessors, int threads,
                       const std::stop_token& stop);

/// For floating numbers, a tree of routes from each of `sources`, or from all vertices. `distances` say in which order
/// vertices had better be looked at; with `replace` they become the lengths along the trees. `predecessors` may be
/// empty.
template <class T, class C>
void grow_trees(const Graph<T>& graph, MatrixView<C> distances, bool replace, MatrixView<std::int32_t> predecessors,
                std::span<const std::int64_t> sources, int threads, const std::stop_token& stop);

}  // namespace gradus::shortest_paths_detail
