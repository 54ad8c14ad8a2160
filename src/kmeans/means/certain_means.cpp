#include "kmeans/means/certain_means.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/means/certain_means.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "core/exact_sum.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

#if HWY_NATIVE_FMA && HWY_HAVE_FLOAT64 && HWY_HAVE_INTEGER64
#define GRADUS_HAS_MEANS 1
#else
#define GRADUS_HAS_MEANS 0
#endif

#if GRADUS_HAS_MEANS

namespace hn = hwy::HWY_NAMESPACE;

template <class Lanes>
struct Rounded {
  hn::Vec<Lanes> value;  ///< a 64-bit integer rounded to a double
  hn::Vec<Lanes> rest;   ///< the rounding error
};

template <class Lanes>
HWY_INLINE Rounded<Lanes> rounded(Lanes lanes, hn::Vec<hn::RebindToSigned<Lanes>> integers) {
#if HWY_TARGET <= HWY_AVX3
  const hn::RebindToSigned<Lanes> whole;
  const auto value = hn::ConvertTo(lanes, integers);
  return {value, hn::ConvertTo(lanes, integers - hn::ConvertTo(whole, value))};
#else
  // This target has no instruction that converts 64-bit integers to doubles. Instead, the upper half of the integer is
  // written into the low bits of one double, and the lower half into the low bits of another double. The values of
  // these doubles are 2^84 + 2^63 + upper * 2^32 and 2^52 + lower. Subtracting the constants 2^84 + 2^63 and 2^52 is
  // exact. The rounding error of the sum of the two differences is computed exactly, too (Dekker).
  const hn::RebindToUnsigned<Lanes> bits;
  const auto pattern = hn::BitCast(bits, integers);
  const auto upper_bits = hn::ShiftRight<32>(pattern ^ hn::Set(bits, std::uint64_t{1} << 63));
  const auto lower_bits = pattern & hn::Set(bits, 0xffffffffu);
  const auto upper =
      hn::BitCast(lanes, upper_bits | hn::BitCast(bits, hn::Set(lanes, 0x1p84))) - hn::Set(lanes, 0x1p84 + 0x1p63);
  const auto lower =
      hn::BitCast(lanes, lower_bits | hn::BitCast(bits, hn::Set(lanes, 0x1p52))) - hn::Set(lanes, 0x1p52);
  const auto value = upper + lower;
  return {value, lower - (value - upper)};
#endif
}

