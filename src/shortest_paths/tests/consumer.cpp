// Finds the shortest paths of four vertices and checks the answer and an error, using only the public header.
#include <gradus/shortest_paths.hpp>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

int main() {
  constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  std::int32_t weights[] = {none, 5, 2, none, none, none, none, 1, none, 2, none, 9, none, none, none, none};
  const gradus::MatrixView<const std::int32_t> view(weights, 4, 4);
  gradus::ShortestPathsOptions options;
  options.predecessors = true;

  const gradus::ShortestPathsResult<std::int32_t> result = gradus::shortest_paths(view, options);
  const std::vector<std::int32_t> route = gradus::shortest_path_route(result.predecessors.view(), 0, 3);
  if (result.distances(0, 3) != 5 || result.distances(3, 0) != none || route != std::vector<std::int32_t>{0, 2, 1, 3}) {
    std::fprintf(stderr, "the shortest paths of four vertices are incorrect\n");
    return 1;
  }

  // Catches an exception of the library by its type across a shared-library boundary.
  weights[4] = -6;
  try {
    gradus::shortest_paths(view, options);
  } catch (const gradus::InputError&) {
    return 0;
  }
  std::fprintf(stderr, "a negative cycle was not refused\n");
  return 1;
}
