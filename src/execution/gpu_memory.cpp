#include "execution/gpu_memory.hpp"

#include <algorithm>
#include <string>

#include "cuda/job.hpp"
#include "execution/request.hpp"

#ifdef GRADUS_HAS_CUDA
#include "cuda/check.hpp"
#include "cuda/memory.hpp"
#endif

namespace gradus::execution {

void wait_for_data(std::span<const NamedPlace> places, const Execution& execution) {
  for (const auto& [place, what] : places) {
    if (place.is_host()) continue;
    const std::vector<Gpu>& gpus = this_machine().gpus();
    if (std::ranges::find(gpus, place.gpu, &Gpu::index) == gpus.end())
      throw UnsupportedError(about(what) + "the view says that they are on " + gpu_number(place.gpu) +
                             ", but this machine has " + std::to_string(gpus.size()) + " GPUs, counted from 0");
    wait_for_stream(place.gpu, execution.stream);
  }
}

MemoryPlace place_for_each_gpu(MemoryPlace place, const Execution& execution) {
  return std::ranges::all_of(execution.gpus, [&](int gpu) { return gpu == place.gpu; }) ? place : MemoryPlace::host();
}

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

std::shared_ptr<void> copy_between_gpus(int to, const void* from, std::size_t stride_bytes, std::size_t row_bytes,
                                        std::int64_t rows) {
  const cuda::CurrentDevice device(to);
  // Kernels may read 16-byte units past the last element.
  const auto bytes = static_cast<std::int64_t>(row_bytes) * rows;
  auto copy = std::make_shared<cuda::DeviceBuffer<std::byte>>(bytes + 16);
  const cuda::Stream stream;
  cuda::check(cudaMemcpy2DAsync(copy->data(), row_bytes, from, stride_bytes, row_bytes, static_cast<std::size_t>(rows),
                                cudaMemcpyDefault, stream),
              "cudaMemcpy2DAsync");
  stream.wait();
  return {copy, copy->data()};
}

#else

std::optional<int> gpu_of_memory(const void*) { return std::nullopt; }

void wait_for_stream(int, void*) { cuda::refuse_without_cuda("an array"); }
void copy_to_gpu(void*, const void*, std::size_t, int, void*) { cuda::refuse_without_cuda("an array"); }
std::shared_ptr<void> copy_between_gpus(int, const void*, std::size_t, std::size_t, std::int64_t) {
  cuda::refuse_without_cuda("an array");
}

#endif

}  // namespace gradus::execution
