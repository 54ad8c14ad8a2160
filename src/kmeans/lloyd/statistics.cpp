#include "kmeans/lloyd/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/checked.hpp"
#include "core/failure.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/column_ranges.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/assign/simd_rows.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_examining = "stopped while examining the points";

/// The largest weight, and the exponent of the lowest bit that is set in any weight.
struct WeightRange {
  double largest = 0;
  int finest = core::no_bits;
};

/// Checks the weights, and finds the largest weight and the lowest bit.
template <class T>
WeightRange range_of_weights(VectorView<const T> weights, std::int64_t first_row, const std::stop_token& stop) {
  WeightRange range;
  for (std::int64_t point = 0; point < weights.size(); ++point) {
    if (point % core::operations_between_polls == 0) core::honour_stop(stop, while_examining);
    const double weight = static_cast<double>(weights[point]);
    if (!(weight >= 0 && weight <= core::largest_magnitude))
      throw InputError(about("weights") + "the weight in row " + std::to_string(first_row + point) +
                           " (counted from 0) is " +
                           (std::isnan(weight) ? "NaN"
                            : weight < 0       ? "negative"
                                               : "too large") +
                           "; weights are not negative and at most 2^500",
                       {.code = std::isnan(weight) ? error_code::not_finite : error_code::out_of_range,
                        .row = first_row + point,
                        .value = core::number_text(weight),
                        .allowed = "0 to 2^500"});
    range.largest = std::max(range.largest, weight);
    range.finest = std::min(range.finest, core::finest_bit(weight));
  }
  return range;
}

/// Sets the scale of the weights, and the exponent of the lowest bit that is set in any scaled weight.
template <class T>
void describe_weights(VectorView<const T> weights, Statistics& statistics, const std::stop_token& stop,
                      const core::RankRows& rows) {
  const std::vector<double> found = rows.ranks().greatest(2, [&](std::span<double> numbers) {
    const WeightRange own = range_of_weights(weights, rows.first(), stop);
    numbers[0] = own.largest;
    numbers[1] = -own.finest;
  });
  const WeightRange range{found[0], -static_cast<int>(found[1])};
  if (!(range.largest > 0)) throw InputError(about("weights") + "all weights are zero");
  statistics.weight_exponent = core::exponent_above(range.largest, -1000);
  statistics.weight_scale = std::ldexp(1.0, -statistics.weight_exponent);
  statistics.finest_weight = range.finest - statistics.weight_exponent;
}

/// The size of the bounding box of points and initial centroids.
struct BoundingBox {
  double longest = 0;   ///< length of the longest side
  double farthest = 0;  ///< squared distance between opposite corners
};

BoundingBox box_of(const Statistics& statistics) {
  BoundingBox box;
  for (std::size_t column = 0; column < statistics.lowest.size(); ++column) {
    const double extent = statistics.highest[column] - statistics.lowest[column];
    box.farthest += extent * extent;
    box.longest = std::max(box.longest, extent);
  }
  return box;
}

template <class T>
Statistics describe(const core::ColumnRanges& ranges, VectorView<const T> weights, const core::RankRows& rows,
                    MatrixView<const T> initial_centroids, const std::stop_token& stop) {
  const std::int64_t n = rows.all();
  const std::size_t d = ranges.lowest.size();
  Statistics statistics;
  if (!weights.empty()) describe_weights(weights, statistics, stop, rows);
  statistics.weight = core::Grid(0, n);
  statistics.lowest = ranges.lowest;
  statistics.highest = ranges.highest;
  *statistics.finest = ranges.finest;
  statistics.columns.reserve(d);
  statistics.to_high.reserve(d);
  statistics.middle.reserve(d);
  for (std::size_t column = 0; column < d; ++column) {
    const double magnitude = std::max(std::abs(ranges.lowest[column]), std::abs(ranges.highest[column]));
    statistics.columns.emplace_back(core::exponent_above(magnitude, core::least_grid_exponent), n);
    statistics.to_high.push_back(statistics.columns.back().to_high);
  }
  if (initial_centroids.rows() > 0) {
    const core::ColumnRanges first = cpu::column_ranges(initial_centroids, "initial centroids", 1, stop);
    for (std::size_t column = 0; column < d; ++column) {
      statistics.lowest[column] = std::min(statistics.lowest[column], first.lowest[column]);
      statistics.highest[column] = std::max(statistics.highest[column], first.highest[column]);
    }
  }
  for (std::size_t column = 0; column < d; ++column)
    statistics.middle.push_back(0.5 * (statistics.lowest[column] + statistics.highest[column]));
  const auto [longest, farthest] = box_of(statistics);
  // The factor 2 is much greater than necessary. It covers the rounding errors of the distance chain and of this sum.
  if (!std::isfinite(2 * farthest))
    throw InputError(about("points") + "squared distances over " + std::to_string(d) +
                     " columns would overflow; scale the points down");
  statistics.inertia = core::TotalGrid(core::exponent_above(2 * farthest, core::least_grid_exponent), n);
  statistics.coordinate_scale = std::ldexp(1.0, -core::exponent_above(longest));
  return statistics;
}

}  // namespace

