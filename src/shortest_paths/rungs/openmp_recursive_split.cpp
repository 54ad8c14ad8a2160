// openmp_recursive_split: the recursion in four routines. The routine for a block depends on which of the block's three
// sets of vertices coincide.
//
// What changes from `openmp_recursive`: that rung treats every block like a diagonal block, whose three sets are the
// same. Only diagonal blocks have that many dependencies between quadrants. This rung has four routines:
// * diagonal: the first half's diagonal, then its row and its column of quadrants at the same time, then the rest; then
//   the same for the second half.
// * row (the rows coincide with the intermediate vertices): the halves of the columns are independent. column: the same
//   with rows and columns exchanged.
// * rest (no two sets coincide): everything is independent. This is a min-plus product. Its quadrants are tasks down to
//   a tile, which processes all intermediate vertices at once.
//
// The rest is nearly all of the work, so nearly all of the work is parallel. The longest chain has about 3 N / tile
// blocks, and cores run out of work only if N / tile is close to the number of cores.
//
// Work: N^3 relaxations. Memory: none except tasks.
// Limits: none.
// Source: R. A. Chowdhury, V. Ramachandran, "Cache-oblivious dynamic programming" (2006), the routines A to D of the
// Gaussian elimination paradigm.
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "shortest_paths/blocks.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/textbook.hpp"

namespace gradus::shortest_paths_detail {

namespace {

template <class C>
struct Routines {
  MatrixView<C> distances;
  std::int64_t tile;
  const std::stop_token& stop;

  bool is_done(Range one, Range other) const { return one.size() == 0 || other.size() == 0 || stop.stop_requested(); }

  void diagonal(Range set) const {
    if (is_done(set, set)) return;
    if (set.size() <= tile) return relax_block(distances, set, set, set, stop);
    const Halves of_set = halves(set, tile);
    const Range first = of_set.first, second = of_set.second;
    by_way_of(first, second);
    by_way_of(second, first);
  }

  /// Relaxes all four quadrants through one half of the vertices: the half's diagonal quadrant, then the quadrants in
  /// its row and its column, then the remaining quadrant.
  void by_way_of(Range half, Range others) const {
    diagonal(half);
#pragma omp taskgroup  // the rest reads the row and the column
    {
#pragma omp task default(shared)
      row(half, others);
      column(others, half);
    }
#pragma omp taskgroup  // the next call reads the rest
    rest(others, half, others);
  }

  /// Relaxes the routes from `set` to `columns` through intermediate vertices in `set`.
  void row(Range set, Range columns) const {
    if (is_done(set, columns)) return;
    if (columns.size() > tile) {
      const Halves of_columns = halves(columns, tile);
#pragma omp taskgroup  // tasks use ranges on this function's stack, and the caller reads the row
      {
#pragma omp task default(shared)
        row(set, of_columns.first);
        row(set, of_columns.second);
      }
      return;
    }
    if (set.size() <= tile) return relax_block(distances, set, set, columns, stop);
    const Halves of_set = halves(set, tile);
    row(of_set.first, columns);
#pragma omp taskgroup  // the second half needs the result of the first
    rest(of_set.second, of_set.first, columns);
    row(of_set.second, columns);
#pragma omp taskgroup  // the caller needs the result
    rest(of_set.first, of_set.second, columns);
  }

  /// Relaxes the routes from `rows` to `set` through intermediate vertices in `set`.
  void column(Range rows, Range set) const {
    if (is_done(rows, set)) return;
    if (rows.size() > tile) {
      const Halves of_rows = halves(rows, tile);
#pragma omp taskgroup  // tasks use ranges on this function's stack, and the caller reads the column
      {
#pragma omp task default(shared)
        column(of_rows.first, set);
        column(of_rows.second, set);
      }
      return;
    }
    if (set.size() <= tile) return relax_block(distances, rows, set, set, stop);
    const Halves of_set = halves(set, tile);
    column(rows, of_set.first);
#pragma omp taskgroup  // the second half needs the result of the first
    rest(rows, of_set.first, of_set.second);
    column(rows, of_set.second);
#pragma omp taskgroup  // the caller needs the result
    rest(rows, of_set.second, of_set.first);
  }

  /// Relaxes a block whose three sets are all different. The caller's task group waits for all tasks and their
  /// descendants. If each task waited for its children instead, threads would block while there is work elsewhere.
  void rest(Range rows, Range via, Range columns) const {
    if (is_done(rows, columns)) return;
    if (rows.size() <= tile && columns.size() <= tile) {
      for (std::int64_t begin = via.begin; begin < via.end; begin += tile)
        relax_block(distances, rows, {begin, std::min(begin + tile, via.end)}, columns, stop);
      return;
    }
    const Halves of_rows = halves(rows, tile);
    const Halves of_columns = halves(columns, tile);
    for (const Range some_rows : {of_rows.first, of_rows.second})
      for (const Range some_columns : {of_columns.first, of_columns.second}) {
#pragma omp task default(shared) firstprivate(some_rows, some_columns, via)
        rest(some_rows, via, some_columns);
      }
  }
};

}  // namespace

template <class T>
Solved openmp_recursive_split(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "relax");
  const int threads = cpu::thread_count(execution);
  const Range all{0, problem.n()};
  with_matrix(problem, [&]<class C>(MatrixView<C> distances) {
    const Routines<C> routines{distances, tile_of(problem), problem.stop};
#pragma omp parallel num_threads(threads)
#pragma omp single
    routines.diagonal(all);
  });
  core::honour_stop(problem.stop, "stopped while relaxing quadrants");
  return {};
}

extern constinit const Variant openmp_recursive_split_rung{
    .name = "openmp_recursive_split",
    .summary = "the recursion in separate routines for diagonal, row, column and rest: tasks nearly everywhere",
    .change = "all quadrants of the rest at once, which is nearly all of the work",
    .contract = exact,
    .backend = core::Backend::openmp,
    .run = {openmp_recursive_split<std::int32_t>, openmp_recursive_split<std::int64_t>, openmp_recursive_split<float>,
            openmp_recursive_split<double>},
};

}  // namespace gradus::shortest_paths_detail
