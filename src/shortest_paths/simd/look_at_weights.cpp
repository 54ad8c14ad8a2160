#include "shortest_paths/simd/look_at_weights.hpp"

#include "shortest_paths/no_route.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shortest_paths/simd/look_at_weights.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace gradus::shortest_paths_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE WeightFacts<T> look(const T* weights, std::int64_t count, T no_edge) {
  constexpr bool floating = std::numeric_limits<T>::has_infinity;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  WeightFacts<T> seen;
  const auto none = hn::Set(d, no_route<T>());
  const auto other_none = hn::Set(d, no_edge);
  auto least = hn::Set(d, seen.least);
  auto greatest = hn::Set(d, seen.greatest);
  auto all_possible = hn::Eq(none, none);
  const auto impossible = hn::Set(d, floating ? -no_route<T>() : T{0});
  std::int64_t first = 0;
  for (; first + lanes <= count; first += lanes) {
    const auto weight = hn::LoadU(d, weights + first);
    const auto edge = hn::And(hn::Ne(weight, none), hn::Ne(weight, other_none));
    // The comparison is false for NaN.
    if constexpr (floating) all_possible = hn::And(all_possible, hn::Gt(weight, impossible));
    seen.edges += static_cast<std::int64_t>(hn::CountTrue(d, edge));
    least = hn::Min(least, hn::IfThenElse(edge, weight, least));
    greatest = hn::Max(greatest, hn::IfThenElse(edge, weight, greatest));
  }
  if constexpr (floating) seen.impossible = !hn::AllTrue(d, all_possible);
  seen.least = hn::GetLane(hn::MinOfLanes(d, least));
  seen.greatest = hn::GetLane(hn::MaxOfLanes(d, greatest));
  for (; first < count; ++first) {
    const T weight = weights[first];
    if constexpr (floating) seen.impossible |= !(weight > -no_route<T>());
    if (weight == no_route<T>() || weight == no_edge) continue;
    ++seen.edges;
    seen.least = std::min(seen.least, weight);
    seen.greatest = std::max(seen.greatest, weight);
  }
  return seen;
}

}  // namespace

WeightFacts<std::int32_t> look_i32(const std::int32_t* weights, std::int64_t count, std::int32_t no_edge) {
  return look(weights, count, no_edge);
}
WeightFacts<std::int64_t> look_i64(const std::int64_t* weights, std::int64_t count, std::int64_t no_edge) {
  return look(weights, count, no_edge);
}
WeightFacts<float> look_f32(const float* weights, std::int64_t count, float no_edge) {
  return look(weights, count, no_edge);
}
WeightFacts<double> look_f64(const double* weights, std::int64_t count, double no_edge) {
  return look(weights, count, no_edge);
}

}  // namespace HWY_NAMESPACE
}  // namespace gradus::shortest_paths_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::shortest_paths_detail {

namespace {

HWY_EXPORT(look_i32);
HWY_EXPORT(look_i64);
HWY_EXPORT(look_f32);
HWY_EXPORT(look_f64);

}  // namespace

WeightFacts<std::int32_t> look_at_weights(const std::int32_t* weights, std::int64_t count, std::int32_t no_edge) {
  return HWY_DYNAMIC_DISPATCH(look_i32)(weights, count, no_edge);
}
WeightFacts<std::int64_t> look_at_weights(const std::int64_t* weights, std::int64_t count, std::int64_t no_edge) {
  return HWY_DYNAMIC_DISPATCH(look_i64)(weights, count, no_edge);
}
WeightFacts<float> look_at_weights(const float* weights, std::int64_t count, float no_edge) {
  return HWY_DYNAMIC_DISPATCH(look_f32)(weights, count, no_edge);
}
WeightFacts<double> look_at_weights(const double* weights, std::int64_t count, double no_edge) {
  return HWY_DYNAMIC_DISPATCH(look_f64)(weights, count, no_edge);
}

}  // namespace gradus::shortest_paths_detail
#endif  // HWY_ONCE
