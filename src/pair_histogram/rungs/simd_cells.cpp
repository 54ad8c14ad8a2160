// simd_cells: sorts points into columns of cells, so that small groups of points visit only the points near them.
//
// The idea. If the last edge is much smaller than the extent of the points, nearly all pairs that brute force visits
// are out of reach. Sorting points into cells finds the points near a place without visiting the others, as the cell
// lists of molecular dynamics do.
//
// * Columns. The cells form columns along the last axis, and the points of a column are contiguous in memory. The
//   points of a column near a given height are therefore one contiguous run, which suits vector units. The column width
//   is chosen so that a run is about one vector long, but it is at least a quarter of the reach and at most the whole
//   reach. The cells are thin. There are at most about as many cells as points.
// * Groups. Up to eight neighbouring points of a column share a list of nearby points. The list is collected from each
//   column in reach of the group's bounding box. In such a column, the code scans the run of points that may be near
//   enough. If a point's distance from the box is within reach, the point is packed into the list (Compress). The
//   filter of simd_filter then pairs each point of the group with the whole list. Without a second set, each pair must
//   be counted only once. A group therefore visits only later columns, and in its own column only later points. The
//   points of the group itself come first in the list.
// * Coordinates are 32-bit integers. 2^32 steps span a periodic box, or 2^30 steps span open space. Half a step is far
//   below float's rounding error. The list holds float coordinates relative to the middle of the group's box. They are
//   computed from integer differences, which wrap around as the box does. This gives the nearest image at no cost, and
//   it keeps full accuracy in a large box. The result is correct if every point within reach has the same nearest image
//   for all points of the group. So a group ends before its extent plus the reach exceeds half of the box. A group of
//   one point always satisfies this condition.
// * In a triclinic cell the coordinates are relative to its brick (cell.hpp). The brick is an axis-aligned box whose
//   faces join with a shift: one turn around the third edge also shifts the first two coordinates. The columns run
//   along the first edge. One turn around the first edge returns to the same place, so coordinates along it wrap as in
//   a box. Across the columns, each image (turn) of a column that can be in reach is visited separately. Each run of
//   points stores the origin of the coordinates in its image. A list thus costs the same as in a box, whatever the
//   cell. No image is missed or counted twice if the bins end below half of the least height by more than the filter's
//   error bound.
// * The order of counting does not matter, because counts are integers and the canonical rule decides doubtful pairs
//   from the original coordinates.
//
// What changes from `simd_filter`: the work is O(n) times the number of neighbours instead of O(n^2).
// Work, if a point has m neighbours within reach: about 1.5 m filtered pairs per point and 3 m packed coordinates per
// group. Each pair is visited from only one of its two points. Sorting takes three passes over the points.
// Memory: 8 d + 8 bytes per point while sorting, and 4 bytes per cell and sorting thread.
// Limits: if most points crowd into a few cells, the rung degrades to brute force with overhead. In a triclinic cell,
// simd_dual_tree or, with few points or weights, simd_filter takes over if the bins end at, or too close to, half of
// the least height, and simd_dual_tree if it is faster (tree_pays_in_cell). Source: B. Quentrec, C. Brot
// (1973) for cells; S. Pall, B. Hess, "A flexible algorithm for calculating pair interactions on SIMD architectures"
// (2013) for groups; M. Sinha, L. Garrison, "Corrfunc" (2020) for pair counts.
#include "pair_histogram/simd/dual_tree.hpp"
#include "pair_histogram/simd/simd_pairs.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pair_histogram/rungs/simd_cells.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "pair_histogram/simd/simd_pairs-inl.hpp"

