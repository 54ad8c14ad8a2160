#include "pair_histogram/prepare.hpp"

#include <algorithm>
#include <cmath>

#include "core/column_ranges.hpp"
#include "core/request.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"

namespace gradus::pair_histogram_detail {

namespace {

template <class T>
void check_points(MatrixView<const T> points) {
  core::check_rows(points, "points");
  if (points.columns() < 1 || points.columns() > dimension_limit)
    throw InputError("points: there are " + std::to_string(points.columns()) +
                     " columns; 1, 2 or 3 are needed, one for each coordinate");
}

template <class T>
void check_others(MatrixView<const T> points, MatrixView<const T> others) {
  core::check_rows(others, "others");
  if (others.columns() != points.columns())
    throw InputError("others: there are " + std::to_string(others.columns()) + " columns, but the points have " +
                     std::to_string(points.columns()));
}

template <class T>
void check_weights(const PairHistogramOptions<T>& options, std::int64_t points, bool cross) {
  core::check_one_for_each(options.weights, points, "weights", "points");
  if (!cross && !options.other_weights.empty())
    throw UsageError("other weights: there are weights for others, but no others");
  core::check_one_for_each(options.other_weights, options.others.rows(), "other weights", "others");
  if (cross && points > 0 && options.others.rows() > 0 && options.weights.empty() != options.other_weights.empty())
    throw UsageError(std::string("the ") + (options.weights.empty() ? "points" : "others") +
                     " have no weights, but the " + (options.weights.empty() ? "others" : "points") +
                     " have; give weights to both or to none");
}

template <class T>
void check_box(const PairHistogramOptions<T>& options, std::int64_t dimensions) {
  if (options.box.empty() && !options.box_origin.empty()) throw UsageError("box: an origin was given, but no lengths");
  if (!options.box.empty() && static_cast<std::int64_t>(options.box.size()) != dimensions)
    throw UsageError("box: there are " + std::to_string(options.box.size()) + " lengths, but the points have " +
                     std::to_string(dimensions) + " columns; a length for each is needed");
  if (!options.box_origin.empty() && options.box_origin.size() != options.box.size())
    throw UsageError("box: the origin has " + std::to_string(options.box_origin.size()) + " coordinates, not " +
                     std::to_string(options.box.size()));
  for (const double length : options.box)
    if (!(length > 0 && length <= core::largest_magnitude))
      throw UsageError("box: a length must be a finite number above zero, not " + core::number_text(length));
  for (const double corner : options.box_origin)
    if (!(std::abs(corner) <= core::largest_magnitude))
      throw UsageError("box: a coordinate of the origin must be a finite number, not " + core::number_text(corner));
}

void check_reach(double reach, const std::vector<double>& box) {
  if (box.empty()) return;
  const double half = *std::min_element(box.begin(), box.end()) / 2;
  if (reach > half)
    throw UsageError("the bins reach to " + core::number_text(reach) + ", past half of the box's least length, " +
                     core::number_text(half) + ", where a pair's nearest image is not its only one; a cutoff of " +
                     core::number_text(half) + " at most is needed");
}

/// Refuses the first row that lies outside the box, its borders included.
template <class T>
void check_inside(MatrixView<const T> rows, const Problem<T>& problem, const std::vector<double>& origin,
                  const char* what) {
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t dim = 0; dim < rows.columns(); ++dim) {
      const auto column = static_cast<std::size_t>(dim);
      const double corner = origin.empty() ? 0 : origin[column];
      const auto value = static_cast<double>(rows(row, dim));
      // The last condition is about rounding: no separation may be longer than the box.
      if (value >= corner && value - corner <= problem.box[column] &&
          value - problem.lowest[column] <= problem.box[column])
        continue;
      throw InputError(std::string(what) + ": the value in row " + std::to_string(row) + ", column " +
                       std::to_string(dim) + " (counted from 0) is " + core::number_text(value) +
                       " and lies outside the periodic box, which goes from " + core::number_text(corner) + " to " +
                       core::number_text(corner + problem.box[column]) + "; move such points in by whole lengths");
    }
}

template <class T>
double largest_weight(VectorView<const T> weights, const char* what) {
  double largest = 0;
  for (std::int64_t row = 0; row < weights.size(); ++row) {
    const auto weight = static_cast<double>(weights[row]);
    if (!(std::abs(weight) <= core::largest_magnitude))
      throw InputError(std::string(what) + ": the weight in row " + std::to_string(row) + " (counted from 0) is " +
                       (std::isnan(weight)   ? "NaN"
                        : std::isinf(weight) ? "infinite"
                                             : "too large") +
                       "; weights are finite");
    largest = std::max(largest, std::abs(weight));
  }
  return largest;
}

template <class T>
void examine_columns(Problem<T>& problem, int threads) {
  const core::ColumnRanges points = core::column_ranges(problem.points, "points", threads);
  const core::ColumnRanges others = problem.cross ? core::column_ranges(problem.others, "others", threads) : points;
  if (problem.n() == 0 && problem.m() == 0) return;
  for (std::size_t column = 0; column < points.lowest.size(); ++column) {
    problem.lowest[column] = std::min(points.lowest[column], others.lowest[column]);
    problem.highest[column] = std::max(points.highest[column], others.highest[column]);
  }
}

}  // namespace

std::int64_t pair_count(std::int64_t points, std::int64_t others, bool cross) {
  return cross ? points * others : points * (points - 1) / 2;
}

template <class T>
Problem<T> prepare(MatrixView<const T> points, const PairHistogramOptions<T>& options, const Execution& execution) {
  Problem<T> problem;
  problem.points = points;
  problem.others = options.others;
  problem.cross = options.others.columns() > 0;
  check_points(points);
  if (problem.cross) check_others(points, options.others);
  check_weights(options, points.rows(), problem.cross);
  check_box(options, points.columns());
  core::check_memory(Bins::bytes(options.bins), execution);
  problem.bins = Bins(options.bins);
  check_reach(problem.bins.reach(), options.box);

  examine_columns(problem, cpu::thread_count(execution));
  problem.periodic = !options.box.empty();
  std::copy(options.box.begin(), options.box.end(), problem.box.begin());
  if (problem.periodic) {
    check_inside(points, problem, options.box_origin, "points");
    if (problem.cross) check_inside(problem.others, problem, options.box_origin, "others");
  }
  problem.weights = options.weights;
  problem.other_weights = options.other_weights;
  if (problem.weighted()) {
    const double first = largest_weight(options.weights, "weights");
    const double second = problem.cross ? largest_weight(options.other_weights, "other weights") : first;
    // Limbs of 32 bits: 2^61 products, each below 2^64 steps of the grid, fit a sum of 128 bits.
    problem.weight_grid = core::Grid(core::exponent_above(first * second), std::int64_t{1} << 30);
  }
  return problem;
}

template Problem<float> prepare(MatrixView<const float>, const PairHistogramOptions<float>&, const Execution&);
template Problem<double> prepare(MatrixView<const double>, const PairHistogramOptions<double>&, const Execution&);

}  // namespace gradus::pair_histogram_detail
