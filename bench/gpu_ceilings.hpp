// The measured ceilings of a GPU: memory bandwidth and multiply-add rate.
#pragma once

#include "bench/ceilings.hpp"

namespace gradus::bench {

/// Measures the GPU with this number, once per process. Throws Error if this GPU cannot be used, and UnsupportedError
/// in a build without CUDA.
Ceilings measure_gpu_ceilings(int gpu);

}  // namespace gradus::bench
