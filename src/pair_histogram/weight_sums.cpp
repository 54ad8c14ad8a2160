#include "pair_histogram/weight_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gradus::pair_histogram_detail {

namespace {

int words_for(int bits) { return (bits + 63) / 64; }

/// Returns an upper limit for the exponents of core::scaled(). Only denormal numbers have exponents above `above` - 53.
int greatest_exponent(const WeightSpan& span) { return std::max(span.above - 53, span.least_exponent); }

/// Returns the number of bits that a signed sum of `pairs` products needs, if each product is below 2^bits.
int bits_of_sum(int bits, std::int64_t pairs) { return bits + std::bit_width(static_cast<std::uint64_t>(pairs)) + 1; }

}  // namespace

// The scale has two factors because 1 / 2^-1074 is not a finite double. Both multiplications are exact: a weight is a
// multiple of 2^lowest_bit, and the intermediate product is between the weight and the integer that results.
WeightSums::Scale WeightSums::scale_of(const WeightSpan& span) {
  const int half_way = span.lowest_bit / 2;
  return {std::ldexp(1.0, -half_way), std::ldexp(1.0, half_way - span.lowest_bit)};
}

WeightSums::WeightSums(const WeightSpan& first, const WeightSpan& second, std::int64_t pairs) {
  if (first.empty() || second.empty()) {  // all products are zero
    first_.half_way = second_.half_way = 0;
    return;
  }
  first_ = scale_of(first);
  second_ = scale_of(second);
  constexpr int integer_bits = 63;
  const int above = first.above + second.above;
  if (first.above - first.lowest_bit <= integer_bits && second.above - second.lowest_bit <= integer_bits) {
    unit_ = first.lowest_bit + second.lowest_bit;
    words_ = std::max(2, words_for(bits_of_sum(above - unit_, pairs)));
    form_ = words_ == 2 ? Form::narrow : Form::wide;
    pairs_to_a_word_ = std::int64_t{1} << std::min(62, 63 - (second.above - second.lowest_bit));
  } else {
    unit_ = first.least_exponent + second.least_exponent;
    words_ = std::max((greatest_exponent(first) + greatest_exponent(second) - unit_) / 64 + 3,
                      words_for(bits_of_sum(above - unit_, pairs)));
    form_ = Form::shifted;
  }
}

int WeightSums::most_words(int element_bytes) {
  constexpr std::int64_t most_pairs = std::int64_t{1} << 62;
  // The number of bits from the highest bit to the lowest bit that a weight may have.
  const int of_a_weight = element_bytes == 4 ? 128 + 149 + 52 : 501 + 1074;
  return words_for(bits_of_sum(2 * of_a_weight, most_pairs));
}

double WeightSums::round(const std::uint64_t* sum) const {
  const bool negative = sum[words_ - 1] >> 63;
  // Visits the words of the magnitude, beginning with the lowest. A negative number is negated word by word.
  bool all_zero_below = true;
  core::UInt128 top = 0;  // the highest nonzero word and the word below it
  bool sticky = false;    // true if any bit below `top` is set
  int exponent = unit_ - 64;
  std::uint64_t below = 0;
  bool below_that = false;
  for (int word = 0; word < words_; ++word) {
    std::uint64_t value = sum[word];
    if (negative) value = ~value + (all_zero_below ? 1 : 0);
    all_zero_below = all_zero_below && sum[word] == 0;
    if (value != 0) {
      top = static_cast<core::UInt128>(value) << 64 | below;
      sticky = below_that;
      exponent = unit_ + 64 * (word - 1);
    }
    below_that = below_that || below != 0;
    below = value;
  }
  const double magnitude = core::round_scaled<double>(top, sticky, exponent);
  return negative ? -magnitude : magnitude;
}

}  // namespace gradus::pair_histogram_detail
