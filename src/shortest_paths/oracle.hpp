// Straightforward computation of the canonical result. It is neither a rung nor timed as a baseline.
#pragma once

#include <vector>

#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

template <class T>
struct Truth {
  ShortestPathsResult<T> result;   ///< includes predecessors; each floating-point distance is rounded about once
  std::vector<long double> exact;  ///< N x N for floating-point: the distances in a wider type
  /// N x N for floating-point: for each pair, the sum of the absolute weights on a shortest route.
  std::vector<long double> magnitude;
};

/// Returns the correct result. The graph must not have a negative cycle, and every distance must fit in T.
template <class T>
Truth<T> oracle(const Graph<T>& graph);

}  // namespace gradus::shortest_paths_detail
