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
#include "pair_histogram/textbook.hpp"
#include "pair_histogram/variants.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// An integer of 128 bits to which threads add, half by half. The thread whose addition wraps the lower half round
/// carries into the upper one, so that the two are right together as soon as all have done.
class SharedSum {
 public:
  void add(core::Int128 value) {
    const auto bits = static_cast<core::UInt128>(value);
    const auto low = static_cast<std::uint64_t>(bits);
    std::uint64_t before = 0;
#pragma omp atomic capture
    {
      before = low_;
      low_ += low;
    }
    const std::uint64_t carry = before + low < low ? 1 : 0;
    const std::uint64_t high = static_cast<std::uint64_t>(bits >> 64) + carry;
#pragma omp atomic
    high_ += high;
  }

  core::Int128 total() const { return static_cast<core::Int128>(static_cast<core::UInt128>(high_) << 64 | low_); }

 private:
  std::uint64_t high_ = 0;
  std::uint64_t low_ = 0;
};

}  // namespace

template <class T>
Histogram openmp_shared(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "count");
  const int threads = cpu::thread_count(execution);
  Histogram histogram(problem.bins.slots(), problem.weighted());
  std::vector<SharedSum> sums(histogram.weights.size());
  in_portions(problem, execution, threads, [&](std::int64_t begin, std::int64_t end) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (std::int64_t row = begin; row < end; ++row)
      visit_pairs(problem, row, [&](std::int64_t slot, std::int64_t second) {
        const auto at = static_cast<std::size_t>(slot);
#pragma omp atomic
        ++histogram.counts[at];
        if (!sums.empty()) sums[at].add(pair_weight(problem, row, second));
      });
  });
  for (std::size_t slot = 0; slot < sums.size(); ++slot) histogram.weights[slot] = sums[slot].total();
  return histogram;
}

template Histogram openmp_shared(const Problem<float>&, const Execution&, std::vector<Phase>&);
template Histogram openmp_shared(const Problem<double>&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::pair_histogram_detail
