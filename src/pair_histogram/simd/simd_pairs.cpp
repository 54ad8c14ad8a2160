#include "pair_histogram/simd/simd_pairs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace gradus::pair_histogram_detail {

namespace {

constexpr int float_bits = 23;
// Joint counters for two pairs pay while all of them fit in the L2 cache. Joint counters for more pairs pay while
// nearly all fit in the L1 cache.
constexpr std::int64_t counters_of_two = 1 << 16;
constexpr std::int64_t counters_of_more = 19000;
constexpr std::int64_t copied_counters = 9500;
constexpr int most_joint = 4;
constexpr std::int64_t spare_cells = 8;  // cells past the last edge, so that the last cell is certainly beyond the bins
constexpr std::int64_t least_cells = 4096;  // least number of cells of FilterPlan::by_cell
constexpr std::int64_t cells_to_an_edge = 128;
constexpr double most_doubtful = 0.25;  // greatest share of the pairs that may be doubtful
constexpr std::int64_t slot_limit = 60000;
constexpr std::int64_t sum_copies = 4;  // consecutive pairs of one bin do not wait for each other
constexpr std::int64_t fewest_to_a_sum = 64;

int bits_for(std::int64_t values) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(values - 1))); }

// Returns how many pairs share an increment if there are this many bins.
int pairs_to_a_counter(std::int64_t bins) {
  int pairs = 1;
  for (std::int64_t counters = bins * bins; pairs < most_joint; ++pairs, counters *= bins)
    if (counters > (pairs == 1 ? counters_of_two : counters_of_more)) break;
  return pairs;
}

std::int64_t counter_copies(std::int64_t counters) {
  std::int64_t copies = filter_block;
  while (copies > 1 && counters * copies > copied_counters) copies /= 2;
  return copies;
}

}  // namespace

// Returns an upper limit for the error of distances up to `cells_reached`. The unit of the error and of the distances
// is a cell, and there are `per_length` cells per unit of length.
//
// Let u be 2^-24, and let U be an upper limit of the coordinates in cells. Each form of coordinates has the following
// rounding errors in each column. A step is the unit of integer coordinates.
//
// floats, in open space:
//   u U for each of the two coordinates
//   2 u U for their difference
//
// integers, in a box:
//   half a step for each of the two coordinates
//   3 u of the separation for the conversion, the factor and the product
//
// integers, in a triclinic cell, in units of `spread` (the sum of the vectors' magnitudes in a column):
//   one step (2^-32) for the half steps of the two points
//   5 u of the sum for the conversion, the vector and three additions, where fractions are at most 1/2
//
// local, in open space or a box:
//   half a step for each of the two coordinates
//   3 u U for each of the two coordinates, as for integers
//   2 u U for their difference
//
// local, in a cell's brick (U is measured from a local origin that is at most U from the group's origin):
//   one step for each of the two truncated coordinates
//   half a step for the shift of the image
//   5 u U for each of the two coordinates: conversion and factor of 2 U, the origin's position, and the sum, minus the
//     errors named above
//
// wrapped, in open space: as for floats
//
// wrapped, in a box of length L, which is at least 2 U:
//   u L / 2 for each of the two coordinates
//   u L for their difference
//   u L for the length itself
//   u L for the length minus the separation
//
// wrapped, in a cell's brick with edge L and shifts s along an axis (the second to last vector may be subtracted
// twice):
//   2 u L for the difference, as in a box
//   at most u (L + s), u (L + 2 s) and u (L + 2 s + L) / 2 for the remainders after each vector
//   u s, 2 u s and 3 u L for the components of the vectors
//   7.5 u L + 4 u s in total, for all shifts s
//
// The error of a distance is at most the norm of the columns' errors plus two relative errors. The first is 3 u / 2 for
// the squares, their sum, and the term that keeps the sum positive. The second is at most 12 u / 2 for the square root,
// which one Newton step computes from an approximation with a relative error of 1.5 * 2^-12. `wrapped` coordinates are
// for a GPU, whose reciprocal root has a relative error of 2^-22.9, that is 2.2 u. The extra one percent far exceeds
// all roundings in double, including the canonical rule's, which are below 2^-50 of the coordinates.
double FilterPlan::error_at(double per_length, double cells_reached) const {
  double squares = 0;
  for (int dim = 0; dim < dimension_limit; ++dim) {
    const double step = steps_per_length[static_cast<std::size_t>(dim)] > 0
                            ? per_length / steps_per_length[static_cast<std::size_t>(dim)]
                            : 0.0;
    const double half = half_[static_cast<std::size_t>(dim)] * per_length;
    double off = 0;
    if (coordinates == FilterCoordinates::floats || coordinates == FilterCoordinates::wrapped) off = 4 * 0x1p-24 * half;
    if (coordinates == FilterCoordinates::integers) off = 1.01 * step;
    if (coordinates == FilterCoordinates::local) off = 1.01 * step + 8 * 0x1p-24 * local_reach_ * per_length;
    if (triclinic_) {
      if (coordinates == FilterCoordinates::integers)
        off = spread_[static_cast<std::size_t>(dim)] * per_length * (1.02 * 0x1p-32 + 3 * 0x1p-24);
      if (coordinates == FilterCoordinates::local) off = 2.52 * step + 12 * 0x1p-24 * local_reach_ * per_length;
      if (coordinates == FilterCoordinates::wrapped)
        off = 0x1p-24 * (7.5 * brick.edge(dim) + 4 * brick.shifts(dim)) * per_length;
      off += placing_ * per_length;
    }
    squares += off * off;
  }
  const double relative = 0x1p-24 * (coordinates == FilterCoordinates::integers  ? 11
                                     : coordinates == FilterCoordinates::wrapped ? 4
                                                                                 : 8);
  return 1.01 * (std::sqrt(squares) + relative * cells_reached) + 0x1p-28;
}

