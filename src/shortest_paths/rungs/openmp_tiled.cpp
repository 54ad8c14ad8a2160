// openmp_tiled: intermediate vertices are processed tile by tile. Each step updates the diagonal tile, then its row and
// column, then the rest.
//
// What changes from the previous rung: a whole tile of vertices is allowed as intermediate vertices at once. The
// diagonal tile comes first, because it depends only on itself. The tiles of its row and column follow; they depend on
// the diagonal tile and on themselves. Every other tile depends on one tile of the column and one of the row. Once a
// tile is in the cache, each of its elements is relaxed as many times as the tile has rows. Most operands therefore
// come from caches instead of memory. Threads wait for each other N / tile times instead of N times. The loops over the
// row and over the column are independent, so there is no barrier between them (nowait). Each tile belongs to the same
// thread in every step (static), so it stays in the cache of that thread's core. With dynamic scheduling, the lines of
// a tile would come from another core each time, which takes longer than relaxing the tile.
//
// Work: N^3 relaxations; 3 N^3 / tile elements pass through the nearest cache. Each of the N / tile steps starts the
// thread team once and has two barriers. Memory: none.
//
// Limits: none.
//
// Source: G. Venkataraman, S. Sahni, S. Mukhopadhyaya, "A blocked all-pairs shortest-paths algorithm" (2003); the
// published experiment floyd-warshall-openmp.
#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "shortest_paths/blocks.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/textbook.hpp"

namespace gradus::shortest_paths_detail {

template <class T>
Solved openmp_tiled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "relax");
  const int threads = cpu::thread_count(execution);
  const std::int64_t n = problem.n();
  const std::int64_t tile = tile_of(problem);
  const std::int64_t tiles = (n + tile - 1) / tile;
  const std::stop_token& stop = problem.stop;
  with_matrix(problem, [&](auto distances) {
    for (std::int64_t step = 0; step < tiles; ++step) {
      const Range via = tile_range(step, tile, n);
      relax_block(distances, via, via, via, stop);
#pragma omp parallel num_threads(threads)
      {
#pragma omp for schedule(static) nowait
        for (std::int64_t column = 0; column < tiles; ++column)
          if (column != step && !stop.stop_requested())
            relax_block(distances, via, via, tile_range(column, tile, n), stop);
#pragma omp for schedule(static)
        for (std::int64_t row = 0; row < tiles; ++row)
          if (row != step && !stop.stop_requested()) relax_block(distances, tile_range(row, tile, n), via, via, stop);
#pragma omp for collapse(2) schedule(static)
        for (std::int64_t row = 0; row < tiles; ++row)
          for (std::int64_t column = 0; column < tiles; ++column)
            if (row != step && column != step && !stop.stop_requested())
              relax_block(distances, tile_range(row, tile, n), via, tile_range(column, tile, n), stop);
      }
      after_step(problem, execution, step + 1, tiles);
    }
  });
  return {};
}

extern constinit const Variant openmp_tiled_rung{
    .name = "openmp_tiled",
    .summary = "tiles of intermediate vertices: diagonal, its row and column, the rest",
    .change = "loops instead of a recursion; N / tile steps, independent loops without a barrier",
    .contract = exact,
    .backend = core::Backend::openmp,
    .run = {openmp_tiled<std::int32_t>, openmp_tiled<std::int64_t>, openmp_tiled<float>, openmp_tiled<double>},
};

}  // namespace gradus::shortest_paths_detail
