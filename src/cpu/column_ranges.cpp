#include "cpu/column_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/column_ranges.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "core/failure.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"

#ifndef GRADUS_CPU_COLUMN_RANGES
#define GRADUS_CPU_COLUMN_RANGES
namespace gradus::cpu {

// The ranges of some lanes (columns). Plain data, because code for other instruction sets uses it.
template <class T>
struct LaneRanges {
  std::int64_t lanes;
  T* lowest;
  T* highest;
  T* zeros;  // per lane: 0 if all values were finite, otherwise NaN
};

// Limits for values that may have a bit below 2^e, where e is a number of the lane.
template <class T>
struct LaneLimits {
  std::int64_t lanes;
  const T* coarse_from;  // 2^(e + digits): a larger magnitude has no bit below 2^e
  // 2^(e + digits - 1): adding this to a smaller magnitude, and subtracting it again, removes all bits below 2^e
  const T* rounding;
};

}  // namespace gradus::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Widens the ranges of one vector of columns, starting at `lane`, by the values of `rows` rows.
template <std::int64_t rows, class Lanes, class T>
HWY_INLINE void widen_ranges(Lanes lanes, const T* values, std::int64_t stride, std::int64_t lane,
                             const LaneRanges<T>& ranges) {
  auto lowest = hn::LoadU(lanes, ranges.lowest + lane);
  auto highest = hn::LoadU(lanes, ranges.highest + lane);
  auto zeros = hn::LoadU(lanes, ranges.zeros + lane);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto value = hn::LoadU(lanes, values + row * stride + lane);
    lowest = hn::Min(value, lowest);
    highest = hn::Max(value, highest);
    // x * 0 is NaN if x is NaN or infinite. The sum then stays NaN.
    zeros = hn::MulAdd(value, hn::Zero(lanes), zeros);
  }
  hn::StoreU(lowest, lanes, ranges.lowest + lane);
  hn::StoreU(highest, lanes, ranges.highest + lane);
  hn::StoreU(zeros, lanes, ranges.zeros + lane);
}

template <class T>
void visit_rows(const T* values, std::int64_t stride, std::int64_t count, const LaneRanges<T>& ranges) {
  const hn::ScalableTag<T> lanes;
  const hn::CappedTag<T, 1> one;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  // Processes several rows at a time, so that the ranges are loaded and stored only once for these rows.
  constexpr std::int64_t together = 4;
  std::int64_t row = 0;
  for (; row + together <= count; row += together) {
    const T* const at = values + row * stride;
    std::int64_t lane = 0;
    for (; lane + width <= ranges.lanes; lane += width) widen_ranges<together>(lanes, at, stride, lane, ranges);
    for (; lane < ranges.lanes; ++lane) widen_ranges<together>(one, at, stride, lane, ranges);
  }
  for (; row < count; ++row) {
    const T* const at = values + row * stride;
    std::int64_t lane = 0;
    for (; lane + width <= ranges.lanes; lane += width) widen_ranges<1>(lanes, at, stride, lane, ranges);
    for (; lane < ranges.lanes; ++lane) widen_ranges<1>(one, at, stride, lane, ranges);
  }
}

// Returns the bits by which one vector of values, starting at `lane`, differs from the rounded values.
template <class Lanes, class T>
HWY_INLINE hn::Vec<Lanes> removed_bits(Lanes lanes, const T* values, std::int64_t lane, const LaneLimits<T>& limits) {
  const auto magnitude = hn::Abs(hn::LoadU(lanes, values + lane));
  const auto rounding = hn::LoadU(lanes, limits.rounding + lane);
  const auto rounded = hn::Sub(hn::Add(magnitude, rounding), rounding);
  return hn::IfThenElseZero(hn::Lt(magnitude, hn::LoadU(lanes, limits.coarse_from + lane)),
                            hn::Xor(magnitude, rounded));
}

template <class T>
bool may_be_finer(const T* values, const LaneLimits<T>& limits) {
  const hn::ScalableTag<T> lanes;
  const hn::CappedTag<T, 1> one;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  auto removed = hn::Zero(lanes);
  auto removed_of_rest = hn::Zero(one);
  std::int64_t lane = 0;
  for (; lane + width <= limits.lanes; lane += width)
    removed = hn::Or(removed, removed_bits(lanes, values, lane, limits));
  for (; lane < limits.lanes; ++lane)
    removed_of_rest = hn::Or(removed_of_rest, removed_bits(one, values, lane, limits));
  return !hn::AllTrue(lanes, hn::Eq(removed, hn::Zero(lanes))) ||
         !hn::AllTrue(one, hn::Eq(removed_of_rest, hn::Zero(one)));
}