template <class T>
Statistics examine(const PointSource<T>& points, MatrixView<const T> initial_centroids) {
  return describe(points.column_ranges(), points.host_weights(), points.rank_rows(), initial_centroids, points.stop());
}

template <class T>
Statistics examine(MatrixView<const T> points, VectorView<const T> weights, MatrixView<const T> initial_centroids,
                   int threads, const std::stop_token& stop) {
  return describe(cpu::column_ranges(points, "points", threads, stop), weights, core::RankRows(points.rows()),
                  initial_centroids, stop);
}

void require_distances(const Statistics& statistics) {
  const auto [longest, farthest] = box_of(statistics);
  if (longest > 0 && !(farthest > 0))
    throw InputError(about("points") + "in no column do they differ by more than " + core::number_text(longest) +
                     ", and the squares of such differences are zero in double; scale the points up");
}

void allow_unit_centroids(Statistics& statistics, std::int64_t rows) {
  constexpr double farthest = 4;  // squared distance between two opposite unit vectors
  statistics.inertia = core::TotalGrid(core::exponent_above(2 * farthest), rows);
  statistics.coordinate_scale = std::min(statistics.coordinate_scale, 0.5);
}

void throw_zero_row(const char* what, std::int64_t row) {
  throw InputError(about(what) + "row " + std::to_string(row) +
                       " (counted from 0) is all zeros and has no direction; the cosine metric needs one",
                   {.code = error_code::out_of_range, .row = row});
}

std::vector<core::TotalGrid> column_totals(const Statistics& statistics, std::int64_t n, std::int64_t first,
                                           std::int64_t columns) {
  std::vector<core::TotalGrid> grids;
  grids.reserve(static_cast<std::size_t>(columns));
  for (auto column = static_cast<std::size_t>(first); column < static_cast<std::size_t>(first + columns); ++column) {
    const double magnitude = std::max(std::abs(statistics.lowest[column]), std::abs(statistics.highest[column]));
    grids.emplace_back(core::exponent_above(magnitude, core::least_grid_exponent), n);
  }
  return grids;
}

namespace {

/// Partial exact sums of the values of each column. If there are few columns, several consecutive rows are treated as
/// one longer row, so that they fill whole vectors.
class ColumnTotals {
 public:
  static constexpr std::int64_t few_columns = 32;

  ColumnTotals(const std::vector<core::TotalGrid>& grids, bool contiguous)
      : grids_(grids), rows_together_(contiguous ? std::max<std::int64_t>(1, few_columns / columns()) : 1),
        limbs_(static_cast<std::size_t>(3 * lanes())), small_(grids.size()) {
    for (std::int64_t lane = 0; lane < lanes(); ++lane) {
      const core::TotalGrid& grid = grids[static_cast<std::size_t>(lane % columns())];
      to_high_.push_back(grid.grid.to_high);
      exact_from_.push_back(grid.exact_from);
    }
  }

  /// Adds the values of some rows. `first` is the first of the columns that this object sums.
  template <class T>
  void add(MatrixView<const T> rows, std::int64_t first) {
    const std::int64_t together = rows.rows() / rows_together_;
    if (together > 0) add_lanes(rows.row(0) + first, rows_together_ * rows.row_stride(), together, lanes());
    steps_ += static_cast<std::uint64_t>(together);
    const std::int64_t rest = rows.rows() % rows_together_;
    if (rest > 0) add_lanes(rows.row(together * rows_together_) + first, rows.row_stride(), rest, columns());
    rest_ += static_cast<std::uint64_t>(rest);
  }

