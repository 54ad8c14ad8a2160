// One file for all instruction sets. Highway compiles it for each instruction set, and selects one version at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "highway.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void nearest(const float* points, std::int64_t count, const float* centroids, std::int32_t* labels) {
  const hn::ScalableTag<float> tag;
  const hn::RebindToSigned<decltype(tag)> index;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (std::int64_t point = 0; point < count; point += lanes) {
#if HWY_TARGET == HWY_SCALAR
    const auto x = hn::Set(tag, points[2 * point]), y = hn::Set(tag, points[2 * point + 1]);
#else
    hn::Vec<decltype(tag)> x, y;
    hn::LoadInterleaved2(tag, points + 2 * point, x, y);
#endif
    auto best = hn::Set(tag, hwy::HighestValue<float>());
    auto label = hn::Zero(index);
    for (int cluster = 0; cluster < clusters; ++cluster) {
      const auto dx = hn::Sub(x, hn::Set(tag, centroids[2 * cluster]));
      const auto dy = hn::Sub(y, hn::Set(tag, centroids[2 * cluster + 1]));
      const auto distance = hn::MulAdd(dy, dy, hn::Mul(dx, dx));
      const auto nearer = hn::Lt(distance, best);
      best = hn::IfThenElse(nearer, distance, best);
      label = hn::IfThenElse(hn::RebindMask(index, nearer), hn::Set(index, cluster), label);
    }
    hn::Store(label, index, labels + point);
  }
}

}  // namespace HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
HWY_EXPORT(nearest);
void nearest_highway(const float* points, std::int64_t count, const float* centroids, std::int32_t* labels) {
  HWY_DYNAMIC_DISPATCH(nearest)(points, count, centroids, labels);
}
#endif
