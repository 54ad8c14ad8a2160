// Points on a GPU (gpu_points.hpp) as kernels see them.
#pragma once

#include "cuda/rows.cuh"
#include "kmeans/points/gpu_points.hpp"

namespace gradus::kmeans_detail {

using cuda::DeviceRows;

template <class T>
DeviceRows<T> device_rows(const GpuPoints<T>& points) {
  const MatrixView<const T> rows = points.rows();
  return {rows.data(), rows.rows(), rows.row_stride(), static_cast<int>(rows.columns())};
}

/// A copy on the GPU with 16 bytes of room behind it, for kernels that read by quads.
template <class T>
cuda::DeviceBuffer<T> contiguous_copy(MatrixView<const T> rows, cuda::Job& job);

}  // namespace gradus::kmeans_detail