  void merge(const ColumnTotals& other) {
    steps_ += other.steps_;
    rest_ += other.rest_;
    for (std::size_t limb = 0; limb < limbs_.size(); ++limb) limbs_[limb] += other.limbs_[limb];
    for (std::size_t column = 0; column < small_.size(); ++column) {
      if (!other.small_[column]) continue;
      if (!small_[column]) small_[column] = std::make_unique<core::ExactAccumulator>();
      small_[column]->merge(*other.small_[column]);
    }
  }

  core::ExactAccumulator sum(std::size_t column) const {
    const auto limb = [&](std::int64_t which) {
      const std::uint64_t times = steps_ * static_cast<std::uint64_t>(rows_together_) + rest_;
      std::uint64_t sum = 0 - times * static_cast<std::uint64_t>(core::integer_magic_bits);
      for (auto lane = static_cast<std::int64_t>(column); lane < lanes(); lane += columns())
        sum += limbs_[static_cast<std::size_t>(which * lanes() + lane)];
      return static_cast<std::int64_t>(sum);
    };
    core::ExactAccumulator sum;
    grids_[column].add_to(sum, {limb(0), limb(1), limb(2)}, 0);
    if (small_[column]) sum.merge(*small_[column]);
    return sum;
  }

  /// Returns the memory that at most `columns` columns need.
  static std::uint64_t bytes(std::uint64_t columns) {
    const std::uint64_t lanes = std::max<std::uint64_t>(columns, few_columns);
    return 5 * sizeof(double) * lanes +
           columns * (sizeof(std::unique_ptr<core::ExactAccumulator>) + sizeof(core::ExactAccumulator));
  }

 private:
  std::int64_t columns() const { return std::ssize(grids_); }
  std::int64_t lanes() const { return rows_together_ * columns(); }

  template <class T>
  void add_lanes(const T* values, std::int64_t stride, std::int64_t count, std::int64_t some_lanes) {
    const ColumnLimbs columns_of{some_lanes,         to_high_.data(), grids_.front().grid.to_low,
                                 exact_from_.data(), lanes(),         limbs_.data()};
    for (std::int64_t row = 0; row < count;) {
      const AddedRows added = add_to_columns(values + row * stride, stride, count - row, columns_of);
      row += added.count;
      for (std::int64_t some = row - added.doubtful; some < row; ++some)
        for (std::int64_t lane = 0; lane < some_lanes; ++lane) {
          const auto value = static_cast<double>(values[some * stride + lane]);
          const auto column = static_cast<std::size_t>(lane % columns());
          if (grids_[column].holds(value)) continue;
          if (!small_[column]) small_[column] = std::make_unique<core::ExactAccumulator>();
          small_[column]->add(value);
        }
    }
  }

  const std::vector<core::TotalGrid>& grids_;
  std::int64_t rows_together_;
  std::vector<double> to_high_, exact_from_;  ///< one number per lane
  std::vector<std::uint64_t> limbs_;          ///< raw limbs: high, then middle, then low

  /// Sums of the values that are too small for the limbs. Usually, all pointers are null.
  std::vector<std::unique_ptr<core::ExactAccumulator>> small_;
  std::uint64_t steps_ = 0;  ///< number of longer rows added, each combined from several rows
  std::uint64_t rest_ = 0;   ///< number of single rows added, which occupy only the first lanes
};

constexpr std::int64_t variance_columns = 2048;  // number of columns that are summed together

template <class T>
ColumnTotals sum_columns(const PointSource<T>& source, const std::vector<core::TotalGrid>& grids, std::int64_t first) {
  const MatrixView<const T> points = source.rows();
  const int threads = source.threads();
  const std::stop_token& stop = source.stop();
  const std::int64_t stretch = core::chunk_length(points.rows(), std::ssize(grids), threads);
  ColumnTotals sums(grids, points.contiguous());
  core::FirstFailure failure;
  source.visit([&](std::int64_t, MatrixView<const T> some) {
#pragma omp parallel num_threads(threads)
    {
      std::optional<ColumnTotals> own;
      failure.run([&] { own.emplace(grids, points.contiguous()); });
#pragma omp for schedule(static)
      for (std::int64_t start = 0; start < some.rows(); start += stretch) {
        if (stop.stop_requested() || failure.happened()) continue;
        failure.run([&] { own->add(some.slice(start, std::min(stretch, some.rows() - start)), first); });
      }
#pragma omp critical(gradus_variance_sums)
      if (!failure.happened()) failure.run([&] { sums.merge(*own); });
    }
    failure.rethrow();
    core::honour_stop(stop, while_examining);
    return true;
  });
  return sums;
}

}  // namespace

