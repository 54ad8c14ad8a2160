#include "pair_histogram/sky/sky_grid.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/stop.hpp"

namespace gradus::pair_histogram_detail {

namespace {

// Error bounds, relative to the reach of the bins unless stated otherwise. README.md derives them.
constexpr double step_error = 0.75;          // error of a coordinate, in steps
constexpr double relative_error = 0x1p-20;   // of a separation, in addition to the error of its coordinates
constexpr double midpoint_error = 0x1p-18;   // due to the direction to the midpoint
constexpr double mu_error = 0x1p-15;         // of mu, if the separation is at least...
constexpr double error_times_near = 0x1p17;  // ...this number times the error of a separation
constexpr double slack = 4;                  // in steps, for searches
constexpr double most_pieces_of_reach = 4;   // cells per reach
constexpr std::int64_t most_intervals = 32768;
constexpr double points_to_a_search = 32;  // second points in a column within reach of a point

}  // namespace

std::int64_t SkyAxis::key(double coordinate) const {
  const std::int64_t steps = std::llrint((coordinate - origin) / step);
  return is_periodic ? static_cast<std::int64_t>(static_cast<std::uint32_t>(steps)) : steps;
}

std::int64_t SkyAxis::cell(std::int64_t key) const {
  const std::int64_t from_end = is_periodic ? key : key + (std::int64_t{1} << (span_bits - 1));
  return std::clamp<std::int64_t>((from_end * cells) >> span_bits, 0, cells - 1);
}

double SkyAxis::cell_length() const { return std::ldexp(step, span_bits) / static_cast<double>(cells); }

SkyGrid::SkyGrid(const SkyRule& rule, const SkyRange& range, std::int64_t points) {
  const double first = rule.bins.end(0);
  const double second = rule.bins.end(1);
  is_tube = rule.is_across && !rule.is_midpoint;
  unit = rule.is_across ? std::hypot(first, second) : first;
  std::array<double, 3> reaches{};  // lengths in units of the reach
  for (std::size_t column = 0; column < 3; ++column) {
    SkyAxis& axis = axes[column];
    axis.reach = !is_tube ? unit : column == 2 ? second : first;
    axis.is_periodic = rule.is_periodic;
    const double span = rule.is_periodic ? rule.box[column] : range.highest[column] - range.lowest[column];
    axis.span_bits = rule.is_periodic ? 32 : 31;
    axis.origin = rule.is_periodic ? range.lowest[column] : range.lowest[column] + span / 2;
    // In open space, differences of two coordinates fit 32 bits.
    axis.step = std::max(std::ldexp(span, -axis.span_bits) * (rule.is_periodic ? 1 : 1 + 0x1p-28), unit * 0x1p-40);
    reaches[column] = std::clamp(span / axis.reach, 1.0, 0x1p60);
  }
  const auto cells = [&](std::size_t column, double pieces) {
    return std::floor(std::min(reaches[column] * pieces, 0x1p15));
  };
  double pieces = 1;
  for (double more = 2; more <= most_pieces_of_reach; ++more)
    if (static_cast<double>(points) * std::min(1.0, 2 / reaches[2]) >=
        points_to_a_search * cells(0, more) * cells(1, more))
      pieces = more;
  while (cells(0, pieces) * cells(1, pieces) > std::max(1.0, static_cast<double>(points))) pieces *= 0.7;
  for (std::size_t column = 0; column < 2; ++column)
    axes[column].cells = std::max<std::int64_t>(1, static_cast<std::int64_t>(cells(column, pieces)));
}

std::int64_t SkyGrid::column(const SkyPoint& point) const {
  return axes[0].cell(axes[0].key(point[0])) * axes[1].cells + axes[1].cell(axes[1].key(point[1]));
}

std::vector<SkyNeighbour> SkyGrid::neighbours(std::size_t axis_number, std::int64_t cell) const {
  const SkyAxis& axis = axes[axis_number];
  std::vector<SkyNeighbour> found;
  for (std::int64_t other = 0; other < axis.cells; ++other) {
    std::int64_t between = std::abs(other - cell);
    if (axis.is_periodic) between = std::min(between, axis.cells - between);
    const double apart = std::max(0.0, static_cast<double>(between - 1) * axis.cell_length() - slack * axis.step);
    if (apart <= axis.reach) found.push_back({other, apart / axis.reach});
  }
  return found;
}

std::int64_t SkyGrid::key_reach(double square) const {
  if (square > 1) return -1;
  const double along = is_tube ? axes[2].reach : unit * std::sqrt(1 - square);
  return static_cast<std::int64_t>(std::min(0x1p33, std::ceil(along * (1 + relative_error) / axes[2].step) + slack));
}

SkyTables::SkyTables(const SkyRule& rule, const SkyGrid& grid) {
  double squared_steps = 0;  // in units of the reach, because squares of short steps underflow
  for (const SkyAxis& axis : grid.axes) squared_steps += axis.step / grid.unit * (axis.step / grid.unit);
  // The kernel's coordinates stay far below the range of float. With larger errors all pairs are doubtful.
  const double error = std::min(2 * step_error * std::sqrt(squared_steps), 0x1p61);
  const double margin = 1.5 * (error + (rule.is_midpoint ? midpoint_error : 0));
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const bool is_mu = axis == 1 && !rule.is_across;
    std::vector<float> reached;
    std::vector<float> passed;
    for (const double edge : rule.bins.edges[axis]) {
      const double length = is_mu ? edge : edge / grid.unit;
      const double around = is_mu ? mu_error : margin + length * relative_error;
      double before = std::max(0.0, length - around);
      double after = length + around;
      if (axis == 0) {
        before *= before;
        after *= after;
      }
      reached.push_back(edge == 0 ? 0 : rounded_down(before * (1 - relative_error)));
      passed.push_back(edge == 0 ? 0 : rounded_up(after * (1 + relative_error)));
    }
    (axis == 0 ? view_.first_square : view_.second_end) = rounded_up(passed.back() * (1 + relative_error));
    tables_.emplace_back(reached, passed, axis == 0 ? rule.bins.places(1) : 1, most_intervals);
  }
  view_.is_across = rule.is_across;
  view_.is_midpoint = rule.is_midpoint;
  const bool has_directions = !rule.is_across && rule.bins.edges[1] != std::vector<double>{0, 2};
  view_.near_square = has_directions ? rounded_up(std::pow(std::min(error * error_times_near, 0x1p60), 2)) : 0;
  for (std::size_t column = 0; column < 3; ++column)
    view_.scale[column] = static_cast<float>(std::min(grid.axes[column].step / grid.unit, 0x1p60));
}

