// Compiled and run by cuda.cmake to test nvcc: its language support, the headers that the kernels include, and linking
// the runtime. Prints the compute capability of each GPU, such as 90.
#if !__has_include(<cooperative_groups.h>) || !__has_include(<cub/device/device_radix_sort.cuh>) || \
    !__has_include(<cuda_fp16.h>) || !__has_include(<cuda_pipeline.h>)
#error "headers of the CUDA toolkit are missing"
#endif
#include <cuda_runtime.h>

#include <concepts>
#include <cstdio>

template <std::integral T>
__global__ void count(T* counter) {
  atomicAdd(counter, T{1});
}
template __global__ void count(int*);

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) return 0;
  for (int device = 0; device < devices; ++device) {
    int major = 0;
    int minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    std::printf("%d\n", 10 * major + minor);
  }
}