template <class T>
FilterPlan::FilterPlan(const Problem<T>& problem, FilterCoordinates form, double local_reach, bool knows_intervals)
    : coordinates(form), local_reach_(local_reach) {
  for (std::size_t dim = 0; dim < static_cast<std::size_t>(problem.d()); ++dim) {
    const double extent = problem.highest[dim] - problem.lowest[dim];
    // The centre is rounded. If points are a few ulps apart, the distance from the centre to one end may be as large as
    // the whole extent.
    origin[dim] = problem.lowest[dim] + extent * 0.5;
    half_[dim] = std::max(problem.highest[dim] - origin[dim], origin[dim] - problem.lowest[dim]) * 1.0000001;
    if (coordinates == FilterCoordinates::wrapped && problem.space() == Space::box)
      half_[dim] = std::max(problem.box[dim], 2 * half_[dim]);
    if (coordinates == FilterCoordinates::floats || coordinates == FilterCoordinates::wrapped) continue;
    // In open space, the integer coordinate is exactly -2^29 for the lowest point and at most 2^29 for the highest.
    // Proof: let f(x) be (x - lowest) times the steps per length, rounded to an integer. f is monotonic, and f is 0 for
    // the lowest point. For the highest point, f is at most extent * fl(2^30 / extent), which is below 2^30 (1 + 2^-51)
    // and rounds to 2^30. If coordinates were relative to the rounded centre instead, one side could reach 2^30.
    if (!problem.periodic) {
      origin[dim] = problem.lowest[dim];
      first_step = -(std::int64_t{1} << (open_span_bits - 1));
    }
    if (problem.triclinic) continue;
    // A box has 2^32 steps. In open space all points together span 2^30 steps, so that differences do not wrap.
    steps_per_length[dim] = problem.periodic
                                ? 0x1p32 / problem.box[dim]
                                : std::ldexp(1.0, open_span_bits) / std::max(extent, problem.bins.reach() * 0x1p-10);
  }
  const bool finite = std::all_of(half_.begin(), half_.end(), [](double half) { return half < 1e150; }) &&
                      problem.bins.reach() > 1e-140 && problem.bins.reach() < 1e150;
  usable = finite && (!problem.triclinic || take_cell(problem)) &&
           (use_bins_as_cells(problem.bins) || (knows_intervals && use_intervals(problem.bins)) ||
            use_fine_cells(problem.bins)) &&
           (!problem.triclinic || keeps_images_apart(problem.bins.reach(), problem.cell.least_height() / 2));
}

