// Points on a GPU (gpu_points.hpp) in the form that kernels use.
#pragma once

#include <functional>

#include "cuda/rows.cuh"
#include "kmeans/points/gpu_points.hpp"

namespace gradus::kmeans_detail {

using cuda::DeviceRows;

template <class T>
DeviceRows<T> device_rows(const GpuPoints<T>& points) {
  const MatrixView<const T> rows = points.rows();
  const StoredMatrixView& stored = points.stored_on_gpu();
  return {rows.data(),
          rows.rows(),
          rows.row_stride(),
          static_cast<int>(rows.columns()),
          static_cast<const unsigned char*>(stored.data()),
          stored.type()};
}

/// Returns a copy of the rows on the GPU. The copy is followed by 16 bytes of padding, because kernels read units of 16
/// bytes.
template <class T>
cuda::DeviceBuffer<T> contiguous_copy(MatrixView<const T> rows, cuda::Job& job);

/// Writes copies of rows to the memory that allocate() returns, on the GPUs of all ranks. The copies begin `stride`
/// elements apart. `numbers` are global row numbers, the same on all ranks, and `own` are the rows of this rank. The
/// memory must be aligned to 16 bytes and have room for whole units of 16 bytes. Elements between the copies become
/// zero. If allocate() throws on one rank, all ranks throw its error. Collective.
template <class T>
void gather_of_ranks(const DeviceRows<T>& own, const core::RankRows& rank_rows, std::span<const std::int64_t> numbers,
                     std::int64_t stride, const std::function<T*()>& allocate, cuda::Job& job);

}  // namespace gradus::kmeans_detail
