// Replaces the GPU code in a build without CUDA.
#include "core/not_compiled.hpp"
#include "life/gpu/run_on_gpu.hpp"

namespace gradus::life_detail {

std::uint64_t run_on_gpu(const Problem&, const Variant&, const Execution&, std::vector<Phase>&) {
  core::not_compiled("CUDA");
}

}  // namespace gradus::life_detail