template <class T>
bool FilterPlan::take_cell(const Problem<T>& problem) {
  triclinic_ = true;
  origin = problem.box_origin;
  // Computing a position takes a few roundings. The error of each rounding is at most a small multiple of the extent of
  // all positions.
  for (const double length : problem.box) placing_ += 0x1p-48 * length;
  if (coordinates == FilterCoordinates::integers) {
    double most = 0;  // the greatest sum of a fraction's terms; kernels need fractions with errors below 2^-30
    for (int vector = 0; vector < dimension_limit; ++vector) {
      double terms = 0;
      for (std::size_t axis = 0; axis < problem.box.size(); ++axis) {
        spread_[axis] += std::abs(problem.cell.vectors[vector][axis]);
        terms += problem.box[axis] * std::abs(problem.cell.reciprocal[vector][axis]);
      }
      most = std::max(most, terms);
    }
    return most <= 0x1p16;
  }
  brick = Brick(problem.cell);
  for (int axis = 0; coordinates == FilterCoordinates::local && axis < dimension_limit; ++axis)
    steps_per_length[static_cast<std::size_t>(axis)] = 0x1p32 / brick.edge(axis);
  return true;
}

// Returns true if at most one image of each pair can be in the bins or in doubt. In a brick, the distances of two
// images of a pair add up to at least the least height. It therefore suffices that the reach and the range of doubtful
// distances end below half of the least height. For the coordinates `integers`, the kernels keep the images apart.
bool FilterPlan::keeps_images_apart(double reach, double half_height) const {
  const double in_doubt = by_interval ? 2 * error + 0x1p-20
                          : joint     ? 4 * error + 0x1p-14 + 0x1p-18 * static_cast<double>(cells)
                                      : 2 * error + 1.5;
  return coordinates == FilterCoordinates::integers ||
         reach + in_doubt / cells_per_length < half_height * (1 - 0x1p-40);
}

// Uses the bins as cells. Returns false if this is impossible: if the bins have different widths or are too many, if
// the last bin is cut off, or if too many pairs would be doubtful.
bool FilterPlan::use_bins_as_cells(const Bins& bins) {
  constexpr double uneven = 1e-10;  // greatest distance of an edge from its multiple of the width, in widths
  const std::int64_t count = bins.count();
  if (count > 1 << 18 || (coordinates == FilterCoordinates::wrapped && !(bins.width() > 0))) return false;
  if (bins.edges().front() != 0) return false;
  cells_per_length = static_cast<double>(count) / bins.reach();
  for (std::int64_t edge = 0; edge < count; ++edge)
    if (std::abs(bins.edges()[static_cast<std::size_t>(edge)] * cells_per_length - static_cast<double>(edge)) > uneven)
      return false;
  error = error_at(cells_per_length, static_cast<double>(count) + 1) + uneven;
  const int fraction = float_bits - bits_for(count + 3);
  cells = count + 1;
  joint = error * std::ldexp(1.0, fraction + 4) + 48 < std::ldexp(1.0, fraction);
  return joint;
}

// Finds the bins from squared distances in a table of intervals that fits in registers. Returns false if there are too
// many bins for it, or if too many pairs would be doubtful.
bool FilterPlan::use_intervals(const Bins& bins) {
  if (bins.slots() > intervals_in_registers) return false;
  cells_per_length = 1 / bins.reach();
  error = error_at(cells_per_length, 1);
  if (!(error * 2 * static_cast<double>(bins.slots()) < most_doubtful)) return false;
  std::vector<float> reached;
  std::vector<float> passed;
  for (const double edge : bins.edges()) {
    const double at = edge * cells_per_length;
    const double near = error_at(cells_per_length, at);
    const double before = std::max(0.0, at - near);
    reached.push_back(edge == 0 ? 0 : rounded_down(before * before));
    passed.push_back(edge == 0 ? 0 : rounded_up((at + near) * (at + near)));
  }
  intervals = EdgeTable(reached, passed, 1, intervals_in_registers);
  if (!intervals.separates_edges() || intervals.intervals() > intervals_in_registers) return false;
  cells = bins.slots();
  doubtful = static_cast<std::uint32_t>(bins.slots());
  return by_interval = true;
}

