// In place of cuda_points.cu in builds without CUDA.
#include "kmeans/gpu/gpu_points.hpp"

namespace gradus::kmeans_detail {

template <class T>
std::unique_ptr<GpuPoints<T>> make_gpu_points(MatrixView<const T>, VectorView<const T>, const Execution&,
                                              std::uint64_t) {
  throw UnsupportedError("points on a GPU cannot be used: this build has no CUDA; pass host memory");
}

template <class T>
Matrix<T> copy_to_host(MatrixView<const T> rows, const char* what, const Execution&) {
  if (!rows.place().is_host())
    throw UnsupportedError(std::string(what) + " lie on a GPU, but this build has no CUDA; pass host memory");
  return Matrix<T>::copy_of(rows);
}

template std::unique_ptr<GpuPoints<float>> make_gpu_points(MatrixView<const float>, VectorView<const float>,
                                                           const Execution&, std::uint64_t);
template std::unique_ptr<GpuPoints<double>> make_gpu_points(MatrixView<const double>, VectorView<const double>,
                                                            const Execution&, std::uint64_t);
template Matrix<float> copy_to_host(MatrixView<const float>, const char*, const Execution&);
template Matrix<double> copy_to_host(MatrixView<const double>, const char*, const Execution&);

}  // namespace gradus::kmeans_detail
