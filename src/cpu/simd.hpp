// The instruction sets for which vectorised code is compiled. Include this file before hwy/highway.h. Each dispatched
// file is compiled once per instruction set. To save compilation time, instruction sets that would hardly speed up the
// kernels are left out.
#pragma once

// With GRADUS_NATIVE, only the best set that the compiler's flags allow is compiled. AVX3_DL is disabled, because the
// kernels test for HWY_AVX3 and would not recognise AVX3_DL. With a sanitizer, compiling a file takes minutes, so only
// the scalar baseline and the machine's best set are used. A file with many kernels may define GRADUS_WITHOUT_SSE4
// first, to save space: CPUs without AVX2, sold before 2013, then use its scalar code.
#if defined(GRADUS_NATIVE)
#define HWY_COMPILE_ONLY_STATIC
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#elif defined(GRADUS_SANITIZED_AVX512)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2)
#elif defined(GRADUS_SANITIZED)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3)
#elif defined(GRADUS_WITHOUT_SSE4)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#else
#define HWY_DISABLED_TARGETS HWY_SSSE3
#endif

// On Arm, NEON replaces SVE. The kernels keep vectors in structs and arrays, which SVE does not allow.
#ifdef __aarch64__
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
