// Replaces gpu_ceilings.cu in builds without CUDA.
#include "bench/gpu_ceilings.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

Ceilings measure_gpu_ceilings(int) { throw UnsupportedError("no GPU can be measured: this build has no CUDA"); }

}  // namespace gradus::bench