std::uint64_t column_bytes(const Shape& shape, int threads) {
  const auto d = static_cast<std::uint64_t>(shape.dimensions);
  const auto element = static_cast<std::uint64_t>(shape.element_bytes);
  const auto team = static_cast<std::uint64_t>(threads);
  // Each column needs memory for its values in two Statistics objects (one from the examination, one in the problem),
  // for the ranges from which they are computed, and for the means.
  const std::uint64_t of_a_column = 2 * (4 * sizeof(double) + sizeof(core::Grid) + sizeof(int)) + 32 + element;
  // Each thread needs memory for each column: for partial ranges or lowest bits, and for the mean minus the middle.
  const std::uint64_t of_a_thread = 3 * element + 24;
  const std::uint64_t columns = core::checked_multiply(d, of_a_column + team * of_a_thread, "columns");
  const std::uint64_t together = std::min<std::uint64_t>(d, variance_columns);
  const std::uint64_t sums = together * sizeof(core::TotalGrid) + (team + 1) * ColumnTotals::bytes(together);
  return columns + sums;
}

namespace {

/// Returns the column means over all ranks' points, each rounded once to T.
template <class T>
Matrix<T> column_means(const PointSource<T>& source, const Statistics& statistics,
                       const core::ExactAccumulator& count) {
  const std::int64_t d = source.rows().columns();
  Matrix<T> mean(1, d);
  // The sums need less memory if only some columns are summed at a time. But if each visit copies the rows, all columns
  // are summed at once, so that the rows are copied only once.
  const std::int64_t columns_at_once = source.visits_copies() ? d : std::min(d, variance_columns);
  for (std::int64_t first = 0; first < d; first += columns_at_once) {
    const std::int64_t columns = std::min(columns_at_once, d - first);
    const std::vector<core::TotalGrid> grids = column_totals(statistics, source.rank_rows().all(), first, columns);
    std::optional<ColumnTotals> own;
    std::vector<core::ExactAccumulator> all;  // the sums over several ranks
    source.ranks().add_up(
        static_cast<std::size_t>(columns) * core::accumulator_limbs,
        [&] { own.emplace(sum_columns(source, grids, first)); },
        [&](std::span<std::uint64_t> words) {
          for (std::size_t column = 0; column < grids.size(); ++column) {
            core::ExactAccumulator sum = own->sum(column);
            core::Ranks::put(std::span(&sum, 1), words.subspan(column * core::accumulator_limbs));
          }
        },
        [&](std::span<const std::uint64_t> words) {
          all.resize(grids.size());
          core::Ranks::take(words, all);
        });
    for (std::size_t column = 0; column < grids.size(); ++column)
      mean(0, first + static_cast<std::int64_t>(column)) =
          (all.empty() ? own->sum(column) : all[column]).template quotient<T>(count);
  }
  return mean;
}

/// Adds up the squared distances between this rank's points and `mean`.
template <class T>
void add_squares(const PointSource<T>& source, const Statistics& statistics, MatrixView<const T> mean,
                 core::ExactAccumulator& squares) {
  constexpr std::int64_t block_rows = 256;
  const int threads = source.threads();
  const std::stop_token& stop = source.stop();
  source.visit([&](std::int64_t, MatrixView<const T> some) {
#pragma omp parallel num_threads(threads)
    {
      core::ExactTotal own;
      double distances[block_rows];
#pragma omp for schedule(static)
      for (std::int64_t block = 0; block < (some.rows() + block_rows - 1) / block_rows; ++block) {
        if (stop.stop_requested()) continue;
        const std::int64_t first = block * block_rows;
        const std::int64_t rows = std::min(block_rows, some.rows() - first);
        squared_distances(some.slice(first, rows), mean, distances);
        for (std::int64_t index = 0; index < rows; ++index) own.add(statistics.inertia, distances[index]);
      }
#pragma omp critical(gradus_variance_squares)
      squares.merge(own.sum(statistics.inertia));
    }
    core::honour_stop(stop, while_examining);
    return true;
  });
}

}  // namespace

