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
constexpr double step_error = 0.75;         // error of a coordinate, in steps
constexpr double relative_error = 0x1p-20;  // of a separation, in addition to the error of its coordinates
constexpr double midpoint_error = 0x1p-18;  // due to the direction to the midpoint
constexpr double list_error = 0x1p-21;      // due to coordinates relative to a group, which are below 1.3
constexpr double even_error = 0x1p-21;      // relative, of a place among bins of one width
constexpr double mu_error = 0x1p-19;        // of mu, in addition to twice the error of the separation divided by it
constexpr double slack = 4;                 // in steps, for searches
constexpr double most_pieces_of_reach = 4;  // cells per reach
constexpr std::int64_t most_intervals = 32768;
constexpr double points_to_a_search = 32;  // second points in a column within reach of a point
constexpr double most_doubt = 0.125;       // of a bin, if all bins have one width

}  // namespace

std::int64_t SkyAxis::key(double coordinate) const {
  const std::int64_t steps = std::llrint((coordinate - origin) / step);
  return is_periodic ? static_cast<std::int64_t>(static_cast<std::uint32_t>(steps)) : steps;
}

std::int64_t SkyAxis::cell(std::int64_t key) const {
  const std::int64_t from_end = is_periodic ? key : key + (std::int64_t{1} << (span_bits - 1));
  return std::clamp<std::int64_t>((from_end * cells) >> span_bits, 0, cells - 1);
}

std::int64_t SkyAxis::steps(std::int32_t wrapped) const {
  return is_periodic ? static_cast<std::int64_t>(static_cast<std::uint32_t>(wrapped)) : wrapped;
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
  for (int more = 2; more <= most_pieces_of_reach; ++more)
    if (static_cast<double>(points) * std::min(1.0, 2 / reaches[2]) >=
        points_to_a_search * cells(0, more) * cells(1, more))
      pieces = more;
  while (cells(0, pieces) * cells(1, pieces) > std::max(1.0, static_cast<double>(points))) pieces *= 0.7;
  for (std::size_t column = 0; column < 2; ++column)
    axes[column].cells = std::max<std::int64_t>(1, static_cast<std::int64_t>(cells(column, pieces)));
  axes[2].cells = std::clamp<std::int64_t>(points / columns(), 1, 0x8000);  // for sorting
}

std::int64_t SkyGrid::column(const SkyPoint& point) const {
  return axes[0].cell(axes[0].key(point[0])) * axes[1].cells + axes[1].cell(axes[1].key(point[1]));
}

std::int64_t SkyGrid::longest_group(std::size_t axis_number) const {
  const SkyAxis& axis = axes[axis_number];
  const double reach = axis.reach * (1 + relative_error) / axis.step + 2 * slack;
  const double longest = axis.is_periodic ? std::min(reach / 2, 0x1p31 - reach) : reach / 2;
  return static_cast<std::int64_t>(std::clamp(longest - 2 * slack, 0.0, 0x1p31));
}

std::vector<SkyNeighbour> SkyGrid::neighbours(std::size_t axis_number, std::int64_t cell) const {
  const SkyAxis& axis = axes[axis_number];
  std::vector<SkyNeighbour> found;
  const double cells = (axis.reach + slack * axis.step) / axis.cell_length();
  const auto farthest = static_cast<std::int64_t>(std::min(cells, static_cast<double>(axis.cells))) + 1;
  const bool sees_all = axis.is_periodic && 2 * farthest + 1 >= axis.cells;
  const std::int64_t begin = sees_all           ? 0
                             : axis.is_periodic ? cell - farthest
                                                : std::max<std::int64_t>(0, cell - farthest);
  const std::int64_t end = sees_all           ? axis.cells
                           : axis.is_periodic ? cell + farthest + 1
                                              : std::min(axis.cells, cell + farthest + 1);
  for (std::int64_t other = begin; other < end; ++other) {
    std::int64_t between = std::abs(other - cell);
    if (axis.is_periodic) between = std::min(between, axis.cells - between);
    const double apart = std::max(0.0, static_cast<double>(between - 1) * axis.cell_length() - slack * axis.step);
    if (apart <= axis.reach) found.push_back({(other + axis.cells) % axis.cells, apart / axis.reach});
  }
  return found;
}

std::int64_t SkyGrid::key_reach(double square) const {
  if (square > 1) return -1;
  const double along = is_tube ? axes[2].reach : unit * std::sqrt(1 - square);
  return static_cast<std::int64_t>(std::min(0x1p33, std::ceil(along * (1 + relative_error) / axes[2].step) + slack));
}

