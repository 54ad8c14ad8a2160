// openmp_bit_sliced: packed cells, with the rows of a generation shared among threads.
//
// What changes from `bit_sliced`: each thread computes its share of the rows, and a barrier follows each generation, as
// in `openmp`. A core now computes a generation of 4096 x 4096 cells in 0.1 ms, so the cost of barriers matters. Memory
// bandwidth also matters: all cores together pass over both grids in each generation, at one bit per cell.
//
// Work: as `bit_sliced`; one barrier per generation. Memory: as `bit_sliced`.
//
// Limits: none.
//
// Source: as `bit_sliced`.
#include <omp.h>

#include <algorithm>

#include "cpu/threads.hpp"
#include "life/bits/padded.hpp"
#include "life/problem.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

Solved openmp_bit_sliced(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  const std::int64_t height = problem.cells.height;
  // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): sets the size of the teams below
  const int threads = threads_for_rows(problem, execution, 4);
  const std::stop_token& stop = problem.stop;
  const Step steps[] = {step_of(problem.even), step_of(problem.odd)};
  Padded now(height, problem.cells.width, problem.is_torus());
  Padded next(height, problem.cells.width, problem.is_torus());
  {
    const core::PhaseTimer timer(phases, "pack");
    now.begin();
    next.begin();
#pragma omp parallel num_threads(threads)
    {
      const cpu::Range rows = cpu::share(height, omp_get_thread_num(), omp_get_num_threads());
      now.load_rows(problem.cells, rows.begin, rows.end, stop);
      next.begin_rows(rows.begin, rows.end, problem.stop);
    }
    now.close_ends();
    core::honour_stop(stop, while_computing);
  }
  {
    const core::PhaseTimer timer(phases, "generations");
    Ticker tick(problem, execution);
    // A parallel region lasts some milliseconds. Between two regions, the calling thread reports progress and polls for
    // a stop request.
    const std::int64_t together = generations_of_a_team(problem);
    for (std::int64_t done = 0; done < problem.generations;) {
      const std::int64_t end = std::min(done + together, problem.generations);
#pragma omp parallel num_threads(threads)
      {
        const cpu::Range rows = cpu::share(height, omp_get_thread_num(), omp_get_num_threads());
        for (std::int64_t generation = done; generation < end; ++generation) {
          const Padded& from = generation % 2 == 0 ? now : next;
          Padded& to = generation % 2 == 0 ? next : now;
          for (std::int64_t y = rows.begin; y < rows.end && !stop.stop_requested(); y += cached_rows)
            from.advance_rows(steps[generation % 2], to, y, std::min(y + cached_rows, rows.end));
          if (problem.is_torus()) {
            // The threads that own the first and the last row copy these rows to the opposite margins.
            if (rows.begin == 0) to.close_bottom();
            if (rows.end == height) to.close_top();
          }
#pragma omp barrier  // the next generation reads rows of other threads, and overwrites rows that other threads read
        }
      }
      core::honour_stop(stop, while_computing);
      done = end;
      tick(done);
    }
  }
  const core::PhaseTimer timer(phases, "unpack");
  const Padded& last = problem.generations % 2 == 0 ? now : next;
#pragma omp parallel num_threads(threads)
  {
    const cpu::Range rows = cpu::share(height, omp_get_thread_num(), omp_get_num_threads());
    last.store_rows(rows.begin, rows.end, problem.result, stop);
  }
  core::honour_stop(stop, while_computing);
  return {};
}

extern constinit const Variant openmp_bit_sliced_rung{
    .name = "openmp_bit_sliced",
    .summary = "packed cells, the rows of a generation among threads",
    .change = "all cores; a barrier for each generation",
    .backend = core::Backend::openmp,
    .memory = two_padded_grids,
    .run = {openmp_bit_sliced},
};

}  // namespace gradus::life_detail