SkyView SkyTables::view() const {
  SkyView view = view_;
  for (std::size_t axis = 0; axis < 2; ++axis) view.table[axis] = tables_[axis].view();
  return view;
}

SkyColumns SkyPoints::columns() const {
  SkyColumns columns;
  for (std::size_t column = 0; column < 3; ++column) {
    columns.steps[column] = steps[column].data();
    columns.places[column] = places[column].data();
  }
  columns.keys = keys.data();
  return columns;
}

template <class T>
SkyPoints sorted_sky_points(const SkyRule& rule, const SkyGrid& grid, MatrixView<const T> points, int threads,
                            const std::stop_token& stop) {
  constexpr std::string_view while_sorting_sky = "stopped while sorting the points";
  const std::int64_t n = points.rows();
  const std::int64_t chunk = core::chunk_length(n, 64, threads);
  const auto for_each_chunk = [&](std::int64_t count, std::int64_t length, const auto& body) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (std::int64_t begin = 0; begin < count; begin += length)
      if (!stop.stop_requested()) body(begin, std::min(count, begin + length));
    core::honour_stop(stop, while_sorting_sky);
  };
  struct Place {
    std::int64_t key;
    std::int32_t row;
    std::int32_t column;
  };
  std::vector<Place> places(static_cast<std::size_t>(n));
  std::vector<Place> sorted(static_cast<std::size_t>(n));
  for_each_chunk(n, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const SkyPoint point = rule.point(points.row(row));
      places[static_cast<std::size_t>(row)] = {grid.axes[2].key(point[2]), static_cast<std::int32_t>(row),
                                               static_cast<std::int32_t>(grid.column(point))};
    }
  });
  SkyPoints result;
  result.starts.assign(static_cast<std::size_t>(grid.columns() + 1), 0);
  for (const Place& place : places) ++result.starts[static_cast<std::size_t>(place.column + 1)];
  std::partial_sum(result.starts.begin(), result.starts.end(), result.starts.begin());
  std::vector<std::int64_t> next = result.starts;
  for (const Place& place : places)
    sorted[static_cast<std::size_t>(next[static_cast<std::size_t>(place.column)]++)] = place;
  core::honour_stop(stop, while_sorting_sky);
  for_each_chunk(grid.columns(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t column = begin; column < end; ++column)
      std::sort(sorted.begin() + result.starts[static_cast<std::size_t>(column)],
                sorted.begin() + result.starts[static_cast<std::size_t>(column + 1)],
                [](const Place& a, const Place& b) { return a.key != b.key ? a.key < b.key : a.row < b.row; });
  });
  const auto padded_size = static_cast<std::size_t>(n + sky_overshoot);
  result.order.resize(static_cast<std::size_t>(n));
  result.keys.resize(static_cast<std::size_t>(n));
  for (auto& column : result.steps) column.resize(padded_size);
  for (auto& column : result.places) column.resize(rule.is_midpoint ? padded_size : 0);
  for_each_chunk(n, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t place = begin; place < end; ++place) {
      const auto at = static_cast<std::size_t>(place);
      const SkyPoint point = rule.point(points.row(sorted[at].row));
      result.order[at] = sorted[at].row;
      result.keys[at] = sorted[at].key;
      for (std::size_t column = 0; column < 3; ++column) {
        result.steps[column][at] = static_cast<std::int32_t>(grid.axes[column].key(point[column]));
        if (rule.is_midpoint) result.places[column][at] = static_cast<float>(point[column] / grid.unit);
      }
    }
  });
  return result;
}

template SkyPoints sorted_sky_points(const SkyRule&, const SkyGrid&, MatrixView<const float>, int,
                                     const std::stop_token&);
template SkyPoints sorted_sky_points(const SkyRule&, const SkyGrid&, MatrixView<const double>, int,
                                     const std::stop_token&);

}  // namespace gradus::pair_histogram_detail
