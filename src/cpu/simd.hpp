// The instruction sets for which vectorised code is compiled; include before hwy/highway.h. Each dispatched file is
// compiled once for each of them, so the list is kept to those that differ for our kernels.
#pragma once

#define HWY_DISABLED_TARGETS HWY_SSSE3
