// Computes the canonical result in a straightforward way. The oracle is not a rung and is never timed as a baseline.
#pragma once

#include <vector>

#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

template <class T>
struct Truth {
  ShortestPathsResult<T>
      result;  ///< includes predecessors; floating-point distances are computed in a wider type, then rounded
  std::vector<long double> exact;  ///< N x N for floating-point: the distances in a wider type
  /// N x N for floating-point: for each pair, the sum of the absolute weights on a shortest route.
  std::vector<long double> magnitude;
};

/// Returns the correct result. The graph must not have a negative cycle, and every distance must fit in T.
template <class T>
Truth<T> oracle(const Graph<T>& graph);

}  // namespace gradus::shortest_paths_detail
