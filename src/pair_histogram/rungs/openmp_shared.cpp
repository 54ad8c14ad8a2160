// openmp_shared: the points are dealt out to threads, and all threads count in one histogram, each addition an atomic
// one.
//
// What changes from `sequential`: one line shares the loop over the first points among the threads, for no pair depends
// on another; only the counts are shared. Two threads that read, add to and write back the same count at the same time
// would lose one of the additions, so each addition becomes `omp atomic`: a locked instruction, for a count is an
// integer. Distances and bins now scale with the cores. The additions do not: each needs its cache line for itself, a
// histogram of 80 bins has ten of them, and with more threads they spend their time on their way from core to core.
// Integer additions may come in any order, so the counts are the same in every run.
//
// The first points have many partners after them, the last have few: the triangle of pairs. Rows are therefore dealt
// out like cards, one to each thread in turn (schedule(static, 1)), so that no thread has all the long ones.
//
// Work for each pair: as `sequential`, and one atomic addition, of which each takes its cache line away from the core
// that had it; two more with weights. Memory: one histogram however many threads there are.
// Limits: slower than one thread where there are few bins.
// Source: the exercise of every OpenMP course, after the OpenMP specification's `atomic` construct.
#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/textbook.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// Adds to a word that threads share, and returns what it was before.
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
        // Word by word: the thread whose addition wraps a word carries into the next.
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
