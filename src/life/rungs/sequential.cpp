// sequential: one integer per cell; adds the eight neighbours and looks up the rule.
//
// Work per cell: eight additions, seven or eight loads and a look-up, which take a few cycles. Memory: two grids of
// four bytes per cell. Each generation passes over both grids, so large grids are limited by memory bandwidth.
//
// Limits: none. One core.
//
// Source: the published experiment life-openmp.
#include <utility>

#include "life/problem.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

Solved sequential(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  const std::int64_t height = problem.cells.height;
  const std::int64_t width = problem.cells.width;
  const std::int64_t stretch = stretch_of_rows(problem, 1);
  Numbers<int> now(height, width);
  Numbers<int> next(height, width);
  {
    const core::PhaseTimer timer(phases, "unpack");
    for (std::int64_t y = 0; y < height; ++y) {
      if (y % stretch == 0) core::honour_stop(problem.stop, while_computing);
      unpack_row(problem, y, now);
      next.kill_border_cells(y);
    }
    for (Numbers<int>* grid : {&now, &next}) {
      grid->kill_border_row(-1);
      grid->kill_border_row(height);
    }
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
      for (std::int64_t y = 0; y < height; ++y) {
        if (y % stretch == 0) core::honour_stop(problem.stop, while_computing);
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
      std::swap(now, next);
      tick(generation + 1);
    }
  }
  const core::PhaseTimer timer(phases, "pack");
  for (std::int64_t y = 0; y < height; ++y) {
    if (y % stretch == 0) core::honour_stop(problem.stop, while_computing);
    pack_row(now, y, problem);
  }
  return {};
}

extern constinit const Variant sequential_rung{
    .name = "sequential",
    .summary = "an integer per cell, the neighbours added up, on one core",
    .backend = core::Backend::sequential,
    .memory = two_grids<int>,
    .run = {sequential},
};

}  // namespace gradus::life_detail
