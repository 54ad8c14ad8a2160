// Exact sums of the products of two weights, as integers in two's complement with as many 64-bit words as needed.
//
// A double is an integer times a power of two. So all weights of a set are integers times one common power of two.
// Their products, and all sums of products, are integers times another common power. WeightSpan scans the weights once.
// WeightSums then chooses the first of these forms that can hold all sums:
//
// * narrow: weights are integers below 2^63, and the sum of all products' magnitudes is below 2^127. A product costs
//   one 64-bit multiplication and one 128-bit addition.
// * wide: weights are integers below 2^63. Products are below 2^126, and fewer than 2^63 of them sum to less than
//   2^189, so a sum has three words.
// * shifted: the significant bits of both weights are multiplied (at most 106 bits) and added at the position of their
//   exponents. The number of words follows from the least and the greatest product and the number of products.
//
// The form is never shifted for f32 weights whose ratios are at most 2^39, for f64 weights whose ratios are at most
// 2^10, and for integers below 2^63. Words wrap around, so terms of both signs may be added in any order by any number
// of threads. Only the total must fit, and the number of words ensures that it does. Rounding happens once, at the end.
#pragma once

#include <bit>
#include <cstdint>

#include "core/exact_accumulator.hpp"
#include "core/exact_sum.hpp"
#include "core/host_device.hpp"

namespace gradus::pair_histogram_detail {

/// The range of bits in a set of weights. Weights of zero do not matter.
struct WeightSpan {
  int lowest_bit = 2000;      ///< all weights are multiples of 2^lowest_bit
  int least_exponent = 2000;  ///< least exponent that core::scaled() returns for the weights
  int above = -2000;          ///< all weights are below 2^above in magnitude

  bool empty() const { return above < lowest_bit; }
  GRADUS_HOST_DEVICE void add(double weight) {
    const core::Scaled bits = core::scaled(weight);
    if (bits.mantissa == 0) return;
    const int highest = 63 - core::leading_zeros(bits.mantissa);
    const int lowest = 63 - core::leading_zeros(bits.mantissa & (~bits.mantissa + 1));
    if (bits.exponent + lowest < lowest_bit) lowest_bit = bits.exponent + lowest;
    if (bits.exponent < least_exponent) least_exponent = bits.exponent;
    if (bits.exponent + highest >= above) above = bits.exponent + highest + 1;
  }
};

/// The product of two weights, in two's complement and with its sign extension. `low` must be added to word `begin` of
/// a sum.
struct WeightProduct {
  std::uint64_t low = 0;
  std::uint64_t middle = 0;
  std::uint64_t high = 0;
  std::uint64_t sign = 0;  ///< all ones if the product is negative, otherwise 0
  int begin = 0;
};

class WeightSums {
 public:
  enum class Form : std::uint8_t { narrow, wide, shifted };

  WeightSums() = default;
  /// Chooses the form for sums of at most `pairs` products.
  WeightSums(const WeightSpan& first, const WeightSpan& second, std::int64_t pairs);
  /// Returns the largest number of words that a sum may need if weights have `element_bytes` bytes.
  static int most_words(int element_bytes);

  GRADUS_HOST_DEVICE Form form() const { return form_; }
  /// Returns the number of words of a sum: 2 if narrow, 3 if wide. If shifted, each product begins at least 3 words
  /// before the end of the sum.
  GRADUS_HOST_DEVICE int words() const { return words_; }

  /// Returns a number of encoded second weights whose sum fits a signed word, or 0 if they are not integers.
  std::int64_t pairs_to_a_word() const { return pairs_to_a_word_; }

  GRADUS_HOST_DEVICE std::int64_t encode_first(double weight) const { return encode(weight, first_); }
  GRADUS_HOST_DEVICE std::int64_t encode_second(double weight) const { return encode(weight, second_); }

  GRADUS_HOST_DEVICE WeightProduct product(std::int64_t first, std::int64_t second) const {
    WeightProduct product;
    if (form_ != Form::shifted) {
      const core::Int128 value = static_cast<core::Int128>(first) * second;
      product.low = static_cast<std::uint64_t>(value);
      product.middle = static_cast<std::uint64_t>(value >> 64);
      product.sign = product.high = value < 0 ? ~std::uint64_t{0} : 0;
      return product;
    }
    const core::Scaled a = core::scaled(weight_of_bits(first));
    const core::Scaled b = core::scaled(weight_of_bits(second));
    const core::UInt128 value = static_cast<core::UInt128>(a.mantissa) * b.mantissa;
    if (value == 0) return product;  // the exponent of zero has no meaning
    const int shift = a.exponent + b.exponent - unit_;
    const int bits = shift % 64;
    product.begin = shift / 64;
    const core::UInt128 lower = value << bits;
    product.low = static_cast<std::uint64_t>(lower);
    product.middle = static_cast<std::uint64_t>(lower >> 64);
    product.high = static_cast<std::uint64_t>(value >> 64) >> 1 >> (63 - bits);
    if (a.negative != b.negative) {
      product.sign = ~std::uint64_t{0};
      product.low = std::uint64_t{0} - product.low;
      product.middle = ~product.middle + (product.low == 0 ? 1 : 0);
      product.high = ~product.high + (product.low == 0 && product.middle == 0 ? 1 : 0);
    }
    return product;
  }

