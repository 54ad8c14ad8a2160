// Common definitions of the innermost loops of simd_packed. They are compiled once per instruction set, which is why
// Highway's toggle guards the file. The loops use only plain data and vectors. Apart from Highway's functions, they
// must not call inline functions of other headers, such as the standard library's. Such a function would be compiled
// for instructions that some machines lack, and the linker might keep that copy for all callers.

#if defined(GRADUS_MATMUL_SIMD_VECTORS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_MATMUL_SIMD_VECTORS_TOGGLE
#undef GRADUS_MATMUL_SIMD_VECTORS_TOGGLE
#else
#define GRADUS_MATMUL_SIMD_VECTORS_TOGGLE
#endif

#include <hwy/highway.h>

// NOLINTBEGIN(misc-definitions-in-headers): compiled once for each instruction set, in one source file each

HWY_BEFORE_NAMESPACE();
namespace gradus::matmul_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// With this block size, the sums leave enough registers for two or three vectors of B and an element of A.
#if HWY_TARGET <= HWY_AVX3
constexpr int block_rows = 12;
constexpr int block_vectors = 2;
#else
constexpr int block_rows = 4;
constexpr int block_vectors = HWY_TARGET <= HWY_AVX2 ? 3 : 2;
#endif
// True if partial loads and stores of a vector do not access the remaining elements.
constexpr bool masks = HWY_TARGET <= HWY_AVX2;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr auto lanes_of = static_cast<std::int64_t>(hn::MaxLanes(Tag<T>()));

/// Returns a b + c, rounded once.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fused(D d, V a, V b, V c) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulAdd(a, b, c);
#else
  using T = hn::TFromD<D>;
  HWY_ALIGN T x[hn::MaxLanes(d)], y[hn::MaxLanes(d)], z[hn::MaxLanes(d)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    if constexpr (sizeof(T) == 4) z[lane] = __builtin_fmaf(x[lane], y[lane], z[lane]);
    else z[lane] = __builtin_fma(x[lane], y[lane], z[lane]);
  }
  return hn::Load(d, z);
#endif
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::matmul_detail
HWY_AFTER_NAMESPACE();

// NOLINTEND(misc-definitions-in-headers)
#endif
