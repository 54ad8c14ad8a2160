// What is known of the columns of some points, and the refusal of values that no distance can be computed with. The
// points are read by cpu/column_ranges.hpp or cuda/column_ranges.hpp, wherever they lie.
#pragma once

#include <cstdint>
#include <vector>

#include "core/exact_accumulator.hpp"

namespace gradus::core {

/// Above this a squared distance over many columns may overflow a double.
inline constexpr double largest_magnitude = 0x1p500;

struct ColumnRanges {
  std::vector<double> lowest;  ///< per column; infinity where there are no rows
  std::vector<double> highest;
  std::vector<int> finest;  ///< what finest_bits() gives, where that costs nothing; or empty
};

/// Ranges of the values that are no NaN, and the first value that cannot be used.
struct FoundRanges {
  ColumnRanges ranges;
  std::int64_t bad_row = -1;  ///< of the value that is NaN, infinite, or above largest_magnitude; -1: there is none
  std::int64_t bad_column = 0;
  double bad_value = 0;
};

/// InputError that begins with `what`, for a value that is NaN, infinite, or above largest_magnitude.
[[noreturn]] void throw_bad_value(const char* what, std::int64_t row, std::int64_t column, double value);

/// Above the exponent of any bit.
inline constexpr int no_bits = 4096;

/// The exponent of the least bit of a finite double, or no_bits.
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
