// openmp_recursive: the recursion over quadrants, with tasks for quadrants that are independent.
//
// What changes from `sequential_recursive`: a block makes eight calls in a published order. The second and third calls
// are independent, and so are the sixth and seventh. Each of these pairs becomes two tasks. The other four calls wait
// for their predecessors. The longest chain of calls in a block therefore has six calls, and each of them relaxes a
// block with half the side. Of the 8^d blocks at depth d = log2(N / tile), 6^d form a chain. So on average at most
// (8/6)^d cores have work, even if there are more cores. For N = 4096 and tiles of 64, this limit is 5.6 cores. The
// order was designed for the cache of one core; this rung shows how the order limits parallelism.
//
// Work: N^3 relaxations; two pairs of tasks for each block that is larger than a tile. Memory: none except tasks.
//
// Limits: none.
//
// Source: the published experiment floyd-warshall-openmp; the order of the calls is the one in `sequential_recursive`.
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "shortest_paths/blocks.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/textbook.hpp"

namespace gradus::shortest_paths_detail {

namespace {

template <class C>
struct Recursion {
  MatrixView<C> distances;
  std::int64_t tile;
  const std::stop_token& stop;

  void relax(Range rows, Range via, Range columns) const {
    if (rows.size() == 0 || via.size() == 0 || columns.size() == 0 || stop.stop_requested()) return;
    if (std::max({rows.size(), via.size(), columns.size()}) <= tile) {
      relax_block(distances, rows, via, columns, stop);
      return;
    }
    const Halves of_rows = halves(rows, tile);
    const Halves of_via = halves(via, tile);
    const Halves of_columns = halves(columns, tile);
    const Range top = of_rows.first, bottom = of_rows.second;
    const Range first = of_via.first, second = of_via.second;
    const Range left = of_columns.first, right = of_columns.second;
    relax(top, first, left);
#pragma omp task default(shared)
    relax(top, first, right);
    relax(bottom, first, left);
#pragma omp taskwait  // both tasks read the result of the first call, and the next call reads the results of both
    relax(bottom, first, right);

    relax(bottom, second, right);
#pragma omp task default(shared)
    relax(bottom, second, left);
    relax(top, second, right);
#pragma omp taskwait  // both tasks read the result of the fifth call, and the next call reads the results of both
    relax(top, second, left);
  }
};

}  // namespace

template <class T>
Solved openmp_recursive(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "relax");
  const int threads = cpu::thread_count(execution);
  const Range all{0, problem.n()};
  with_matrix(problem, [&]<class C>(MatrixView<C> distances) {
    const Recursion<C> recursion{distances, tile_of(problem), problem.stop};
#pragma omp parallel num_threads(threads)
#pragma omp single
    recursion.relax(all, all, all);
  });
  core::honour_stop(problem.stop, "stopped while relaxing quadrants");
  return {};
}

extern constinit const Variant openmp_recursive_rung{
    .name = "openmp_recursive",
    .summary = "the recursion in its published order, tasks for two quadrants that are independent",
    .change = "two of four quadrants at once: parallelism (4/3)^log2(N/tile)",
    .contract = exact,
    .backend = core::Backend::openmp,
    .run = {openmp_recursive<std::int32_t>, openmp_recursive<std::int64_t>, openmp_recursive<float>,
            openmp_recursive<double>},
};

}  // namespace gradus::shortest_paths_detail
