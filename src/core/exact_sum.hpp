// Floating-point sums whose value does not depend on the order of the additions.
//
// A value is rounded once to a fixed-point grid and split into two signed integers, a high and a low limb. The limbs
// are summed as integers, whose addition is associative and commutative. Wrapping 64-bit additions keep partial sums
// cheap: one fused multiply-add and one integer addition per limb. Two limbs of B = 38 bits leave 24 bits for the
// number of summands, so the grid is 2^76 times finer than the largest value. The grid holds every bit of a float that
// is at least 2^-52 times the largest value, and every bit of a double that is at least 2^-23 times the largest value.
//
// A value loses less than one grid step. A quotient of two such sums is therefore in a known interval. If both ends of
// the interval round to the same number, this number is the correctly rounded quotient (certified_quotient). In the
// rare cases in which the two ends round to different numbers, the caller sums the values again exactly
// (exact_accumulator.hpp). Plain sums become exact with a third limb, and with an exact accumulator for values that are
// too small for the third limb (exact_total.hpp).
//
// Source of pre-rounding to a common grid: Demmel and Nguyen, "Fast reproducible floating-point summation" (2013).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/host_device.hpp"

namespace gradus::core {

__extension__ using Int128 = __int128;  // supported by GCC and Clang on every 64-bit target
__extension__ using UInt128 = unsigned __int128;

/// Returns the number of bits per limb for sums of `summands` values, such that the sum of the high limbs stays below
/// 2^62.
constexpr int limb_bits(std::int64_t summands) {
  const int count_bits = summands <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(summands - 1));
  return 62 - std::max(24, count_bits);
}

/// Returns the smallest e >= `least` with magnitude < 2^e, or 0 if the magnitude is 0. The default of `least` keeps
/// 2^-e far from overflow.
inline int exponent_above(double magnitude, int least = -900) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  return magnitude == 0 ? 0 : std::max(exponent, least);
}

/// The smallest exponent of a Grid. A grid for smaller values also uses this exponent.
inline constexpr int least_grid_exponent = -984;

/// Adding this to a value below 2^51 rounds the value to an integer (ties to even) in the low bits of the sum.
inline constexpr double integer_magic = 0x1.8p52;
inline constexpr std::int64_t integer_magic_bits = std::bit_cast<std::int64_t>(integer_magic);

struct Limbs {
  std::int64_t high = 0;
  std::int64_t low = 0;
};

/// Two limbs, each of which also contains the bits of integer_magic. In a sum of such limbs, these bits are contained
/// once per summand, and code that reads the sum must subtract them. The additions wrap around.
struct RawLimbs {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

/// Splits a value on the grid. `on_grid` is the value times Grid::to_high.
GRADUS_HOST_DEVICE inline RawLimbs raw_limbs(double on_grid, double to_low) {
  const double high = on_grid + integer_magic;
  const double low = (on_grid - (high - integer_magic)) * to_low + integer_magic;
  return {std::bit_cast<std::uint64_t>(high), std::bit_cast<std::uint64_t>(low)};
}

/// Splits weight * on_grid, where the weight is at most 1. The rounding error of the product goes to the low limb.
GRADUS_HOST_DEVICE inline RawLimbs raw_limbs(double weight, double on_grid, double to_low) {
  const double product = weight * on_grid;
  const double lost = std::fma(weight, on_grid, -product);
  const double high = product + integer_magic;
  const double low = ((product - (high - integer_magic)) * to_low + lost * to_low) + integer_magic;
  return {std::bit_cast<std::uint64_t>(high), std::bit_cast<std::uint64_t>(low)};
}

/// A grid with step 2^(exponent - 2 * bits) for values of magnitude below 2^exponent.
struct Grid {
  double to_high = 1;  ///< value * to_high is rounded to the high limb
  double to_low = 1;   ///< the remainder of a limb, times to_low, is rounded to the next limb
  int bits = 38;       ///< bits per limb
  int unit = 0;        ///< the step of the low limb is 2^unit

  Grid() = default;
  Grid(int exponent, std::int64_t summands) : bits(limb_bits(summands)) {
    exponent = std::max(exponent, least_grid_exponent);  // keeps to_high finite
    unit = exponent - 2 * bits;
    to_high = std::ldexp(1.0, bits - exponent);
    to_low = std::ldexp(1.0, bits);
  }

  GRADUS_HOST_DEVICE Limbs split(double value) const {
    const double high = std::nearbyint(value * to_high);
    const double rest = value * to_high - high;  // exact: a multiple of the value's last bit, below 1 in magnitude
    return {static_cast<std::int64_t>(high), static_cast<std::int64_t>(std::nearbyint(rest * to_low))};
  }

