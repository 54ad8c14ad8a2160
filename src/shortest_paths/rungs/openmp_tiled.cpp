// openmp_tiled: tile after tile of vertices in the middle; for each the diagonal, its cross, and the rest.
//
// What changes from the rung before: a whole tile of vertices is allowed in the middle at once. First the tile on the
// diagonal, for only it depends on itself; then the tiles of its row and of its column, which depend on it and on
// themselves; then all others, each on a tile of the column and one of the row. A tile is fetched once for as many
// relaxations as its side, so caches serve what memory did, and threads wait N / tile times instead of N. The loops
// over the row and over the column have nothing to do with each other: no barrier stands between them (nowait). A tile
// is the same thread's in every step (static), in whose core's cache it still is; handed out as threads become free,
// its lines would come from another core each time, which takes longer than to relax it.
//
// Work: N^3 relaxations; 3 N^3 / tile elements pass through the nearest cache. Two barriers and a start of the team for
// each of N / tile steps. Memory: none.
// Limits: none.
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
    .summary = "tile after tile in the middle: the diagonal, its row and column, the rest",
    .change = "loops instead of a recursion; N / tile steps, independent loops without a barrier",
    .contract = exact,
    .backend = core::Backend::openmp,
    .run = {openmp_tiled<std::int32_t>, openmp_tiled<std::int64_t>, openmp_tiled<float>, openmp_tiled<double>},
};

}  // namespace gradus::shortest_paths_detail
