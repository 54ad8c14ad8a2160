#include "kmeans/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_set>

#include "core/stop.hpp"
#include "kmeans/distance.hpp"
#include "kmeans/gpu_points.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_examining = "stopped while examining the points";

}  // namespace

template <class T>
Statistics examine(MatrixView<const T> points, VectorView<const T> weights, MatrixView<const T> initial_centroids,
                   int threads, const std::stop_token& stop) {
  return describe(core::column_ranges(points, "points", threads, stop), points.rows(), weights, initial_centroids,
                  stop);
}

template <class T>
Statistics describe(const core::ColumnRanges& ranges, std::int64_t n, VectorView<const T> weights,
                    MatrixView<const T> initial_centroids, const std::stop_token& stop) {
  const std::size_t d = ranges.lowest.size();
  double largest_weight = 1;
  if (!weights.empty()) {
    largest_weight = 0;
    for (std::int64_t point = 0; point < n; ++point) {
      if (point % core::operations_between_looks == 0) core::honour_stop(stop, while_examining);
      const double weight = static_cast<double>(weights[point]);
      if (!(weight >= 0 && weight <= core::largest_magnitude))
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
    const core::ColumnRanges first = core::column_ranges(initial_centroids, "initial centroids", 1, stop);
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

void throw_zero_row(const char* what, std::int64_t row) {
  throw InputError(std::string(what) + ": row " + std::to_string(row) +
                   " (counted from 0) is all zeros and has no direction; the cosine metric needs one");
}

template <class T>
double mean_column_variance(MatrixView<const T> points, int threads, const std::stop_token& stop) {
  const std::int64_t n = points.rows();
  const std::int64_t d = points.columns();
  const Statistics statistics = examine<T>(points, {}, {}, threads, stop);
  constexpr std::int64_t block_rows = 256;
  const std::int64_t stretch = core::stretch_length(n, d, threads);

  std::vector<core::Int128> sums(static_cast<std::size_t>(d));
  core::Int128 squares = 0;
  Matrix<T> mean(1, d);
#pragma omp parallel num_threads(threads)
  {
    std::vector<core::Limbs> partial(static_cast<std::size_t>(d));
#pragma omp for schedule(static)
    for (std::int64_t start = 0; start < n; start += stretch) {
      if (stop.stop_requested()) continue;
      for (std::int64_t row = start; row < std::min(start + stretch, n); ++row)
        for (std::int64_t dim = 0; dim < d; ++dim) {
          const auto column = static_cast<std::size_t>(dim);
          const core::Limbs limbs = statistics.columns[column].split(static_cast<double>(points(row, dim)));
          partial[column].high += limbs.high;
          partial[column].low += limbs.low;
        }
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
      if (stop.stop_requested()) continue;
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
  core::honour_stop(stop, while_examining);
  return core::round_quotient<double>(squares, static_cast<core::UInt128>(n), statistics.inertia.unit) /
         static_cast<double>(d);
}

template <class T>
void require_distinct(MatrixView<const T> points, VectorView<const T> weights, std::int64_t k, const GpuPoints<T>* gpu,
                      const std::stop_token& stop) {
  // Ends as soon as k different rows were seen, which with ordinary data is after about k rows.
  std::unordered_set<std::string> seen;
  std::vector<T> row(static_cast<std::size_t>(points.columns()));
  const std::int64_t stretch = core::stretch_length(points.rows(), 64 + points.columns());
  const auto see = [&](std::int64_t first, MatrixView<const T> some) {
    for (std::int64_t index = 0; index < some.rows() && static_cast<std::int64_t>(seen.size()) < k; ++index) {
      if (index % stretch == 0) core::honour_stop(stop, while_examining);
      if (!weights.empty() && !(weights[first + index] > 0)) continue;
      for (std::int64_t dim = 0; dim < points.columns(); ++dim)
        row[static_cast<std::size_t>(dim)] = some(index, dim) + T{0};  // -0 counts as 0
      seen.emplace(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(T));
    }
    return static_cast<std::int64_t>(seen.size()) < k;
  };
  visit_rows(points, gpu, see);
  if (static_cast<std::int64_t>(seen.size()) >= k) return;
  throw InputError("points: " + std::to_string(k) + " clusters were asked for, but there are only " +
                   std::to_string(seen.size()) + " different points" + (weights.empty() ? "" : " of positive weight") +
                   "; ask for at most that many clusters");
}

#define GRADUS_INSTANTIATE(T)                                                                                     \
  template Statistics examine(MatrixView<const T>, VectorView<const T>, MatrixView<const T>, int,                 \
                              const std::stop_token&);                                                            \
  template double mean_column_variance(MatrixView<const T>, int, const std::stop_token&);                         \
  template Statistics describe(const core::ColumnRanges&, std::int64_t, VectorView<const T>, MatrixView<const T>, \
                               const std::stop_token&);                                                           \
  template void require_distinct(MatrixView<const T>, VectorView<const T>, std::int64_t, const GpuPoints<T>*,     \
                                 const std::stop_token&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
