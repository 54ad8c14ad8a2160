// Exact arithmetic for the references: whole multiples of 2^-1074, the least double, as integers of any length. Nothing
// here comes from the library.
#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradus::attack {

/// Of 1 in an integer from in_steps(), and of 1 in a product of two of them.
inline constexpr long step_exponent = -1074;
inline constexpr long product_exponent = 2 * step_exponent;

inline long bit_length(const mpz_class& value) {
  return value == 0 ? 0 : static_cast<long>(mpz_sizeinbase(value.get_mpz_t(), 2));
}

/// value * 2^bits; where bits < 0, what is shifted out must be zeros.
inline mpz_class shifted(const mpz_class& value, long bits) {
  if (bits >= 0) return value << static_cast<unsigned long>(bits);
  return value >> static_cast<unsigned long>(-bits);
}

/// A finite double in steps of 2^-1074, of which each is a whole number.
inline mpz_class in_steps(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return shifted(mpz_class(std::ldexp(fraction, 53)), exponent - 53 - step_exponent);
}

/// value / 2^drop for value >= 0, rounded to the nearest integer, ties to even; `more` says that the true value is
/// above `value` by a fraction.
inline mpz_class round_away(const mpz_class& value, long drop, bool more) {
  if (drop <= 0) return shifted(value, -drop);
  const mpz_class kept = value >> static_cast<unsigned long>(drop);
  const mpz_class rest = value - shifted(kept, drop);
  const mpz_class half = shifted(1, drop - 1);
  const bool up = rest > half || (rest == half && (more || mpz_odd_p(kept.get_mpz_t())));
  return up ? mpz_class(kept + 1) : kept;
}

/// numerator / denominator * 2^exponent, rounded once to T: to nearest, ties to even, subnormals and infinity as IEEE
/// 754 has them, and a negative value that rounds to zero to -0. denominator > 0.
template <class T>
T round_quotient(const mpz_class& numerator, const mpz_class& denominator, long exponent) {
  constexpr long digits = std::numeric_limits<T>::digits;
  constexpr long least = std::numeric_limits<T>::min_exponent - digits;  // exponent of the least subnormal
  if (numerator == 0) return 0;
  // A quotient with at least two bits more than T holds, and whether it is exact.
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

/// value >= 0 rounded to 53 significant bits, ties to even, whatever its exponent.
inline mpz_class round_to_53_bits(const mpz_class& value) {
  const long drop = std::max(0L, bit_length(value) - 53);
  return shifted(round_away(value, drop, false), drop);
}

}  // namespace gradus::attack