#ifndef GRADUS_PAIR_HISTOGRAM_SIMD_CELLS
#define GRADUS_PAIR_HISTOGRAM_SIMD_CELLS
namespace gradus::pair_histogram_detail {

constexpr std::int64_t list_points = 2048;  // a list stays in the L1 cache
constexpr std::int64_t list_room = list_points + overshoot + filter_block;
static_assert(list_room <= row_limit);

struct PointRun {
  std::int64_t begin;
  std::int64_t end;
  std::int32_t origin[dimension_limit];  // in a brick, the origin of this image's coordinates
  float offset[dimension_limit];         // the position of that origin relative to the group's origin
};

// The points near a group, and the weights of these points.
struct CellList {
  alignas(64) float columns[dimension_limit][list_room];
  alignas(64) std::int32_t numbers[list_room];
  alignas(64) std::int64_t weights[list_room];
};

// A group of points and the runs of points that may be near it. If `own` is true, the first run begins with the group
// itself.
struct CellGroup {
  std::int64_t begin;
  std::int64_t end;
  std::int32_t origin[dimension_limit];  // the centre of the group's box
  float half[dimension_limit];           // half of the box's extents, in units of the plan's cells
  float greatest_square;                 // greatest squared distance from the box at which a point is in reach
  bool own;                              // true if the points of the group are paired only with later points
  const float* const* first;             // coordinates of first points, as integers stored as float bits
  const float* const* second;
  const std::int64_t* first_weights;
  const std::int64_t* second_weights;
  const PointRun* runs;
  std::int64_t run_count;
  CellList* list;
};

}  // namespace gradus::pair_histogram_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::pair_histogram_detail {
namespace HWY_NAMESPACE {
namespace {

constexpr int columns_of(int dimensions) { return dimensions == in_a_cell ? dimension_limit : dimensions; }

// Examines one vector of a run's points, and appends the points near the group's box to the list. Returns the list's
// new length.
template <int D>
HWY_INLINE std::int64_t append_near(const FilterView& view, const CellGroup& group, const PointRun& run,
                                    std::int64_t place, std::int64_t length) {
  constexpr int columns = columns_of(D);
  const Floats f;
  const Integers i;
  FloatVector local[columns];
  auto square = hn::Zero(f);
#pragma GCC unroll 3
  for (int dim = 0; dim < columns; ++dim) {
    const std::int32_t origin = D == in_a_cell ? run.origin[dim] : group.origin[dim];
    const auto steps = hn::BitCast(i, hn::LoadU(f, group.second[dim] + place)) - hn::Set(i, origin);
    local[dim] = hn::ConvertTo(f, steps) * hn::Set(f, view.scale[dim]);
    if constexpr (D == in_a_cell)
      local[dim] = hn::MulAdd(hn::ConvertTo(f, steps), hn::Set(f, view.scale[dim]), hn::Set(f, run.offset[dim]));
    const auto outside = hn::Max(hn::Abs(local[dim]) - hn::Set(f, group.half[dim]), hn::Zero(f));
    square = hn::MulAdd(outside, outside, square);
  }
  const auto numbers = numbers_from(place);
  const auto near = hn::And(square <= hn::Set(f, group.greatest_square),
                            hn::RebindMask(f, numbers < hn::Set(i, static_cast<std::int32_t>(run.end))));
#pragma GCC unroll 3
  for (int dim = 0; dim < columns; ++dim)
    hn::StoreU(hn::Compress(local[dim], near), f, group.list->columns[dim] + length);
  hn::StoreU(hn::Compress(numbers, hn::RebindMask(i, near)), i, group.list->numbers + length);
  return length + static_cast<std::int64_t>(hn::CountTrue(f, near));
}

// Counts the pairs of the group with the list. If the list contains the group, `own` is the place of the group's first
// point in the list.
template <int D, int joint>
HWY_NOINLINE void count_list(FilterView& view, const CellGroup& group, std::int64_t length, std::int64_t own) {
  constexpr int dimensions = columns_of(D);
  const Integers i;
  const CellList& list = *group.list;
  const float* const columns[dimension_limit] = {list.columns[0], list.columns[1], list.columns[2]};
  if (group.second_weights != nullptr)
    for (std::int64_t place = 0; place < length; ++place)
      group.list->weights[place] = group.second_weights[list.numbers[place]];
  for (std::int64_t point = group.begin; point < group.end; ++point) {
    FirstPoint first;
#pragma GCC unroll 3
    for (int dim = 0; dim < dimensions; ++dim) {
      const auto steps = hn::BitCast(i, hn::Set(Floats(), group.first[dim][point])) - hn::Set(i, group.origin[dim]);
      first.coordinates[dim] = hn::ConvertTo(Floats(), steps) * hn::Set(Floats(), view.scale[dim]);
    }
    const std::int64_t begin = group.own ? std::max<std::int64_t>(0, own + point - group.begin + 1) : 0;
    const Weights weights{group.first_weights != nullptr ? group.first_weights[point] : 0,
                          group.second_weights != nullptr ? list.weights : nullptr};
    count_run<dimensions, false, joint>(view, first, columns, begin, length, PairNumbers{point, list.numbers}, weights);
  }
}

template <int D, int joint>
void group_kernel(FilterView& view, const CellGroup& group) {
  std::int64_t length = 0;
  std::int64_t own = 0;  // the place of the group's first point in the list; negative after the list restarts
  for (std::int64_t number = 0; number < group.run_count; ++number) {
    const PointRun& run = group.runs[number];
    for (std::int64_t place = run.begin; place < run.end; place += float_lanes()) {
      length = append_near<D>(view, group, run, place, length);
      if (HWY_LIKELY(length <= list_points)) continue;
      count_list<D, joint>(view, group, length, own);
      own -= length;
      length = 0;
    }
  }
  count_list<D, joint>(view, group, length, own);
}

template <int D>
void group_of_shape(FilterView& view, const CellGroup& group) {
  if (view.by_interval) return group_kernel<D, by_interval>(view, group);
  switch (view.joint) {
    case 0: return group_kernel<D, 0>(view, group);
    case 1: return group_kernel<D, 1>(view, group);
    case 2: return group_kernel<D, 2>(view, group);
    case 3: return group_kernel<D, 3>(view, group);
    default: return group_kernel<D, 4>(view, group);
  }
}

void count_group(FilterView& view, const CellGroup& group) {
  if (view.triclinic) return group_of_shape<in_a_cell>(view, group);
  switch (view.dimensions) {
    case 1: return group_of_shape<1>(view, group);
    case 2: return group_of_shape<2>(view, group);
    default: return group_of_shape<3>(view, group);
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::pair_histogram_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bit>
#include <cmath>
#include <utility>

#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/tile_pairs.hpp"

namespace gradus::pair_histogram_detail {

HWY_EXPORT(count_group);

namespace {

constexpr std::int64_t group_points = 8;
constexpr std::int64_t item_points = 256;
constexpr std::int64_t points_to_a_run = 16;
// The greatest number of second points per call of a kernel. Up to this number, the counters cannot overflow within a
// call.
constexpr std::int64_t points_to_a_call = std::int64_t{1} << 24;
// With weights the limit is lower, because sums of several words take longer.
constexpr std::int64_t weighted_points_to_a_call = std::int64_t{1} << 19;
// With at least this many cells across a brick, an image's coordinates do not wrap within a cell or near the group.
constexpr std::int64_t fewest_across_a_brick = 4;
constexpr int sort_threads = 8;  // each sorting thread has one counter per cell
constexpr double widest = 1.0;   // greatest column width, relative to the reach
constexpr double narrowest = 0.25;
constexpr double extent_limit = 0.5;  // greatest extent of a group, relative to the reach
// The greatest coordinate in a list, relative to the reach: extent_limit / 2, the reach, and slack.
constexpr double longest_local = 1.3;

// An axis of the grid. It has 2^span_bits integer steps and is divided into equal cells.
struct Axis {
  int column = -1;  // column of the points; -1 if the axis is unused and has one cell
  bool periodic = false;
  int span_bits = 32;
  std::int64_t cells = 1;
  double cell_size = 0;    // length of a cell in steps
  std::int64_t reach = 0;  // the reach in steps, plus an allowance for rounding to steps

  // Returns the number of steps from the lower end of the axis.
  std::int64_t steps(std::int32_t coordinate) const {
    return periodic ? static_cast<std::int64_t>(static_cast<std::uint32_t>(coordinate))
                    : static_cast<std::int64_t>(coordinate) + (std::int64_t{1} << (span_bits - 1));
  }
  // Returns the cell at a number of steps from the lower end. A periodic axis continues past both ends. On an open axis
  // the first and last cells also hold all points beyond the ends. Sorting and searching both use this function, which
  // is monotonic. A search from low - reach to high + reach therefore finds every point in that range, even on the
  // upper border of the last cell.
  std::int64_t cell(std::int64_t from_end) const {
    const std::int64_t any = (from_end * cells) >> span_bits;
    return periodic ? any : std::clamp<std::int64_t>(any, 0, cells - 1);
  }
};

// The cells from `low` to `high` as at most two ranges, because they may wrap around a periodic axis.
struct CellRanges {
  cpu::Range part[2];
  int parts = 0;

  CellRanges(const Axis& axis, std::int64_t low, std::int64_t high) {
    if (axis.periodic && high - low + 1 >= axis.cells) {
      add(0, axis.cells);
    } else if (!axis.periodic) {
      add(low, high + 1);
    } else {
      const std::int64_t turn = low < 0 ? axis.cells : (low >= axis.cells ? -axis.cells : 0);
      low += turn;
      high += turn;
      add(low, std::min(high + 1, axis.cells));
      if (high >= axis.cells) add(0, high + 1 - axis.cells);
    }
  }
  void add(std::int64_t begin, std::int64_t end) {
    if (begin < end) part[parts++] = {begin, end};
  }
};

// The grid, whose columns of cells run along the last axis of the points, or along the first axis of a brick.
struct Grid {
  Axis axis[dimension_limit];  // [0] and [1] are across the columns, [2] is along them
  double length_per_step[dimension_limit] = {};
  // In a brick, one turn around axis i moves a point by shift[i][j] steps along axis j.
  double shift[dimension_limit][dimension_limit] = {};

  std::int64_t columns() const { return axis[0].cells * axis[1].cells; }
  std::int64_t cells() const { return columns() * axis[2].cells; }
};

template <class T>
Grid make_grid(const Problem<T>& problem, const FilterPlan& plan) {
  Grid grid;
  const auto d = static_cast<int>(problem.d());
  const double reach = problem.bins.reach();
  const auto points = static_cast<double>(std::max<std::int64_t>(1, problem.m()));
  double extents[dimension_limit] = {};
  double density = points;  // number of points per cube of edge `reach`
  for (int across = 0; across < dimension_limit; ++across) {
    Axis& axis = grid.axis[across];
    axis.column = across == 2 ? d - 1 : (across < d - 1 ? across : -1);
    if (problem.triclinic) axis.column = 2 - across;
    if (axis.column < 0) continue;
    const auto column = static_cast<std::size_t>(axis.column);
    axis.periodic = problem.periodic;
    axis.span_bits = problem.periodic ? 32 : open_span_bits;
    grid.length_per_step[across] = 1 / plan.steps_per_length[column];
    extents[across] = std::ldexp(grid.length_per_step[across], axis.span_bits) / reach;  // in units of the reach
    axis.reach =
        static_cast<std::int64_t>(std::min(0x1p32, std::ceil(reach * (1 + 0x1p-20) * plan.steps_per_length[column]))) +
        4;
    density /= std::max(extents[across], 1.0);
  }
  // A run is about two reaches long. A piece of a column that is one reach long holds width^(d - 1) * density points.
  double width = d == 1 ? 1 : std::pow(static_cast<double>(points_to_a_run) / (2 * density), 1.0 / (d - 1));
  width = std::clamp(width, narrowest, widest);
  const std::int64_t fewest = problem.triclinic ? fewest_across_a_brick : 1;
  const auto most_columns = std::max(static_cast<std::int64_t>(points / 4), fewest * fewest);
  for (;;) {
    for (int across = 0; across < 2; ++across)
      grid.axis[across].cells = std::max(fewest, static_cast<std::int64_t>(std::min(extents[across] / width, 0x1p20)));
    if (grid.columns() <= most_columns) break;
    width *= 1.05;
  }
  const double thin = std::min(extents[2] * 16, points / 2 / static_cast<double>(grid.columns()));
  grid.axis[2].cells = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(thin, 0x1p28)));
  for (Axis& axis : grid.axis) axis.cell_size = std::ldexp(1.0, axis.span_bits) / static_cast<double>(axis.cells);
  for (int from = 0; problem.triclinic && from < 2; ++from)
    for (int to = from + 1; to < dimension_limit; ++to)
      grid.shift[from][to] = plan.brick.vectors[2 - from][2 - to] / grid.length_per_step[to];
  return grid;
}

template <class T>
class SortedPoints {
 public:
  SortedPoints() = default;
  SortedPoints(const Problem<T>& problem, const FilterPlan& plan, const Grid& grid, MatrixView<const T> points,
               int threads)
      : starts_(grid.cells() + 1), order_(points.rows()) {
    sort(FilterColumns<T>(problem, plan, points, {}, threads), grid, threads, problem.stop);
    columns_ =
        FilterColumns<T>(problem, plan, points, {order_.data(), static_cast<std::size_t>(order_.size())}, threads);
  }

  const float* const* columns() const { return columns_.columns(); }
  std::int32_t coordinate(int column, std::int64_t place) const {
    return column < 0 ? 0 : std::bit_cast<std::int32_t>(columns_.columns()[column][place]);
  }
  const std::int64_t* weights() const { return weights_.data(); }
  /// Sets the weights, which must be in the order of the sorted points.
  void take_weights(FilterWeights weights) { weights_ = std::move(weights); }
  std::span<const std::int32_t> order() const { return {order_.data(), static_cast<std::size_t>(order_.size())}; }
  std::int64_t start(std::int64_t cell) const { return starts_[cell]; }
  std::int64_t size() const { return order_.size(); }
  std::int64_t cell_at(std::int64_t place) const {
    return std::upper_bound(starts_.data(), starts_.data() + starts_.size(), place) - starts_.data() - 1;
  }

 private:
  void sort(const FilterColumns<T>& columns, const Grid& grid, int threads, const std::stop_token& stop);

  FilterColumns<T> columns_;
  FilterWeights weights_;
  Buffer<std::int32_t> starts_;
  Buffer<std::int32_t> order_;
};

// Sorts the points by cell with a stable counting sort. Within a cell, the points from a thread's share follow the
// points from the shares of all threads before it.
template <class T>
void SortedPoints<T>::sort(const FilterColumns<T>& columns, const Grid& grid, int threads,
                           const std::stop_token& stop) {
  const std::int64_t n = order_.size();
  const std::int64_t cells = grid.cells();
  const std::int64_t stretch = core::chunk_length(n, 32);
  const int parts = std::min(threads, sort_threads);
  Buffer<std::int32_t> cell_of(n);
  Buffer<std::int32_t> places(parts * cells, 0);
#pragma omp parallel for num_threads(parts) schedule(static)
  for (int part = 0; part < parts; ++part) {
    const cpu::Range range = cpu::share(n, part, parts);
    std::int32_t* const counts = places.data() + part * cells;
    for (std::int64_t point = range.begin; point < range.end; ++point) {
      if (point % stretch == 0 && stop.stop_requested()) break;
      std::int64_t cell = 0;
      for (const Axis& axis : grid.axis)
        if (axis.column >= 0)
          cell = cell * axis.cells +
                 axis.cell(axis.steps(std::bit_cast<std::int32_t>(columns.columns()[axis.column][point])));
      cell_of[point] = static_cast<std::int32_t>(cell);
      ++counts[cell];
    }
  }
  core::honour_stop(stop, while_sorting);
  std::int32_t place = 0;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    if (cell % stretch == 0) core::honour_stop(stop, while_sorting);
    starts_[cell] = place;
    for (int part = 0; part < parts; ++part) place += std::exchange(places[part * cells + cell], place);
  }
  starts_[cells] = place;
#pragma omp parallel for num_threads(parts) schedule(static)
  for (int part = 0; part < parts; ++part) {
    const cpu::Range range = cpu::share(n, part, parts);
    std::int32_t* const next = places.data() + part * cells;
    for (std::int64_t point = range.begin; point < range.end; ++point) {
      if (point % stretch == 0 && stop.stop_requested()) break;
      order_[next[cell_of[point]]++] = static_cast<std::int32_t>(point);
    }
  }
  core::honour_stop(stop, while_sorting);
}

// Finds the runs near groups of points and counts their pairs.
template <class T>
class CellCounter {
 public:
  CellCounter(const Problem<T>& problem, const Grid& grid, const SortedPoints<T>& first, const SortedPoints<T>& second,
              FilterCounters<T>& counters, double cells_per_length)
      : grid_(grid), first_(first), second_(second), counters_(counters), stop_(problem.stop),
        in_brick_(problem.triclinic), list_(1) {
    const double reach = problem.bins.reach() * cells_per_length;
    for (int across = 0; across < dimension_limit; ++across) {
      const Axis& axis = grid.axis[across];
      if (axis.column < 0) continue;
      cells_per_step_[across] = grid.length_per_step[across] * cells_per_length;
      longest_[across] = static_cast<std::int64_t>(extent_limit * static_cast<double>(axis.reach));
      if (axis.periodic && (across == 2 || !in_brick_))  // in a brick, each image is handled separately
        longest_[across] = std::clamp<std::int64_t>((std::int64_t{1} << 31) - axis.reach - 8, 0, longest_[across]);
    }
    // A point is at most as far from the group's box as it is from any point in the box. The factor 1.001 covers float
    // rounding.
    group_.first = first.columns();
    group_.second = second.columns();
    group_.first_weights = first.weights();
    group_.second_weights = second.weights();
    group_.greatest_square = static_cast<float>(reach * reach * 1.001);
    group_.own = !problem.cross;
    group_.list = list_.data();
  }

  void count(cpu::Range range) {
    std::int64_t column = first_.cell_at(range.begin) / grid_.axis[2].cells;
    for (group_.begin = range.begin; group_.begin < range.end; group_.begin = group_.end) {
      if (stop_.stop_requested()) return;
      while (first_.start((column + 1) * grid_.axis[2].cells) <= group_.begin) ++column;
      gather_group(std::min(range.end, first_.start((column + 1) * grid_.axis[2].cells)));
      if (in_brick_) find_runs_in_brick(column);
      else find_runs(column);
      count_runs();
    }
  }

 private:
  // Adds the next points as long as the group stays small enough. Then computes the group's bounding box.
  void gather_group(std::int64_t end) {
    for (int across = 0; across < dimension_limit; ++across)
      low_[across] = high_[across] =
          grid_.axis[across].steps(first_.coordinate(grid_.axis[across].column, group_.begin));
    end = std::min(end, group_.begin + group_points);
    for (group_.end = group_.begin + 1; group_.end < end; ++group_.end) {
      std::int64_t low[dimension_limit];
      std::int64_t high[dimension_limit];
      bool close = true;
      for (int across = 0; across < dimension_limit; ++across) {
        const Axis& axis = grid_.axis[across];
        const std::int64_t steps = axis.steps(first_.coordinate(axis.column, group_.end));
        low[across] = std::min(low_[across], steps);
        high[across] = std::max(high_[across], steps);
        close = close && high[across] - low[across] <= longest_[across];
      }
      if (!close) break;
      std::copy_n(low, dimension_limit, low_);
      std::copy_n(high, dimension_limit, high_);
    }
    for (int across = 0; across < dimension_limit; ++across) {
      const Axis& axis = grid_.axis[across];
      if (axis.column < 0) continue;
      const std::int64_t middle = middle_[across] = low_[across] + (high_[across] - low_[across]) / 2;
      const std::int64_t from_zero = axis.periodic ? middle : middle - (std::int64_t{1} << (axis.span_bits - 1));
      group_.origin[axis.column] = static_cast<std::int32_t>(static_cast<std::uint32_t>(from_zero));
      group_.half[axis.column] =
          static_cast<float>(static_cast<double>(high_[across] - middle + 1) * cells_per_step_[across] * (1 + 0x1p-20));
    }
  }

  // Returns a lower bound for the squared distance between a grid cell and the range [low, high] along an axis. The
  // unit of length is a cell of the plan.
  double square_apart(int across, std::int64_t cell, std::int64_t low, std::int64_t high) const {
    const Axis& axis = grid_.axis[across];
    if (axis.cells == 1) return 0;
    const double begin = static_cast<double>(cell) * axis.cell_size;
    const double apart =
        std::max({0.0, begin - static_cast<double>(high), static_cast<double>(low) - begin - axis.cell_size});
    const double in_cells = std::max(0.0, apart - 4) * cells_per_step_[across];
    return in_cells * in_cells;
  }

  // Calls body(cell, square) for each cell of an axis that may be near the group. `square` is a lower bound for the
  // squared distance between the cell and the group.
  template <class Body>
  void visit_near(int across, const Body& body) const {
    const Axis& axis = grid_.axis[across];
    const auto square = [&](std::int64_t cell) { return square_apart(across, cell, low_[across], high_[across]); };
    const std::int64_t low = axis.cell(low_[across] - axis.reach);
    const std::int64_t high = axis.cell(high_[across] + axis.reach);
    if (high - low + 1 >= axis.cells) {  // a cell may be near the group on both sides but must be visited once
      for (std::int64_t cell = 0; cell < axis.cells; ++cell) body(cell, axis.periodic ? 0.0 : square(cell));
      return;
    }
    for (std::int64_t cell = low; cell <= high; ++cell)
      body(cell < 0 ? cell + axis.cells : (cell >= axis.cells ? cell - axis.cells : cell), square(cell));
  }

  // Finds the runs near the group. Without a second set, the first run begins with the group, and the runs contain no
  // point before the group.
  void find_runs(std::int64_t own_column) {
    runs_.clear();
    if (group_.own) add_column(own_column, 0, group_.begin);
    visit_near(0, [&](std::int64_t x, double x_square) {
      if (x_square > group_.greatest_square) return;
      visit_near(1, [&](std::int64_t y, double y_square) {
        const std::int64_t column = x * grid_.axis[1].cells + y;
        if (x_square + y_square > group_.greatest_square || (group_.own && column <= own_column)) return;
        add_column(column, x_square + y_square, 0);
      });
    });
  }

  // Calls body(cell, turns, square) for each image of a cell that may be near the group. The cells belong to an axis
  // across the columns of a brick. The image is the cell after `turns` turns around the axis, and `square` is its
  // squared distance. Turns around other axes have already shifted the group down by `shift` steps.
  template <class Body>
  void visit_images(int across, std::int64_t shift, const Body& body) {
    const Axis& axis = grid_.axis[across];
    const std::int64_t low = low_[across] - shift;
    const std::int64_t high = high_[across] - shift;
    const std::int64_t first = axis.cell(low - axis.reach);
    const std::int64_t last = axis.cell(high + axis.reach);
    std::int64_t turns = (first >= 0 ? first : first - axis.cells + 1) / axis.cells;
    for (std::int64_t cell = first; cell <= last; ++cell) {
      if (cell == (turns + 1) * axis.cells) ++turns;
      const double square = square_apart(across, cell, low, high);
      if (square > group_.greatest_square) continue;
      place_image(across, cell, shift);
      body(cell - turns * axis.cells, turns, square);
    }
  }

  // Sets the origin of a cell image's coordinates to the middle of the group, or to the nearest place at which the
  // coordinates do not wrap.
  void place_image(int across, std::int64_t cell, std::int64_t shift) {
    const Axis& axis = grid_.axis[across];
    constexpr std::int64_t half_turn = std::int64_t{1} << 31;
    const std::int64_t middle = middle_[across] - shift;
    // On each side, the range extends past the cell. It extends one step farther than rounding requires.
    const std::int64_t begin = static_cast<std::int64_t>(static_cast<double>(cell) * axis.cell_size) - 1 - middle;
    const std::int64_t end = static_cast<std::int64_t>(static_cast<double>(cell + 1) * axis.cell_size) + 2 - middle;
    const std::int64_t from = std::clamp<std::int64_t>(0, end - half_turn, begin + half_turn);
    image_.origin[axis.column] = static_cast<std::int32_t>(static_cast<std::uint32_t>(middle + from));
    image_.offset[axis.column] = static_cast<float>(static_cast<double>(from) * cells_per_step_[across]);
  }

  // Finds the runs near the group in a brick. Several images of a column may be near, including images of the group's
  // own column. A pair is in reach in at most one image (FilterPlan::keeps_images_apart).
  void find_runs_in_brick(std::int64_t own_column) {
    runs_.clear();
    std::copy_n(group_.origin, dimension_limit, image_.origin);
    std::fill_n(image_.offset, dimension_limit, 0.0F);
    if (group_.own) add_column(own_column, 0, group_.begin);
    visit_images(0, 0, [&](std::int64_t x, std::int64_t x_turns, double x_square) {
      const double x_shift[] = {static_cast<double>(x_turns) * grid_.shift[0][1],
                                static_cast<double>(x_turns) * grid_.shift[0][2]};
      visit_images(1, std::llrint(x_shift[0]), [&](std::int64_t y, std::int64_t y_turns, double y_square) {
        const std::int64_t column = x * grid_.axis[1].cells + y;
        const bool is_own = group_.own && column == own_column;
        if (x_square + y_square > group_.greatest_square || (group_.own && column < own_column) ||
            (is_own && x_turns == 0 && y_turns == 0))
          return;
        // A full turn along the columns returns to the same place, so the shift along them may wrap.
        const std::int64_t along = std::llrint(x_shift[1] + static_cast<double>(y_turns) * grid_.shift[1][2]);
        const auto shift = static_cast<std::int32_t>(static_cast<std::uint32_t>(along));
        const Axis& axis = grid_.axis[2];
        image_.origin[axis.column] =
            static_cast<std::int32_t>(static_cast<std::uint32_t>(middle_[2]) - static_cast<std::uint32_t>(shift));
        add_column(column, x_square + y_square, is_own ? group_.end : 0, shift);
      });
    });
  }

  // Adds the runs of a column that may be near the group. Leaves out points before place `from`. `square` is the
  // squared distance between the column and the group. The search uses the group's position shifted down by `shift`
  // steps. If a run begins at `from`, it is added first.
  void add_column(std::int64_t column, double square, std::int64_t from, std::int64_t shift = 0) {
    const Axis& axis = grid_.axis[2];
    const double rest = std::sqrt(group_.greatest_square - square) / cells_per_step_[2];
    const std::int64_t reach = std::min(axis.reach, static_cast<std::int64_t>(rest) + 8);
    const CellRanges near(axis, axis.cell(low_[2] - shift - reach), axis.cell(high_[2] - shift + reach));
    const std::size_t begun = runs_.size();
    for (int part = 0; part < near.parts; ++part) {
      image_.begin = std::max(from, second_.start(column * axis.cells + near.part[part].begin));
      image_.end = second_.start(column * axis.cells + near.part[part].end);
      if (image_.begin < image_.end) runs_.push_back(image_);
    }
    // The run that begins with the group must be the first, even if the range of cells wraps and the group is in the
    // second part of the range.
    if (begun == 0 && runs_.size() == 2 && runs_[1].begin == from) std::swap(runs_[0], runs_[1]);
  }

  // Counts in portions that are so small that counters do not overflow and a stop request takes effect in time.
  void count_runs() {
    group_.runs = runs_.data();
    group_.run_count = static_cast<std::int64_t>(runs_.size());
    std::int64_t points = 0;
    for (const PointRun& run : runs_) points += run.end - run.begin;
    const std::int64_t most = second_.weights() != nullptr ? weighted_points_to_a_call : points_to_a_call;
    if (points <= most) return count_portion(points);
    const CellGroup whole = group_;
    for (PointRun run : runs_)
      for (; run.begin < run.end; run.begin += most) {
        PointRun portion = run;
        portion.end = std::min(run.end, run.begin + most);
        group_.runs = &portion;
        group_.run_count = 1;
        // After the first portion, the list no longer contains the points of the group.
        group_.own = whole.own && portion.begin == whole.begin;
        count_portion(portion.end - portion.begin);
      }
    group_ = whole;
  }

  void count_portion(std::int64_t points) {
    if (stop_.stop_requested()) return;
    counters_.expect(static_cast<std::uint64_t>(points * (group_.end - group_.begin)));
    HWY_DYNAMIC_DISPATCH(count_group)(counters_.view(), group_);
  }

  const Grid& grid_;
  const SortedPoints<T>& first_;
  const SortedPoints<T>& second_;
  FilterCounters<T>& counters_;
  const std::stop_token& stop_;
  const bool in_brick_;
  std::vector<CellList> list_;
  std::vector<PointRun> runs_;
  CellGroup group_{};
  PointRun image_{};  // the image that is being visited
  double cells_per_step_[dimension_limit] = {};
  std::int64_t longest_[dimension_limit] = {};
  std::int64_t low_[dimension_limit] = {};
  std::int64_t high_[dimension_limit] = {};
  std::int64_t middle_[dimension_limit] = {};
};

}  // namespace

std::uint64_t bytes_to_sort_into_cells(const Shape& shape, int threads) {
  const auto points = static_cast<std::uint64_t>(padded(shape.points) + (shape.cross ? padded(shape.others) : 0));
  // The grid has at most this number of cells.
  const auto cells = static_cast<std::uint64_t>(
      std::max(std::max(shape.points, shape.others) + 2, fewest_across_a_brick * fewest_across_a_brick));
  const auto sorters = static_cast<std::uint64_t>(std::min(threads, sort_threads));
  return points * (4 * static_cast<std::uint64_t>(shape.dimensions) + 8) + 4 * cells * (sorters + 2) +
         static_cast<std::uint64_t>(threads) * sizeof(CellList);
}

namespace {

// Returns true if the dual tree counts faster in a triclinic cell than cells do, or than the filter if the bins end too
// close to half of the least height for cells. `choose()` selects simd_cells in both cases. Measured with 6,000 to
// 1,000,000 points in cells of many shapes (docs/decisions/lattices.md).
template <class T>
bool tree_pays_in_cell(const Problem<T>& problem, bool are_cells_usable) {
  constexpr std::int64_t fewest = 5000;
  constexpr std::int64_t fewest_for_all_pairs = 30000;
  constexpr double few_in_reach = 0.25;  // as a share of the volume
  constexpr double few_divided = 0.85;   // share of the pairs of leaves that an edge divides
  constexpr double leaf_points = 16;
  const std::int64_t points = std::min(problem.n(), problem.m());
  if (problem.weighted() || points < fewest) return false;
  const double volume = std::abs(problem.cell.volume());
  const double reach = problem.bins.reach();
  const double leaf_side = std::cbrt(volume * leaf_points / static_cast<double>(points));
  const bool pays = are_cells_usable
                        ? 1.4 * leaf_side * static_cast<double>(problem.bins.count()) < few_divided * reach
                        : points >= fewest_for_all_pairs || 4.19 * reach * reach * reach < few_in_reach * volume;
  return pays && tree_settles_boxes(problem);
}

}  // namespace

template <class T>
Histogram simd_cells(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  const FilterPlan plan(problem, FilterCoordinates::local, longest_local * problem.bins.reach(), true);
  if (problem.triclinic && tree_pays_in_cell(problem, plan.usable)) return simd_dual_tree(problem, execution, phases);
  if (!plan.usable) {
    if (problem.triclinic) return simd_filter(problem, execution, phases);
    const core::PhaseTimer timer(phases, "count");
    return count_in_double(problem, execution, threads);
  }
  const Grid grid = make_grid(problem, plan);
  SortedPoints<T> points;
  SortedPoints<T> others;
  {
    const core::PhaseTimer timer(phases, "sort");
    points = SortedPoints<T>(problem, plan, grid, problem.points, threads);
    points.take_weights(first_weights(problem, points.order()));
    if (problem.cross) {
      others = SortedPoints<T>(problem, plan, grid, problem.others, threads);
      others.take_weights(second_weights(problem, others.order()));
    }
  }
  const core::PhaseTimer timer(phases, "count");
  const SortedPoints<T>& second = problem.cross ? others : points;
  FilterTeam<T> team(problem, plan, threads, points.order().data(), second.order().data());
  std::vector<CellCounter<T>> counters;
  for (int part = 0; part < threads; ++part)
    counters.emplace_back(problem, grid, points, second, team[part], plan.cells_per_length);
  const std::int64_t items = (problem.n() + item_points - 1) / item_points;
  for_each_item(execution, threads, items, [&](int part, std::int64_t item) {
    counters[static_cast<std::size_t>(part)].count(
        {item * item_points, std::min(problem.n(), (item + 1) * item_points)});
  });
  return team.finish();
}

namespace {

core::Memory cells_memory(const Shape& shape, int threads) {
  const std::uint64_t cells = bytes_to_sort_into_cells(shape, threads);
  return memory_to_filter(
      shape, threads,
      shape.triclinic && !shape.weighted ? std::max(cells, bytes_to_build_trees(shape, threads)) : cells);
}

}  // namespace

extern constinit const Variant simd_cells_rung{
    .name = "simd_cells",
    .summary = "points sorted into columns of cells; the filter for what is within reach of a few points",
    .change =
        "pairs out of reach are never visited: `O(n)` times the neighbours, where the bins reach a small part of the "
        "way across",
    .backend = core::Backend::simd,
    .on_ranks = true,
    .memory = cells_memory,
    .run = {simd_cells<float>, simd_cells<double>},
};

}  // namespace gradus::pair_histogram_detail
#endif
