#include "pair_histogram/arrange.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "core/column_ranges.hpp"
#include "core/text.hpp"
#include "cpu/column_ranges.hpp"
#include "pair_histogram/fold.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::pair_histogram_detail {

namespace {

constexpr std::string_view letters = "xyz";
constexpr std::size_t axes = letters.size();
using Directions = std::array<bool, axes>;

Directions directions_of(std::string_view text) {
  Directions named{};
  for (std::size_t axis = 0; axis < axes; ++axis) named[axis] = text.find(letters[axis]) != std::string_view::npos;
  return named;
}

/// The part of the box in the measured columns, which are the columns in which distances are measured.
struct Region {
  std::vector<std::size_t> columns;  ///< the caller's numbers of the measured columns
  bool is_padded = false;            ///< true if a cell of two vectors gets a third column of zeros
  std::vector<double> box;           ///< one length per column, or the nine numbers of a cell
  std::vector<double> origin;
  Directions periodic{};

  std::size_t count() const { return columns.size() + (is_padded ? 1 : 0); }
  bool is_contiguous() const { return !is_padded && columns.back() - columns.front() + 1 == columns.size(); }
  bool repeats_everywhere() const {
    return std::all_of(periodic.begin(), periodic.begin() + static_cast<std::ptrdiff_t>(count()),
                       [](bool repeats) { return repeats; });
  }
};

/// Returns one cell vector for each measured column. Together the vectors span these columns. Repeating vectors come
/// first, then open vectors. Throws UsageError if a repeating vector is neither within the measured columns nor
/// perpendicular to them.
std::vector<std::size_t> vectors_within(const std::vector<double>& box, const Directions& counts,
                                        const Directions& repeats) {
  const auto reaches = [&](std::size_t vector, bool counted) {
    for (std::size_t column = 0; column < axes; ++column)
      if (counts[column] == counted && box[axes * vector + column] != 0) return true;
    return false;
  };
  const auto wanted = static_cast<std::size_t>(std::ranges::count(counts, true));
  std::vector<std::size_t> within;
  for (std::size_t vector = 0; vector < axes; ++vector) {
    if (!repeats[vector] || !reaches(vector, true)) continue;
    if (reaches(vector, false))
      throw UsageError(about("dimensions") + "vector " + std::to_string(vector) +
                       " of the cell (counted from 0) is neither within them nor perpendicular to them");
    within.push_back(vector);
  }
  if (within.size() > wanted)
    throw UsageError(about("dimensions") + std::to_string(within.size()) +
                     " vectors of the cell are within them; at most " + std::to_string(wanted) + " can be");
  // First adds the open vectors within the measured columns, in order of their numbers, then the remaining open
  // vectors. The values of open vectors do not matter.
  for (const bool is_within : {true, false})
    for (std::size_t vector = 0; vector < axes && within.size() < wanted; ++vector)
      if (!repeats[vector] && (reaches(vector, true) && !reaches(vector, false)) == is_within) within.push_back(vector);
  // Only a degenerate cell still has too few vectors. check_box() rejects such a cell later.
  for (std::size_t vector = 0; within.size() < wanted; ++vector)
    if (std::ranges::find(within, vector) == within.end()) within.push_back(vector);
  return within;
}

/// Sets `region` to the part of a cell in the measured columns. The cell's vectors may have any order.
void take_cell(const std::vector<double>& box, Region& region, const Directions& counts, const Directions& repeats) {
  const std::vector<std::size_t>& kept = region.columns;
  std::vector<std::size_t> vectors = vectors_within(box, counts, repeats);
  const auto at = [&](std::size_t place, std::size_t column) { return box[axes * vectors[place] + kept[column]]; };
  const auto is_along = [&](std::size_t place, std::size_t column) {
    return !repeats[vectors[place]] || (at(place, column) > 0 && at(place, 1 - column) == 0);
  };
  if (kept.size() == 2 && !(is_along(0, 0) && is_along(1, 1)) && is_along(0, 1) && is_along(1, 0))
    std::swap(vectors[0], vectors[1]);
  for (std::size_t place = 0; place < kept.size(); ++place) region.periodic[place] = repeats[vectors[place]];
  if (kept.size() == 1) {
    region.box = {at(0, 0)};
  } else if (is_along(0, 0) && is_along(1, 1)) {
    region.box = {at(0, 0), at(1, 1)};
  } else {
    region.is_padded = true;
    region.box = {at(0, 0), at(0, 1), 0, at(1, 0), at(1, 1), 0, 0, 0, 0};
  }
}

std::vector<double> picked(const std::vector<double>& numbers, const std::vector<std::size_t>& columns) {
  std::vector<double> some;
  for (const std::size_t column : columns) some.push_back(numbers[column]);
  return some;
}

Region region_of(const PairHistogramOptions& options, std::size_t columns) {
  if (options.box.empty() && options.periodic != "xyz")
    throw UsageError(about("periodic") + "there is no box that could repeat; give one");
  if (options.periodic != "none") check_directions(options.periodic, "periodic");
  if (!options.dimensions.empty()) check_directions(options.dimensions, "dimensions");
  Region region;
  const Directions counts = directions_of(options.dimensions.empty() ? letters : options.dimensions);
  for (std::size_t column = 0; column < axes; ++column) {
    if (!counts[column] || (column >= columns && options.dimensions.empty())) continue;
    if (column >= columns)
      throw UsageError(about("dimensions") + "'" + options.dimensions +
                       "' names a column that the points do not have; they have " + std::to_string(columns));
    region.columns.push_back(column);
  }
  const Directions repeats = directions_of(options.periodic == "none" ? std::string_view() : options.periodic);
  for (std::size_t place = 0; place < region.columns.size(); ++place)
    region.periodic[place] = repeats[region.columns[place]];
  region.box = options.box;
  region.origin = options.box_origin;
  // check_box() rejects invalid numbers later.
  if (region.columns.size() == columns) return region;
  if (is_triclinic(region.box) && columns == axes) take_cell(options.box, region, counts, repeats);
  else if (region.box.size() == columns) region.box = picked(region.box, region.columns);
  if (region.origin.size() == columns) region.origin = picked(region.origin, region.columns);
  if (region.is_padded && !region.origin.empty()) region.origin.push_back(0);
  return region;
}

/// Returns the last edge of the bins, or an upper limit for this edge. If the bins are invalid, the result is
/// arbitrary, because they are rejected later.
double reach_of(const PairHistogramBins& bins) {
  const double last = bins.edges.empty() ? bins.bin_width * static_cast<double>(bins.bins) : bins.edges.back();
  const double reach = bins.cutoff > 0 ? std::min(bins.cutoff, last) : last;
  return reach > 0 && std::isfinite(reach) ? reach : 1;
}

using Vector = std::array<double, axes>;

Vector cross(const Vector& left, const Vector& right) {
  return {left[1] * right[2] - left[2] * right[1], left[2] * right[0] - left[0] * right[2],
          left[0] * right[1] - left[1] * right[0]};
}

double dot(const Vector& left, const Vector& right) {
  return left[0] * right[0] + left[1] * right[1] + left[2] * right[2];
}

/// Multiplies the vector by the smallest power of two that makes it longer than `length`. A zero vector stays zero.
Vector stretched(Vector vector, double length) {
  const double own = std::sqrt(dot(vector, vector));
  if (!(own > 0) || !std::isfinite(length / own)) return vector;
  const int exponent = std::ilogb(length / own) + 1;
  for (double& number : vector) number = std::ldexp(number, exponent);
  return vector;
}

struct Extent {
  Vector lowest{};
  Vector highest{};
};

// An open direction gets this number times the extent of the points or the reach of the bins, whichever is greater, as
// its length. The number is so large that the fractions of a separation along this direction are at most about one
// quarter.
constexpr double ample = 4;

/// Gives each open column of an axis-aligned box a length so great that the nearest image of a point is always the
/// point itself.
void close_lengths(Region& region, const Extent& extent, double reach) {
  if (region.origin.empty()) region.origin.assign(region.count(), 0.0);
  for (std::size_t column = 0; column < region.count(); ++column) {
    if (region.periodic[column]) continue;
    region.box[column] = ample * std::max(extent.highest[column] - extent.lowest[column], reach);
    region.origin[column] = extent.lowest[column];
  }
}

void close_cell(Region& region, const Extent& extent, double reach) {
  std::array<Vector, axes> vectors{};
  for (std::size_t vector = 0; vector < axes; ++vector)
    std::copy_n(region.box.begin() + static_cast<std::ptrdiff_t>(axes * vector), axes, vectors[vector].begin());
  Vector across{};
  Vector middle{};
  for (std::size_t column = 0; column < axes; ++column) {
    across[column] = extent.highest[column] - extent.lowest[column];
    middle[column] = extent.lowest[column] + across[column] / 2 - (region.origin.empty() ? 0 : region.origin[column]);
  }
  const double length = ample * std::max(std::sqrt(dot(across, across)), reach);
  const auto repeated = std::ranges::count(region.periodic, true);
  const std::size_t first =
      static_cast<std::size_t>(std::ranges::find(region.periodic, repeated == 1) - region.periodic.begin());
  const std::size_t next = (first + 1) % axes;
  const std::size_t last = (first + 2) % axes;
  if (repeated == 2) {  // vector number `first` is the only open vector
    vectors[first] = stretched(cross(vectors[next], vectors[last]), length);
  } else {
    Vector flattest{};
    const Vector& own = vectors[first];
    flattest[static_cast<std::size_t>(
        std::ranges::min_element(own, {}, [](double number) { return std::abs(number); }) - own.begin())] = 1;
    const Vector side = cross(own, flattest);
    vectors[next] = stretched(side, length);
    vectors[last] = stretched(cross(own, side), length);
  }
  if (region.origin.empty()) region.origin.assign(axes, 0.0);
  for (std::size_t vector = 0; vector < axes; ++vector) {
    std::ranges::copy(vectors[vector], region.box.begin() + static_cast<std::ptrdiff_t>(axes * vector));
    if (region.periodic[vector]) continue;
    // Shifts the box so that the middle of the points is halfway along the open vector.
    const double square = dot(vectors[vector], vectors[vector]);
    const double share = square > 0 && std::isfinite(square) ? dot(middle, vectors[vector]) / square - 0.5 : 0;
    for (std::size_t column = 0; column < axes; ++column) region.origin[column] += share * vectors[vector][column];
  }
}

/// Makes the box repeat in all directions. If it repeats in no direction, removes the box instead.
void close(Region& region, const Extent& extent, double reach) {
  reach = std::min(reach, 0x1p490);  // no valid box is longer than this limit
  if (region.box.empty() || region.repeats_everywhere()) return;
  if (std::none_of(region.periodic.begin(), region.periodic.end(), [](bool repeats) { return repeats; })) {
    region.box.clear();
    region.origin.clear();
    return;
  }
  if (is_triclinic(region.box)) close_cell(region, extent, reach);
  else if (region.box.size() == region.count()) close_lengths(region, extent, reach);
  region.periodic.fill(true);
}

PairHistogramOptions options_in(const Region& region, const PairHistogramOptions& given) {
  PairHistogramOptions options;
  options.bins = given.bins;
  options.box = region.box;
  options.box_origin = region.origin;
  options.beyond_half = given.beyond_half;
  if (!given.dimensions.empty()) options.dimensions = letters.substr(0, region.count());
  return options;
}

template <class T>
MatrixView<const T> select(MatrixView<const T> rows, const Region& region, std::vector<Matrix<T>>& copies) {
  if (region.columns.size() == static_cast<std::size_t>(rows.columns()) && !region.is_padded) return rows;
  const auto count = static_cast<std::int64_t>(region.count());
  if (region.is_contiguous())
    return {rows.data() + region.columns.front(), rows.rows(), count, rows.row_stride(), rows.place()};
  Matrix<T>& some = copies.emplace_back(rows.rows(), count);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    T* const to = some.row(row);
    for (std::size_t place = 0; place < region.columns.size(); ++place)
      to[place] = rows(row, static_cast<std::int64_t>(region.columns[place]));
    if (region.is_padded) to[count - 1] = 0;
  }
  return some;
}

