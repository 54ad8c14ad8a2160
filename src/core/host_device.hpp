// Macros for functions that CUDA sources compile for the CPU and the GPU, and other sources for the CPU, so that both
// have the same results. GRADUS_OUT_OF_LINE marks rarely called functions that must not take registers from the hot
// path of a kernel.
#pragma once

#ifdef __CUDACC__
#define GRADUS_HOST_DEVICE __host__ __device__
#define GRADUS_OUT_OF_LINE __noinline__
#else
#define GRADUS_HOST_DEVICE
#define GRADUS_OUT_OF_LINE
#endif
