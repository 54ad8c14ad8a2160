#include "execution/gpu_memory.hpp"

#include "cuda/job.hpp"

#ifdef GRADUS_HAS_CUDA
#include "cuda/check.hpp"
#include "cuda/memory.hpp"
#endif

namespace gradus::execution {

#ifdef GRADUS_HAS_CUDA

std::optional<int> gpu_of_memory(const void* address) {
  cudaPointerAttributes attributes{};
  cuda::check(cudaPointerGetAttributes(&attributes, address), "cudaPointerGetAttributes");
  if (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged) return std::nullopt;
  return attributes.device;
}

void wait_for_stream(int gpu, void* stream) {
  const cuda::CurrentDevice device(gpu);
  cuda::check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "the work in the stream of an array");
}

#else

std::optional<int> gpu_of_memory(const void*) { return std::nullopt; }

void wait_for_stream(int, void*) { cuda::refuse_without_cuda("an array"); }

#endif

}  // namespace gradus::execution
