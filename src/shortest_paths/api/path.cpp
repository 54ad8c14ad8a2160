// shortest_path_route()
#include <algorithm>
#include <string>

#include "execution/request.hpp"
#include "gradus/shortest_paths.hpp"

namespace gradus {

std::vector<std::int32_t> shortest_path_route(VectorView<const std::int32_t> predecessors, std::int64_t from,
                                              std::int64_t to) {
  execution::check_view(predecessors, "predecessors");
  const std::int64_t n = predecessors.size();
  if (!predecessors.place().is_host()) throw UsageError(about("predecessors") + "they must be in host memory");
  for (const std::int64_t vertex : {from, to})
    if (vertex < 0 || vertex >= n)
      throw UsageError("there is no vertex " + std::to_string(vertex) + " among " + std::to_string(n) +
                       " (counted from 0)");
  std::vector<std::int32_t> route{static_cast<std::int32_t>(to)};
  while (route.back() != from) {
    const std::int32_t before = predecessors[route.back()];
    if (before == -1 && route.size() == 1) return {};
    if (before < 0 || before >= n || std::ssize(route) >= n)
      throw InputError(about("predecessors") + "the walk back from vertex " + std::to_string(to) +
                       " does not reach vertex " + std::to_string(from));
    route.push_back(before);
  }
  std::reverse(route.begin(), route.end());
  return route;
}

std::vector<std::int32_t> shortest_path_route(MatrixView<const std::int32_t> predecessors, std::int64_t from,
                                              std::int64_t to) {
  execution::check_view(predecessors, "predecessors");
  if (predecessors.columns() != predecessors.rows() || !predecessors.place().is_host())
    throw UsageError(about("predecessors") + "a square matrix in host memory is needed");
  if (predecessors.rows() == 0)
    throw UsageError(about("predecessors") + "there are none; a run finds them where they are asked for");
  // For a nonexistent vertex, there is no row of distances; shortest_paths() reports the error.
  const std::int64_t row = from >= 0 && from < predecessors.rows() ? from : 0;
  return shortest_path_route(VectorView<const std::int32_t>(predecessors.row(row), predecessors.columns()), from, to);
}

}  // namespace gradus
