// What CUDA knows of memory of which only the address came along. Plain C++: also in builds without CUDA.
#pragma once

#include <optional>

namespace gradus::execution {

/// The GPU in whose memory the address is, managed memory included; none where it is no such memory.
std::optional<int> gpu_of_memory(const void* address);

/// Returns when what is in the stream (a cudaStream_t) of this GPU is done.
void wait_for_stream(int gpu, void* stream);

}  // namespace gradus::execution
