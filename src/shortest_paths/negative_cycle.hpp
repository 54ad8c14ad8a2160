// Detects negative cycles, for which shortest routes do not exist.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "shortest_paths/sparse_graph.hpp"

namespace gradus::shortest_paths_detail {

/// Throws VertexError with the vertices of a cycle in order, the first one repeated at the end, if the graph has a
/// negative cycle. In floating-point, finds the cycles whose exact sum is negative by more than rounding hides.
/// Otherwise returns, for each vertex, the length of the shortest route that ends there, which is at most 0. AnyGraph:
/// Graph or SparseGraph.
template <class AnyGraph>
std::vector<Wider<typename AnyGraph::Weight>> refuse_negative_cycles(const AnyGraph& graph,
                                                                     const std::stop_token& stop);

/// Throws VertexError if the cycle is negative; in floating-point, by its exact sum.
template <class AnyGraph>
void refuse_if_negative(const AnyGraph& graph, std::span<const std::int32_t> cycle);

/// Returns the number in decimal digits.
std::string text(Int128 number);

}  // namespace gradus::shortest_paths_detail
