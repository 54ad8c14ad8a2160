#include "matmul/simd/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matmul/simd/multiply_f32.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "matmul/simd/multiply-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradus::matmul_detail {
namespace HWY_NAMESPACE {

void multiply_f32(const Strip<float>& strip) { multiply_strip(strip); }

}  // namespace HWY_NAMESPACE
}  // namespace gradus::matmul_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace gradus::matmul_detail {

HWY_EXPORT(multiply_f32);

template <>
void multiply(const Strip<float>& strip) {
  HWY_DYNAMIC_DISPATCH(multiply_f32)(strip);
}

}  // namespace gradus::matmul_detail
#endif  // HWY_ONCE
