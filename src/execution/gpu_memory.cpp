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

void copy_to_gpu(void* to, const void* from, std::size_t bytes, int gpu, void* stream) {
  const cuda::CurrentDevice device(gpu);
  cuda::copy_to_gpu(to, from, bytes, static_cast<cudaStream_t>(stream));
  cuda::check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "a copy to an array");
}

#else

std::optional<int> gpu_of_memory(const void*) { return std::nullopt; }

void wait_for_stream(int, void*) { cuda::refuse_without_cuda("an array"); }
void copy_to_gpu(void*, const void*, std::size_t, int, void*) { cuda::refuse_without_cuda("an array"); }

#endif

}  // namespace gradus::execution
