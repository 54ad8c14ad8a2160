// Replaces the GPU functions in a build without CUDA.
#include "core/not_compiled.hpp"
#include "pair_histogram/gpu/gpu_points.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
std::shared_ptr<cuda::Job> bring_to_gpu(Problem<T>&, const Execution&, std::uint64_t) {
  core::not_compiled("CUDA");
}

template <class T>
core::ColumnRanges column_ranges_on_gpu(MatrixView<const T>, const char*, cuda::Job&) {
  core::not_compiled("CUDA");
}

template <class T>
core::FoundRanges find_ranges_on_gpu(VectorView<const T>, cuda::Job&) {
  core::not_compiled("CUDA");
}

template <class T>
WeightSpan find_weight_span(VectorView<const T>, cuda::Job&) {
  core::not_compiled("CUDA");
}

#define GRADUS_INSTANTIATE(T)                                                                     \
  template std::shared_ptr<cuda::Job> bring_to_gpu(Problem<T>&, const Execution&, std::uint64_t); \
  template core::ColumnRanges column_ranges_on_gpu(MatrixView<const T>, const char*, cuda::Job&); \
  template core::FoundRanges find_ranges_on_gpu(VectorView<const T>, cuda::Job&);                 \
  template WeightSpan find_weight_span(VectorView<const T>, cuda::Job&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::pair_histogram_detail