// Computes the means of one vector of columns. The vector begins at column `column`. Returns a mask of the columns
// whose means are certain.
template <class T, class Lanes>
HWY_INLINE hn::Mask<Lanes> means_of(Lanes lanes, const ClusterSums& sums, std::int64_t column, T* means) {
  const hn::RebindToSigned<Lanes> integers;
  const auto count = hn::Set(lanes, static_cast<double>(sums.count));
  const auto bits = hn::Set(lanes, sums.to_low);
  const auto magic = hn::Set(integers, static_cast<std::int64_t>(static_cast<std::uint64_t>(sums.count) *
                                                                 static_cast<std::uint64_t>(core::integer_magic_bits)));
  const auto high = hn::LoadU(integers, sums.high + column) - magic;
  const auto low = hn::LoadU(integers, sums.low + column) - magic;
  // |high| is at most 2^62. Therefore, after rounding to a double, the number still fits in 64 bits.
  const auto [a, b] = rounded(lanes, high);
  const auto [c, of_c] = rounded(lanes, low);
  const auto first = a * bits;
  const auto second = b * bits;
  const auto rest = second + c;
  const auto s = first + rest;
  const auto of_rest = s - first;
  const auto e = (first - (s - of_rest)) + (rest - of_rest);
  const auto q = s / count;
  const auto r = (hn::NegMulAdd(q, count, s) + e) / count;
  const auto inverse = hn::Set(lanes, (1 + 0x1p-50) / static_cast<double>(sums.count));
  const auto any_bound = hn::Set(lanes, 2.0) +
                         (hn::Set(lanes, 0x1p11) + hn::Abs(rest) * hn::Set(lanes, 0x1p-50)) * inverse +
                         hn::Abs(q) * hn::Set(lanes, 0x1p-99);
  // `lost` is the rounding error of `rest` (Knuth's sum). The low limb may have more bits than a double, so `c` has a
  // rounding error as well. The mean is exact only if both rounding errors are zero.
  const auto of_low = rest - second;
  const auto lost = (second - (rest - of_low)) + (c - of_low);
  const bool may_be_exact = sums.exact && (sums.count & (sums.count - 1)) == 0;
  const auto whole = of_c == hn::Zero(lanes);
  const auto exact =
      hn::And(hn::And(whole, lost == hn::Zero(lanes)), hn::Set(lanes, may_be_exact ? 1.0 : 0.0) == hn::Set(lanes, 1.0));
  const auto bound = hn::IfThenZeroElse(exact, any_bound);
  // A step is 2^-bits / to_high, which is a power of two. The multiplication by a step is exact if the result is a
  // normal number.
  const auto step = (hn::Set(lanes, 1.0) / bits) / hn::LoadU(lanes, sums.to_high + column);
  const auto mean = (q + r) * step;
  const auto below = (q + (r - bound)) * step;
  const auto above = (q + (r + bound)) * step;
  if constexpr (sizeof(T) == 8) {
    hn::StoreU(mean, lanes, means + column);
    const auto size = hn::Abs(mean);
    return hn::And(hn::And(below == mean, above == mean),
                   hn::And(size > hn::Set(lanes, 0x1p-1000), size < hn::Set(lanes, 0x1p1000)));
  } else {
    // The exact mean is between these two doubles. If both doubles round to the same T, the exact mean rounds to this
    // T, too.
    const hn::Rebind<float, Lanes> narrow;
    const auto nearest = hn::DemoteTo(narrow, mean);
    hn::StoreU(nearest, narrow, means + column);
    const auto wide = hn::PromoteTo(lanes, nearest);
    const auto rounded_once = hn::And(exact, r == hn::Zero(lanes));
    const auto margin = hn::IfThenZeroElse(rounded_once, hn::Abs(mean) * hn::Set(lanes, 0x1p-51));
    const auto least = hn::PromoteTo(lanes, hn::DemoteTo(narrow, below - margin));
    const auto greatest = hn::PromoteTo(lanes, hn::DemoteTo(narrow, above + margin));
    const auto size = hn::Abs(wide);
    return hn::And(hn::And(least == wide, greatest == wide),
                   hn::And(size > hn::Set(lanes, 0x1p-100), size < hn::Set(lanes, 0x1p100)));
  }
}

#endif

template <class T>
std::int64_t certain_means_kernel(const ClusterSums& sums, T* means, std::int32_t* open) {
  std::int64_t found = 0;
  std::int64_t column = 0;
#if GRADUS_HAS_MEANS
  const hn::ScalableTag<double> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  for (; column + width <= sums.columns; column += width) {
    const auto certain = means_of(lanes, sums, column, means);
    if (hn::AllTrue(lanes, certain)) continue;
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(lanes, certain, bytes);
    for (std::int64_t lane = 0; lane < width; ++lane) {
      open[found] = static_cast<std::int32_t>(column + lane);
      found += (bytes[0] >> lane & 1) == 0;
    }
  }
  const hn::CappedTag<double, 1> one;
  for (; column < sums.columns; ++column) {
    open[found] = static_cast<std::int32_t>(column);
    found += !hn::AllTrue(one, means_of(one, sums, column, means));
  }
#else
  (void)means;
  for (; column < sums.columns; ++column) open[found++] = static_cast<std::int32_t>(column);
#endif
  return found;
}

