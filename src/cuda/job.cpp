#include "cuda/job.hpp"

namespace gradus::cuda {

void Job::admit(const void* address, const char* what) {
  if (!callers_work_is_done_)
    check(cudaStreamSynchronize(static_cast<cudaStream_t>(callers_stream_)), "the work in the caller's stream");
  callers_work_is_done_ = true;
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "cudaPointerGetAttributes");
  if (attributes.type == cudaMemoryTypeManaged) return;
  if (attributes.type == cudaMemoryTypeDevice && attributes.device == gpu_) return;
  throw UsageError(about(what) + "the view says that they are on GPU " + std::to_string(gpu_) +
                   ", but their address is " +
                   (attributes.type == cudaMemoryTypeDevice ? "on GPU " + std::to_string(attributes.device)
                                                            : std::string("not memory of a GPU")));
}

}  // namespace gradus::cuda
