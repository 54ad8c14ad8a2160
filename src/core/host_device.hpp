// Macros for functions that compute the same results on the CPU and on the GPU. CUDA sources compile such a function
// for both. All other sources compile it only for the CPU. GRADUS_OUT_OF_LINE marks rarely called functions that must
// not take registers from the hot path of a kernel.
#pragma once

#ifdef __CUDACC__
#define GRADUS_HOST_DEVICE __host__ __device__
#define GRADUS_OUT_OF_LINE __noinline__
#else
#define GRADUS_HOST_DEVICE
#define GRADUS_OUT_OF_LINE
#endif