bool means_from_middle_kernel(const ClusterSums& sums, const double* middle, double* out) {
#if GRADUS_HAS_MEANS
  const hn::ScalableTag<double> lanes;
  const hn::RebindToSigned<decltype(lanes)> integers;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto count = hn::Set(lanes, static_cast<double>(sums.count));
  const auto bits = hn::Set(lanes, sums.to_low);
  const auto of_bits = hn::Set(lanes, 1 / sums.to_low);
  const auto zero = hn::Zero(lanes);
  const auto magic = hn::Set(integers, static_cast<std::int64_t>(static_cast<std::uint64_t>(sums.count) *
                                                                 static_cast<std::uint64_t>(core::integer_magic_bits)));
  bool in_range = true;
  for (std::int64_t column = 0; column < sums.columns; ++column) {
    const double steps_of_one = sums.to_high[column] * sums.to_low;
    in_range = in_range && steps_of_one >= 0x1p-1000 && steps_of_one <= 0x1p1000;
  }
  if (!in_range) return false;
  const auto whole = [&](std::int64_t column, auto load, auto load_limbs, auto store) HWY_ATTR {
    const auto high = load_limbs(sums.high + column) - magic;
    const auto low = load_limbs(sums.low + column) - magic;
    const auto [upper, of_upper] = rounded(lanes, high);
    const auto [lower, of_lower] = rounded(lanes, low);
    const auto rest = of_upper * bits + of_lower;
    const auto above = upper * bits;
    const auto sum = above + lower;
    const auto taken = sum - above;
    const auto small = ((above - (sum - taken)) + (lower - taken)) + rest;
    const auto quotient = sum / count;
    const auto remainder = hn::NegMulAdd(quotient, count, sum) + (small - quotient * zero);
    const auto correction = remainder / count;
    const auto scale = of_bits / load(sums.to_high + column);
    store(quotient * scale - load(middle + column) + correction * scale, out + column);
  };
  std::int64_t column = 0;
  for (; column + width <= sums.columns; column += width)
    whole(
        column, [&](const double* from) HWY_ATTR { return hn::LoadU(lanes, from); },
        [&](const std::int64_t* from) HWY_ATTR { return hn::LoadU(integers, from); },
        [&](auto value, double* to) HWY_ATTR { hn::StoreU(value, lanes, to); });
  if (column < sums.columns) {
    const auto some = hn::FirstN(lanes, static_cast<std::size_t>(sums.columns - column));
    const auto some_limbs = hn::FirstN(integers, static_cast<std::size_t>(sums.columns - column));
    whole(
        column,
        [&](const double* from)
            HWY_ATTR { return hn::IfThenElse(some, hn::MaskedLoad(some, lanes, from), hn::Set(lanes, 1.0)); },
        [&](const std::int64_t* from) HWY_ATTR { return hn::MaskedLoad(some_limbs, integers, from); },
        [&](auto value, double* to) HWY_ATTR { hn::BlendedStore(value, some, lanes, to); });
  }
  return true;
#else
  (void)sums, (void)middle, (void)out;
  return false;
#endif
}

std::int64_t certain_means_f32(const ClusterSums& sums, float* means, std::int32_t* open) {
  return certain_means_kernel(sums, means, open);
}
std::int64_t certain_means_f64(const ClusterSums& sums, double* means, std::int32_t* open) {
  return certain_means_kernel(sums, means, open);
}

#undef GRADUS_HAS_MEANS

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::kmeans_detail {

HWY_EXPORT(certain_means_f32);
HWY_EXPORT(certain_means_f64);
HWY_EXPORT(means_from_middle_kernel);

template <class T>
std::int64_t certain_means(const ClusterSums& sums, T* means, std::int32_t* open) {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(certain_means_f32)(sums, means, open);
  else return HWY_DYNAMIC_DISPATCH(certain_means_f64)(sums, means, open);
}

bool means_from_middle(const ClusterSums& sums, const double* middle, double* out) {
  return HWY_DYNAMIC_DISPATCH(means_from_middle_kernel)(sums, middle, out);
}

template std::int64_t certain_means(const ClusterSums&, float*, std::int32_t*);
template std::int64_t certain_means(const ClusterSums&, double*, std::int32_t*);

}  // namespace gradus::kmeans_detail
#endif