template <class T>
Extent extent_of(MatrixView<const T> points, MatrixView<const T> others, int threads, const std::stop_token& stop) {
  Extent extent;
  if (points.rows() + others.rows() == 0) return extent;
  extent.lowest.fill(std::numeric_limits<double>::infinity());
  extent.highest.fill(-std::numeric_limits<double>::infinity());
  const auto include = [&](MatrixView<const T> rows, const char* what) {
    if (rows.rows() == 0) return;
    const core::ColumnRanges ranges = cpu::column_ranges(rows, what, threads, stop);
    for (std::size_t column = 0; column < ranges.lowest.size(); ++column) {
      extent.lowest[column] = std::min(extent.lowest[column], ranges.lowest[column]);
      extent.highest[column] = std::max(extent.highest[column], ranges.highest[column]);
    }
  };
  include(points, "points");
  include(others, "others");
  for (std::size_t column = 0; column < axes; ++column)
    if (extent.lowest[column] > extent.highest[column]) extent.lowest[column] = extent.highest[column] = 0;
  return extent;
}

template <class T>
void fold_into(MatrixView<const T>& rows, const char* what, Arranged<T>& job, const std::stop_token& stop) {
  Matrix<T> inside = fold(rows, what, job.options.box, job.options.box_origin, stop);
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    if (!std::equal(inside.row(row), inside.row(row) + rows.columns(), rows.row(row))) ++job.folded;
  rows = job.copies.emplace_back(std::move(inside));
}

}  // namespace

