// The range of values in each column of a matrix of points. Also the error for values with which distances cannot be
// computed. cpu/column_ranges.hpp and cuda/column_ranges.hpp compute the ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "core/exact_accumulator.hpp"

namespace gradus::core {

/// If a coordinate exceeds this magnitude, a squared distance over many columns may overflow double.
inline constexpr double largest_magnitude = 0x1p500;

struct ColumnRanges {
  std::vector<double> lowest;  ///< per column; infinity if there are no rows
  std::vector<double> highest;
  std::vector<int> finest;  ///< per column, the minimum of finest_bit(); empty unless a caller needs it
};

/// The ranges of all values except NaN, and the place of the first invalid value.
struct FoundRanges {
  ColumnRanges ranges;
  std::int64_t bad_row = -1;  ///< row of the first value that is NaN, infinite or too large; -1 if there is none
  std::int64_t bad_column = 0;
  double bad_value = 0;
};

/// Throws the InputError for a value that is NaN, infinite or above largest_magnitude. The message begins with `what`.
[[noreturn]] void throw_bad_value(const char* what, std::int64_t row, std::int64_t column, double value);

/// An exponent that is larger than the exponent of any bit.
inline constexpr int no_bits = 4096;

/// Returns the exponent of the lowest set bit of a finite double, or no_bits for zero.
GRADUS_HOST_DEVICE inline int finest_bit(double value) {
  const Scaled number = scaled(value);
  if (number.mantissa == 0) return no_bits;
#ifdef __CUDA_ARCH__
  return number.exponent + __ffsll(static_cast<long long>(number.mantissa)) - 1;
#else
  return number.exponent + std::countr_zero(number.mantissa);
#endif
}

}  // namespace gradus::core
