// Functions for memory of which only the address is known. Plain C++, also in builds without CUDA.
#pragma once

#include <cstddef>
#include <optional>

namespace gradus::execution {

/// Returns the GPU whose memory contains the address (managed memory included), or nullopt for other memory.
std::optional<int> gpu_of_memory(const void* address);

/// Waits until all work on the stream (a cudaStream_t) of this GPU is complete.
void wait_for_stream(int gpu, void* stream);

/// Copies host memory to this GPU, after the work on its stream (a cudaStream_t). Returns when the copy is complete.
void copy_to_gpu(void* to, const void* from, std::size_t bytes, int gpu, void* stream);

}  // namespace gradus::execution
