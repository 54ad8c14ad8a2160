// openmp: the cells and sums of `sequential`, with the rows of a generation shared among threads.
//
// What changes from `sequential`: a generation depends only on the previous one, so its rows can be computed in any
// order and in parallel. A barrier follows each generation, which slows down small grids. Each thread always computes
// the same rows and finds most of them in its core's caches. For large grids all threads wait for memory.
//
// Work: as `sequential`; one barrier per generation. Memory: as `sequential`.
//
// Limits: none.
//
// Source: the published experiment life-openmp.
#include <utility>

#include "cpu/threads.hpp"
#include "life/problem.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

Solved openmp(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  const std::int64_t height = problem.cells.height;
  const std::int64_t width = problem.cells.width;
  // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): sets the size of the teams below
  const int threads = threads_for_rows(problem, execution, 1);
  const std::stop_token& stop = problem.stop;
  Numbers<int> now(height, width);
  Numbers<int> next(height, width);
  {
    const core::PhaseTimer timer(phases, "unpack");
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t y = 0; y < height; ++y) {
      if (stop.stop_requested()) continue;
      unpack_row(problem, y, now);
      next.kill_border_cells(y);
    }
    for (Numbers<int>* grid : {&now, &next}) {
      grid->kill_border_row(-1);
      grid->kill_border_row(height);
    }
    core::honour_stop(stop, while_computing);
  }
  {
    const core::PhaseTimer timer(phases, "generations");
    Ticker tick(problem, execution);
    for (std::int64_t generation = 0; generation < problem.generations; ++generation) {
      if (problem.is_torus()) now.wrap_ends();
      const LifeRule& rule = problem.rule_of(generation);
      int lives[2][9];  // indices: [alive now][number of live neighbours]
      for (int neighbours = 0; neighbours <= 8; ++neighbours) {
        lives[0][neighbours] = rule.birth >> neighbours & 1;
        lives[1][neighbours] = rule.survival >> neighbours & 1;
      }
      // The implicit barrier is needed: the next generation reads rows of other threads.
#pragma omp parallel for num_threads(threads) schedule(static)
      for (std::int64_t y = 0; y < height; ++y) {
        if (stop.stop_requested()) continue;
        const int* const above = now.row(y - 1);
        const int* const here = now.row(y);
        const int* const below = now.row(y + 1);
        int* const result = next.row(y);
        for (std::int64_t x = 0; x < width; ++x) {
          const int neighbours = above[x - 1] + above[x] + above[x + 1] + here[x - 1] + here[x + 1] + below[x - 1] +
                                 below[x] + below[x + 1];
          result[x] = lives[here[x]][neighbours];
        }
        if (problem.is_torus()) next.wrap_row(y);
      }
      core::honour_stop(stop, while_computing);
      std::swap(now, next);
      tick(generation + 1);
    }
  }
  const core::PhaseTimer timer(phases, "pack");
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t y = 0; y < height; ++y)
    if (!stop.stop_requested()) pack_row(now, y, problem);
  core::honour_stop(stop, while_computing);
  return {};
}

extern constinit const Variant openmp_rung{
    .name = "openmp",
    .summary = "the same, the rows of a generation among threads",
    .change = "all cores; a barrier for each generation",
    .backend = core::Backend::openmp,
    .memory = two_grids<int>,
    .run = {openmp},
};

}  // namespace gradus::life_detail
