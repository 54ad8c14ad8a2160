// Marks functions that are compiled for the CPU and, in CUDA sources, also for the GPU, so that one source gives one
// result. GRADUS_OUT_OF_LINE marks rarely called functions, so that they do not take registers from the hot path of a
// kernel.
#pragma once

#ifdef __CUDACC__
#define GRADUS_HOST_DEVICE __host__ __device__
#define GRADUS_OUT_OF_LINE __noinline__
#else
#define GRADUS_HOST_DEVICE
#define GRADUS_OUT_OF_LINE
#endif
