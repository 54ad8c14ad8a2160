#include "pair_histogram/oracle.hpp"

#include <cmath>

#include "core/exact_accumulator.hpp"

namespace gradus::pair_histogram_detail {

namespace {

template <class T>
double distance(const Problem<T>& problem, std::int64_t first, std::int64_t second) {
  double separations[dimension_limit] = {0, 0, 0};
  for (std::int64_t dim = 0; dim < problem.d(); ++dim) {
    double& separation = separations[dim];
    separation = std::fabs(double{problem.points(first, dim)} - double{problem.second()(second, dim)});
    const double around = problem.box[static_cast<std::size_t>(dim)] - separation;
    if (problem.periodic && around < separation) separation = around;
  }
  const auto [dx, dy, dz] = separations;
  return std::sqrt((dx * dx + dy * dy) + dz * dz);
}

}  // namespace

template <class T>
PairHistogramResult oracle(const Problem<T>& problem) {
  const std::span<const double> edges = problem.bins.edges();
  const std::size_t bins = edges.size() - 1;
  PairHistogramResult result;
  result.edges = problem.bins.nominal_edges();
  result.counts.resize(bins);
  std::vector<core::ExactAccumulator> sums(problem.weighted() ? bins : 0);
  for (std::int64_t first = 0; first < problem.n(); ++first)
    for (std::int64_t second = problem.cross ? 0 : first + 1; second < problem.m(); ++second) {
      ++result.pairs;
      const double apart = distance(problem, first, second);
      if (apart < edges.front()) {
        ++result.below;
      } else if (apart >= edges.back()) {
        ++result.beyond;
      } else {
        std::size_t bin = 0;
        if (problem.bins.width() > 0) bin = static_cast<std::size_t>(std::floor(apart / problem.bins.width()));
        else
          while (!(edges[bin] <= apart && apart < edges[bin + 1])) ++bin;
        ++result.counts[bin];
        if (problem.weighted())
          sums[bin].add_product(double{problem.weights[first]}, double{problem.second_weights()[second]});
      }
    }
  for (const core::ExactAccumulator& sum : sums) result.weighted.push_back(sum.round<double>());
  result.report.variant = "oracle";
  return result;
}

template PairHistogramResult oracle(const Problem<float>&);
template PairHistogramResult oracle(const Problem<double>&);

}  // namespace gradus::pair_histogram_detail
