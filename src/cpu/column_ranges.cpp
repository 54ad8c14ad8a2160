#include "cpu/column_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/failure.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"

namespace gradus::cpu {

namespace {

struct Ranges : core::ColumnRanges {
  bool finite = true;
};

// The rows are read as one stream of "lanes": some whole rows side by side, so that the compiler can use vector
// instructions however few columns there are. x * 0 is NaN for NaN and infinity, and stays NaN in a sum.
// After a stop request what is found is incomplete.
template <class T>
Ranges part_ranges(MatrixView<const T> rows, const std::stop_token& stop) {
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
  const std::int64_t stretch = core::stretch_length(rows.rows(), lanes) * rows_per_step;
  for (std::int64_t first = 0; first < rows.rows() && !stop.stop_requested(); first += stretch) {
    const std::int64_t end = std::min(first + stretch, rows.rows());
    std::int64_t row = first;
    for (; row + rows_per_step <= end; row += rows_per_step) visit(rows.row(row), lanes);
    for (; row < end; ++row) visit(rows.row(row), d);
  }

  Ranges ranges;
  ranges.lowest.assign(static_cast<std::size_t>(d), std::numeric_limits<double>::infinity());
  ranges.highest.assign(static_cast<std::size_t>(d), -std::numeric_limits<double>::infinity());
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
[[noreturn]] void throw_first_bad(MatrixView<const T> rows, const char* what, const std::stop_token& stop) {
  const std::int64_t stretch = core::stretch_length(rows.rows(), rows.columns());
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    if (row % stretch == 0) core::honour_stop(stop, "stopped while examining the points");
    for (std::int64_t column = 0; column < rows.columns(); ++column) {
      const double value = static_cast<double>(rows(row, column));
      if (!(std::abs(value) <= core::largest_magnitude)) core::throw_bad_value(what, row, column, value);
    }
  }
  throw InputError(std::string(what) + ": a value changed while it was read");
}

}  // namespace

template <class T>
core::ColumnRanges column_ranges(MatrixView<const T> rows, const char* what, int threads, const std::stop_token& stop) {
  std::vector<Ranges> parts(static_cast<std::size_t>(threads));
  core::FirstFailure failure;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    const Range range = share(rows.rows(), part, threads);
    failure.run(
        [&] { parts[static_cast<std::size_t>(part)] = part_ranges(rows.slice(range.begin, range.size()), stop); });
  }
  failure.rethrow();
  core::honour_stop(stop, "stopped while examining the points");
  Ranges all = std::move(parts.front());
  for (const Ranges& part : parts)
    for (std::size_t column = 0; column < all.lowest.size() && !part.lowest.empty(); ++column) {
      all.lowest[column] = std::min(all.lowest[column], part.lowest[column]);
      all.highest[column] = std::max(all.highest[column], part.highest[column]);
      all.finite = all.finite && part.finite;
    }
  bool good = all.finite;
  for (std::size_t column = 0; column < all.lowest.size(); ++column)
    good = good && !(all.lowest[column] < -core::largest_magnitude) && !(all.highest[column] > core::largest_magnitude);
  if (!good) throw_first_bad(rows, what, stop);
  return all;
}

template <class T>
std::vector<int> finest_bits(MatrixView<const T> rows, std::span<const int> enough, int threads,
                             const std::stop_token& stop) {
  const std::int64_t d = rows.columns();
  const std::int64_t stretch = core::stretch_length(rows.rows(), d, threads);
  // A value that is not smaller has no bit below `enough`, whatever its bits are.
  std::vector<T> coarse_from;
  for (const int exponent : enough)
    coarse_from.push_back(static_cast<T>(std::ldexp(1.0, std::min(exponent + std::numeric_limits<T>::digits, 1023))));
  std::vector<int> finest(enough.begin(), enough.end());
  core::FirstFailure failure;
#pragma omp parallel num_threads(threads)
  {
    std::vector<int> own;
    failure.run([&] { own.assign(enough.begin(), enough.end()); });
#pragma omp for schedule(static)
    for (std::int64_t first = 0; first < rows.rows(); first += stretch) {
      if (stop.stop_requested() || failure.happened()) continue;
      for (std::int64_t row = first; row < std::min(first + stretch, rows.rows()); ++row) {
        const T* const values = rows.row(row);
        const T* const from = coarse_from.data();
        int fine = 0;
        for (std::int64_t column = 0; column < d; ++column)
          fine += static_cast<int>(std::abs(values[column]) < from[column]) & static_cast<int>(values[column] != 0);
        for (std::int64_t column = 0; fine > 0 && column < d; ++column) {
          int& least = own[static_cast<std::size_t>(column)];
          least = std::min(least, core::finest_bit(static_cast<double>(values[column])));
        }
      }
    }
#pragma omp critical(gradus_finest_bits)
    for (std::size_t column = 0; column < own.size(); ++column) finest[column] = std::min(finest[column], own[column]);
  }
  failure.rethrow();
  core::honour_stop(stop, "stopped while examining the points");
  return finest;
}

#define GRADUS_INSTANTIATE(T)                                                                               \
  template core::ColumnRanges column_ranges(MatrixView<const T>, const char*, int, const std::stop_token&); \
  template std::vector<int> finest_bits(MatrixView<const T>, std::span<const int>, int, const std::stop_token&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::cpu