bool may_be_finer_f32(const float* values, const LaneLimits<float>& limits) { return may_be_finer(values, limits); }
bool may_be_finer_f64(const double* values, const LaneLimits<double>& limits) { return may_be_finer(values, limits); }
void visit_rows_f32(const float* values, std::int64_t stride, std::int64_t count, const LaneRanges<float>& ranges) {
  visit_rows(values, stride, count, ranges);
}
void visit_rows_f64(const double* values, std::int64_t stride, std::int64_t count, const LaneRanges<double>& ranges) {
  visit_rows(values, stride, count, ranges);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::cpu {

HWY_EXPORT(visit_rows_f32);
HWY_EXPORT(visit_rows_f64);
HWY_EXPORT(may_be_finer_f32);
HWY_EXPORT(may_be_finer_f64);

namespace {

struct Ranges : core::ColumnRanges {
  bool finite = true;
};

template <class T>
void visit(const T* values, std::int64_t stride, std::int64_t count, const LaneRanges<T>& ranges) {
  if constexpr (sizeof(T) == 4) HWY_DYNAMIC_DISPATCH(visit_rows_f32)(values, stride, count, ranges);
  else HWY_DYNAMIC_DISPATCH(visit_rows_f64)(values, stride, count, ranges);
}

// Returns false if no value of the row has a bit below the limits of its column. May return true for other rows, too.
template <class T>
bool may_be_finer(const T* values, const LaneLimits<T>& limits) {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(may_be_finer_f32)(values, limits);
  else return HWY_DYNAMIC_DISPATCH(may_be_finer_f64)(values, limits);
}

// Treats several whole rows as one long row, so that vectors are full even if there are few columns. The elements of
// the long row are called lanes. After a stop request the result is incomplete.
template <class T>
Ranges part_ranges(MatrixView<const T> rows, const std::stop_token& stop) {
  const std::int64_t d = rows.columns();
  const std::int64_t rows_per_step = rows.contiguous() ? std::max<std::int64_t>(1, 64 / d) : 1;
  const std::int64_t lanes = rows_per_step * d;
  std::vector<T> low(static_cast<std::size_t>(lanes), std::numeric_limits<T>::infinity());
  std::vector<T> high(static_cast<std::size_t>(lanes), -std::numeric_limits<T>::infinity());
  std::vector<T> zero(static_cast<std::size_t>(lanes), T{0});
  const std::int64_t stretch = core::chunk_length(rows.rows(), lanes) * rows_per_step;
  for (std::int64_t first = 0; first < rows.rows() && !stop.stop_requested(); first += stretch) {
    const std::int64_t count = std::min(stretch, rows.rows() - first);
    const std::int64_t steps = count / rows_per_step;
    if (steps > 0)
      visit<T>(rows.row(first), rows_per_step * rows.row_stride(), steps,
               {lanes, low.data(), high.data(), zero.data()});
    const std::int64_t rest = count - steps * rows_per_step;
    if (rest > 0)
      visit<T>(rows.row(first + count - rest), rows.row_stride(), rest, {d, low.data(), high.data(), zero.data()});
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
[[noreturn]] void throw_first_bad(MatrixView<const T> rows, const char* what, const std::stop_token& stop,
                                  std::int64_t first_row) {
  const std::int64_t stretch = core::chunk_length(rows.rows(), rows.columns());
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    if (row % stretch == 0) core::honour_stop(stop, "stopped while examining the points");
    for (std::int64_t column = 0; column < rows.columns(); ++column) {
      const double value = static_cast<double>(rows(row, column));
      if (!(std::abs(value) <= core::largest_magnitude)) core::throw_bad_value(what, first_row + row, column, value);
    }
  }
  throw InputError(about(what) + "a value changed while it was read");
}

}  // namespace

template <class T>
core::ColumnRanges column_ranges(MatrixView<const T> rows, const char* what, int threads, const std::stop_token& stop,
                                 std::int64_t first_row) {
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
  if (!good) throw_first_bad(rows, what, stop, first_row);
  return all;
}

template <class T>
std::vector<int> finest_bits(MatrixView<const T> rows, std::span<const int> enough, int threads,
                             const std::stop_token& stop) {
  const std::int64_t d = rows.columns();
  const std::int64_t stretch = core::chunk_length(rows.rows(), d, threads);
  std::vector<int> finest(enough.begin(), enough.end());
  core::FirstFailure failure;
#pragma omp parallel num_threads(threads)
  {
    constexpr int digits = std::numeric_limits<T>::digits;
    // If a power overflows, every value of its column is examined.
    const auto power = [](int exponent) { return std::ldexp(T{1}, exponent); };
    std::vector<int> own;
    std::vector<T> coarse_from;
    std::vector<T> rounding;
    failure.run([&] {
      own.assign(enough.begin(), enough.end());
      for (const int exponent : enough) {
        coarse_from.push_back(power(exponent + digits));
        rounding.push_back(power(exponent + digits - 1));
      }
    });
#pragma omp for schedule(static)
    for (std::int64_t first = 0; first < rows.rows(); first += stretch) {
      if (stop.stop_requested() || failure.happened()) continue;
      for (std::int64_t row = first; row < std::min(first + stretch, rows.rows()); ++row) {
        const T* const values = rows.row(row);
        if (!may_be_finer<T>(values, {d, coarse_from.data(), rounding.data()})) continue;
        for (std::int64_t column = 0; column < d; ++column) {
          const auto at = static_cast<std::size_t>(column);
          const int bit = core::finest_bit(static_cast<double>(values[column]));
          if (bit >= own[at]) continue;
          own[at] = bit;
          coarse_from[at] = power(bit + digits);
          rounding[at] = power(bit + digits - 1);
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

#define GRADUS_INSTANTIATE(T)                                                                              \
  template core::ColumnRanges column_ranges(MatrixView<const T>, const char*, int, const std::stop_token&, \
                                            std::int64_t);                                                 \
  template std::vector<int> finest_bits(MatrixView<const T>, std::span<const int>, int, const std::stop_token&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::cpu
#endif
