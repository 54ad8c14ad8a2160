// Detects negative cycles. In a graph with a negative cycle, some shortest routes do not exist.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "shortest_paths/sparse_graph.hpp"

namespace gradus::shortest_paths_detail {

/// If the graph has a negative cycle, throws VertexError with the cycle's vertices in order. The last vertex repeats
/// the first. Otherwise returns, for each vertex, the length of the shortest route that ends at this vertex. This
/// length is at most 0. In floating-point, a cycle counts as negative if its exact sum is below 0 by more than the
/// rounding error. AnyGraph is Graph or SparseGraph.
template <class AnyGraph>
std::vector<Wider<typename AnyGraph::Weight>> refuse_negative_cycles(const AnyGraph& graph,
                                                                     const std::stop_token& stop);

/// Throws VertexError if the cycle is negative. In floating-point, the exact sum of the cycle's weights decides.
template <class AnyGraph>
void refuse_if_negative(const AnyGraph& graph, std::span<const std::int32_t> cycle);

/// Returns the number in decimal digits.
std::string text(Int128 number);

}  // namespace gradus::shortest_paths_detail