template <class T>
Arranged<T> arrange(MatrixView<const T> points, MatrixView<const T> others, const PairHistogramOptions& options,
                    int threads, const std::stop_token& stop) {
  Arranged<T> job{.points = points, .others = others, .options = options, .dimensions = points.columns(), .copies = {}};
  const bool is_usual = options.dimensions.empty() && options.periodic == "xyz" && !options.fold;
  if (is_usual || points.columns() < 1 || points.columns() > dimension_limit) return job;
  if (others.columns() > 0 && others.columns() != points.columns()) return job;  // rejected later
  Region region = region_of(options, static_cast<std::size_t>(points.columns()));
  const bool is_closed = region.box.empty() || region.repeats_everywhere();
  if (options.fold && region.box.empty())
    throw UsageError(about("fold") + "there is no periodic box to move points into");
  const bool needs_copy = region.is_padded || !region.is_contiguous() || options.fold || !is_closed;
  if (needs_copy && !(points.place().is_host() && others.place().is_host()))
    throw UnsupportedError(
        about("points") +
        "they are on a GPU, where they are neither folded nor counted in a box with open directions or in "
        "columns that are not side by side; copy them to host memory");
  job.dimensions = static_cast<std::int64_t>(region.columns.size());
  job.copies.reserve(4);
  job.points = select(points, region, job.copies);
  if (others.columns() > 0) job.others = select(others, region, job.copies);
  if (!is_closed) {
    const Extent extent = extent_of(job.points, job.others, threads, stop);
    const double furthest = is_triclinic(region.box) ? 0x1p140 : 0x1p490;
    for (std::size_t column = 0; column < region.count(); ++column)
      if (!(extent.highest[column] - extent.lowest[column] <= furthest))
        throw InputError(about("points") + "column " + std::to_string(column) + " (counted from 0) extends over " +
                         core::number_text(extent.highest[column] - extent.lowest[column]) +
                         "; in a box with open directions at most 2^490 are possible, in a triclinic one 2^140");
    close(region, extent, reach_of(options.bins));
  }
  job.options = options_in(region, options);
  if (!options.fold) return job;
  if (job.options.box.empty()) throw UsageError(about("fold") + "the box repeats in no direction");
  fold_into(job.points, "points", job, stop);
  if (job.others.columns() > 0) fold_into(job.others, "others", job, stop);
  return job;
}