template <class T>
double mean_column_variance(const PointSource<T>& source, const Statistics& statistics) {
  if (const std::optional<double> variance = source.own_mean_column_variance(statistics)) return *variance;
  core::ExactAccumulator count;
  count.add(static_cast<double>(source.rank_rows().all()));
  const Matrix<T> mean = column_means(source, statistics, count);
  core::ExactAccumulator squares;
  source.ranks().add_up(
      core::accumulator_limbs, [&] { add_squares(source, statistics, mean.view(), squares); },
      [&](std::span<std::uint64_t> words) { core::Ranks::put(std::span(&squares, 1), words); },
      [&](std::span<const std::uint64_t> words) { core::Ranks::take(words, std::span(&squares, 1)); });
  return squares.quotient<double>(count) / static_cast<double>(source.rows().columns());
}

namespace {

/// Hashes the bytes of a row. Accepts a view, so that the search for a row needs no copy.
struct HashOfBytes {
  using is_transparent = void;
  std::size_t operator()(std::string_view bytes) const { return std::hash<std::string_view>()(bytes); }
};

}  // namespace

template <class T>
std::int64_t count_different(const PointSource<T>& source, std::int64_t most) {
  const MatrixView<const T> points = source.rows();
  const VectorView<const T> weights = source.host_weights();
  // Stop when `most` different rows are found. In ordinary data, the first rows are all different, so only about `most`
  // rows are read.
  std::unordered_set<std::string, HashOfBytes, std::equal_to<>> seen;
  std::vector<T> row(static_cast<std::size_t>(points.columns()));
  const std::string_view bytes(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(T));
  const std::int64_t stretch = core::chunk_length(points.rows(), 64 + points.columns());
  const auto see = [&](std::int64_t first, MatrixView<const T> some) {
    for (std::int64_t index = 0; index < some.rows() && std::ssize(seen) < most; ++index) {
      if (index % stretch == 0) core::honour_stop(source.stop(), while_examining);
      if (!weights.empty() && !(weights[first + index] > 0)) continue;
      for (std::int64_t dim = 0; dim < points.columns(); ++dim)
        row[static_cast<std::size_t>(dim)] = some(index, dim) + T{0};  // converts -0 to 0
      if (!seen.contains(bytes)) seen.emplace(bytes);
    }
    return std::ssize(seen) < most;
  };
  core::Ranks& ranks = source.ranks();
  const double greatest = ranks.greatest([&] {
    source.visit(std::ref(see));
    return static_cast<double>(seen.size());
  });
  // In ordinary data, some rank finds `most` different rows. Then the ranks need not merge their rows.
  if (greatest >= static_cast<double>(most)) return most;
  // Adds the different rows of each rank to `all`, one rank after another.
  std::unordered_set<std::string> all;
  for (int rank = 0; rank < ranks.size() && std::ssize(all) < most; ++rank) {
    const std::vector<char> rows = ranks.from(rank, [&] {
      std::vector<char> own;
      for (const std::string& one : seen) own.insert(own.end(), one.begin(), one.end());
      return own;
    });
    for (std::size_t first = 0; first < rows.size(); first += bytes.size()) all.emplace(&rows[first], bytes.size());
  }
  return std::min<std::int64_t>(std::ssize(all), most);
}

#define GRADUS_INSTANTIATE(T)                                                                     \
  template Statistics examine(const PointSource<T>&, MatrixView<const T>);                        \
  template Statistics examine(MatrixView<const T>, VectorView<const T>, MatrixView<const T>, int, \
                              const std::stop_token&);                                            \
  template double mean_column_variance(const PointSource<T>&, const Statistics&);                 \
  template std::int64_t count_different(const PointSource<T>&, std::int64_t)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
