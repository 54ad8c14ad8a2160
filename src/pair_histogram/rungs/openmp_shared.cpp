// openmp_shared: threads share the first points and add atomically to one histogram.
//
// What changes from `sequential`: one directive distributes the loop over the first points among the threads. No pair
// depends on another pair; only the counts are shared. If two threads read, increment and write the same count at the
// same time, one increment is lost. Each increment is therefore an `omp atomic`, which is a single locked instruction
// because counts are integers. Computing distances and bins now scales with the cores. Increments do not scale: each
// needs exclusive ownership of its cache line, and a histogram of 80 bins has only ten lines. With more threads, these
// lines spend their time moving from core to core. Integer additions commute, so the counts are the same in every run.
//
// The pairs form a triangle: the first points have many later partners, the last points few. Rows are therefore dealt
// out like cards, one to each thread in turn (schedule(static, 1)), so that no thread gets all the long rows.
//
// Work per pair: as `sequential`, but the increment is atomic and takes its cache line away from the core that had it.
// With weights two more atomic additions follow. Memory: one histogram for any number of threads.
// Limits: with few bins the rung is slower than one thread. Source: the exercise of every OpenMP course, after the
// OpenMP specification's `atomic` construct.
#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/textbook.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// Adds `value` to a shared word atomically and returns the word's previous value.
std::uint64_t add_atomically(std::uint64_t& word, std::uint64_t value) {
  std::uint64_t before = 0;
#pragma omp atomic capture
  {
    before = word;
    word += value;
  }
  return before;
}

}  // namespace

template <class T>
Histogram openmp_shared(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "count");
  const int threads = cpu::thread_count(execution);
  Histogram histogram(problem.bins.slots(), problem.sum_words());
  const bool weighted = problem.weighted();
  in_portions(problem, execution, threads, [&](std::int64_t begin, std::int64_t end) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t weight = weighted ? problem.first_weight(row) : 0;
      visit_pairs(problem, row, [&](std::int64_t slot, std::int64_t second) {
#pragma omp atomic
        ++histogram.counts[static_cast<std::size_t>(slot)];
        if (!weighted) return;
        // Adds word by word. If the addition to a word wraps, the thread carries 1 into the next word.
        std::uint64_t* const sum = histogram.sum(slot);
        WeightSums::add_by(problem.sums.product(weight, problem.second_weight(second)), histogram.sum_words,
                           [sum](int word, std::uint64_t value) { return add_atomically(sum[word], value); });
      });
    }
  });
  return histogram;
}

extern constinit const Variant openmp_shared_rung{
    .name = "openmp_shared",
    .summary = "points among threads, one histogram, atomic additions",
    .change =
        "the loop over the first points is shared among threads, dealt out like cards to balance the triangle of "
        "pairs; every addition is atomic",
    .backend = core::Backend::openmp,
    .memory = one_histogram,
    .run = {openmp_shared<float>, openmp_shared<double>},
};

}  // namespace gradus::pair_histogram_detail
