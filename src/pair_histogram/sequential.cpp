// sequential: the textbook's loop. Every point looks at every point after it; the square root of their squared distance
// over the width of a bin, less its fraction, is the bin that counts one more.
//
// Work for each of the n (n - 1) / 2 pairs: d subtractions and multiplications, d - 1 additions, a square root, a
// division, an addition to one of the bins. The square root and the division are not pipelined as the rest is, and an
// addition waits for the one before where both go to the same bin. The points are read n / 2 times, from the cache
// while they fit there. One core, no vector instructions: the rung from which all speed-ups are counted.
// With edges instead of a width the division becomes a binary search. Limits: none.
// Source: the first program of every course on 2-body statistics; the spatial distance histogram (SDH) of molecular
// simulation in Y.-C. Tu, S. Chen, S. Pandit, "Computing distance histograms efficiently in scientific databases"
// (ICDE 2009).
#include "core/phases.hpp"
#include "pair_histogram/textbook.hpp"
#include "pair_histogram/variants.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
Histogram sequential(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "count");
  Histogram histogram(problem.bins.slots(), problem.sum_words());
  in_portions(problem, execution, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) add_row(problem, row, histogram);
  });
  return histogram;
}

template Histogram sequential(const Problem<float>&, const Execution&, std::vector<Phase>&);
template Histogram sequential(const Problem<double>&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::pair_histogram_detail
