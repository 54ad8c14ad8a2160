// In place of cuda_points.cpp in builds without CUDA.
#include "pair_histogram/gpu/gpu_points.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
std::unique_ptr<GpuPoints<T>> make_gpu_points(Problem<T>&, const Execution&, std::uint64_t) {
  throw UnsupportedError("points on a GPU cannot be used: this build has no CUDA; pass host memory");
}

template std::unique_ptr<GpuPoints<float>> make_gpu_points(Problem<float>&, const Execution&, std::uint64_t);
template std::unique_ptr<GpuPoints<double>> make_gpu_points(Problem<double>&, const Execution&, std::uint64_t);

}  // namespace gradus::pair_histogram_detail
