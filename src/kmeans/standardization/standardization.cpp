// Computes mean, scale and standardized rows (gradus/kmeans_standardization.hpp). Sums are exact, so the order of
// additions does not matter.
#include "kmeans/standardization/standardization.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "gradus/error.hpp"

namespace gradus::kmeans_detail {

namespace {

using core::ExactAccumulator;

constexpr std::string_view standardizing_stopped = "stopped while standardizing the columns";
constexpr std::int64_t operations_of_a_sum = 16;

/// Returns a range of the columns of all rows.
template <class T>
PointRows<T> columns_of(const PointRows<T>& points, std::int64_t first, std::int64_t count) {
  if (points.rows() == 0) first = 0;  // there may be no address
  if constexpr (sizeof(T) == sizeof(float))
    if (const StoredMatrixView& all = points.stored(); points.is_stored())
      return StoredMatrixView(static_cast<const std::byte*>(all.data()) + first * bytes_of(all.type()), all.type(),
                              all.rows(), count, all.row_stride());
  const MatrixView<const T>& all = points.shape();
  return MatrixView<const T>(all.data() + first, all.rows(), count, all.row_stride());
}

/// Calls each(row, sums) for this rank's rows. each() adds the terms of a row to `count` exact sums. Returns the sums.
template <class T, class Each>
std::vector<ExactAccumulator> own_sums(const PointRows<T>& points, std::size_t count, int threads,
                                       const std::stop_token& stop, const Each& each) {
  const std::int64_t rows = points.rows();
  const std::int64_t stretch =
      core::chunk_length(rows, operations_of_a_sum * static_cast<std::int64_t>(count), threads);
  Buffer<T> room(points.room(threads));
  std::vector<std::vector<ExactAccumulator>> parts(static_cast<std::size_t>(threads),
                                                   std::vector<ExactAccumulator>(count));
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1 && rows > stretch)
  for (std::int64_t first = 0; first < rows; first += stretch) {
    if (stop.stop_requested()) continue;
    const int thread = omp_get_thread_num();
    ExactAccumulator* const sums = parts[static_cast<std::size_t>(thread)].data();
    for (std::int64_t row = first; row < std::min(first + stretch, rows); ++row)
      each(points.row(row, room.data(), thread), sums);
  }
  core::honour_stop(stop, standardizing_stopped);
  for (std::size_t part = 1; part < parts.size(); ++part)
    for (std::size_t index = 0; index < count; ++index) parts.front()[index].merge(parts[part][index]);
  return std::move(parts.front());
}

/// Like own_sums(), but over the rows of all ranks.
template <class T, class Each>
std::vector<ExactAccumulator> exact_sums(const PointRows<T>& points, core::Ranks& ranks, std::size_t count, int threads,
                                         const std::stop_token& stop, const Each& each) {
  std::vector<ExactAccumulator> sums;
  ranks.add_up(
      count * core::accumulator_limbs, [&] { sums = own_sums(points, count, threads, stop, each); },
      [&](std::span<std::uint64_t> words) { core::Ranks::put(sums, words); },
      [&](std::span<const std::uint64_t> words) { core::Ranks::take(words, sums); });
  return sums;
}

/// Throws InputError if a value is not finite. `first` is the global number of the first row.
template <class T>
void require_finite(const PointRows<T>& points, std::int64_t first, const std::stop_token& stop) {
  core::RarePoll look(stop, standardizing_stopped);
  Buffer<T> room(points.room(1));
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    look.honour_stop();
    const T* const values = points.row(row, room.data());
    for (std::int64_t column = 0; column < points.columns(); ++column)
      if (const auto value = static_cast<double>(values[column]); !std::isfinite(value))
        throw InputError(about("points") + "row " + std::to_string(first + row) + ", column " + std::to_string(column) +
                             " (counted from 0) is " + (std::isnan(value) ? "NaN" : "infinite") +
                             ", not a finite number",
                         {.code = error_code::not_finite, .row = first + row, .column = column});
  }
}

