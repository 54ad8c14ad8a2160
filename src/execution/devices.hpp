// The GPUs of this machine, as far as this build can use them. Plain C++: also in builds without CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "execution/machine.hpp"

namespace gradus::execution {

/// Whether code for these architectures, as CMAKE_CUDA_ARCHITECTURES lists them ("80;86-real;90a-real"), runs on a GPU
/// of this compute capability: machine code on the same major version from its minor version on (with the letter a, on
/// exactly this one), portable code on everything from its version on.
bool runs_on(std::string_view architectures, int major, int minor);

/// Whether this build has code for the GPU that uses the matrix instructions of warpgroups, which are no part of code
/// for plain 90.
bool has_warpgroup_code(const Gpu& gpu);

/// Whether the GPU variants are compiled into this build.
bool is_compiled();

/// All NVIDIA GPUs that the driver shows. None without a driver, and none where it fails: never an error.
std::vector<Gpu> find_gpus();

/// The same GPUs without making them ready, which takes CUDA a fifth of a second: by the driver's library for
/// management, NVML, for a page that shows what could run. Memory and multiprocessors stay unknown, shared_bytes is a
/// lower bound, and the order may be another. Asks CUDA where that library is missing, or something chooses among the
/// GPUs.
std::vector<Gpu> see_gpus();

/// Why no GPU of the machine can run this build's kernels; empty where one can.
std::string why_no_gpu(const Machine& machine);

/// The GPU of this number, checked. UnsupportedError where there is none, or this build has no code for it.
const Gpu& require_gpu(const Machine& machine, int gpu);

}  // namespace gradus::execution
