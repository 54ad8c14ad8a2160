#include "pair_histogram/sky/exact_number.hpp"

#include "core/exact_accumulator.hpp"

namespace gradus::pair_histogram_detail {

Dyadic::Dyadic(double value) {
  const core::Scaled number = core::scaled(value);
  negative_ = number.negative;
  word_ = (number.exponent >= 0 ? number.exponent : number.exponent - 31) / 32;  // rounds down
  const core::UInt128 bits = static_cast<core::UInt128>(number.mantissa) << (number.exponent - 32 * word_);
  for (int limb = 0; limb < 3; ++limb) limbs_.push_back(static_cast<std::uint32_t>(bits >> (32 * limb)));
  trim();
}

void Dyadic::trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  const auto low = std::ranges::find_if(limbs_, [](std::uint32_t limb) { return limb != 0; }) - limbs_.begin();
  limbs_.erase(limbs_.begin(), limbs_.begin() + low);
  word_ = limbs_.empty() ? 0 : word_ + static_cast<int>(low);
}

Dyadic::Limbs Dyadic::shifted(const Limbs& limbs, int words) {
  Limbs result(static_cast<std::size_t>(words));
  result.insert(result.end(), limbs.begin(), limbs.end());
  return result;
}

Dyadic operator+(const Dyadic& a, const Dyadic& b) {
  if (a.limbs_.empty()) return b;
  if (b.limbs_.empty()) return a;
  Dyadic sum(0);
  sum.word_ = std::min(a.word_, b.word_);
  Dyadic::Limbs larger = Dyadic::shifted(a.limbs_, a.word_ - sum.word_);
  Dyadic::Limbs smaller = Dyadic::shifted(b.limbs_, b.word_ - sum.word_);
  const std::size_t length = std::max(larger.size(), smaller.size()) + 1;
  larger.resize(length);
  smaller.resize(length);
  sum.negative_ = a.negative_;
  if (std::lexicographical_compare(larger.rbegin(), larger.rend(), smaller.rbegin(), smaller.rend())) {
    std::swap(larger, smaller);
    sum.negative_ = b.negative_;
  }
  const std::int64_t factor = a.negative_ == b.negative_ ? 1 : -1;
  std::int64_t carry = 0;
  for (std::size_t limb = 0; limb < length; ++limb) {
    carry += std::int64_t{larger[limb]} + factor * std::int64_t{smaller[limb]};
    larger[limb] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  sum.limbs_ = std::move(larger);
  sum.trim();
  return sum;
}

Dyadic operator*(const Dyadic& a, const Dyadic& b) {
  Dyadic product(0);
  product.negative_ = a.negative_ != b.negative_;
  product.word_ = a.word_ + b.word_;
  product.limbs_.resize(a.limbs_.size() + b.limbs_.size());
  for (std::size_t i = 0; i < a.limbs_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.limbs_.size(); ++j) {
      carry += std::uint64_t{a.limbs_[i]} * b.limbs_[j] + product.limbs_[i + j];
      product.limbs_[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product.limbs_[i + b.limbs_.size()] = static_cast<std::uint32_t>(carry);
  }
  product.trim();
  return product;
}

}  // namespace gradus::pair_histogram_detail