/// Appends the mean and scale of the columns of `points` to `by`. The first of these columns has the number `first`.
template <class T>
void add_columns(const PointRows<T>& points, const core::RankRows& rank_rows, std::int64_t first, int threads,
                 const std::stop_token& stop, KMeansStandardization& by) {
  const std::int64_t columns = points.columns();
  const auto count = static_cast<std::size_t>(columns);
  ExactAccumulator rows;
  rows.add(static_cast<double>(rank_rows.all()));
  const std::vector<ExactAccumulator> sums =
      exact_sums(points, rank_rows.ranks(), count, threads, stop, [&](const T* row, ExactAccumulator* own) {
        for (std::int64_t column = 0; column < columns; ++column) own[column].add(static_cast<double>(row[column]));
      });
  std::vector<double> mean;
  for (const ExactAccumulator& sum : sums) mean.push_back(sum.quotient<double>(rows));
  // Computes the moments about the rounded mean. The code below subtracts the effect of the rounding from the variance.
  const std::vector<ExactAccumulator> moments =
      exact_sums(points, rank_rows.ranks(), 2 * count, threads, stop, [&](const T* row, ExactAccumulator* own) {
        for (std::int64_t column = 0; column < columns; ++column) {
          const double from_mean = static_cast<double>(row[column]) - mean[static_cast<std::size_t>(column)];
          own[2 * column].add(from_mean);
          own[2 * column + 1].add_product(from_mean, from_mean);
        }
      });
  for (std::size_t column = 0; column < count; ++column) {
    const double shift = moments[2 * column].quotient<double>(rows);
    const double variance = std::max(moments[2 * column + 1].quotient<double>(rows) - shift * shift, 0.0);
    if (!std::isfinite(variance) || !std::isfinite(mean[column]))
      throw InputError(about("points") + "the values of column " +
                       std::to_string(first + static_cast<std::int64_t>(column)) +
                       " (counted from 0) are too large to be standardized; scale them down");
    by.mean.push_back(mean[column]);
    by.scale.push_back(variance > 0 ? std::sqrt(variance) : 1);
  }
}

}  // namespace

int standardizing_threads(std::int64_t rows, std::int64_t columns, const Execution& execution) {
  // Counts only some of the columns if there are many, so that the product stays below 2^63. The result does not
  // change.
  const std::int64_t operations = operations_of_a_sum * rows * std::min<std::int64_t>(columns, 1 << 20);
  return cpu::start_team(cpu::threads_for(operations, cpu::thread_count(execution)));
}

template <class T>
KMeansStandardization standardization_of(const PointRows<T>& points, const core::RankRows& rows, int threads,
                                         const std::stop_token& stop) {
  // Processes a block of columns at a time. One sum takes about a kilobyte. Therefore, the sums of all columns together
  // could need more memory than the points.
  constexpr std::int64_t columns_at_a_time = 512;
  rows.ranks().agree([&] { require_finite(points, rows.first(), stop); });
  KMeansStandardization by;
  for (std::int64_t first = 0; first < points.columns(); first += columns_at_a_time)
    add_columns(columns_of(points, first, std::min(columns_at_a_time, points.columns() - first)), rows, first, threads,
                stop, by);
  return by;
}

template <class T>
void standardize_rows(const PointRows<T>& rows, MatrixView<T> standardized, const KMeansStandardization& by,
                      int threads, const std::stop_token& stop) {
  const std::int64_t stretch = core::chunk_length(rows.rows(), 4 * rows.columns(), threads);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows.rows() > stretch)
  for (std::int64_t first = 0; first < rows.rows(); first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t row = first; row < std::min(first + stretch, rows.rows()); ++row) {
      T* const to = standardized.row(row);
      const T* const from = rows.row(row, to);
      for (std::int64_t column = 0; column < rows.columns(); ++column) {
        const auto index = static_cast<std::size_t>(column);
        to[column] = static_cast<T>((static_cast<double>(from[column]) - by.mean[index]) / by.scale[index]);
      }
    }
  }
  core::honour_stop(stop, standardizing_stopped);
}

template <class T>
Matrix<T> restored(MatrixView<const T> rows, const KMeansStandardization& by) {
  Matrix<T> result(rows.rows(), rows.columns());
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t column = 0; column < rows.columns(); ++column) {
      const auto index = static_cast<std::size_t>(column);
      result(row, column) = static_cast<T>(static_cast<double>(rows(row, column)) * by.scale[index] + by.mean[index]);
    }
  return result;
}

#define GRADUS_INSTANTIATE(T)                                                                           \
  template KMeansStandardization standardization_of(const PointRows<T>&, const core::RankRows&, int,    \
                                                    const std::stop_token&);                            \
  template void standardize_rows(const PointRows<T>&, MatrixView<T>, const KMeansStandardization&, int, \
                                 const std::stop_token&);                                               \
  template Matrix<T> restored(MatrixView<const T>, const KMeansStandardization&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
