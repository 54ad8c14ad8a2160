// openmp_recursive_split: the recursion in four routines, by which of a block's three sets of vertices coincide.
//
// What changes from `openmp_recursive`: that order treats every block as if it were on the diagonal, where all three
// sets are one. Only there do quadrants wait for each other as often as that. So there are four routines:
//
// * diagonal: the first half's diagonal; then its row and its column of quadrants at once; then the rest; and back;
// * row (the sets of rows and of vertices in the middle coincide): the halves of the columns have nothing to do with
// each
//   other; column likewise;
// * rest (no two sets coincide): nothing waits for anything. It is a min-plus product, and its quadrants are tasks down
//   to a tile, which takes all vertices in the middle in one go.
//
// The rest is nearly all of the work, so nearly all of it may be done at once: the longest chain is about 3 N / tile
// blocks long, and cores run out of work only where N / tile nears their number.
//
// Work: N^3 relaxations. Memory: none beyond tasks.
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

  /// All four quadrants by way of one half: its own, its row and column, and then that of the others.
  void by_way_of(Range half, Range others) const {
    diagonal(half);
#pragma omp taskgroup  // the rest reads both
    {
#pragma omp task default(shared)
      row(half, others);
      column(others, half);
    }
#pragma omp taskgroup  // what comes next reads the rest
    rest(others, half, others);
  }

  /// From `set` to `columns` by way of `set`.
  void row(Range set, Range columns) const {
    if (is_done(set, columns)) return;
    if (columns.size() > tile) {
      const Halves of_columns = halves(columns, tile);
#pragma omp taskgroup  // the ranges are on this stack, and whoever called reads the row
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
#pragma omp taskgroup  // the second half goes on from there
    rest(of_set.second, of_set.first, columns);
    row(of_set.second, columns);
#pragma omp taskgroup  // as above
    rest(of_set.first, of_set.second, columns);
  }

  /// From `rows` to `set` by way of `set`.
  void column(Range rows, Range set) const {
    if (is_done(rows, set)) return;
    if (rows.size() > tile) {
      const Halves of_rows = halves(rows, tile);
#pragma omp taskgroup  // as in row()
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
#pragma omp taskgroup  // as in row()
    rest(rows, of_set.first, of_set.second);
    column(rows, of_set.second);
#pragma omp taskgroup  // as in row()
    rest(rows, of_set.second, of_set.first);
  }

  /// No two of the sets coincide. The caller waits for the tasks, and theirs, by a task group: if each waited for its
  /// own, threads would stand in waits of which the work is elsewhere.
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
