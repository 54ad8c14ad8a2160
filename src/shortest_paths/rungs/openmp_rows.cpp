// openmp_rows: the textbook's loops, with the rows shared among threads.
//
// What changes from `sequential`: for a given intermediate vertex, the loop over rows is parallel. All pairs are
// independent in this loop, because the row and the column of the intermediate vertex do not change. All threads wait
// for each other N times, which slows down small graphs. For each intermediate vertex, the whole matrix still passes
// through the caches, so large graphs run at the speed of memory, however many cores there are. An OpenMP pragma alone
// cannot achieve more than this.
//
// Work: N^3 relaxations; N^2 elements read and written for each of N vertices. N barriers.
//
// Limits: none.
//
// Source: the example of many courses on OpenMP.
#include <algorithm>

#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/textbook.hpp"

namespace gradus::shortest_paths_detail {

template <class T>
Solved openmp_rows(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "relax");
  const std::int64_t n = problem.n();
  // With few rows, a barrier costs more than the work.
  constexpr std::int64_t rows_of_a_thread = 16;
  const int threads = static_cast<int>(std::min<std::int64_t>(cpu::thread_count(execution), n / rows_of_a_thread + 1));
  with_matrix(problem, [&](auto distances) {
    for (std::int64_t via = 0; via < n; ++via) {
      const auto* const onward = distances.row(via);
#pragma omp parallel for num_threads(threads) schedule(static)
      for (std::int64_t from = 0; from < n; ++from) {
        // All threads read the row of the intermediate vertex.
        if (from == via || problem.stop.stop_requested()) continue;
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

extern constinit const Variant openmp_rows_rung{
    .name = "openmp_rows",
    .summary = "one intermediate vertex after another, the rows among threads",
    .change = "a parallel loop over rows, a barrier for each vertex",
    .contract = exact,
    .backend = core::Backend::openmp,
    .run = {openmp_rows<std::int32_t>, openmp_rows<std::int64_t>, openmp_rows<float>, openmp_rows<double>},
};

}  // namespace gradus::shortest_paths_detail
