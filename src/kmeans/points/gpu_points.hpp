// Points in GPU memory. Only units compiled with CUDA include this file; all others use gpu_source.hpp.
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
  /// Uses this rank's `points` and `weights` (may be empty) in place if they are on the GPU of `execution`. Otherwise
  /// copies them to that GPU. Waits for Execution::stream first. `extra_bytes` is the GPU memory that the job needs in
  /// addition to points and weights. If all of this does not fit, throws OutOfMemoryError with the required and the
  /// available bytes.
  GpuPoints(MatrixView<const T> points, VectorView<const T> weights, const Execution& execution,
            std::uint64_t extra_bytes, const core::RankRows& rank_rows);
  /// Copies rows of this rank to other memory of the same GPU. The copies become the points of a job without ranks.
  /// `weights` are the weights of the copies, in host memory.
  GpuPoints(const GpuPoints& all, std::span<const std::int64_t> rows, VectorView<const T> weights,
            std::uint64_t extra_bytes);

  const std::shared_ptr<cuda::Job>& job() const { return job_; }
  const execution::Gpu& device() const { return gpu_; }
  VectorView<const T> weights() const { return weights_; }  ///< the weights on the GPU, or an empty view
  /// Returns true if the rows are aligned to 16-byte units and kernels may read 16 bytes past the last element.
  bool has_room_behind() const { return owned_.size() > 0; }

  void to_unit_rows() override;
  /// Returns the mean of the columns' variances, or no value if the magnitudes of the points differ too much.
  std::optional<double> own_mean_column_variance(const Statistics& statistics) const override;
  void visit(const typename PointSource<T>::Visit& visit) const override;
  bool visits_copies() const override { return true; }
  Matrix<T> rows_at(std::span<const std::int64_t> numbers) const override;
  std::vector<const T*> addresses_of(std::span<const std::int64_t> numbers, Matrix<T>& copies) const override;
  void own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const override;
  /// Computes the distances. The array `distances` may be in host memory or on the GPU.
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

 protected:
  core::ColumnRanges own_column_ranges() const override {
    return job_->column_ranges(points_, "points", this->rank_rows().first());
  }

 private:
  /// Returns copies of those rows of this rank that have the numbers in `rows`. The numbers count from the first row of
  /// this rank.
  Matrix<T> copies_of(std::span<const std::int64_t> rows) const;
  unsigned int blocks(int per_multiprocessor) const;
  void gather(const GpuPoints& all, std::span<const std::int64_t> rows, T* to) const;

  using PointSource<T>::points_;
  using PointSource<T>::host_weights_;

  const execution::Gpu& gpu_;
  std::shared_ptr<cuda::Job> job_;
  VectorView<const T> weights_;
  cuda::DeviceBuffer<T> owned_;
  cuda::DeviceBuffer<T> owned_weights_;
  Matrix<T> copied_weights_;  ///< host copy of the weights if the caller's weights are on the GPU
};

}  // namespace gradus::kmeans_detail
