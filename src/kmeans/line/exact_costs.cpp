#include "kmeans/line/exact_costs.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "core/exact_accumulator.hpp"

namespace gradus::kmeans_detail {

LongInteger::LongInteger(std::uint64_t mantissa, int shift, bool negative) : negative_(negative) {
  limbs_.resize(static_cast<std::size_t>(shift / 32));
  core::UInt128 rest = static_cast<core::UInt128>(mantissa) << (shift % 32);
  for (; rest != 0; rest >>= 32) limbs_.push_back(static_cast<std::uint32_t>(rest));
  trim();
}

void LongInteger::trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  if (limbs_.empty()) negative_ = false;
}

LongInteger LongInteger::operator-() const {
  LongInteger result = *this;
  if (!limbs_.empty()) result.negative_ = !negative_;
  return result;
}

int LongInteger::compare_magnitudes(const LongInteger& a, const LongInteger& b) {
  if (a.limbs_.size() != b.limbs_.size()) return a.limbs_.size() < b.limbs_.size() ? -1 : 1;
  const auto [here, there] = std::mismatch(a.limbs_.rbegin(), a.limbs_.rend(), b.limbs_.rbegin());
  return here == a.limbs_.rend() ? 0 : *here < *there ? -1 : 1;
}

LongInteger& LongInteger::operator+=(const LongInteger& other) {
  if (negative_ == other.negative_) {
    limbs_.resize(std::max(limbs_.size(), other.limbs_.size()) + 1);
    std::uint64_t carry = 0;
    for (std::size_t index = 0; index < limbs_.size(); ++index) {
      carry += limbs_[index];
      if (index < other.limbs_.size()) carry += other.limbs_[index];
      limbs_[index] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    trim();
    return *this;
  }
  if (compare_magnitudes(*this, other) < 0) {
    const LongInteger less = *this;
    *this = other;
    return *this += less;
  }
  std::int64_t borrow = 0;
  for (std::size_t index = 0; index < limbs_.size(); ++index) {
    borrow += limbs_[index];
    if (index < other.limbs_.size()) borrow -= other.limbs_[index];
    limbs_[index] = static_cast<std::uint32_t>(borrow);
    borrow >>= 32;
  }
  trim();
  return *this;
}

LongInteger operator*(const LongInteger& a, const LongInteger& b) {
  LongInteger product;
  product.limbs_.resize(a.limbs_.size() + b.limbs_.size());
  for (std::size_t i = 0; i < a.limbs_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.limbs_.size(); ++j) {
      carry += static_cast<std::uint64_t>(a.limbs_[i]) * b.limbs_[j] + product.limbs_[i + j];
      product.limbs_[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product.limbs_[i + b.limbs_.size()] = static_cast<std::uint32_t>(carry);
  }
  product.negative_ = a.negative_ != b.negative_;
  product.trim();
  return product;
}

namespace {

/// Returns the exponent of the lowest bit that is set in any of the numbers.
int exponent_of_grid(const std::vector<double>& numbers) {
  int least = 1024;
  for (const double number : numbers) {
    const core::Scaled scaled = core::scaled(number);
    if (scaled.mantissa != 0) least = std::min(least, scaled.exponent + std::countr_zero(scaled.mantissa));
  }
  return least == 1024 ? 0 : least;
}

LongInteger on_grid(double number, int exponent) {
  core::Scaled scaled = core::scaled(number);
  if (scaled.mantissa == 0) return {};
  const int zeros = std::countr_zero(scaled.mantissa);
  return {scaled.mantissa >> zeros, scaled.exponent + zeros - exponent, scaled.negative};
}

}  // namespace

void ExactCosts::prepare() {
  value_exponent_ = exponent_of_grid(line_.values);
  weight_exponent_ = exponent_of_grid(line_.weights);
  constexpr std::int64_t most = std::int64_t{1} << 16;
  spacing_ = line_.groups() / most + 1;
  Sums sums;
  for (std::int64_t group = 0; group < line_.groups(); ++group) {
    if (group % spacing_ == 0) every_.push_back(sums);
    add(sums, group);
  }
  if (line_.groups() % spacing_ == 0) every_.push_back(sums);
}

void ExactCosts::add(Sums& sums, std::int64_t group) const {
  const auto index = static_cast<std::size_t>(group);
  LongInteger weight(static_cast<std::uint64_t>(line_.first[index + 1] - line_.first[index]), 0, false);
  if (!line_.weights.empty()) {
    weight = {};
    for (auto member = line_.first[index]; member < line_.first[index + 1]; ++member)
      weight += on_grid(line_.weights[static_cast<std::size_t>(member)], weight_exponent_);
  }
  sums.weight += weight;
  sums.sum += weight * on_grid(line_.values[index], value_exponent_);
}

ExactCosts::Sums ExactCosts::before(std::int64_t group) const {
  Sums sums = every_[static_cast<std::size_t>(group / spacing_)];
  for (std::int64_t next = group / spacing_ * spacing_; next < group; ++next) add(sums, next);
  return sums;
}

int ExactCosts::compare(std::span<const LineRange> one, std::span<const LineRange> other) {
  if (every_.empty()) prepare();
  // The sums of squares of both sides are equal, so the squared sums divided by the weights decide. Equal weights are
  // added up first.
  std::map<LongInteger, LongInteger> squares;
  const auto add = [&](std::span<const LineRange> ranges, bool negative) {
    for (const LineRange& range : ranges) {
      Sums sums = before(range.last);
      const Sums until = before(range.first);
      sums.weight += -until.weight;
      sums.sum += -until.sum;
      const LongInteger square = sums.sum * sums.sum;
      squares[sums.weight] += negative ? -square : square;
    }
  };
  add(one, true);
  add(other, false);
  LongInteger numerator;
  LongInteger denominator(1, 0, false);
  for (const auto& [weight, square] : squares) {
    if (square.sign() == 0) continue;
    numerator = numerator * weight;
    numerator += square * denominator;
    denominator = denominator * weight;
  }
  return numerator.sign();
}

}  // namespace gradus::kmeans_detail