  GRADUS_HOST_DEVICE Int128 total(Limbs sum) const { return (static_cast<Int128>(sum.high) << bits) + sum.low; }
};

GRADUS_HOST_DEVICE inline int leading_zeros(std::uint64_t value) {
#ifdef __CUDA_ARCH__
  return __clzll(static_cast<long long>(value));
#else
  return std::countl_zero(value);
#endif
}

GRADUS_HOST_DEVICE inline int leading_zeros(UInt128 value) {
  const auto upper = static_cast<std::uint64_t>(value >> 64);
  return upper != 0 ? leading_zeros(upper) : 64 + leading_zeros(static_cast<std::uint64_t>(value));
}

/// Rounds (mantissa + f) * 2^exponent to the nearest T, ties to even. If `sticky` is false, f is 0. If `sticky` is
/// true, f is an unknown fraction in (0, 1), and the mantissa must have more bits than T.
template <class T>
GRADUS_HOST_DEVICE T round_scaled(UInt128 mantissa, bool sticky, int exponent) {
  constexpr int precision = std::numeric_limits<T>::digits;
  constexpr int least = std::numeric_limits<T>::min_exponent - precision;  // exponent of the smallest subnormal
  if (mantissa == 0) return 0;
  const int length = 128 - leading_zeros(mantissa);
  const int drop = length - precision > least - exponent ? length - precision : least - exponent;
  if (drop > length) return 0;
  if (drop > 0) {
    const UInt128 half = UInt128{1} << (drop - 1);
    const UInt128 rest = drop == 128 ? mantissa : mantissa & ((half << 1) - 1);
    mantissa = drop == 128 ? 0 : mantissa >> drop;
    exponent += drop;
    if (rest > half || (rest == half && (sticky || (mantissa & 1)))) ++mantissa;
  }
  return static_cast<T>(std::ldexp(static_cast<double>(static_cast<std::uint64_t>(mantissa)), exponent));
}

/// Converts with a relative error of at most 2^-52.
GRADUS_HOST_DEVICE inline double to_double(UInt128 value) {
  return static_cast<double>(static_cast<std::uint64_t>(value >> 64)) * 0x1p64 +
         static_cast<double>(static_cast<std::uint64_t>(value));
}

/// Returns numerator / denominator, computed by long division in base 2^32. If the denominator is small, this is faster
/// than a 128-bit division, and much faster on a GPU.
GRADUS_HOST_DEVICE inline UInt128 divide_by_digit(UInt128 numerator, std::uint32_t denominator,
                                                  std::uint32_t& remainder) {
  UInt128 quotient = 0;
  std::uint64_t rest = 0;
  for (int shift = 96; shift >= 0; shift -= 32) {
    rest = rest << 32 | static_cast<std::uint32_t>(numerator >> shift);
    const std::uint64_t digit = rest / denominator;  // below 2^32, because rest < 2^32 * denominator
    rest -= digit * denominator;
    quotient = quotient << 32 | digit;
  }
  remainder = static_cast<std::uint32_t>(rest);
  return quotient;
}

/// Returns numerator / denominator * 2^exponent, rounded once to T. Requires denominator > 0.
template <class T>
GRADUS_HOST_DEVICE T round_quotient(Int128 numerator, UInt128 denominator, int exponent) {
  const bool negative = numerator < 0;
  UInt128 rest = negative ? -static_cast<UInt128>(numerator) : static_cast<UInt128>(numerator);
  if (rest == 0) return 0;
  if constexpr (sizeof(T) == 4) {
    // The quotient in double has a relative error below 2^-50. If both ends of the error interval round to the same
    // float, the result is certain.
    const double magnitude = std::ldexp(to_double(rest) / to_double(denominator), exponent);
    const float lower = static_cast<float>(magnitude * (1 - 0x1p-50));
    const float upper = static_cast<float>(magnitude * (1 + 0x1p-50));
    if (lower == upper && magnitude > 0x1p-900) return negative ? -lower : lower;
  }
  if constexpr (sizeof(T) == 8) {
    // For double, makes the same check with pairs of doubles as numerator and quotient, so that the relative error is
    // below 2^-98.
    const auto upper = static_cast<std::uint64_t>(rest >> 64);
    if (denominator >> 53 == 0 && upper >> 53 == 0) {
      const double high = static_cast<double>(upper) * 0x1p64;
      const double middle = static_cast<double>(static_cast<std::uint64_t>(rest) >> 32) * 0x1p32;
      const auto low = static_cast<double>(static_cast<std::uint32_t>(rest));
      const double partial = high + middle;
      const double head = partial + low;
      const double tail = (middle - (partial - high)) + (low - (head - partial));
      const auto divisor = static_cast<double>(static_cast<std::uint64_t>(denominator));
      const double quotient = head / divisor;
      const double correction = (std::fma(-quotient, divisor, head) + tail) / divisor;
      const double slack = quotient * 0x1p-98;
      const double lower = quotient + (correction - slack);
      const double magnitude = std::ldexp(lower, exponent);
      if (lower == quotient + (correction + slack) && magnitude > 0x1p-900 && magnitude < 0x1p900)
        return negative ? -magnitude : magnitude;
    }
  }
  // Left-aligns the numerator. If the quotient of the aligned numerator has fewer than 64 bits, bitwise long division
  // appends the missing bits.
  const int shift = leading_zeros(rest);
  rest <<= shift;
  exponent -= shift;
  if (denominator >> 32 == 0) {  // the quotient has at least 96 bits
    std::uint32_t remainder = 0;
    const UInt128 digits = divide_by_digit(rest, static_cast<std::uint32_t>(denominator), remainder);
    const T rounded = round_scaled<T>(digits, remainder != 0, exponent);
    return negative ? -rounded : rounded;
  }
  UInt128 quotient = rest / denominator;
  rest %= denominator;
  while (quotient >> 63 == 0) {
    const bool carry = rest >> 127;
    rest <<= 1;
    quotient <<= 1;
    --exponent;
    if (carry || rest >= denominator) {
      rest -= denominator;
      quotient |= 1;
    }
  }
  const T magnitude = round_scaled<T>(quotient, rest != 0, exponent);
  return negative ? -magnitude : magnitude;
}

/// The number high + low, with about a hundred significant bits. low is small compared with high.
struct TwoDoubles {
  double high = 0;
  double low = 0;
};

/// Converts a sum of limbs.
GRADUS_HOST_DEVICE inline TwoDoubles two_doubles(const Grid& grid, Limbs sum) {
  const auto upper = static_cast<double>(sum.high);
  const auto lower = static_cast<double>(sum.low);
  // the sum of the rounding errors of both conversions
  const double rest = static_cast<double>(sum.high - static_cast<std::int64_t>(upper)) * grid.to_low +
                      static_cast<double>(sum.low - static_cast<std::int64_t>(lower));
  const double above = upper * grid.to_low;
  const double high = above + lower;  // Knuth's two-sum: either operand may be the larger one
  const double taken = high - above;
  return {high, ((above - (high - taken)) + (lower - taken)) + rest};
}

/// Returns numerator / denominator * 2^exponent - from. The relative error is a few times 2^-53, even if `from` is much
/// larger than the result. Requires denominator > 0.
GRADUS_HOST_DEVICE inline double quotient_less(TwoDoubles numerator, TwoDoubles denominator, int exponent,
                                               double from) {
  const double quotient = numerator.high / denominator.high;
  const double rest =
      std::fma(-quotient, denominator.high, numerator.high) + (numerator.low - quotient * denominator.low);
  const double correction = rest / denominator.high;
  if (exponent < -1000 || exponent > 1000)
    return std::ldexp(quotient, exponent) - from + std::ldexp(correction, exponent);
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  return quotient * scale - from + correction * scale;
}

template <class T>
struct Certified {
  T value = 0;
  bool certain = false;
};

/// Implements certified_quotient() for inexact operands.
template <class T>
GRADUS_HOST_DEVICE GRADUS_OUT_OF_LINE inline Certified<T> interval_quotient(
    Int128 numerator, std::int64_t numerator_slack, Int128 denominator, std::int64_t denominator_slack, int exponent) {
  if (denominator <= denominator_slack) return {};
  const Int128 lower = numerator - numerator_slack;
  const Int128 upper = numerator + numerator_slack;
  const auto least = static_cast<UInt128>(denominator - denominator_slack);
  const auto greatest = static_cast<UInt128>(denominator + denominator_slack);
  const T below = round_quotient<T>(lower, lower < 0 ? least : greatest, exponent);
  const T above = round_quotient<T>(upper, upper < 0 ? greatest : least, exponent);
  return {below, below == above && below != 0};  // a zero result is not certain, because its sign is unknown
}

/// Returns n / d * 2^exponent, rounded once to T, for numbers n and d that are known only approximately. n differs from
/// `numerator` by at most `numerator_slack`. d is positive and differs from `denominator` by at most
/// `denominator_slack`. A slack of 0 means that the value is exact. The result is certain if the quotients of all n and
/// d within these bounds round to the same number.
template <class T>
GRADUS_HOST_DEVICE Certified<T> certified_quotient(Int128 numerator, std::int64_t numerator_slack, Int128 denominator,
                                                   std::int64_t denominator_slack, int exponent) {
  if (numerator_slack != 0 || denominator_slack != 0)
    return interval_quotient<T>(numerator, numerator_slack, denominator, denominator_slack, exponent);
  return {round_quotient<T>(numerator, static_cast<UInt128>(denominator), exponent), true};
}

}  // namespace gradus::core
