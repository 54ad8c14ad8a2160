// openmp_privatized: each thread counts in a private histogram; the histograms are added up at the end.
//
// What changes from `openmp_shared`: threads share nothing while they count, so increments need no atomics and cache
// lines stay with their core. Synchronisation is needed only at the end, where the histograms are added up. This takes
// threads * bins additions, a number that is negligible compared with n^2 / 2 pairs. The technique is called
// privatisation. With it, counting scales with the number of cores. Each thread allocates its own histogram. No two
// histograms share a cache line, and on NUMA machines the pages are local to the thread.
//
// The triangle of pairs is balanced as in `openmp_shared`, by dealing out single rows. Adjacent rows differ by one
// pair, so within one portion the work of two threads differs by at most about one row of pairs.
//
// Work per pair: as `sequential`. Memory: one histogram per thread, 8 bytes per bin, or 24 bytes or more with weights.
// While the histogram fits in the first-level cache (a few thousand bins), an increment costs no more than with one
// thread.
// Limits: with very many bins and threads the private histograms evict each other and the points from the caches.
// Source: the `reduction` of the OpenMP specification, written out by hand; for 2-body statistics: N. Pitaksirianan,
// Z. Nouri, Y.-C. Tu, "Efficient 2-body statistics computation on GPUs" (2016).
#include <memory>

#include "core/checked.hpp"
#include "core/failure.hpp"
#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/textbook.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
Histogram openmp_privatized(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  const bool weighted = problem.weighted();
  std::vector<std::unique_ptr<Histogram>> copies(static_cast<std::size_t>(threads));
  {
    const core::PhaseTimer timer(phases, "count");
    in_portions(problem, execution, threads, [&](std::int64_t begin, std::int64_t end) {
      core::FirstFailure failure;  // no exception may leave the parallel loop
      // Loops over parts instead of thread numbers, so that all parts are counted even if OpenMP provides fewer
      // threads.
#pragma omp parallel for num_threads(threads) schedule(static, 1)
      for (int part = 0; part < threads; ++part) {
        std::unique_ptr<Histogram>& copy = copies[static_cast<std::size_t>(part)];
        const auto make = [&] { copy = std::make_unique<Histogram>(problem.bins.slots(), problem.sum_words()); };
        if (!copy && !failure.run(make)) continue;
        Histogram& own = *copy;
        for (std::int64_t row = begin + part; row < end; row += threads) {
          const std::int64_t weight = weighted ? problem.first_weight(row) : 0;
          visit_pairs(problem, row, [&](std::int64_t slot, std::int64_t second) {
            ++own.counts[static_cast<std::size_t>(slot)];
            if (weighted) problem.sums.add(own.sum(slot), weight, problem.second_weight(second));
          });
        }
      }
      failure.rethrow();
    });
  }
  const core::PhaseTimer timer(phases, "reduce");
  Histogram histogram(problem.bins.slots(), problem.sum_words());
  for (const std::unique_ptr<Histogram>& copy : copies)
    if (copy) histogram.add(*copy, problem.stop);
  return histogram;
}

namespace {

core::Memory histogram_per_thread(const Shape& shape, int threads) {
  return {.host =
              core::checked_multiply(Histogram::bytes(shape), static_cast<std::uint64_t>(threads) + 1, "histograms")};
}

}  // namespace

extern constinit const Variant openmp_privatized_rung{
    .name = "openmp_privatized",
    .summary = "points among threads, a private histogram for each, added up at the end",
    .change = "nothing is shared while pairs are counted",
    .backend = core::Backend::openmp,
    .memory = histogram_per_thread,
    .run = {openmp_privatized<float>, openmp_privatized<double>},
};

}  // namespace gradus::pair_histogram_detail