template Arranged<float> arrange(MatrixView<const float>, MatrixView<const float>, const PairHistogramOptions&, int,
                                 const std::stop_token&);
template Arranged<double> arrange(MatrixView<const double>, MatrixView<const double>, const PairHistogramOptions&, int,
                                  const std::stop_token&);

PairHistogramOptions arranged_options(const PairHistogramOptions& options, std::int64_t& columns) {
  if ((options.dimensions.empty() && options.periodic == "xyz") || columns < 1 || columns > dimension_limit)
    return options;
  Region region = region_of(options, static_cast<std::size_t>(columns));
  // Makes open directions so long that they do not limit the bins.
  double reach = reach_of(options.bins);
  for (const double number : region.box) reach += std::isfinite(number) ? std::abs(number) : 0;
  close(region, {}, reach);
  columns = static_cast<std::int64_t>(region.count());
  return options_in(region, options);
}

bool repeats_everywhere(const PairHistogramOptions& options) {
  if (options.box.empty() || options.periodic == "none") return false;
  const std::int64_t columns = columns_for(options);
  const Region region = region_of(options, static_cast<std::size_t>(columns));
  return std::all_of(region.periodic.begin(), region.periodic.begin() + std::ssize(region.columns),
                     [](bool repeats) { return repeats; });
}

std::int64_t columns_for(const PairHistogramOptions& options) {
  std::int64_t columns = std::min<std::int64_t>(std::ssize(options.box), dimension_limit);
  for (std::size_t axis = 0; axis < axes; ++axis)
    if (options.dimensions.find(letters[axis]) != std::string::npos)
      columns = std::max(columns, static_cast<std::int64_t>(axis) + 1);
  return columns;
}

void check_directions(std::string_view text, std::string_view what) {
  bool is_good = !text.empty();
  for (std::size_t place = 0; place < text.size(); ++place)
    is_good = is_good && letters.find(text[place]) != std::string_view::npos && text.find(text[place]) == place;
  if (!is_good)
    throw UsageError(about(what) + "'" + std::string(text) + "' must be some of the letters x, y and z, each once");
}

}  // namespace gradus::pair_histogram_detail
