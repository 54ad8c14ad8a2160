#include "kmeans/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_set>

#include "cpu/threads.hpp"
#include "kmeans/distance.hpp"

namespace gradus::kmeans_detail {

namespace {

// Above this a squared distance over many columns may overflow a double.
constexpr double largest_magnitude = 0x1p500;

struct Ranges {
  std::vector<double> lowest;
  std::vector<double> highest;
  bool finite = true;
};

// The rows are read as one stream of "lanes": some whole rows side by side, so that the compiler can use vector
// instructions however few columns there are. x * 0 is NaN for NaN and infinity, and stays NaN in a sum.
template <class T>
Ranges column_ranges(MatrixView<const T> rows) {
  const std::int64_t d = rows.columns();
  const std::int64_t rows_per_step = rows.contiguous() ? std::max<std::int64_t>(1, 64 / d) : 1;
  const std::int64_t lanes = rows_per_step * d;
  std::vector<T> low(static_cast<std::size_t>(lanes), std::numeric_limits<T>::infinity());
  std::vector<T> high(static_cast<std::size_t>(lanes), -std::numeric_limits<T>::infinity());
  std::vector<T> zero(static_cast<std::size_t>(lanes), T{0});
  const auto visit = [&](const T* values, std::int64_t count) {
    T* const __restrict lowest = low.data();
    T* const __restrict highest = high.data();
    T* const __restrict zeros = zero.data();
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const T value = values[lane];
      lowest[lane] = value < lowest[lane] ? value : lowest[lane];
      highest[lane] = value > highest[lane] ? value : highest[lane];
      zeros[lane] += value * T{0};
    }
  };
  std::int64_t row = 0;
  for (; row + rows_per_step <= rows.rows(); row += rows_per_step) visit(rows.row(row), lanes);
  for (; row < rows.rows(); ++row) visit(rows.row(row), d);

  Ranges ranges{std::vector<double>(static_cast<std::size_t>(d), std::numeric_limits<double>::infinity()),
                std::vector<double>(static_cast<std::size_t>(d), -std::numeric_limits<double>::infinity())};
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    const auto at = static_cast<std::size_t>(lane);
    const auto column = static_cast<std::size_t>(lane % d);
    ranges.lowest[column] = std::min(ranges.lowest[column], static_cast<double>(low[at]));
    ranges.highest[column] = std::max(ranges.highest[column], static_cast<double>(high[at]));
    ranges.finite = ranges.finite && zero[at] == 0;
  }
  return ranges;
}

template <class T>
[[noreturn]] void throw_first_bad(MatrixView<const T> rows, const char* what) {
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t column = 0; column < rows.columns(); ++column) {
      const double value = static_cast<double>(rows(row, column));
      if (std::abs(value) <= largest_magnitude) continue;
      const std::string kind = std::isnan(value)   ? "NaN"
                               : std::isinf(value) ? "infinite"
                                                   : "too large (its squared distances would overflow)";
      throw InputError(std::string(what) + ": the value in row " + std::to_string(row) + ", column " +
                       std::to_string(column) + " (counted from 0) is " + kind);
    }
  throw InputError(std::string(what) + ": a value changed while it was read");
}

template <class T>
Ranges examined_ranges(MatrixView<const T> rows, const char* what, int threads) {
  std::vector<Ranges> parts(static_cast<std::size_t>(threads));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    const cpu::Range range = cpu::share(rows.rows(), part, threads);
    parts[static_cast<std::size_t>(part)] = column_ranges(rows.slice(range.begin, range.size()));
  }
  Ranges all = std::move(parts.front());
  for (const Ranges& part : parts)
    for (std::size_t column = 0; column < all.lowest.size() && !part.lowest.empty(); ++column) {
      all.lowest[column] = std::min(all.lowest[column], part.lowest[column]);
      all.highest[column] = std::max(all.highest[column], part.highest[column]);
      all.finite = all.finite && part.finite;
    }
  bool good = all.finite;
  for (std::size_t column = 0; column < all.lowest.size(); ++column)
    good = good && !(all.lowest[column] < -largest_magnitude) && !(all.highest[column] > largest_magnitude);
  if (!good) throw_first_bad(rows, what);
  return all;
}

}  // namespace