namespace {

/// Returns the bins of one width that the edges are, or bins without a width if they are not. A coordinate has an error
/// below `error`.
SkyEvenBins even_bins(const std::vector<double>& edges, double unit, double error) {
  const auto bins = static_cast<double>(edges.size() - 1);
  const double width = (edges.back() - edges.front()) / bins;
  double doubt = error * unit / width + (bins + edges.front() / width) * even_error;
  for (std::size_t edge = 0; edge < edges.size(); ++edge)
    doubt += std::abs((edges[edge] - edges.front()) / width - static_cast<double>(edge));
  if (!(doubt < most_doubt)) return {};
  SkyEvenBins even;
  even.per_length = static_cast<float>(unit / width);
  even.before = static_cast<float>(1 - edges.front() / width);
  even.least = edges.front() == 0 ? 1.5F : 0.5F;  // an edge at zero is always passed
  even.most = static_cast<float>(bins + 1.5);
  even.doubt = rounded_up(doubt);
  return even;
}

/// Returns the bins with as many bits as fit.
SkyFixedBins fixed_bins(const SkyEvenBins& even) {
  SkyFixedBins fixed;
  fixed.shift = std::clamp(29 - std::ilogb(even.most), 0, 22);
  const float one = std::ldexp(1.0F, fixed.shift);
  // Rounding to an integer may change a result by one.
  const float doubt = std::ldexp(1.0F, std::ilogb(even.doubt * one + 2) + 1);
  if (!(2 * doubt < one)) return {};
  fixed.per_length = even.per_length * one;
  fixed.before = even.before * one + doubt;
  fixed.least = even.before < 1 ? one / 2 : one + one / 2;
  fixed.doubt_mask = static_cast<std::int32_t>(one - 2 * doubt);
  return fixed;
}

/// Returns a table in the order of SkyRegisters.
SkyRegisters registers_of(const EdgeTableView& table) {
  SkyRegisters registers;
  registers.least = std::bit_cast<float>(table.base << table.shift);
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(intervals_in_registers); ++number) {
    const std::int32_t interval = std::min(number, table.last);
    const auto at = static_cast<std::size_t>((std::int64_t{table.base} + number) % intervals_in_registers);
    registers.low[at] = table.low[interval];
    registers.high[at] = table.high[interval];
    registers.place[at] = table.place[interval];
  }
  return registers;
}

}  // namespace

SkyTables::SkyTables(const SkyRule& rule, const SkyGrid& grid) {
  double squared_steps = 0;  // in units of the reach, because squares of short steps underflow
  for (const SkyAxis& axis : grid.axes) squared_steps += axis.step / grid.unit * (axis.step / grid.unit);
  // The kernel's coordinates stay far below the range of float. With larger errors all pairs are doubtful.
  const double error = std::min(2 * step_error * std::sqrt(squared_steps), 0x1p60) + list_error;
  const double margin = 1.5 * (error + (rule.is_midpoint ? midpoint_error : 0));
  const double of_mu = mu_error + (rule.is_midpoint ? 2 * midpoint_error : 0);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const bool is_mu = axis == 1 && !rule.is_across;
    std::vector<float> reached;
    std::vector<float> passed;
    for (const double edge : rule.bins.edges[axis]) {
      const double length = is_mu ? edge : edge / grid.unit;
      const double around = (is_mu ? of_mu : margin) + length * relative_error;
      double before = std::max(0.0, length - around);
      double after = length + around;
      if (axis == 0) {
        before *= before;
        after *= after;
      }
      reached.push_back(edge == 0 ? 0 : rounded_down(before * (1 - relative_error)));
      passed.push_back(edge == 0 ? 0 : rounded_up(after * (1 + relative_error)));
    }
    (axis == 0 ? view_.first_square : view_.second_end) = passed.back();
    tables_.emplace_back(reached, passed, axis == 0 ? rule.bins.places(1) : 1, most_intervals);
  }
  view_.is_across = rule.is_across;
  view_.is_midpoint = rule.is_midpoint;
  const bool is_mu = !rule.is_across;
  view_.mu_error = is_mu ? rounded_up(2.1 * error) : 0;
  view_.even = even_bins(rule.bins.edges[1], is_mu ? 1 : grid.unit, is_mu ? of_mu : margin);
  if (view_.even.per_length > 0) view_.fixed = fixed_bins(view_.even);
  view_.second_lookup = is_mu && rule.bins.edges[1] == std::vector<double>{0, 2}       ? SkyLookup::none
                        : (is_mu ? view_.even.per_length : view_.fixed.per_length) > 0 ? SkyLookup::even
                                                                                       : SkyLookup::table;
  if (tables_[0].intervals() <= intervals_in_registers) registers_ = registers_of(tables_[0].view());
  const double reach = grid.is_tube ? rule.bins.end(0) / grid.unit : 1;
  view_.list_square = rounded_up((reach + margin) * (reach + margin) * (1 + 16 * relative_error));
  for (std::size_t column = 0; column < 3; ++column)
    view_.scale[column] = static_cast<float>(std::min(grid.axes[column].step / grid.unit, 0x1p60));
}

SkyView SkyTables::view() const {
  SkyView view = view_;
  if (registers_) view.registers = &*registers_;
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
    std::int32_t cell;
  };
  std::vector<Place> places(static_cast<std::size_t>(n));
  std::vector<Place> sorted(static_cast<std::size_t>(n));
  for_each_chunk(n, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const SkyPoint point = rule.point(points.row(row));
      const std::int64_t key = grid.axes[2].key(point[2]);
      const std::int64_t cell = grid.column(point) * grid.axes[2].cells + grid.axes[2].cell(key);
      places[static_cast<std::size_t>(row)] = {key, static_cast<std::int32_t>(row), static_cast<std::int32_t>(cell)};
    }
  });
  SkyPoints result;
  std::vector<std::int64_t> starts(static_cast<std::size_t>(grid.cells() + 1));
  for (const Place& place : places) ++starts[static_cast<std::size_t>(place.cell + 1)];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  for (std::int64_t cell = 0; cell <= grid.cells(); cell += grid.axes[2].cells)
    result.starts.push_back(starts[static_cast<std::size_t>(cell)]);
  std::vector<std::int64_t> next = starts;
  for (const Place& place : places)
    sorted[static_cast<std::size_t>(next[static_cast<std::size_t>(place.cell)]++)] = place;
  core::honour_stop(stop, while_sorting_sky);
  for_each_chunk(grid.cells(), chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t cell = begin; cell < end; ++cell)
      std::sort(sorted.begin() + starts[static_cast<std::size_t>(cell)],
                sorted.begin() + starts[static_cast<std::size_t>(cell + 1)],
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
