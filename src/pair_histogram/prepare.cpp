#include "pair_histogram/prepare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/column_ranges.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "pair_histogram/gpu/gpu_points.hpp"

namespace gradus::pair_histogram_detail {

namespace {

constexpr std::string_view while_examining = "stopped while examining the points";

template <class T>
void check_points(MatrixView<const T> points) {
  execution::check_extent(points, "points");
  if (points.columns() < 1 || points.columns() > dimension_limit)
    throw InputError(about("points") + "there are " + std::to_string(points.columns()) +
                     " columns; 1, 2 or 3 are needed, one for each coordinate");
}

template <class T>
void check_others(MatrixView<const T> points, MatrixView<const T> others) {
  execution::check_extent(others, "others");
  if (others.columns() != points.columns())
    throw InputError(about("others") + "there are " + std::to_string(others.columns()) +
                     " columns, but the points have " + std::to_string(points.columns()));
}

template <class T>
void check_weights(const PairHistogramMemory<T>& memory, std::int64_t points, bool cross) {
  execution::check_number(memory.weights, points, "weights", "points");
  if (!cross && !memory.other_weights.empty())
    throw UsageError(about("other weights") + "there are weights for others, but no others");
  execution::check_number(memory.other_weights, memory.others.rows(), "other weights", "others");
  if (cross && points > 0 && memory.others.rows() > 0 && memory.weights.empty() != memory.other_weights.empty())
    throw UsageError(std::string("the ") + (memory.weights.empty() ? "points" : "others") +
                     " have no weights, but the " + (memory.weights.empty() ? "others" : "points") +
                     " have; give weights to both or to none");
}

template <class T>
[[noreturn]] void throw_outside(const Problem<T>& problem, const char* what, std::int64_t row, std::size_t column,
                                double value) {
  const double corner = problem.box_origin[column];
  throw InputError(about(what) + "the value in row " + std::to_string(row) + ", column " + std::to_string(column) +
                       " (counted from 0) is " + core::number_text(value) +
                       " and outside the periodic box, which goes from " + core::number_text(corner) + " to " +
                       core::number_text(corner + problem.box[column]) + (problem.triclinic ? " around the cell" : ""),
                   {.code = error_code::outside_box,
                    .row = row,
                    .column = static_cast<std::int64_t>(column),
                    .value = core::number_text(value),
                    .allowed = core::number_text(corner) + " to " + core::number_text(corner + problem.box[column]),
                    .remedy = flag("PairHistogramOptions::fold") + " moves such points in by whole lengths"});
}

/// Throws if inside(column, value) is false for any value. The message names the first such row. The accepted values
/// must form an interval, so it suffices to check the extremes in `ranges`. Rows are scanned only to write the message.
template <class T, class Inside>
void refuse_outside(const Problem<T>& problem, MatrixView<const T> rows, const core::ColumnRanges& ranges,
                    const char* what, const Inside& inside) {
  bool all_inside = true;
  for (std::size_t column = 0; rows.rows() > 0 && column < ranges.lowest.size(); ++column)
    all_inside = all_inside && inside(column, ranges.lowest[column]) && inside(column, ranges.highest[column]);
  if (all_inside) return;
  const auto refuse = [&](std::int64_t first, MatrixView<const T> some) {
    for (std::int64_t row = 0; row < some.rows(); ++row) {
      if (row % core::operations_between_polls == 0) core::honour_stop(problem.stop, while_examining);
      for (std::int64_t dim = 0; dim < some.columns(); ++dim) {
        const auto column = static_cast<std::size_t>(dim);
        const auto value = static_cast<double>(some(row, dim));
        if (!inside(column, value)) throw_outside(problem, what, first + row, column, value);
      }
    }
    return true;
  };
  cuda::visit_rows(rows, problem.gpu, refuse);
}

/// Throws if a row of `points` or `others` is outside the box. A point on a border is inside. It suffices to check the
/// extremes, because subtraction and rounding are monotonic.
template <class T>
void check_inside(const Problem<T>& problem, const core::ColumnRanges& points, const core::ColumnRanges& others) {
  const auto refuse = [&](const auto& inside) {
    refuse_outside(problem, problem.points, points, "points", inside);
    if (problem.cross) refuse_outside(problem, problem.others, others, "others", inside);
  };
  refuse([&](std::size_t column, double value) {
    return value >= problem.box_origin[column] && value - problem.box_origin[column] <= problem.box[column];
  });
  // Up to rounding, all points are now known to be inside the box. The second check rejects points whose separation in
  // a column exceeds the length of the box.
  refuse([&](std::size_t column, double value) { return value - problem.lowest[column] <= problem.box[column]; });
}

[[noreturn]] void throw_bad_weight(const char* what, std::int64_t row, double weight) {
  throw InputError(about(what) + "the weight in row " + std::to_string(row) + " (counted from 0) is " +
                       (std::isnan(weight)   ? "NaN"
                        : std::isinf(weight) ? "infinite"
                                             : "too large") +
                       "; weights are at most 2^500 in magnitude",
                   {.code = std::isfinite(weight) ? error_code::out_of_range : error_code::not_finite,
                    .row = row,
                    .value = core::number_text(weight),
                    .allowed = "-2^500 to 2^500"});
}

template <class T>
WeightSpan weight_span(const Problem<T>& problem, VectorView<const T> weights, const char* what) {
  WeightSpan span;
  if (weights.empty()) return span;
  if (problem.gpu) {
    const core::FoundRanges found = find_ranges_on_gpu(weights, *problem.gpu);
    if (found.bad_row >= 0) throw_bad_weight(what, found.bad_row, found.bad_value);
    return find_weight_span(weights, *problem.gpu);
  }
  for (std::int64_t row = 0; row < weights.size(); ++row) {
    if (row % core::operations_between_polls == 0) core::honour_stop(problem.stop, while_examining);
    const auto weight = static_cast<double>(weights[row]);
    if (!(std::abs(weight) <= core::largest_magnitude)) throw_bad_weight(what, row, weight);
    span.add(weight);
  }
  return span;
}

template <class T>
core::ColumnRanges column_ranges(const Problem<T>& problem, MatrixView<const T> rows, const char* what, int threads) {
  if (problem.gpu) return column_ranges_on_gpu(rows, what, *problem.gpu);
  return cpu::column_ranges(rows, what, threads, problem.stop);
}

}  // namespace

namespace {

/// Checks that products of the cell's numbers neither overflow nor lose digits, and that its vectors are not nearly
/// coplanar. The error of the reciprocal vectors is then far smaller than the differences that the reduction compares.
void check_cell(const std::vector<double>& box) {
  constexpr double largest = 0x1p150;
  constexpr double least_share = 0x1p-20;
  double lengths = 1;
  for (std::size_t vector = 0; vector < 3; ++vector) {
    double squares = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double number = box[3 * vector + axis];
      if (!(std::abs(number) <= largest))
        throw UsageError(about("box") + "a component of a cell's vector must be at most 2^150 in magnitude, not " +
                         core::number_text(number));
      squares += number * number;
    }
    const double length = std::sqrt(squares);
    if (!(length >= 1 / largest))
      throw UsageError(about("box") + "vector " + std::to_string(vector) + " of the cell (counted from 0) is " +
                       core::number_text(length) + " long; it must be at least 2^-150");
    lengths *= length;
  }
  const double volume = std::abs(Cell(box).volume());
  if (!(volume >= least_share * lengths))
    throw UsageError(about("box") + "the three vectors of the cell are nearly in a plane: its volume is " +
                         core::number_text(volume) + ", less than a millionth of " + core::number_text(lengths) +
                         ", the product of their lengths; give shorter vectors of the same lattice",
                     {.code = error_code::flat_cell});
}

}  // namespace

