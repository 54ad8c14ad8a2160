// The instruction sets for which vectorised code is compiled; include before hwy/highway.h. Each dispatched file is
// compiled once for each of them, so the list is kept to those that differ for our kernels.
#pragma once

// GRADUS_NATIVE: the best of them that the compiler's flags allow, and no other. Our kernels ask for HWY_AVX3, and have
// nothing for AVX3_DL.
// Under a sanitizer, which takes minutes for such a file: the single lane of the baseline, and the best that the
// machine has.
#if defined(GRADUS_NATIVE)
#define HWY_COMPILE_ONLY_STATIC
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#elif defined(GRADUS_SANITIZED_AVX512)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2)
#elif defined(GRADUS_SANITIZED)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3)
#else
#define HWY_DISABLED_TARGETS HWY_SSSE3
#endif

// Vectors of SVE cannot be members of structs nor elements of arrays, as ours are: Arm gets NEON.
#ifdef __aarch64__
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
