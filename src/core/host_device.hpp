// Macros for functions that compute the same results on the CPU and on the GPU. CUDA sources compile such a function
// for both. All other sources compile it only for the CPU. GRADUS_OUT_OF_LINE keeps rarely called functions from being
// inlined, so that they do not increase the number of registers in the hot path of a kernel.
#pragma once

#ifdef __CUDACC__
#define GRADUS_HOST_DEVICE __host__ __device__
#define GRADUS_OUT_OF_LINE __noinline__
#else
#define GRADUS_HOST_DEVICE
#define GRADUS_OUT_OF_LINE
#endif
