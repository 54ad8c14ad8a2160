// Exact arithmetic for the references. Numbers are multiples of 2^-1074, the smallest positive double, and are stored
// as integers. This file uses no code of the library.
#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradus::attack {

/// An integer n from in_steps() stands for n 2^step_exponent. A product of two such integers stands for n
/// 2^product_exponent.
inline constexpr long step_exponent = -1074;
inline constexpr long product_exponent = 2 * step_exponent;

inline long bit_length(const mpz_class& value) {
  return value == 0 ? 0 : static_cast<long>(mpz_sizeinbase(value.get_mpz_t(), 2));
}

/// Returns value * 2^bits. If bits < 0, the bits shifted out must be zero.
inline mpz_class shifted(const mpz_class& value, long bits) {
  if (bits >= 0) return value << static_cast<unsigned long>(bits);
  return value >> static_cast<unsigned long>(-bits);
}

/// Returns the integer n with value = n 2^-1074, for a finite double.
inline mpz_class in_steps(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return shifted(mpz_class(std::ldexp(fraction, 53)), exponent - 53 - step_exponent);
}

/// Returns value / 2^drop, rounded to nearest with ties to even, for value >= 0. `more`: true if the exact value is
/// slightly larger than `value`.
inline mpz_class round_away(const mpz_class& value, long drop, bool more) {
  if (drop <= 0) return shifted(value, -drop);
  const mpz_class kept = value >> static_cast<unsigned long>(drop);
  const mpz_class rest = value - shifted(kept, drop);
  const mpz_class half = shifted(1, drop - 1);
  const bool up = rest > half || (rest == half && (more || mpz_odd_p(kept.get_mpz_t())));
  return up ? mpz_class(kept + 1) : kept;
}

/// Returns numerator / denominator * 2^exponent, rounded once to T, to nearest with ties to even. Subnormals and
/// infinity follow IEEE 754. A negative value that rounds to zero becomes -0. Requires denominator > 0.
template <class T>
T round_quotient(const mpz_class& numerator, const mpz_class& denominator, long exponent) {
  constexpr long digits = std::numeric_limits<T>::digits;
  constexpr long least = std::numeric_limits<T>::min_exponent - digits;  // exponent of the smallest subnormal
  if (numerator == 0) return 0;
  // Computes the quotient with at least two more bits than T holds, and determines whether it is exact.
  const long more_bits = std::max(0L, digits + 2 + bit_length(denominator) - bit_length(numerator));
  const mpz_class scaled = shifted(abs(numerator), more_bits);
  const mpz_class quotient = scaled / denominator;
  const bool inexact = quotient * denominator != scaled;
  const long quotient_exponent = exponent - more_bits;
  const long drop = std::max(bit_length(quotient) - digits, least - quotient_exponent);
  const mpz_class rounded = round_away(quotient, std::max(0L, drop), inexact);
  const double magnitude = std::ldexp(rounded.get_d(), static_cast<int>(quotient_exponent + std::max(0L, drop)));
  return static_cast<T>(numerator < 0 ? -magnitude : magnitude);
}

template <class T>
T round_once(const mpz_class& value, long exponent) {
  return round_quotient<T>(value, 1, exponent);
}

/// Returns `value` >= 0 rounded to 53 significant bits, with ties to even and an unlimited range of exponents.
inline mpz_class round_to_53_bits(const mpz_class& value) {
  const long drop = std::max(0L, bit_length(value) - 53);
  return shifted(round_away(value, drop, false), drop);
}

}  // namespace gradus::attack
