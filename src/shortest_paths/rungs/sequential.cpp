// sequential: the textbook's three loops. One vertex after another is allowed as an intermediate vertex. For every
// pair, the best route so far is compared with the route through that vertex.
//
// Work: N^3 relaxations, each an addition and a comparison. For each intermediate vertex the whole matrix of N^2
// elements is read and written once, from a cache if the matrix fits a cache, otherwise from memory. The rung runs on
// one core. The compiler may vectorise the innermost loop with baseline instructions.
// Limits: none.
// Source: R. W. Floyd, "Algorithm 97: Shortest path" (1962); S. Warshall, "A theorem on Boolean matrices" (1962).
#include <algorithm>

#include "core/phases.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/textbook.hpp"

namespace gradus::shortest_paths_detail {

template <class T>
Solved sequential(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "relax");
  const std::int64_t n = problem.n();
  with_matrix(problem, [&](auto distances) {
    for (std::int64_t via = 0; via < n; ++via) {
      const auto* const onward = distances.row(via);
      for (std::int64_t from = 0; from < n && !problem.stop.stop_requested(); ++from) {
        const auto to_via = distances(from, via);
        auto* const row = distances.row(from);
        for (std::int64_t to = 0; to < n; ++to) {
          const auto by_way = to_via + onward[to];
          row[to] = by_way < row[to] ? by_way : row[to];
        }
      }
      after_step(problem, execution, via + 1, n);
    }
  });
  return {};
}

extern constinit const Variant sequential_rung{
    .name = "sequential",
    .summary = "the textbook's three loops on one core",
    .contract = exact,
    .backend = core::Backend::sequential,
    .run = {sequential<std::int32_t>, sequential<std::int64_t>, sequential<float>, sequential<double>},
};

}  // namespace gradus::shortest_paths_detail
