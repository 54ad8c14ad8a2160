// Points on a GPU (gpu_points.hpp) in the form that kernels use.
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

/// Returns a copy of the rows on the GPU. The copy is followed by 16 bytes of padding, because kernels read units of 16
/// bytes.
template <class T>
cuda::DeviceBuffer<T> contiguous_copy(MatrixView<const T> rows, cuda::Job& job);

}  // namespace gradus::kmeans_detail
