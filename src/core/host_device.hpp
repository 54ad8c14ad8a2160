// Marks a function that is compiled for the processor and, in a CUDA source, for the GPU too: one source, one result.
// GRADUS_OUT_OF_LINE: what is seldom called from a kernel, and would take registers from what always runs.
#pragma once

#ifdef __CUDACC__
#define GRADUS_HOST_DEVICE __host__ __device__
#define GRADUS_OUT_OF_LINE __noinline__
#else
#define GRADUS_HOST_DEVICE
#define GRADUS_OUT_OF_LINE
#endif
