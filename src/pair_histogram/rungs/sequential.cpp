// sequential: the textbook's double loop. It pairs every point with every later point, computes their distance, divides
// by the bin width, truncates to an integer and increments that bin.
//
// Work for each of the n (n - 1) / 2 pairs: d subtractions, d multiplications, d - 1 additions, a square root, a
// division and an increment. Square roots and divisions are not pipelined as well as the other operations. An increment
// waits for the previous increment if both go to the same bin. On average each point is read n / 2 times, from the
// cache if all points fit there. The rung uses one core and no vector instructions, and is the baseline of all
// speed-ups. With explicit edges a binary search replaces the division. Limits: none.
// Source: the first program of every course on 2-body statistics; the spatial distance histogram (SDH) of molecular
// simulation in Y.-C. Tu, S. Chen, S. Pandit, "Computing distance histograms efficiently in scientific databases"
// (ICDE 2009).
#include "core/phases.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/textbook.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// Counts the pairs of point `row` with the second points in [begin, end).
template <int dimensions, Space space, class T>
void count_pairs(const Problem<T>& problem, std::int64_t row, std::int64_t begin, std::int64_t end,
                 Histogram& histogram) {
  const Bins& bins = problem.bins;
  const T* const first = problem.points.row(row);
  const MatrixView<const T> others = problem.second();
  const bool weighted = problem.weighted();
  const std::int64_t weight = weighted ? problem.first_weight(row) : 0;
  for (std::int64_t partner = begin; partner < end; ++partner) {
    const T* const second = others.row(partner);
    double separations[dimensions];
    for (int dim = 0; dim < dimensions; ++dim)
      separations[dim] = static_cast<double>(first[dim]) - static_cast<double>(second[dim]);
    double squared = 0;
    if constexpr (space == Space::cell)
      squared = problem.cell.squared_distance(separations[0], separations[1], separations[2]);
    for (int dim = 0; dim < dimensions && space != Space::cell; ++dim) {
      double separation = std::abs(separations[dim]);
      if (space == Space::box)
        separation = std::min(separation, problem.box[dim] - separation);  // the separation to the nearest image
      squared += separation * separation;
    }
    const double distance = std::sqrt(squared);

    std::int64_t slot = bins.beyond();
    if (distance < bins.reach()) {
      if (bins.width() > 0) slot = 1 + static_cast<std::int64_t>(distance / bins.width());
      else slot = std::ranges::upper_bound(bins.edges(), distance) - bins.edges().begin();
    }
    ++histogram.counts[static_cast<std::size_t>(slot)];
    if (weighted) problem.sums.add(histogram.sum(slot), weight, problem.second_weight(partner));
  }
}

}  // namespace

template <class T>
Histogram sequential(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "count");
  Histogram histogram(problem.bins.slots(), problem.sum_words());
  with_dimensions(problem, [&](auto dimensions, auto space) {
    in_portions(problem, execution, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row)
        in_blocks(problem, row, [&](std::int64_t begin, std::int64_t end) {
          count_pairs<dimensions, space>(problem, row, begin, end, histogram);
        });
    });
  });
  return histogram;
}

extern constinit const Variant sequential_rung{
    .name = "sequential",
    .summary = "the textbook's loop on one core",
    .change = "the first rung: the baseline of all speed-ups",
    .backend = core::Backend::sequential,
    .memory = one_histogram,
    .run = {sequential<float>, sequential<double>},
};

}  // namespace gradus::pair_histogram_detail
