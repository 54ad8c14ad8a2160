// Exact sums of doubles and of products of two doubles. A sum is a fixed-point number with a place for every possible
// bit. Exact accumulators are the fallback of the fast sums (exact_sum.hpp). The oracles also use them.
//
// The number consists of 32-bit limbs, each in a signed 64-bit word. An addition changes three or four words and
// propagates no carry. A word overflows only after 2^30 additions, and add() propagates the carries before that.
//
// Source: Neal, "Fast exact summation using small and large superaccumulators" (2015).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/exact_sum.hpp"
#include "core/host_device.hpp"

namespace gradus::core {

/// The exponents of the limbs cover the smallest product of two doubles, 2^-2148, and 2^70 times the largest product.
inline constexpr int accumulator_least_exponent = -2176;
inline constexpr int accumulator_limbs = 136;

/// The number sign * mantissa * 2^exponent.
struct Scaled {
  std::uint64_t mantissa = 0;  ///< below 2^53
  int exponent = 0;
  bool negative = false;
};

/// Decomposes a finite double.
GRADUS_HOST_DEVICE inline Scaled scaled(double value) {
#ifdef __CUDA_ARCH__
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(value));
#else
  const auto bits = std::bit_cast<std::uint64_t>(value);
#endif
  const auto field = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  return {field == 0 ? fraction : fraction | std::uint64_t{1} << 52, (field == 0 ? 1 : field) - 1075, bits >> 63 != 0};
}

/// Returns a * b rounded to 53 bits (ties to even), with an unbounded exponent.
GRADUS_HOST_DEVICE inline Scaled rounded_product(double a, double b) {
  const Scaled left = scaled(a);
  const Scaled right = scaled(b);
  UInt128 product = static_cast<UInt128>(left.mantissa) * right.mantissa;
  int exponent = left.exponent + right.exponent;
  const int drop = product == 0 ? 0 : 128 - leading_zeros(product) - 53;
  if (drop > 0) {
    const UInt128 half = UInt128{1} << (drop - 1);
    const UInt128 rest = product & ((half << 1) - 1);
    product >>= drop;
    exponent += drop;
    // May round the mantissa up to 2^53. This is valid, too.
    if (rest > half || (rest == half && (product & 1))) ++product;
  }
  return {static_cast<std::uint64_t>(product), exponent, left.negative != right.negative};
}

/// `product` is the product, in double, of a weight of at most 1 and a squared distance. Returns true only if `product`
/// certainly equals rounded_product(). This is the case if the scaling of the weight was exact and `product` is not
/// subnormal.
GRADUS_HOST_DEVICE inline bool is_plain_product(double scaled_weight, double product) {
  return scaled_weight >= 0x1p-900 && product >= 0x1p-1000;
}

/// Calls put(word, addend) for each word that changes when `value` is added.
template <class Put>
GRADUS_HOST_DEVICE void for_each_limb(Scaled value, const Put& put) {
  const int position = value.exponent - accumulator_least_exponent;
  const int word = position / 32;
  const UInt128 shifted = static_cast<UInt128>(value.mantissa) << (position % 32);  // below 2^(54 + 31)
  for (int limb = 0; limb < 3; ++limb) {
    const auto part = static_cast<std::int64_t>(static_cast<std::uint32_t>(shifted >> (32 * limb)));
    if (part != 0) put(word + limb, value.negative ? -part : part);
  }
}

class ExactAccumulator {
 public:
  using Limbs = std::array<std::int64_t, accumulator_limbs>;

  void add(double value) { add(scaled(value)); }
  void add(Scaled value) {
    for_each_limb(value, [this](int word, std::int64_t addend) { limbs_[static_cast<std::size_t>(word)] += addend; });
    count(1);
  }
  /// Adds a * b without rounding.
  void add_product(double a, double b);
  /// Adds integer * 2^exponent, with exponent >= accumulator_least_exponent.
  void add(Int128 integer, int exponent);
  void subtract_product(double a, double b) { add_product(-a, b); }
  void merge(const ExactAccumulator& other);
  /// Adds the limbs of another accumulator. Each limb may result from up to 2^31 additions.
  void merge(std::span<const std::int64_t> limbs);
  /// Propagates carries and returns the words. The words are then so small that the words of 2^31 accumulators can be
  /// added without overflow.
  const Limbs& propagated_limbs() {
    propagate();
    return limbs_;
  }

  int sign() const;

  /// Returns the sum rounded once to T (to nearest, ties to even; infinite if it is too large for T).
  template <class T>
  T round() const;

  /// Returns the sum divided by `denominator` (positive), rounded once to T.
  template <class T>
  T quotient(const ExactAccumulator& denominator) const;

 private:
  void count(std::int64_t additions) {
    additions_ += additions;
    if (additions_ >= std::int64_t{1} << 30) propagate();
  }
  void propagate();

  Limbs limbs_{};
  std::int64_t additions_ = 0;  ///< number of additions since the last propagation of carries
};

}  // namespace gradus::core