double greatest_reach(const std::vector<double>& box) {
  if (box.empty()) return std::numeric_limits<double>::infinity();
  return (is_triclinic(box) ? Cell::reduced(box).least_height() : *std::min_element(box.begin(), box.end())) / 2;
}

void check_reach(double reach, const std::vector<double>& box) {
  const double half = greatest_reach(box);
  if (!(reach > half)) return;
  throw UsageError("the bins reach to " + core::number_text(reach) + ", past half of the " +
                       (is_triclinic(box) ? "cell's least height, " : "box's least length, ") +
                       core::number_text(half) + (is_triclinic(box) ? " (of its reduced vectors)" : "") +
                       ", where a pair's nearest image is not its only one",
                   {.code = error_code::reach_too_long,
                    .argument = "cutoff",
                    .value = core::number_text(reach),
                    .allowed = "at most " + core::number_text(half),
                    .remedy = "a cutoff of " + core::number_text(half) + " at most is needed, or " +
                              flag("PairHistogramOptions::beyond_half")});
}

void check_box(const std::vector<double>& box, const std::vector<double>& origin, std::int64_t dimensions) {
  if (box.empty() && !origin.empty())
    throw UsageError(about("box") + "an origin was given, but no lengths",
                     {.code = error_code::no_effect, .argument = "box_origin"});
  if (is_triclinic(box)) {
    if (dimensions != 3)
      throw UsageError(about("box") + "the nine numbers of a cell are for points with 3 columns, not " +
                       std::to_string(dimensions));
    check_cell(box);
  } else if (!box.empty() && static_cast<std::int64_t>(box.size()) != dimensions)
    throw UsageError(about("box") + "there are " + std::to_string(box.size()) + " lengths, but the points have " +
                     std::to_string(dimensions) + " columns; a length for each is needed" +
                     (dimensions == 3 ? ", or the nine numbers of a cell" : ""));
  if (!origin.empty() && static_cast<std::int64_t>(origin.size()) != dimensions)
    throw UsageError(about("box") + "the origin has " + std::to_string(origin.size()) + " coordinates, not " +
                     std::to_string(dimensions));
  for (const double length : box)
    if (!is_triclinic(box) && !(length > 0 && length <= core::largest_magnitude))
      throw UsageError(about("box") + "a length must be above zero and at most 2^500, not " +
                       core::number_text(length));
  for (const double corner : origin)
    if (!(std::abs(corner) <= core::largest_magnitude))
      throw UsageError(about("box") + "a coordinate of the origin must be at most 2^500 in magnitude, not " +
                       core::number_text(corner));
}

