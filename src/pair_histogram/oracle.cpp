#include "pair_histogram/oracle.hpp"

#include <cmath>

#include "core/exact_accumulator.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// Returns the distance to the image that is selected by rounding the separation's fractions (see
/// gradus/pair_histogram.hpp).
double distance_in_cell(const std::vector<double>& box, const double (&apart)[dimension_limit]) {
  const auto component = [&](std::size_t vector, std::size_t axis) { return box[3 * (vector % 3) + axis % 3]; };
  const auto cross = [&](std::size_t left, std::size_t right, std::size_t axis) {
    return component(left, axis + 1) * component(right, axis + 2) -
           component(left, axis + 2) * component(right, axis + 1);
  };
  const double volume =
      (component(0, 0) * cross(1, 2, 0) + component(0, 1) * cross(1, 2, 1)) + component(0, 2) * cross(1, 2, 2);
  double nearest[dimension_limit] = {apart[0], apart[1], apart[2]};
  for (std::size_t vector = 0; vector < 3; ++vector) {
    double share[dimension_limit] = {};
    for (std::size_t axis = 0; axis < 3; ++axis) share[axis] = cross(vector + 1, vector + 2, axis) / volume;
    const double whole = std::nearbyint((apart[0] * share[0] + apart[1] * share[1]) + apart[2] * share[2]);
    for (std::size_t axis = 0; axis < 3; ++axis) nearest[axis] -= whole * component(vector, axis);
  }
  return std::sqrt((nearest[0] * nearest[0] + nearest[1] * nearest[1]) + nearest[2] * nearest[2]);
}

template <class T>
double distance(const Problem<T>& problem, std::int64_t first, std::int64_t second) {
  double separations[dimension_limit] = {0, 0, 0};
  if (problem.triclinic) {
    for (std::int64_t dim = 0; dim < problem.d(); ++dim)
      separations[dim] = double{problem.points(first, dim)} - double{problem.second()(second, dim)};
    const double* const numbers = &problem.cell.vectors[0][0];
    return distance_in_cell({numbers, numbers + cell_numbers}, separations);
  }
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
