// openmp_temporal: several generations in one pass over the grid, without redundant computation.
//
// What changes from `openmp_bit_sliced`: there, a generation takes less time to compute than to fetch from memory, or
// from a cache that cores share. Here, each pass over the grid computes K generations. As soon as a few rows of a
// generation are complete, the next generation is computed for the rows whose neighbours are complete, and so on. K
// generations move down the grid together, each one row behind the previous one. Only the rows between the first and
// the last generation must fit in the core's private cache. Two grids suffice, one for even and one for odd
// generations: when the generation after next overwrites a row, every row that depends on it has been computed.
//
// Threads share the rows. The neighbours of a share belong to other threads. So the part of the share that a thread can
// compute shrinks by a row on each side per generation, and forms a trapezoid. After a barrier, each thread fills the
// triangle between its share and the next share below. The triangle grows by two rows per generation. K generations
// need two barriers instead of K. On a torus, the triangle after the last share crosses the seam.
//
//   generation K     +------+        +------+
//                   /        \  2.   /        \      1. trapezoids, from the rows of one thread
//   generation 0   +----------+----+----------+     2. triangles, between two threads
//
// Work: as `bit_sliced`, each cell computed once; 2 / K barriers per generation. Memory: two grids of one bit per cell,
// which are traversed once per K generations.
//
// Limits: none. If a share has fewer than 2 K rows, K is reduced.
//
// Source: D. Wonnacott, "Using time skewing to eliminate idle time due to memory bandwidth and network limitations"
// (2000); trapezoids: M. Frigo, V. Strumpen, "Cache oblivious stencil computations" (2005).
#include <algorithm>

#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "life/bits/padded.hpp"
#include "life/problem.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

namespace {

// The share of a core's private cache that a block may use.
constexpr std::int64_t private_cache_bytes = 64 << 10;

struct Pass {
  Padded* grids[2];  ///< the grids of even and odd generations
  const Step* steps;
  std::int64_t first;        ///< generation at which the pass starts
  std::int64_t generations;  ///< K, the number of generations per pass
  std::int64_t block;        ///< number of rows that pass through all generations before the next rows start
  const std::stop_token& stop;

  std::int64_t height() const { return grids[0]->height(); }
  bool is_torus() const { return grids[0]->is_torus(); }

  /// Computes rows [begin, end) of generation first + step from the previous generation.
  void advance(std::int64_t step, std::int64_t begin, std::int64_t end) const {
    const std::int64_t from = (first + step - 1) % 2;
    grids[from]->advance_rows(steps[from], *grids[1 - from], begin, end);
  }

  /// Computes the trapezoid: in each generation, the rows that depend only on the thread's share.
  void trapezoid(cpu::Range share, bool shrinks_above, bool shrinks_below) const {
    const std::int64_t above = shrinks_above ? 1 : 0;
    const std::int64_t below = shrinks_below ? 1 : 0;
    for (std::int64_t begin = share.begin; begin < share.end; begin += block) {
      if (stop.stop_requested()) return;
      const bool is_last = begin + block >= share.end;
      for (std::int64_t step = 1; step <= generations; ++step) {
        const std::int64_t least = share.begin + step * above;
        const std::int64_t most = share.end - step * below;
        // Each generation is one row behind the previous one, because a row depends on the row below it.
        const std::int64_t from = begin == share.begin ? least : std::max(begin - step, least);
        const std::int64_t to = is_last ? most : std::min(begin + block - step, most);
        advance(step, from, to);
      }
    }
  }

  /// Computes the triangle around the boundary between rows border - 1 and `border`.
  void triangle(std::int64_t border) const {
    if (border < height()) {
      for (std::int64_t step = 1; step <= generations; ++step) advance(step, border - step, border + step);
      return;
    }
    for (std::int64_t step = 1; step <= generations; ++step) {  // the triangle crosses the seam
      grids[(first + step - 1) % 2]->close_ends();
      advance(step, border - step, border);
      advance(step, 0, step);
    }
  }
};

}  // namespace

