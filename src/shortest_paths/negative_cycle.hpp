// Negative cycles, of which no shortest route may touch any.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "shortest_paths/sparse_graph.hpp"

namespace gradus::shortest_paths_detail {

/// VertexError, of a cycle's vertices in order, the first one also last, where the graph has a negative cycle. Of
/// floating numbers those are found whose length, summed exactly, is below 0 by more than rounding hides. Otherwise
/// returns for each vertex the least length of any route that ends there, of which none is above 0. AnyGraph: Graph or
/// SparseGraph.
template <class AnyGraph>
std::vector<Wider<typename AnyGraph::Weight>> refuse_negative_cycles(const AnyGraph& graph,
                                                                     const std::stop_token& stop);

/// Throws that error if the cycle is one; of floating numbers by its exact sum.
template <class AnyGraph>
void refuse_if_negative(const AnyGraph& graph, std::span<const std::int32_t> cycle);

/// In decimal digits.
std::string text(Int128 number);

}  // namespace gradus::shortest_paths_detail
