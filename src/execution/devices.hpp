// The GPUs of this machine that this build can use. Plain C++, also in builds without CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "execution/machine.hpp"

namespace gradus::execution {

/// Returns true if code for these architectures, in the syntax of CMAKE_CUDA_ARCHITECTURES ("80;86-real;90a-real"),
/// runs on a GPU of this compute capability. Machine code runs on the same major version from its minor version on, and
/// with the suffix "a" on exactly this version. Portable code runs on every version from its own on.
bool runs_on(std::string_view architectures, int major, int minor);

/// Returns true if this build contains warpgroup matrix instructions for the GPU. Only code for architecture 90a has
/// them, not code for 90.
bool has_warpgroup_code(const Gpu& gpu);

/// Returns true if this build contains the GPU variants.
bool is_compiled();

/// Returns all NVIDIA GPUs that the driver reports. Returns none without a driver or if it fails; never throws for
/// that.
std::vector<Gpu> find_gpus();

/// Returns the same GPUs without initializing CUDA, which takes 0.2 s: for a page that shows what could run. Uses the
/// driver's management library NVML. Memory and number of multiprocessors stay unknown, shared_bytes is a lower bound,
/// and the order may differ. Falls back to find_gpus() if NVML is missing or the user restricts the visible GPUs.
std::vector<Gpu> list_gpus();

/// Returns the reason why no GPU of the machine can run this build's kernels, or an empty string if one can.
std::string why_no_gpu(const Machine& machine);

/// Returns the GPU with this index. Throws UnsupportedError if it does not exist or this build has no code for it.
const Gpu& require_gpu(const Machine& machine, int gpu);

}  // namespace gradus::execution
