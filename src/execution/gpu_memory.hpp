// What CUDA knows of memory of which only the address came along. Plain C++: also in builds without CUDA.
#pragma once

#include <cstddef>
#include <optional>

namespace gradus::execution {

/// The GPU in whose memory the address is, managed memory included; none where it is no such memory.
std::optional<int> gpu_of_memory(const void* address);

/// Returns when what is in the stream (a cudaStream_t) of this GPU is done.
void wait_for_stream(int gpu, void* stream);

/// Copies host memory to this GPU, after what is in the stream (a cudaStream_t) of it; returns when all is there.
void copy_to_gpu(void* to, const void* from, std::size_t bytes, int gpu, void* stream);

}  // namespace gradus::execution
