// The GPUs of this machine that this build can use. Plain C++, also in builds without CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "execution/machine.hpp"

namespace gradus::execution {

/// Returns true if code for these architectures runs on a GPU of this compute capability. `architectures` has the
/// syntax of CMAKE_CUDA_ARCHITECTURES ("80;86-real;90a-real"). Machine code runs on GPUs of the same major version
/// whose minor version is the same or later. With the suffix "a", it runs only on GPUs of exactly this version.
/// Portable code runs on GPUs of its version and of all later versions.
bool runs_on(std::string_view architectures, int major, int minor);

/// Returns true if this build contains code with warpgroup matrix instructions for the GPU. These instructions require
/// code for architecture 90a; code for architecture 90 does not contain them.
bool has_warpgroup_code(const Gpu& gpu);

/// Returns true if this build was compiled with CUDA, so that it contains the GPU variants.
bool is_compiled();

/// Returns all NVIDIA GPUs that the driver reports. If the driver is missing or fails, returns an empty list and throws
/// nothing.
std::vector<Gpu> find_gpus();

/// Returns the same GPUs as find_gpus(), but does not initialize CUDA, which would take 0.2 s. Intended for lists of
/// the variants that this machine supports. Uses NVML, the driver's management library. The memory and the number of
/// multiprocessors of each GPU stay unknown, shared_bytes is a lower bound, and the order of the GPUs may differ. Falls
/// back to find_gpus() if NVML is missing or the user restricts the visible GPUs.
std::vector<Gpu> list_gpus();

/// Returns the reason why no GPU of the machine can run this build's kernels, or an empty string if a GPU can.
std::string why_no_gpu(const Machine& machine);

/// Returns the GPU with this index. Throws UnsupportedError if it does not exist or this build has no code for it.
const Gpu& require_gpu(const Machine& machine, int gpu);

/// Returns the indices of the machine's first `count` usable GPUs, or of all usable GPUs if `count` is 0. Throws
/// UnsupportedError if the machine has fewer usable GPUs.
std::vector<int> first_gpus(const Machine& machine, int count);

}  // namespace gradus::execution
