// In place of cuda_points.cu in builds without CUDA.
#include "kmeans/gpu_points.hpp"

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

#define GRADUS_INSTANTIATE(T)                                                                                        \
  template std::unique_ptr<GpuPoints<T>> make_gpu_points(MatrixView<const T>, VectorView<const T>, const Execution&, \
                                                         std::uint64_t);                                             \
  template Matrix<T> copy_to_host(MatrixView<const T>, const char*, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