// Sets up cells that are narrower than the bins. Pairs in cells near an edge are doubtful.
bool FilterPlan::use_fine_cells(const Bins& bins) {
  if (bins.slots() > slot_limit) return false;
  const std::int64_t wanted = std::clamp(bins.count() * cells_to_an_edge, least_cells, filter_cells_limit);
  cells = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
  cells_per_length = static_cast<double>(cells - spare_cells) / bins.reach();
  error = error_at(cells_per_length, static_cast<double>(cells)) + std::ldexp(1.0, bits_for(cells + 3) - float_bits);
  if (!(error < 0.5 * static_cast<double>(spare_cells - 2))) return false;
  doubtful = static_cast<std::uint32_t>(bins.slots());
  by_cell.resize(static_cast<std::size_t>(cells));
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    const double middle = (static_cast<double>(cell) + 0.5) / cells_per_length;
    by_cell[static_cast<std::size_t>(cell)] = static_cast<std::uint16_t>(bins.slot(middle * middle));
  }
  for (const double threshold : bins.thresholds()) {
    if (threshold == 0) continue;
    const double at = std::sqrt(threshold) * cells_per_length;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(at - error - 1e-6)));
    const auto last = std::min<std::int64_t>(cells - 1, static_cast<std::int64_t>(std::floor(at + error + 1e-6)));
    for (std::int64_t cell = first; cell <= last; ++cell)
      by_cell[static_cast<std::size_t>(cell)] = static_cast<std::uint16_t>(doubtful);
  }
  return static_cast<double>(std::count(by_cell.begin(), by_cell.end(), doubtful)) <
         most_doubtful * static_cast<double>(cells);
}

namespace {

// Converts a fraction of a turn to an integer number of steps of 2^-32, truncated.
float step_of(double share) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(std::min(share * 0x1p32, 0x1p32 - 1)));
}

// Sets the coordinates of a position in a triclinic cell, either along the axes of its brick or as fractions of its
// vectors.
template <class T>
void locate(const Cell& cell, const FilterPlan& plan, const T* row, double (&place)[dimension_limit]) {
  double from_origin[dimension_limit];
  for (std::size_t axis = 0; axis < dimension_limit; ++axis)
    from_origin[axis] = static_cast<double>(row[axis]) - plan.origin[axis];
  if (plan.coordinates != FilterCoordinates::integers)
    return plan.brick.locate(from_origin[0], from_origin[1], from_origin[2], place);
  for (int vector = 0; vector < dimension_limit; ++vector) {
    const double* const share = cell.reciprocal[vector];
    const double sum = from_origin[0] * share[0] + from_origin[1] * share[1] + from_origin[2] * share[2];
    place[vector] = sum - std::floor(sum);
  }
}

}  // namespace

