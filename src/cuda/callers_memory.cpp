#include "cuda/callers_memory.hpp"

namespace gradus::cuda {

void require_memory_of(const void* address, int gpu, const char* what) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "cudaPointerGetAttributes");
  if (attributes.type == cudaMemoryTypeManaged) return;
  if (attributes.type == cudaMemoryTypeDevice && attributes.device == gpu) return;
  throw UsageError(std::string(what) + ": the view says that they lie on GPU " + std::to_string(gpu) +
                   ", but their address is " +
                   (attributes.type == cudaMemoryTypeDevice ? "on GPU " + std::to_string(attributes.device)
                                                            : std::string("not memory of a GPU")));
}

void wait_for_caller(const Execution& execution) {
  check(cudaStreamSynchronize(static_cast<cudaStream_t>(execution.stream)), "the work in the caller's stream");
}

}  // namespace gradus::cuda
