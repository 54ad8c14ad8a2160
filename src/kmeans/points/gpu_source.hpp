// Entry points to GPU code for jobs without a PointSource. Without CUDA the same functions throw (not_compiled.cpp).
#pragma once

#include <cstdint>
#include <memory>

#include "gradus/execution.hpp"
#include "kmeans/points/point_source.hpp"

namespace gradus::kmeans_detail {

/// Returns `points` and `weights` (may be empty) on the GPU of `execution`: see GpuPoints.
template <class T>
std::unique_ptr<PointSource<T>> points_on_gpu(MatrixView<const T> points, VectorView<const T> weights,
                                              const Execution& execution, std::uint64_t extra_bytes);

/// Returns a host copy of rows on a GPU: see execution::copy_to_host().
template <class T>
Matrix<T> copy_of_gpu_rows(MatrixView<const T> rows, const char* what, const Execution& execution);

// NOLINTBEGIN(bugprone-macro-parentheses): a type
/// Instantiates both functions in the unit that defines them.
#define GRADUS_INSTANTIATE_GPU_SOURCE(T)                                                                             \
  template std::unique_ptr<PointSource<T>> points_on_gpu(MatrixView<const T>, VectorView<const T>, const Execution&, \
                                                         std::uint64_t);                                             \
  template Matrix<T> copy_of_gpu_rows(MatrixView<const T>, const char*, const Execution&)
// NOLINTEND(bugprone-macro-parentheses)

/// Returns the bytes of a cover (seeding/cuda_cover.hpp) on the GPU: distances, groups, and points in bytes.
constexpr std::uint64_t gpu_cover_bytes(std::int64_t points, std::int64_t columns, bool groups) {
  return static_cast<std::uint64_t>(points) *
         ((groups ? 15 : 11) + 16 + static_cast<std::uint64_t>(columns + 15) / 16 * 16);
}

}  // namespace gradus::kmeans_detail
