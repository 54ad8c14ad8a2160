// The instruction sets for which vectorised code is compiled; include before hwy/highway.h. Each dispatched file is
// compiled once for each of them, so the list is kept to those that differ for our kernels.
#pragma once

// Under a sanitizer, which takes minutes for such a file, one set of short vectors less: its code is that of AVX2.
#ifdef GRADUS_SANITIZED
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#else
#define HWY_DISABLED_TARGETS HWY_SSSE3
#endif
