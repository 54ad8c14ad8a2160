// Definitions of the GPU functions for a build without CUDA.
#include "core/not_compiled.hpp"
#include "shortest_paths/gpu/gpu_graph.hpp"
#include "shortest_paths/gpu/run_on_gpu.hpp"

namespace gradus::shortest_paths_detail {

template <class T>
std::shared_ptr<cuda::Job> bring_to_gpu(Graph<T>&, const Execution&, std::uint64_t) {
  core::not_compiled("CUDA");
}

template <class T>
void copy_matrix(MatrixView<const T>, MatrixView<T>, cuda::Job&) {
  core::not_compiled("CUDA");
}

template <class T>
GraphFacts<T> examine_on_gpu(const Graph<T>&, cuda::Job&) {
  core::not_compiled("CUDA");
}

template <class T>
void run_on_gpu(const Request<T>&, const Variant&, Prepared<T>&, MatrixView<T>, MatrixView<std::int32_t>,
                std::vector<Phase>&) {
  core::not_compiled("CUDA");
}

#define GRADUS_INSTANTIATE(T)                                                                                        \
  template std::shared_ptr<cuda::Job> bring_to_gpu(Graph<T>&, const Execution&, std::uint64_t);                      \
  template void copy_matrix(MatrixView<const T>, MatrixView<T>, cuda::Job&);                                         \
  template GraphFacts<T> examine_on_gpu(const Graph<T>&, cuda::Job&);                                                \
  template void run_on_gpu(const Request<T>&, const Variant&, Prepared<T>&, MatrixView<T>, MatrixView<std::int32_t>, \
                           std::vector<Phase>&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::shortest_paths_detail
