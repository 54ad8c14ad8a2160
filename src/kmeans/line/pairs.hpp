// Arithmetic on pairs of doubles. Each operation has an error of at most 2^-100 times its largest operand or result.
#pragma once

#include "core/exact_sum.hpp"

namespace gradus::kmeans_detail {

inline core::TwoDoubles two_sum(double a, double b) {
  const double sum = a + b;
  const double taken = sum - a;
  return {sum, (a - (sum - taken)) + (b - taken)};
}

inline core::TwoDoubles two_product(double a, double b) {
  constexpr double split = 0x1p27 + 1;
  const double product = a * b;
  const double a_high = a * split - (a * split - a);
  const double b_high = b * split - (b * split - b);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/// Requires |high| >= |low|.
inline core::TwoDoubles renormalized(double high, double low) {
  const double sum = high + low;
  return {sum, low - (sum - high)};
}

inline core::TwoDoubles renormalized(core::TwoDoubles a) { return renormalized(a.high, a.low); }

inline core::TwoDoubles negative(core::TwoDoubles a) { return {-a.high, -a.low}; }

inline core::TwoDoubles plus(core::TwoDoubles a, core::TwoDoubles b) {
  const core::TwoDoubles high = two_sum(a.high, b.high);
  return renormalized(high.high, high.low + (a.low + b.low));
}

inline core::TwoDoubles minus(core::TwoDoubles a, core::TwoDoubles b) { return plus(a, negative(b)); }

inline core::TwoDoubles times(core::TwoDoubles a, core::TwoDoubles b) {
  const core::TwoDoubles high = two_product(a.high, b.high);
  return renormalized(high.high, high.low + (a.high * b.low + a.low * b.high));
}

inline core::TwoDoubles over(core::TwoDoubles a, core::TwoDoubles b) {
  const double first = a.high / b.high;
  const core::TwoDoubles rest = minus(a, times(b, {first, 0}));
  const double second = rest.high / b.high;
  const core::TwoDoubles last = minus(rest, times(b, {second, 0}));
  return plus(two_sum(first, second), {last.high / b.high, 0});
}

}  // namespace gradus::kmeans_detail