template <class T>
FilterColumns<T>::FilterColumns(const Problem<T>& problem, const FilterPlan& plan, MatrixView<const T> points,
                                std::span<const std::int32_t> order, int threads)
    : columns_(padded(points.rows()) * problem.d()) {
  const std::int64_t rows = points.rows();
  const std::int64_t d = problem.d();
  const auto row_at = [&](std::int64_t place) {
    return order.empty() ? place : std::int64_t{order[static_cast<std::size_t>(place)]};
  };
  const auto fill_column = [&](std::int64_t dim, std::int64_t first, std::int64_t end) {
    float* const column = columns_.data() + dim * padded(rows);
    const double origin = plan.origin[static_cast<std::size_t>(dim)];
    const double steps = plan.steps_per_length[static_cast<std::size_t>(dim)];
    for (std::int64_t place = first; place < end; ++place) {
      const double relative = static_cast<double>(points(row_at(place), dim)) - origin;
      column[place] =
          plan.coordinates == FilterCoordinates::floats
              ? static_cast<float>(relative * plan.cells_per_length)
              // in a box, steps go from -2^31 to 2^31, and both ends are the same place
              : std::bit_cast<float>(static_cast<std::uint32_t>(std::llrint(relative * steps) + plan.first_step));
    }
  };
  const auto fill_in_cell = [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t place = first; place < end; ++place) {
      double shares[dimension_limit];
      locate(problem.cell, plan, points.row(row_at(place)), shares);
      for (std::int64_t axis = 0; axis < dimension_limit; ++axis)
        columns_[axis * padded(rows) + place] = step_of(shares[axis]);
    }
  };
  const std::int64_t stretch = core::chunk_length(rows, 8 * d, threads);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t first = 0; first < rows; first += stretch) {
    if (problem.stop.stop_requested()) continue;
    const std::int64_t end = std::min(first + stretch, rows);
    if (problem.triclinic) fill_in_cell(first, end);
    else
      for (std::int64_t dim = 0; dim < d; ++dim) fill_column(dim, first, end);
  }
  core::honour_stop(problem.stop, while_sorting);
  for (std::int64_t dim = 0; dim < d; ++dim) {
    float* const column = columns_.data() + dim * padded(rows);
    pointers_[static_cast<std::size_t>(dim)] = column;
    std::fill(column + rows, column + padded(rows), 0.0F);
  }
}

template <class T>
FilterCounters<T>::FilterCounters(const Problem<T>& problem, const FilterPlan& plan, const std::int32_t* first_order,
                                  const std::int32_t* second_order)
    : problem_(problem), plan_(plan), first_order_(first_order), second_order_(second_order),
      histogram_(problem.bins.slots() + 1, problem.sum_words()),  // one more slot, for doubtful pairs
      queue_(doubt_limit + doubt_room) {
  view_.dimensions = static_cast<int>(problem.d());
  view_.periodic = plan.coordinates == FilterCoordinates::integers;
  view_.triclinic = problem.triclinic;
  const double edge = problem.bins.reach() * plan.cells_per_length;
  view_.edge_square = static_cast<float>(edge * edge);
  for (int vector = 0; problem.triclinic && vector < dimension_limit; ++vector)
    for (int axis = 0; axis < dimension_limit; ++axis)
      view_.steps[vector][axis] =
          static_cast<float>(problem.cell.vectors[vector][axis] * plan.cells_per_length * 0x1p-32);
  for (std::size_t dim = 0; dim < static_cast<std::size_t>(problem.d()); ++dim)
    if (plan.steps_per_length[dim] > 0)
      view_.scale[dim] = static_cast<float>(plan.cells_per_length / plan.steps_per_length[dim]);
  const double greatest = static_cast<double>(plan.cells) - 0.5;
  view_.greatest_square = static_cast<float>(greatest * greatest);
  const int whole = bits_for(plan.cells + 2);
  view_.fraction_bits = float_bits - whole;
  const double unit = std::ldexp(1.0, -view_.fraction_bits);
  std::int64_t margin = 0;
  if (plan.joint) {
    view_.joint = pairs_to_a_counter(plan.cells);
    margin = static_cast<std::int64_t>(std::ceil(plan.error / unit + 0.5)) + 1;
    const std::uint32_t near = std::bit_ceil(static_cast<std::uint32_t>(2 * margin + 1));
    view_.certain = ((1U << view_.fraction_bits) - 1) & ~(near - 1);
  }
  view_.magic = static_cast<float>(std::ldexp(1.0, whole) + static_cast<double>(margin) * unit);
  // `ahead` is exact, because the margin is below one cell.
  view_.ahead = std::bit_cast<std::uint32_t>(view_.magic) >> view_.fraction_bits;
  view_.beyond = std::bit_cast<std::uint32_t>(static_cast<float>(greatest) + view_.magic);
  view_.radix = static_cast<std::uint32_t>(plan.cells);
  if (plan.by_interval) {
    view_.by_interval = true;
    view_.edges = plan.intervals.view();
    view_.fraction_bits = 0;
    view_.certain = ~0U;
    view_.ahead = 2;
    view_.beyond = view_.radix;
  }
  set_up_counters();
  view_.counters = counters_.data();
  view_.by_cell = plan.by_cell.data();
  view_.doubtful = plan.doubtful;
  if (problem.weighted()) set_up_weights();
  view_.queue = queue_.data();
  view_.settle = [](void* owner) { static_cast<FilterCounters*>(owner)->settle(); };
  view_.add_weights = [](void* owner, std::int64_t own, const std::int64_t* others, std::int64_t pairs) {
    static_cast<FilterCounters*>(owner)->add_weights(own, others, pairs);
  };
  view_.owner = this;
}

