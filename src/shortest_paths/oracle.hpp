// The canonical result, computed plainly. Never a rung, and never timed as a baseline.
#pragma once

#include <vector>

#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {

template <class T>
struct Truth {
  ShortestPathsResult<T> result;   ///< with predecessors; of floating numbers each distance rounded once, or nearly so
  std::vector<long double> exact;  ///< N x N, floating numbers: the distances in a wider type
  std::vector<long double> magnitude;  ///< likewise: the sum of the absolute weights on a shortest route
};

/// The graph has no negative cycle, and every distance fits T.
template <class T>
Truth<T> oracle(const Graph<T>& graph);

}  // namespace gradus::shortest_paths_detail
