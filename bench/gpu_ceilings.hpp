// What a GPU can do at most: memory bandwidth and multiply-add rate, measured.
#pragma once

#include "bench/ceilings.hpp"

namespace gradus::bench {

/// Of the GPU of this number; measured once in the life of the process. Throws gradus::Error where it cannot be used,
/// and UnsupportedError in a build without CUDA.
Ceilings measure_gpu_ceilings(int gpu);

}  // namespace gradus::bench
