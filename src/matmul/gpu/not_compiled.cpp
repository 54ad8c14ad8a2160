// Definitions of the GPU functions for a build without CUDA.
#include "core/not_compiled.hpp"
#include "matmul/gpu/run_on_gpu.hpp"

namespace gradus::matmul_detail {

template <class T>
void run_on_gpu(const Problem<T>&, const OnGpu&, const Variant&, const Execution&, std::vector<Phase>&) {
  core::not_compiled("CUDA");
}

template <class T>
void scale_on_gpu(const Problem<T>&, const Execution&) {
  core::not_compiled("CUDA");
}

#define GRADUS_INSTANTIATE(T)                                                                                       \
  template void run_on_gpu(const Problem<T>&, const OnGpu&, const Variant&, const Execution&, std::vector<Phase>&); \
  template void scale_on_gpu(const Problem<T>&, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::matmul_detail
