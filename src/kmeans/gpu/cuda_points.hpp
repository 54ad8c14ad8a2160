// The GPU that a job runs on, and the points there: GpuPoints (gpu_points.hpp) with CUDA.
#pragma once

#include <memory>

#include "cuda/memory.hpp"
#include "cuda/rows.cuh"
#include "cuda/transfer.hpp"
#include "kmeans/gpu/gpu_points.hpp"

namespace gradus::kmeans_detail {

/// A GPU in use by a job: current for the calling thread, with the job's stream and its pinned memory.
struct CudaSession {
  CudaSession(int gpu, int the_threads, const std::stop_token& stop)
      : device(gpu), staging(stop), threads(the_threads) {}

  cuda::CurrentDevice device;
  cuda::Stream stream;
  cuda::Staging staging;
  int threads;  ///< of the processor, for transfers
};

using cuda::DeviceRows;

template <class T>
class CudaPoints : public GpuPoints<T> {
 public:
  CudaPoints(MatrixView<const T> points, VectorView<const T> weights, const Execution& execution,
             std::uint64_t extra_bytes);

  const std::shared_ptr<CudaSession>& session() const { return session_; }
  const execution::Gpu& gpu() const { return gpu_; }
  DeviceRows<T> device_rows() const {
    return {points_.data(), points_.rows(), points_.row_stride(), static_cast<int>(points_.columns())};
  }
  /// Whether 16 bytes behind the last element may be read too, and rows begin where quads of 16 bytes do.
  bool has_room_behind() const { return owned_.size() > 0; }

  MatrixView<const T> rows() const override { return points_; }
  VectorView<const T> weights() const override { return weights_; }
  VectorView<const T> host_weights() const override;
  core::ColumnRanges column_ranges() override;
  std::optional<double> mean_column_variance(const Statistics& statistics) override;
  void to_unit_rows() override;
  Matrix<T> copy_rows(std::span<const std::int64_t> rows) const override;
  Matrix<T> copy_slice(std::int64_t first, std::int64_t count) const override;
  void own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const override;
  void distances(MatrixView<const T> centroids, Metric metric, MatrixView<T> distances) const override;
  void take_for_results(const void* address, const char* what, const Execution& execution) const override;
  void store_labels(const std::int32_t* labels, VectorView<std::int32_t> to) const override;
  std::unique_ptr<GpuCover<T>> cover(std::int64_t first, bool groups) const override;

 private:
  unsigned int blocks(int per_multiprocessor) const;

  const execution::Gpu& gpu_;
  std::shared_ptr<CudaSession> session_;
  MatrixView<const T> points_;
  VectorView<const T> weights_;
  cuda::DeviceBuffer<T> owned_;
  cuda::DeviceBuffer<T> owned_weights_;
  VectorView<const T> weights_in_host_memory_;
  Buffer<T> host_weights_;  ///< where they came from the GPU
};

/// A copy on the GPU with 16 bytes of room behind it, for kernels that read by quads.
template <class T>
cuda::DeviceBuffer<T> contiguous_copy(MatrixView<const T> rows, CudaSession& session);

}  // namespace gradus::kmeans_detail