Solved openmp_temporal(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  const std::int64_t height = problem.cells.height;
  const std::stop_token& stop = problem.stop;
  const bool torus = problem.is_torus();
  const Step steps[] = {step_of(problem.even), step_of(problem.odd)};
  Padded even(height, problem.cells.width, torus);
  Padded odd(height, problem.cells.width, torus);

  // The block must be so small that its rows of both grids stay in the private cache during all generations. K must be
  // so large that the computation hides the memory traffic.
  const std::int64_t rows_in_cache = private_cache_bytes / (2 * even.pitch() * 8);
  const std::int64_t block = std::clamp<std::int64_t>(rows_in_cache / 2, 16, 32);
  const int threads = threads_for_rows(problem, execution, 16);
  const std::int64_t least_share = height / threads;
  // A single thread computes the blocks one after another. If the border is dead, the thread needs no trapezoids, so
  // the height of its share does not limit K.
  const std::int64_t most_generations =
      threads == 1 && !torus ? block : std::clamp<std::int64_t>(least_share / 2, 1, block);
  {
    const core::PhaseTimer timer(phases, "pack");
    even.begin();
    odd.begin();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int part = 0; part < threads; ++part) {
      const cpu::Range rows = cpu::share(height, part, threads);
      even.load_rows(problem.cells, rows.begin, rows.end, stop);
      odd.begin_rows(rows.begin, rows.end, problem.stop);
    }
    even.close_ends();
    core::honour_stop(stop, while_computing);
  }
  {
    const core::PhaseTimer timer(phases, "generations");
    Ticker tick(problem, execution);
    cpu::PayingTeam team(threads, cpu::may_shrink_team());
    const std::int64_t together =
        std::max(generations_of_a_team(problem) / most_generations, std::int64_t{1}) * most_generations;
    for (std::int64_t done = 0; done < problem.generations;) {
      const std::int64_t end = std::min(done + together, problem.generations);
      cpu::PayingTeam::Pass timed(team);
#pragma omp parallel num_threads(team.threads())
      for (std::int64_t first = done; first < end; first += most_generations) {
        const Pass pass{{&even, &odd}, steps, first, std::min(most_generations, end - first), block, stop};
        {
          const cpu::PayingTeam::Share own_time(timed);
#pragma omp for schedule(static) nowait
          for (int part = 0; part < threads; ++part)
            pass.trapezoid(cpu::share(height, part, threads), torus || part > 0, torus || part < threads - 1);
        }
        if (threads == 1 && !torus) continue;
          // A triangle reads the trapezoids on both sides, so they must be complete.
#pragma omp barrier
        {
          const cpu::PayingTeam::Share own_time(timed);
#pragma omp for schedule(static) nowait
          for (int part = 0; part < threads; ++part)
            if ((torus || part < threads - 1) && !stop.stop_requested())
              pass.triangle(cpu::share(height, part, threads).end);
        }
        // The next trapezoids read the triangles, so these must be complete.
#pragma omp barrier
      }
      core::honour_stop(stop, while_computing);
      done = end;
      tick(done);
    }
  }
  const core::PhaseTimer timer(phases, "unpack");
  const Padded& last = problem.generations % 2 == 0 ? even : odd;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int part = 0; part < threads; ++part) {
    const cpu::Range rows = cpu::share(height, part, threads);
    last.store_rows(rows.begin, rows.end, problem.result, stop);
  }
  core::honour_stop(stop, while_computing);
  return {};
}

extern constinit const Variant openmp_temporal_rung{
    .name = "openmp_temporal",
    .summary = "packed cells, several generations in one pass over the grid",
    .change = "one pass over the grid, and two barriers, for many generations",
    .backend = core::Backend::openmp,
    .memory = two_padded_grids,
    .run = {openmp_temporal},
};

}  // namespace gradus::life_detail