  /// Adds a product to a sum of `words` words. add(word, value) must add `value` to one word and return the word's
  /// previous value. Additions may run concurrently in any order. If an addition wraps a word, the thread carries 1
  /// into the next word. The words are correct once all additions are done.
  template <class Add>
  GRADUS_HOST_DEVICE static void add_by(const WeightProduct& product, int words, const Add& add) {
    bool carry = false;
    const auto add_word = [&](int word, std::uint64_t part) {
      const std::uint64_t value = part + (carry ? 1 : 0);
      // `value` is 0 in two cases. If `part` is 0 and there is no carry, there is nothing to add. If every bit of
      // `part` is 1 and there is a carry, the carry passes to the next word.
      if (value == 0) return false;
      carry = add(word, value) + value < value;
      return true;
    };
    add_word(product.begin, product.low);
    add_word(product.begin + 1, product.middle);
    if (product.begin + 2 < words) add_word(product.begin + 2, product.high);
    for (int word = product.begin + 3; word < words && add_word(word, product.sign); ++word) continue;
  }

  void add(std::uint64_t* sum, std::int64_t first, std::int64_t second) const {
    if (form_ == Form::narrow) return add_narrow(sum, first, second);
    if (form_ == Form::wide) return add_wide(sum, first, second);
    add_shifted(sum, significant_bits(first), significant_bits(second));
  }
  static void add_narrow(std::uint64_t* sum, std::int64_t first, std::int64_t second) {
    const auto product = static_cast<core::UInt128>(static_cast<core::Int128>(first) * second);
    const core::UInt128 total = (static_cast<core::UInt128>(sum[1]) << 64 | sum[0]) + product;
    sum[0] = static_cast<std::uint64_t>(total);
    sum[1] = static_cast<std::uint64_t>(total >> 64);
  }
  static void add_wide(std::uint64_t* sum, std::int64_t first, std::int64_t second) {
    const core::Int128 product = static_cast<core::Int128>(first) * second;
    const auto bits = static_cast<core::UInt128>(product);
    const core::UInt128 total = (static_cast<core::UInt128>(sum[1]) << 64 | sum[0]) + bits;
    sum[0] = static_cast<std::uint64_t>(total);
    sum[1] = static_cast<std::uint64_t>(total >> 64);
    sum[2] += (total < bits ? 1 : 0) - static_cast<std::uint64_t>(product < 0 ? 1 : 0);
  }

  static core::Scaled significant_bits(std::int64_t encoded) { return core::scaled(weight_of_bits(encoded)); }
  /// Adds the product's three words, which are always within the sum. Then adds the sign extension and the carry to the
  /// following words, as long as this changes a word.
  void add_shifted(std::uint64_t* sum, const core::Scaled& first, const core::Scaled& second) const {
    const core::UInt128 value = static_cast<core::UInt128>(first.mantissa) * second.mantissa;
    if (value == 0) return;  // the exponent of zero has no meaning
    const int shift = first.exponent + second.exponent - unit_;
    const int bits = shift % 64;
    // In two's complement, the negative of a number is its complement plus one.
    const auto sign = std::uint64_t{0} - static_cast<std::uint64_t>(first.negative != second.negative ? 1 : 0);
    const core::UInt128 lower = value << bits;
    const std::uint64_t parts[3] = {static_cast<std::uint64_t>(lower) ^ sign,
                                    static_cast<std::uint64_t>(lower >> 64) ^ sign,
                                    (static_cast<std::uint64_t>(value >> 64) >> 1 >> (63 - bits)) ^ sign};
    int word = shift / 64;
    std::uint64_t carry = sign & 1;
    for (const std::uint64_t part : parts) {
      const core::UInt128 total = static_cast<core::UInt128>(sum[word]) + part + carry;
      sum[word++] = static_cast<std::uint64_t>(total);
      carry = static_cast<std::uint64_t>(total >> 64);
    }
    for (; sign + carry != 0 && word < words_; ++word) {
      const core::UInt128 total = static_cast<core::UInt128>(sum[word]) + sign + carry;
      sum[word] = static_cast<std::uint64_t>(total);
      carry = static_cast<std::uint64_t>(total >> 64);
    }
  }

  static void add_sum(std::uint64_t* sum, const std::uint64_t* other, int words) {
    std::uint64_t carry = 0;
    for (int word = 0; word < words; ++word) {
      const core::UInt128 total = static_cast<core::UInt128>(sum[word]) + other[word] + carry;
      sum[word] = static_cast<std::uint64_t>(total);
      carry = static_cast<std::uint64_t>(total >> 64);
    }
  }

  /// Returns the sum as a double, rounded to nearest, ties to even, or infinity if the sum is out of range.
  double round(const std::uint64_t* sum) const;

 private:
  /// Scales the weights of one set to integers. The scale has two factors, because the full power of two may be out of
  /// range.
  struct Scale {
    double half_way = 1;  ///< weight * half_way * rest is an integer
    double rest = 1;      ///< equal to half_way unless the exponent is odd
  };
  static Scale scale_of(const WeightSpan& span);

  GRADUS_HOST_DEVICE std::int64_t encode(double weight, const Scale& scale) const {
    if (form_ != Form::shifted) return static_cast<std::int64_t>(weight * scale.half_way * scale.rest);
    return bits_of_weight(weight);
  }
  GRADUS_HOST_DEVICE static std::int64_t bits_of_weight(double weight) {
#ifdef __CUDA_ARCH__
    return __double_as_longlong(weight);
#else
    return std::bit_cast<std::int64_t>(weight);
#endif
  }
  GRADUS_HOST_DEVICE static double weight_of_bits(std::int64_t bits) {
#ifdef __CUDA_ARCH__
    return __longlong_as_double(bits);
#else
    return std::bit_cast<double>(bits);
#endif
  }

  Form form_ = Form::narrow;
  int words_ = 2;
  int unit_ = 0;  ///< the unit of a sum is 2^unit_
  std::int64_t pairs_to_a_word_ = 0;
  Scale first_;
  Scale second_;
};

}  // namespace gradus::pair_histogram_detail
