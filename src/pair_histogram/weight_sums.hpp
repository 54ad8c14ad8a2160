// The sums of the products of two weights, exactly: whole numbers in two's complement, of as many words of 64 bits as
// the weights at hand need.
//
// A double is a whole number times a power of two. So the weights of some points are whole numbers times one power of
// two, products of two of them are whole numbers times the product of both powers, and so is the sum of any number of
// products. WeightSpan looks at the weights once, and from what it finds WeightSums takes the first form that holds
// everything:
//
// * narrow: weights are whole numbers below 2^63, all products together below 2^127. A multiplication of 64 bits, an
//   addition of 128.
// * wide: weights are whole numbers below 2^63. Products are below 2^126, fewer than 2^63 of them below 2^189: three
//   words.
// * shifted: the significant bits of both weights are multiplied, 106 bits at most, and added where their exponents
//   say. As many words as lie between the least and the greatest product, and their number.
//
// f32 weights that differ by a factor of up to 2^39 are never shifted, nor are f64 weights up to one of 2^10, nor whole
// numbers. Words wrap, so that terms of both signs may be added in any order, by any number of threads: what counts is
// that the sum of all of them fits, which the number of words is made for. To round is left to the end.
#pragma once

#include <bit>
#include <cstdint>

#include "core/exact_accumulator.hpp"
#include "core/exact_sum.hpp"
#include "core/host_device.hpp"

namespace gradus::pair_histogram_detail {

/// What the weights of some points are like; those that are zero do not matter.
struct WeightSpan {
  int lowest_bit = 2000;      ///< 2^this is the greatest power of two of which all are multiples
  int least_exponent = 2000;  ///< of core::scaled()
  int above = -2000;          ///< all are below 2^this in magnitude

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

/// The product of two weights: three words in two's complement, of which the first is word `begin` of a sum, and what
/// stands above them.
struct WeightProduct {
  std::uint64_t low = 0;
  std::uint64_t middle = 0;
  std::uint64_t high = 0;
  std::uint64_t sign = 0;  ///< all ones where it is negative
  int begin = 0;
};

class WeightSums {
 public:
  enum class Form : std::uint8_t { narrow, wide, shifted };

  WeightSums() = default;
  /// For the sum of at most `pairs` products.
  WeightSums(const WeightSpan& first, const WeightSpan& second, std::int64_t pairs);
  /// Words that a sum takes at most, of weights of elements of so many bytes.
  static int most_words(int element_bytes);

  GRADUS_HOST_DEVICE Form form() const { return form_; }
  /// Words of a sum: 2 where narrow, 3 where wide, at least 3 from where any product begins where shifted.
  GRADUS_HOST_DEVICE int words() const { return words_; }

  /// A weight as product() wants it.
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
    if (value == 0) return product;  // a zero has no exponent to go by
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

  /// Adds a product to a sum of `words` by `add(word, value)`, which adds to a word of it and returns what it was
  /// before. The words are right as soon as all additions are there, in whatever order they come: where one wraps, who
  /// made it wrap carries.
  template <class Add>
  GRADUS_HOST_DEVICE static void add_by(const WeightProduct& product, int words, const Add& add) {
    bool carry = false;
    const auto add_word = [&](int word, std::uint64_t part) {
      const std::uint64_t value = part + (carry ? 1 : 0);
      if (value == 0) return false;  // nothing, or all ones and a carry, which is handed on
      carry = add(word, value) + value < value;
      return true;
    };
    add_word(product.begin, product.low);
    add_word(product.begin + 1, product.middle);
    if (product.begin + 2 < words) add_word(product.begin + 2, product.high);
    for (int word = product.begin + 3; word < words && add_word(word, product.sign); ++word) continue;
  }

  /// The same for a sum that no other thread has.
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
  /// Words that the number of them makes sure are there, and what stands above as far as it changes something.
  void add_shifted(std::uint64_t* sum, const core::Scaled& first, const core::Scaled& second) const {
    const core::UInt128 value = static_cast<core::UInt128>(first.mantissa) * second.mantissa;
    if (value == 0) return;  // a zero has no exponent to go by
    const int shift = first.exponent + second.exponent - unit_;
    const int bits = shift % 64;
    // The negative of a number is its complement and one more.
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

  /// Adds one sum to another.
  static void add_sum(std::uint64_t* sum, const std::uint64_t* other, int words) {
    std::uint64_t carry = 0;
    for (int word = 0; word < words; ++word) {
      const core::UInt128 total = static_cast<core::UInt128>(sum[word]) + other[word] + carry;
      sum[word] = static_cast<std::uint64_t>(total);
      carry = static_cast<std::uint64_t>(total >> 64);
    }
  }

  /// The sum as a double, rounded to nearest, ties to even; infinity where it is beyond the range.
  double round(const std::uint64_t* sum) const;

 private:
  /// Of the weights of one kind of points.
  struct Scale {
    double half_way = 1;  ///< times the square of this a weight is a whole number
    double rest = 1;      ///< (with what an odd exponent leaves)
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
  int unit_ = 0;  ///< a sum counts steps of 2^unit
  Scale first_;
  Scale second_;
};

}  // namespace gradus::pair_histogram_detail
