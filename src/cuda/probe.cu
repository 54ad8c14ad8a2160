#include <cuda_runtime.h>

#include "cuda/probe.hpp"

namespace gradus::cuda {

namespace {
__global__ void probe() {}
}  // namespace

// Asking for a kernel's attributes loads its code, and fails where there is none for the device.
bool has_code_for(int gpu) {
  int before = 0;
  cudaFuncAttributes attributes{};
  const bool found = cudaGetDevice(&before) == cudaSuccess && cudaSetDevice(gpu) == cudaSuccess &&
                     cudaFuncGetAttributes(&attributes, probe) == cudaSuccess;
  cudaGetLastError();  // forgotten: the answer is all that is wanted
  cudaSetDevice(before);
  return found;
}

}  // namespace gradus::cuda
