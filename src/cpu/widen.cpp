#include "cpu/widen.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/widen.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "core/half.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradus::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Converts `count` elements: whole vectors by `vector`, and the rest by `single`.
template <class Stored, class Vector, class Single>
HWY_INLINE void convert(const Stored* from, std::int64_t count, float* to, const Vector& vector, const Single& single) {
  const hn::ScalableTag<float> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  std::int64_t at = 0;
  for (; at + width <= count; at += width) hn::StoreU(vector(from + at), lanes, to + at);
  for (; at < count; ++at) to[at] = single(from[at]);
}

template <class Integer>
void widen_integers(const Integer* from, std::int64_t count, float* to) {
  const hn::ScalableTag<float> lanes;
  const hn::RebindToSigned<decltype(lanes)> integers;
  const hn::Rebind<Integer, decltype(lanes)> narrow;
  convert(
      from, count, to,
      [&](const Integer* some)
          HWY_ATTR { return hn::ConvertTo(lanes, hn::PromoteTo(integers, hn::LoadU(narrow, some))); },
      [](Integer one) { return static_cast<float>(one); });
}

void widen_halves(const std::uint16_t* from, std::int64_t count, float* to) {
  const hn::ScalableTag<float> lanes;
  const hn::Rebind<std::uint16_t, decltype(lanes)> narrow;
  const hn::Rebind<hwy::float16_t, decltype(lanes)> halves;
  convert(
      from, count, to,
      [&](const std::uint16_t* some)
          HWY_ATTR { return hn::PromoteTo(lanes, hn::BitCast(halves, hn::LoadU(narrow, some))); },
      [](std::uint16_t one) { return core::widen_f16(one); });
}

void widen_brain_halves(const std::uint16_t* from, std::int64_t count, float* to) {
  const hn::ScalableTag<float> lanes;
  const hn::RebindToUnsigned<decltype(lanes)> integers;
  const hn::Rebind<std::uint16_t, decltype(lanes)> narrow;
  convert(
      from, count, to,
      [&](const std::uint16_t* some)
          HWY_ATTR { return hn::BitCast(lanes, hn::ShiftLeft<16>(hn::PromoteTo(integers, hn::LoadU(narrow, some)))); },
      [](std::uint16_t one) { return core::widen_bf16(one); });
}

void widen_elements(StoredType type, const void* from, std::int64_t count, float* to) {
  switch (type) {
    case StoredType::u8: return widen_integers(static_cast<const std::uint8_t*>(from), count, to);
    case StoredType::i8: return widen_integers(static_cast<const std::int8_t*>(from), count, to);
    case StoredType::f16: return widen_halves(static_cast<const std::uint16_t*>(from), count, to);
    case StoredType::bf16: return widen_brain_halves(static_cast<const std::uint16_t*>(from), count, to);
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::cpu {

HWY_EXPORT(widen_elements);

void widen(StoredType type, const void* from, std::int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_elements)(type, from, count, to);
}

}  // namespace gradus::cpu
#endif