std::int64_t pair_count(std::int64_t points, std::int64_t others, bool cross) {
  return cross ? points * others : points * (points - 1) / 2;
}

namespace {

Bins make_bins(const PairHistogramOptions& options, std::int64_t dimensions, const Execution& execution) {
  check_box(options.box, options.box_origin, dimensions);
  execution::check_memory(Bins::bytes(options.bins), execution);
  Bins bins(options.bins, execution.stop);
  if (!options.beyond_half) check_reach(bins.reach(), options.box);
  return bins;
}

}  // namespace

template <class T>
Problem<T> describe(MatrixView<const T> points, const PairHistogramOptions& options,
                    const PairHistogramMemory<T>& memory, const Execution& execution) {
  Problem<T> problem;
  problem.stop = execution.stop;
  problem.points = points;
  problem.others = memory.others;
  problem.cross = memory.others.columns() > 0;
  check_points(points);
  if (problem.cross) check_others(points, memory.others);
  check_weights(memory, points.rows(), problem.cross);
  problem.weights = memory.weights;
  problem.other_weights = memory.other_weights;
  problem.bins = make_bins(options, points.columns(), execution);
  problem.periodic = !options.box.empty();
  problem.triclinic = is_triclinic(options.box);
  std::copy(options.box_origin.begin(), options.box_origin.end(), problem.box_origin.begin());
  if (problem.triclinic) {
    problem.cell = Cell::reduced(options.box);
    const BoundingBox bounds = bounding_box(Cell(options.box), problem.box_origin);
    problem.box = bounds.length;
    problem.box_origin = bounds.low;
  } else {
    std::copy(options.box.begin(), options.box.end(), problem.box.begin());
  }
  return problem;
}

Shape describe_shape(const PairHistogramShape& shape, const PairHistogramOptions& options, const Execution& execution) {
  execution::check_element_bytes(shape.element_bytes);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (shape.points < 0 || shape.others < 0 || shape.points > most || shape.others > most)
    throw UsageError("there are 0 to " + std::to_string(most) + " points and others, not " +
                     std::to_string(shape.points) + " and " + std::to_string(shape.others));
  if (shape.dimensions < 1 || shape.dimensions > dimension_limit)
    throw UsageError("points have 1, 2 or 3 columns, not " + std::to_string(shape.dimensions));
  Shape sizes;
  sizes.points = shape.points;
  sizes.others = shape.others;
  sizes.dimensions = shape.dimensions;
  sizes.take(make_bins(options, shape.dimensions, execution));
  sizes.element_bytes = shape.element_bytes;
  sizes.cross = shape.others > 0;
  sizes.periodic = !options.box.empty();
  sizes.triclinic = is_triclinic(options.box);
  sizes.weighted = shape.weighted;
  sizes.sum_words = WeightSums::most_words(shape.element_bytes);
  return sizes;
}

template <class T>
void examine(Problem<T>& problem, int threads) {
  cpu::start_team(threads);
  const core::ColumnRanges points = column_ranges(problem, problem.points, "points", threads);
  const core::ColumnRanges others = problem.cross ? column_ranges(problem, problem.others, "others", threads) : points;
  for (std::size_t column = 0; problem.n() + problem.m() > 0 && column < points.lowest.size(); ++column) {
    problem.lowest[column] = std::min(points.lowest[column], others.lowest[column]);
    problem.highest[column] = std::max(points.highest[column], others.highest[column]);
  }
  if (problem.periodic) check_inside(problem, points, others);
  if (!problem.weighted()) return;
  const WeightSpan first = weight_span(problem, problem.weights, "weights");
  const WeightSpan second = problem.cross ? weight_span(problem, problem.other_weights, "other weights") : first;
  problem.sums = WeightSums(first, second, pair_count(problem.n(), problem.m(), problem.cross));
}

template <class T>
Problem<T> prepare(MatrixView<const T> points, const PairHistogramOptions& options,
                   const PairHistogramMemory<T>& memory, const Execution& execution) {
  Problem<T> problem = describe(points, options, memory, execution);
  examine(problem, cpu::thread_count(execution));
  return problem;
}

#define GRADUS_INSTANTIATE(T)                                                                                   \
  template Problem<T> describe(MatrixView<const T>, const PairHistogramOptions&, const PairHistogramMemory<T>&, \
                               const Execution&);                                                               \
  template void examine(Problem<T>&, int);                                                                      \
  template Problem<T> prepare(MatrixView<const T>, const PairHistogramOptions&, const PairHistogramMemory<T>&,  \
                              const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::pair_histogram_detail