// Allocates several copies of the counters, so that neighbouring lanes with equal numbers do not wait for each other.
template <class T>
void FilterCounters<T>::set_up_counters() {
  counters_to_a_copy_ = plan_.joint ? 1 : problem_.bins.slots() + 1;
  std::uint32_t ahead = 0;
  for (int digit = 0; digit < view_.joint; ++digit) {
    counters_to_a_copy_ *= plan_.cells;
    ahead = ahead * view_.radix + view_.ahead;
  }
  copies_ = counter_copies(counters_to_a_copy_);
  counters_ = Buffer<std::uint32_t>(counters_to_a_copy_ * copies_, 0);
  for (std::int64_t lane = 0; lane < filter_block; ++lane) {
    const auto copy = static_cast<std::uint32_t>(lane % copies_ * counters_to_a_copy_);
    view_.base[lane] = plan_.joint ? ahead - copy : copy;
  }
}

template <class T>
void FilterCounters<T>::set_up_weights() {
  row_.resize(row_limit);
  view_.row = row_.data();
  pairs_to_a_sum_ = std::min(problem_.sums.pairs_to_a_word(), row_limit);
  const std::int64_t slots = problem_.bins.slots() + 1;
  if (pairs_to_a_sum_ >= fewest_to_a_sum && slots < row_limit)
    row_sums_.resize(static_cast<std::size_t>(slots * sum_copies));
}

// Replaces the numbers of a row's pairs by their slots. Doubtful pairs get one more slot, past all others.
template <class T>
void FilterCounters<T>::find_slots(std::int64_t pairs) {
  std::uint32_t* const row = row_.data();
  if (!plan_.joint && !plan_.by_interval) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) row[pair] = plan_.by_cell[row[pair]];
    return;
  }
  const auto doubtful = static_cast<std::uint32_t>(problem_.bins.slots());
  const std::uint32_t ahead = view_.ahead - 1;
  const std::uint32_t certain = view_.certain;
  const int shift = view_.fraction_bits;
  for (std::int64_t pair = 0; pair < pairs; ++pair)
    row[pair] = (row[pair] & certain) == 0 ? doubtful : (row[pair] >> shift) - ahead;
}

// Adds up the second weights of each slot, as integers of one word, and multiplies each sum by the first weight. If
// most slots of a row have few pairs, or if the weights have too many bits, adds the products one by one.
template <class T>
void FilterCounters<T>::add_weights(std::int64_t own, const std::int64_t* others, std::int64_t pairs) {
  find_slots(pairs);
  const std::uint32_t* const row = row_.data();
  const std::int64_t beyond = problem_.bins.beyond();
  if (row_sums_.empty() || pairs < beyond) {
    for (std::int64_t pair = 0; pair < pairs; ++pair)
      if (row[pair] < beyond) problem_.sums.add(histogram_.sum(row[pair]), own, others[pair]);
    return;
  }
  std::uint64_t* const sums = row_sums_.data();
  for (std::int64_t begin = 0; begin < pairs; begin += pairs_to_a_sum_) {
    const std::int64_t end = std::min(begin + pairs_to_a_sum_, pairs);
    for (std::int64_t pair = begin; pair < end; ++pair)
      sums[row[pair] * sum_copies + pair % sum_copies] += static_cast<std::uint64_t>(others[pair]);
    for (std::int64_t slot = 0; slot < std::ssize(row_sums_) / sum_copies; ++slot) {
      std::uint64_t sum = 0;
      for (std::int64_t copy = 0; copy < sum_copies; ++copy) sum += std::exchange(sums[slot * sum_copies + copy], 0);
      if (sum != 0 && slot < beyond) problem_.sums.add(histogram_.sum(slot), own, static_cast<std::int64_t>(sum));
    }
  }
}

