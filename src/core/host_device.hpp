// Marks a function that is compiled for the processor and, in a CUDA source, for the GPU too: one source, one result.
#pragma once

#ifdef __CUDACC__
#define GRADUS_HOST_DEVICE __host__ __device__
#else
#define GRADUS_HOST_DEVICE
#endif