template <class T>
Statistics examine(MatrixView<const T> points, VectorView<const T> weights, MatrixView<const T> initial_centroids,
                   int threads) {
  const std::int64_t n = points.rows();
  const auto d = static_cast<std::size_t>(points.columns());
  const Ranges ranges = examined_ranges(points, "points", threads);

  double largest_weight = 1;
  if (!weights.empty()) {
    largest_weight = 0;
    for (std::int64_t point = 0; point < n; ++point) {
      const double weight = static_cast<double>(weights[point]);
      if (!(weight >= 0 && weight <= largest_magnitude))
        throw InputError("weights: the weight in row " + std::to_string(point) + " (counted from 0) is " +
                         (std::isnan(weight) ? "NaN"
                          : weight < 0       ? "negative"
                                             : "too large") +
                         "; weights are finite and not negative");
      largest_weight = std::max(largest_weight, weight);
    }
    if (!(largest_weight > 0)) throw InputError("weights: all weights are zero");
  }

  Statistics statistics;
  statistics.lowest = ranges.lowest;
  statistics.highest = ranges.highest;
  statistics.weight = core::Grid(core::exponent_above(largest_weight), n);
  for (std::size_t column = 0; column < d; ++column) {
    const double magnitude = std::max(std::abs(ranges.lowest[column]), std::abs(ranges.highest[column]));
    statistics.columns.emplace_back(core::exponent_above(magnitude * largest_weight), n);
    statistics.to_high.push_back(statistics.columns.back().to_high);
  }
  if (initial_centroids.rows() > 0) {
    const Ranges first = examined_ranges(initial_centroids, "initial centroids", 1);
    for (std::size_t column = 0; column < d; ++column) {
      statistics.lowest[column] = std::min(statistics.lowest[column], first.lowest[column]);
      statistics.highest[column] = std::max(statistics.highest[column], first.highest[column]);
    }
  }
  double farthest = 0;
  for (std::size_t column = 0; column < d; ++column) {
    const double extent = statistics.highest[column] - statistics.lowest[column];
    farthest += extent * extent;
  }
  // Twice the bound: rounding in the distance chain and in this sum stays far below that.
  statistics.inertia = core::Grid(core::exponent_above(2 * farthest * largest_weight), n);
  return statistics;
}

template <class T>
double mean_column_variance(MatrixView<const T> points, int threads) {
  const std::int64_t n = points.rows();
  const std::int64_t d = points.columns();
  const Statistics statistics = examine<T>(points, {}, {}, threads);
  constexpr std::int64_t block_rows = 256;

  std::vector<core::Int128> sums(static_cast<std::size_t>(d));
  core::Int128 squares = 0;
  Matrix<T> mean(1, d);
#pragma omp parallel num_threads(threads)
  {
    std::vector<core::Limbs> partial(static_cast<std::size_t>(d));
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t dim = 0; dim < d; ++dim) {
        const auto column = static_cast<std::size_t>(dim);
        const core::Limbs limbs = statistics.columns[column].split(static_cast<double>(points(row, dim)));
        partial[column].high += limbs.high;
        partial[column].low += limbs.low;
      }
#pragma omp critical(gradus_variance_sums)
    for (std::size_t column = 0; column < sums.size(); ++column)
      sums[column] += statistics.columns[column].total(partial[column]);
#pragma omp barrier  // every thread's columns are in `sums`
#pragma omp single   // and its implied barrier: `mean` is complete
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const auto column = static_cast<std::size_t>(dim);
      mean(0, dim) =
          core::round_quotient<T>(sums[column], static_cast<core::UInt128>(n), statistics.columns[column].unit);
    }
    core::Limbs partial_squares;
    double distances[block_rows];
#pragma omp for schedule(static)
    for (std::int64_t block = 0; block < (n + block_rows - 1) / block_rows; ++block) {
      const std::int64_t first = block * block_rows;
      const std::int64_t count = std::min(block_rows, n - first);
      squared_distances(points.slice(first, count), std::as_const(mean).view(), distances);
      for (std::int64_t index = 0; index < count; ++index) {
        const core::Limbs limbs = statistics.inertia.split(distances[index]);
        partial_squares.high += limbs.high;
        partial_squares.low += limbs.low;
      }
    }
#pragma omp critical(gradus_variance_squares)
    squares += statistics.inertia.total(partial_squares);
  }
  return core::round_quotient<double>(squares, static_cast<core::UInt128>(n), statistics.inertia.unit) /
         static_cast<double>(d);
}

template <class T>
void require_distinct(MatrixView<const T> points, VectorView<const T> weights, std::int64_t k) {
  // Ends as soon as k different rows were seen, which with ordinary data is after about k rows.
  std::unordered_set<std::string> seen;
  std::vector<T> row(static_cast<std::size_t>(points.columns()));
  for (std::int64_t point = 0; point < points.rows(); ++point) {
    if (!weights.empty() && !(weights[point] > 0)) continue;
    for (std::int64_t dim = 0; dim < points.columns(); ++dim)
      row[static_cast<std::size_t>(dim)] = points(point, dim) + T{0};  // -0 counts as 0
    seen.emplace(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(T));
    if (static_cast<std::int64_t>(seen.size()) >= k) return;
  }
  throw InputError("points: " + std::to_string(k) + " clusters were asked for, but there are only " +
                   std::to_string(seen.size()) + " different points" + (weights.empty() ? "" : " of positive weight") +
                   "; ask for at most that many clusters");
}

#define GRADUS_INSTANTIATE(T)                                                                      \
  template Statistics examine(MatrixView<const T>, VectorView<const T>, MatrixView<const T>, int); \
  template double mean_column_variance(MatrixView<const T>, int);                                  \
  template void require_distinct(MatrixView<const T>, VectorView<const T>, std::int64_t)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
