#include "core/exact_accumulator.hpp"

#include <algorithm>
#include <vector>

namespace gradus::core {

namespace {

/// Digits in base 2^32, least significant first.
using Digits = std::vector<std::uint32_t>;

/// The number sign * digits * 2^exponent, without leading and trailing zero digits.
struct Magnitude {
  Digits digits;
  int exponent = 0;
  int sign = 0;

  int length() const {
    return digits.empty() ? 0 : 32 * static_cast<int>(digits.size()) - std::countl_zero(digits.back());
  }
};

Magnitude magnitude_of(ExactAccumulator::Limbs limbs) {
  // Propagates carries, rounding down. Afterwards, all limbs except the last one are in [0, 2^32). The last limb has
  // the sign of the sum.
  const auto settle = [](ExactAccumulator::Limbs& words) {
    std::int64_t carry = 0;
    for (std::size_t index = 0; index + 1 < words.size(); ++index) {
      const std::int64_t word = words[index] + carry;
      carry = word >> 32;
      words[index] = word & 0xffffffff;
    }
    words.back() += carry;
  };
  settle(limbs);
  Magnitude magnitude;
  magnitude.sign = 1;
  if (limbs.back() < 0) {
    magnitude.sign = -1;
    for (std::int64_t& limb : limbs) limb = -limb;
    settle(limbs);
  }
  const auto first = std::ranges::find_if(limbs, [](std::int64_t limb) { return limb != 0; });
  const auto last = std::find_if(limbs.rbegin(), limbs.rend(), [](std::int64_t limb) { return limb != 0; }).base();
  magnitude.exponent = accumulator_least_exponent + 32 * static_cast<int>(first - limbs.begin());
  for (auto limb = first; limb < last; ++limb) magnitude.digits.push_back(static_cast<std::uint32_t>(*limb));
  if (const auto upper = static_cast<std::uint32_t>(limbs.back() >> 32)) magnitude.digits.push_back(upper);
  if (magnitude.digits.empty()) magnitude.sign = 0;
  return magnitude;
}

void shift_left(Digits& digits, int bits) {
  digits.insert(digits.begin(), static_cast<std::size_t>(bits / 32), 0);
  bits %= 32;
  if (bits == 0) return;
  std::uint32_t carry = 0;
  for (std::uint32_t& digit : digits) {
    const std::uint32_t next = digit >> (32 - bits);
    digit = digit << bits | carry;
    carry = next;
  }
  if (carry != 0) digits.push_back(carry);
}

/// Returns a < b. Requires the same number of digits.
bool is_less(const Digits& a, const Digits& b) {
  return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

void subtract(Digits& from, const Digits& digits) {
  std::int64_t borrow = 0;
  for (std::size_t index = 0; index < from.size(); ++index) {
    const std::int64_t difference = std::int64_t{from[index]} - digits[index] + borrow;
    from[index] = static_cast<std::uint32_t>(difference);
    borrow = difference >> 32;
  }
}

/// Returns |dividend| / divisor, rounded once to T. The divisor has one digit, such as a count, so that each step
/// yields a digit of the quotient.
template <class T>
T short_quotient(const Magnitude& dividend, const Magnitude& divisor) {
  const std::uint64_t digit = divisor.digits.front();
  UInt128 quotient = 0;
  std::uint64_t rest = 0;
  int place = static_cast<int>(dividend.digits.size());
  while (quotient >> 64 == 0) {
    --place;
    rest = rest << 32 | (place < 0 ? 0 : dividend.digits[static_cast<std::size_t>(place)]);
    quotient = quotient << 32 | rest / digit;
    rest %= digit;
  }
  // The digits below `place` are not all zero, because the lowest digit is not zero.
  return round_scaled<T>(quotient, rest != 0 || place > 0, dividend.exponent - divisor.exponent + 32 * place);
}

}  // namespace

void ExactAccumulator::add_product(double a, double b) {
  const Scaled left = scaled(a);
  const Scaled right = scaled(b);
  const UInt128 product = static_cast<UInt128>(left.mantissa) * right.mantissa;
  const int exponent = left.exponent + right.exponent;
  const bool negative = left.negative != right.negative;
  constexpr std::uint64_t half = (std::uint64_t{1} << 53) - 1;
  add(Scaled{static_cast<std::uint64_t>(product) & half, exponent, negative});
  add(Scaled{static_cast<std::uint64_t>(product >> 53), exponent + 53, negative});
}

void ExactAccumulator::add(Int128 integer, int exponent) {
  const bool negative = integer < 0;
  UInt128 rest = negative ? -static_cast<UInt128>(integer) : static_cast<UInt128>(integer);
  for (; rest != 0; rest >>= 53, exponent += 53)
    add(Scaled{static_cast<std::uint64_t>(rest) & ((std::uint64_t{1} << 53) - 1), exponent, negative});
}

void ExactAccumulator::merge(const ExactAccumulator& other) {
  propagate();
  ExactAccumulator settled = other;
  settled.propagate();
  for (std::size_t index = 0; index < limbs_.size(); ++index) limbs_[index] += settled.limbs_[index];
  count(1);
}

void ExactAccumulator::merge(std::span<const std::int64_t> limbs) {
  ExactAccumulator other;
  std::copy(limbs.begin(), limbs.end(), other.limbs_.begin());
  merge(other);
}

void ExactAccumulator::propagate() {
  std::int64_t carry = 0;
  for (std::size_t index = 0; index + 1 < limbs_.size(); ++index) {
    const std::int64_t word = limbs_[index] + carry;
    carry = (word + (std::int64_t{1} << 31)) >> 32;  // rounded to nearest, so that words of either sign stay small
    limbs_[index] = word - (carry << 32);
  }
  limbs_.back() += carry;
  additions_ = 0;
}

int ExactAccumulator::sign() const { return magnitude_of(limbs_).sign; }

template <class T>
T ExactAccumulator::round() const {
  const Magnitude sum = magnitude_of(limbs_);
  if (sum.sign == 0) return 0;
  // The top four digits have at least 97 bits. `below` is the number of digits below them.
  const std::size_t below = sum.digits.size() > 4 ? sum.digits.size() - 4 : 0;
  UInt128 top = 0;
  for (std::size_t index = sum.digits.size(); index-- > below;) top = top << 32 | sum.digits[index];
  const int exponent = sum.exponent + 32 * static_cast<int>(below);
  // The digits below the top four are not all zero, because the lowest digit is not zero.
  const T magnitude = round_scaled<T>(top, below > 0, exponent);
  return sum.sign < 0 ? -magnitude : magnitude;
}

template <class T>
T ExactAccumulator::quotient(const ExactAccumulator& denominator) const {
  Magnitude rest = magnitude_of(limbs_);
  Magnitude divisor = magnitude_of(denominator.limbs_);
  if (rest.sign == 0) return 0;
  if (divisor.digits.size() == 1) {
    const T magnitude = short_quotient<T>(rest, divisor);
    return rest.sign < 0 ? -magnitude : magnitude;
  }
  // Aligns both numbers to the same length, so that the quotient is between 1/2 and 2. Then computes the quotient's
  // bits by long division.
  int exponent = rest.exponent - divisor.exponent;
  const int shift = divisor.length() - rest.length();
  exponent -= shift;
  shift_left(shift > 0 ? rest.digits : divisor.digits, shift > 0 ? shift : -shift);
  const std::size_t digits = std::max(rest.digits.size(), divisor.digits.size()) + 1;
  rest.digits.resize(digits);
  divisor.digits.resize(digits);
  std::uint64_t quotient = 0;
  for (int bit = 0; bit < 62; ++bit) {
    quotient <<= 1;
    if (!is_less(rest.digits, divisor.digits)) {
      subtract(rest.digits, divisor.digits);
      quotient |= 1;
    }
    shift_left(rest.digits, 1);
    rest.digits.resize(digits);
  }
  const bool sticky = std::any_of(rest.digits.begin(), rest.digits.end(), [](auto digit) { return digit != 0; });
  const T magnitude = round_scaled<T>(quotient, sticky, exponent - 61);
  return rest.sign < 0 ? -magnitude : magnitude;
}

template float ExactAccumulator::round() const;
template double ExactAccumulator::round() const;
template float ExactAccumulator::quotient(const ExactAccumulator&) const;
template double ExactAccumulator::quotient(const ExactAccumulator&) const;

}  // namespace gradus::core
