// Points in GPU memory. Only units compiled with CUDA include this file; all others use gpu_source.hpp.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "cuda/job.hpp"
#include "cuda/registered.hpp"
#include "execution/gpu_job.hpp"
#include "execution/machine.hpp"
#include "kmeans/points/gpu_tier.hpp"
#include "kmeans/points/point_rows.hpp"
#include "kmeans/points/point_source.hpp"

namespace gradus::kmeans_detail {

template <class T>
class HostPoints;

template <class T>
class GpuPoints final : public PointSource<T> {
 public:
  /// Uses this rank's `points` and `weights` (may be empty) in place if they are on the GPU of `execution`. Otherwise
  /// copies them to that GPU, where stored points are widened. Waits for Execution::stream first. If points, weights
  /// and the job's needs do not fit the free memory or Execution::gpu_memory_limit, stored points are not widened on
  /// the GPU (GpuTier::stored), or the points stay in host memory, which is pinned. If the job does not support that,
  /// or even its least memory does not fit, throws OutOfMemoryError with the required and the available bytes.
  GpuPoints(const PointRows<T>& points, VectorView<const T> weights, const Execution& execution, const GpuNeeds& needs,
            const core::RankRows& rank_rows);
  /// Copies rows, of this rank or of all ranks, to the same GPU, as the points of a job without ranks. `rows` are
  /// global numbers. Collective. `weights` are the weights of the copies, in host memory.
  GpuPoints(const GpuPoints& all, std::span<const std::int64_t> rows, VectorView<const T> weights,
            std::uint64_t extra_bytes);

  ~GpuPoints() override {
    if (are_in_blocks()) cudaStreamSynchronize(job_->stream());  // the GPU no longer reads the memory
  }

  const std::shared_ptr<cuda::Job>& job() const { return job_; }
  const execution::Gpu& device() const { return gpu_; }
  VectorView<const T> weights() const { return weights_; }  ///< the weights on the GPU, or an empty view
  /// Returns where the points are, and how passes process them.
  const GpuTierPlan& plan() const { return plan_; }
  /// Returns true if passes process the points by blocks, because the GPU does not hold them in the type of the job. If
  /// they are in host memory, rows() has the address at which kernels read them.
  bool are_in_blocks() const { return plan_.tier != GpuTier::resident; }
  /// Returns the points on the GPU in the type in which they are stored, or an empty view.
  const StoredMatrixView& stored_on_gpu() const { return stored_on_gpu_; }
  /// Enqueues a copy of consecutive rows, in the type of the job and without gaps, to GPU memory. The points must be in
  /// blocks.
  void copy_rows(std::int64_t first, std::int64_t count, T* to, const cuda::Stream& stream) const;
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
  core::ColumnRanges own_column_ranges() const override;

 private:
  GpuTierPlan plan_of(std::uint64_t point_bytes, std::uint64_t weight_bytes, const Execution& execution,
                      const GpuNeeds& needs) const;
  /// Copies stored rows to the GPU as they are.
  void keep_stored(const PointRows<T>& rows);
  /// Uses rows in host memory. Stored rows are widened to a copy.
  void pin(const PointRows<T>& rows, const Execution* execution);
  void to_unit_rows_on_host();
  HostPoints<T> on_host() const;
  void measure_on_host(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const;
  /// Returns copies of some rows of this rank. `rows` contains their numbers, counted from the first row of this rank.
  Matrix<T> copies_of(std::span<const std::int64_t> rows) const;
  unsigned int blocks(int per_multiprocessor) const;
  void gather(const GpuPoints& all, std::span<const std::int64_t> rows, T* to) const;

  using PointSource<T>::points_;
  using PointSource<T>::host_weights_;

  const execution::Gpu& gpu_;
  std::shared_ptr<cuda::Job> job_;
  VectorView<const T> weights_;
  GpuTierPlan plan_;
  Matrix<T> host_copy_;            ///< rows of unit length, or rows without gaps, if points are in host memory
  PointRows<T> host_rows_;         ///< the points in host memory if they are in blocks
  cuda::RegisteredMemory pinned_;  ///< the memory of host_rows_, without gaps between rows; empty if points are stored
  cuda::DeviceBuffer<unsigned char> owned_stored_;
  StoredMatrixView stored_on_gpu_;
  cuda::DeviceBuffer<T> owned_;
  cuda::DeviceBuffer<T> owned_weights_;
  Matrix<T> copied_weights_;  ///< host copy of the weights if the caller's weights are on the GPU
};

}  // namespace gradus::kmeans_detail
