// sequential_recursive: quadrants of quadrants, until a block fits every cache.
//
// What changes from `sequential`: the loops over vertices become a recursion. A block consists of the routes from one
// set of vertices to another through a third set. The block is divided into quadrants. All four quadrants are relaxed
// through the first half of the third set. They are then relaxed in the opposite order through the second half. For any
// cache size, there is a depth of the recursion at which three blocks fit the cache, and nothing is fetched again below
// that depth. The traffic of every cache falls from N^3 elements to about N^3 over the square root of the cache's size,
// although the code knows no cache size. At the side of a tile, the recursion ends and the loops take over.
//
// Work: N^3 relaxations. Memory: none.
//
// Limits: none.
//
// Source: J.-S. Park, M. Penner, V. K. Prasanna, "Optimizing graph algorithms for improved cache performance" (2004).
#include "core/phases.hpp"
#include "core/stop.hpp"
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
    const auto [top, bottom] = halves(rows, tile);
    const auto [first, second] = halves(via, tile);
    const auto [left, right] = halves(columns, tile);
    relax(top, first, left);
    relax(top, first, right);
    relax(bottom, first, left);
    relax(bottom, first, right);

    relax(bottom, second, right);
    relax(bottom, second, left);
    relax(top, second, right);
    relax(top, second, left);
  }
};

}  // namespace

template <class T>
Solved sequential_recursive(const Problem<T>& problem, const Execution&, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "relax");
  const Range all{0, problem.n()};
  with_matrix(problem, [&]<class C>(MatrixView<C> distances) {
    Recursion<C>{distances, tile_of(problem), problem.stop}.relax(all, all, all);
  });
  core::honour_stop(problem.stop, "stopped while relaxing quadrants");
  return {};
}

extern constinit const Variant sequential_recursive_rung{
    .name = "sequential_recursive",
    .summary = "quadrants of quadrants, until a block fits every cache",
    .change = "blocks fit every cache at some depth, none of which is named",
    .contract = exact,
    .backend = core::Backend::sequential,
    .run = {sequential_recursive<std::int32_t>, sequential_recursive<std::int64_t>, sequential_recursive<float>,
            sequential_recursive<double>},
};

}  // namespace gradus::shortest_paths_detail