template <class T>
void FilterCounters<T>::settle() {
  const bool weighted = problem_.weighted();
  for (std::int64_t index = 0; index < view_.queued; ++index) {
    const DoubtfulPair pair = queue_[static_cast<std::size_t>(index)];
    const std::int64_t first = first_order_ != nullptr ? first_order_[pair.first] : pair.first;
    const std::int64_t second = second_order_ != nullptr ? second_order_[pair.second] : pair.second;
    const double squared = squared_distance(problem_, problem_.points.row(first), problem_.second().row(second));
    const std::int64_t slot = problem_.bins.slot(squared);
    --histogram_.counts[pair.slot];
    ++histogram_.counts[static_cast<std::size_t>(slot)];
    if (weighted) problem_.sums.add(histogram_.sum(slot), problem_.first_weight(first), problem_.second_weight(second));
  }
  histogram_.rechecked += static_cast<std::uint64_t>(view_.queued);
  view_.queued = 0;
}

// Adds the counters to the histogram before they can overflow.
template <class T>
void FilterCounters<T>::empty_counters(std::uint64_t pairs) {
  std::uint64_t* counts = histogram_.counts.data();
  for (std::int64_t number = 0; number < counters_.size(); ++number) {
    const std::uint32_t count = std::exchange(counters_[number], 0);
    std::int64_t rest = number % counters_to_a_copy_;
    if (!plan_.joint) counts[rest] += count;
    for (int digit = 0; digit < view_.joint && count != 0; ++digit, rest /= plan_.cells)
      counts[rest % plan_.cells + 1] += count;
  }
  expected_ = pairs;
}

template <class T>
Histogram FilterCounters<T>::finish() {
  settle();
  empty_counters(0);
  histogram_.counts.pop_back();
  histogram_.weights.resize(histogram_.weights.size() - static_cast<std::size_t>(histogram_.sum_words));
  return std::move(histogram_);
}

template <class T>
std::uint64_t FilterCounters<T>::bytes(const Shape& shape) {
  const auto slots = static_cast<std::uint64_t>(shape.bins + 3);
  const auto counters = std::max<std::uint64_t>(counters_of_two, slots);
  const std::uint64_t sums = 8 * sum_copies * std::min<std::uint64_t>(slots, row_limit);
  const std::uint64_t rows = shape.weighted ? 4 * row_limit + sums : 0;
  return sizeof(DoubtfulPair) * (doubt_limit + doubt_room) + 4 * counters + slots * Histogram::slot_bytes(shape) + rows;
}

std::uint64_t bytes_to_filter(const Shape& shape, int threads) {
  const std::uint64_t points =
      static_cast<std::uint64_t>(padded(shape.points) + (shape.cross ? padded(shape.others) : 0));
  const std::uint64_t of_a_point = 4 * static_cast<std::uint64_t>(shape.dimensions) + (shape.weighted ? 8 : 0);
  return points * of_a_point + static_cast<std::uint64_t>(threads) * FilterCounters<double>::bytes(shape) +
         filter_cells_limit * sizeof(std::uint16_t);
}

#define GRADUS_INSTANTIATE(T)                                                          \
  template FilterPlan::FilterPlan(const Problem<T>&, FilterCoordinates, double, bool); \
  template class FilterColumns<T>;                                                     \
  template class FilterCounters<T>
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::pair_histogram_detail
