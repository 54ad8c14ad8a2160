// The GPU functions for builds without CUDA. They throw an error.
#include "core/not_compiled.hpp"
#include "cuda/job.hpp"
#include "kmeans/points/gpu_source.hpp"

namespace gradus::kmeans_detail {

template <class T>
std::unique_ptr<PointSource<T>> points_on_gpu(const PointRows<T>& /*points*/, VectorView<const T> /*weights*/,
                                              const Execution& /*execution*/, const GpuNeeds& /*needs*/,
                                              const core::RankRows& /*rank_rows*/) {
  core::not_compiled("CUDA");
}

template <class T>
Matrix<T> copy_of_gpu_rows(MatrixView<const T> /*rows*/, const char* what, const Execution& /*execution*/) {
  cuda::refuse_without_cuda(what);
}

GRADUS_INSTANTIATE_GPU_SOURCE(float);
GRADUS_INSTANTIATE_GPU_SOURCE(double);

}  // namespace gradus::kmeans_detail
