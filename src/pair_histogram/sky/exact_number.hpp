// Two kinds of numbers for the same formula. An Estimate is a double with a bound of its error; a bound of zero means
// that the value is exact. A Dyadic is an integer of any length times a power of two, so it is always exact. A formula
// is evaluated with estimates first, and with dyadic numbers only if the sign of its value remains unknown.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace gradus::pair_histogram_detail {

enum class Sign : std::int8_t { negative = -1, zero = 0, positive = 1, unknown = 2 };

class Estimate {
 public:
  Estimate(double value) : value_(value) {}  // NOLINT(google-explicit-constructor): formulas mix numbers and doubles
  static Estimate unknown() { return {0, std::numeric_limits<double>::infinity()}; }

  double value() const { return value_; }
  Sign sign() const {
    if (!std::isfinite(value_) || !std::isfinite(error_)) return Sign::unknown;
    if (value_ > error_) return Sign::positive;
    if (value_ < -error_) return Sign::negative;
    return error_ == 0 ? Sign::zero : Sign::unknown;
  }
  friend Estimate operator+(const Estimate& a, const Estimate& b) {
    const double sum = a.value_ + b.value_;
    const double added = sum - a.value_;  // Knuth's two-sum
    const double lost = (a.value_ - (sum - added)) + (b.value_ - added);
    return {sum, inflated(std::abs(lost) + a.error_ + b.error_)};
  }
  friend Estimate operator-(const Estimate& a, const Estimate& b) { return a + Estimate(-b.value_, b.error_); }
  friend Estimate operator*(const Estimate& a, const Estimate& b) {
    const double product = a.value_ * b.value_;
    double error = std::abs(std::fma(a.value_, b.value_, -product));
    if (a.error_ != 0 || b.error_ != 0)
      error += std::abs(a.value_) * b.error_ + std::abs(b.value_) * a.error_ + a.error_ * b.error_ + underflow;
    if (std::abs(product) < 0x1p-900 && a.value_ != 0 && b.value_ != 0) error += underflow;
    return {product, inflated(error)};
  }

 private:
  /// Exceeds everything that operations on error bounds and residuals lose to underflow.
  static constexpr double underflow = 0x1p-1000;

  Estimate(double value, double error) : value_(value), error_(error) {}
  /// Covers the rounding of the operations that computed the bound.
  static double inflated(double error) { return error * (1 + 0x1p-48); }

  double value_;
  double error_ = 0;
};

class Dyadic {
 public:
  Dyadic(double value);  // NOLINT(google-explicit-constructor): formulas mix numbers and doubles

  Sign sign() const { return limbs_.empty() ? Sign::zero : negative_ ? Sign::negative : Sign::positive; }
  friend Dyadic operator+(const Dyadic& a, const Dyadic& b);
  friend Dyadic operator-(const Dyadic& a, Dyadic b) {
    b.negative_ = !b.negative_;
    return a + b;
  }
  friend Dyadic operator*(const Dyadic& a, const Dyadic& b);

 private:
  using Limbs = std::vector<std::uint32_t>;
  static Limbs shifted(const Limbs& limbs, int words);
  void trim();

  // The value is (negative_ ? -1 : 1) * limbs_ * 2^(32 word_). The lowest limb comes first. Zero has no limbs.
  bool negative_ = false;
  int word_ = 0;
  Limbs limbs_;
};

}  // namespace gradus::pair_histogram_detail
