// GPU functions for code that has no PointSource yet. In a build without CUDA, they throw (not_compiled.cpp).
#pragma once

#include <cstdint>
#include <memory>

#include "gradus/execution.hpp"
#include "kmeans/points/gpu_tier.hpp"
#include "kmeans/points/point_rows.hpp"
#include "kmeans/points/point_source.hpp"

namespace gradus::kmeans_detail {

/// Copies this rank's `points` and `weights` (may be empty) to the GPU of `execution` unless they are already there, or
/// the points stay in host memory: see GpuPoints.
template <class T>
std::unique_ptr<PointSource<T>> points_on_gpu(const PointRows<T>& points, VectorView<const T> weights,
                                              const Execution& execution, const GpuNeeds& needs,
                                              const core::RankRows& rank_rows);

/// Returns a host copy of rows that are on a GPU: see execution::copy_to_host().
template <class T>
Matrix<T> copy_of_gpu_rows(MatrixView<const T> rows, const char* what, const Execution& execution);

// NOLINTBEGIN(bugprone-macro-parentheses): a type
/// Instantiates both functions in the unit that defines them.
#define GRADUS_INSTANTIATE_GPU_SOURCE(T)                                                                             \
  template std::unique_ptr<PointSource<T>> points_on_gpu(const PointRows<T>&, VectorView<const T>, const Execution&, \
                                                         const GpuNeeds&, const core::RankRows&);                    \
  template Matrix<T> copy_of_gpu_rows(MatrixView<const T>, const char*, const Execution&)
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace gradus::kmeans_detail
