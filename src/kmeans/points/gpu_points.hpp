// Points in the memory of a GPU. Only units that are compiled with CUDA include this: all others ask for a PointSource
// by gpu_source.hpp.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "cuda/job.hpp"
#include "execution/gpu_job.hpp"
#include "execution/machine.hpp"
#include "kmeans/points/point_source.hpp"

namespace gradus::kmeans_detail {

template <class T>
class GpuPoints final : public PointSource<T> {
 public:
  /// `points`, and `weights` where there are any, on the GPU of `execution`: where they lie if they lie there,
  /// otherwise copies. Waits for Execution::stream first. `extra_bytes`: what the job will take there beside them, for
  /// the check that all fits: OutOfMemoryError with both numbers where it does not.
  GpuPoints(MatrixView<const T> points, VectorView<const T> weights, const Execution& execution,
            std::uint64_t extra_bytes);
  /// Copies of some rows of other points, with weights of their own in host memory, in the same job.
  GpuPoints(const GpuPoints& all, std::span<const std::int64_t> rows, VectorView<const T> weights,
            std::uint64_t extra_bytes);

  const std::shared_ptr<cuda::Job>& job() const { return job_; }
  const execution::Gpu& device() const { return gpu_; }
  VectorView<const T> weights() const { return weights_; }  ///< on the GPU, or empty
  /// Whether 16 bytes behind the last element may be read too, and rows begin where quads of 16 bytes do.
  bool has_room_behind() const { return owned_.size() > 0; }

  core::ColumnRanges column_ranges() const override { return job_->column_ranges(points_, "points"); }
  void to_unit_rows() override;
  /// Nothing if the points are too far apart in magnitude.
  std::optional<double> own_mean_column_variance(const Statistics& statistics) const override;
  void visit(const typename PointSource<T>::Visit& visit) const override;
  bool visits_copies() const override { return true; }
  Matrix<T> rows_at(std::span<const std::int64_t> numbers) const override;
  std::vector<const T*> addresses_of(std::span<const std::int64_t> numbers, Matrix<T>& copies) const override;
  void own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const override;
  /// `distances` in host memory or on the GPU.
  void distances(MatrixView<const T> centroids, KMeansMetric metric, MatrixView<T> distances,
                 const typename PointSource<T>::Done& progress) const override;
  std::unique_ptr<SeedingCover> cover(std::int64_t first, std::int64_t expected, bool groups,
                                      const SeedingMemory<T>& memory) const override;
  std::unique_ptr<PointSource<T>> sample(std::span<const std::int64_t> numbers,
                                         VectorView<const T> weights) const override;
  void admit(const void* address, const char* what) const override { job_->admit(address, what); }
  void store_labels(MatrixView<const std::int32_t> labels, std::int32_t* to) const override {
    job_->copy_here(labels, to);
  }
  const GpuPoints* gpu() const override { return this; }

 private:
  unsigned int blocks(int per_multiprocessor) const;
  void gather(const GpuPoints& all, std::span<const std::int64_t> rows, T* to) const;

  using PointSource<T>::points_;
  using PointSource<T>::host_weights_;

  const execution::Gpu& gpu_;
  std::shared_ptr<cuda::Job> job_;
  VectorView<const T> weights_;
  cuda::DeviceBuffer<T> owned_;
  cuda::DeviceBuffer<T> owned_weights_;
  Matrix<T> copied_weights_;  ///< where they came from the GPU
};

}  // namespace gradus::kmeans_detail
