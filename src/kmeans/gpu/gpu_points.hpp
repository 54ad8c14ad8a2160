// Points that lie in the memory of a GPU, and what the host side of a job asks of them: their ranges and variance, rows
// for the first centroids, distances. Like cuda/job.hpp, names alone in a build without CUDA.
//
// Every answer has the bits of the host's own functions (statistics.hpp, cover.hpp, distance.hpp): minima and maxima,
// sums of integers and the canonical chain of each distance do not depend on who computes them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "cuda/job.hpp"
#include "execution/gpu_job.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

#ifdef GRADUS_HAS_CUDA

template <class T>
class GpuPoints {
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
  const execution::Gpu& gpu() const { return gpu_; }
  MatrixView<const T> rows() const { return points_; }                   ///< on the GPU
  VectorView<const T> weights() const { return weights_; }               ///< on the GPU, or empty
  VectorView<const T> host_weights() const { return weights_on_host_; }  ///< the same in host memory
  /// Whether 16 bytes behind the last element may be read too, and rows begin where quads of 16 bytes do.
  bool has_room_behind() const { return owned_.size() > 0; }

  /// InputError that names the first bad value.
  core::ColumnRanges column_ranges() const { return job_->column_ranges(points_, "points"); }
  /// What mean_column_variance() of statistics.hpp gives; nothing where the points are too far apart in magnitude.
  std::optional<double> mean_column_variance(const Statistics& statistics) const;
  /// Scales each row to unit length, in memory of its own. InputError for a row of zeros.
  void to_unit_rows();

  /// The rows of these numbers in host memory.
  Matrix<T> copy_rows(std::span<const std::int64_t> rows) const;

  /// out[p] = D(point p, centroid labels[p]); all but the points in host memory.
  void own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const;
  /// What kmeans_transform() gives; `centroids` in host memory, `distances` there or on the GPU.
  /// `progress`: told of the points that are done.
  void distances(MatrixView<const T> centroids, Metric metric, MatrixView<T> distances,
                 const std::function<void(std::int64_t)>& progress) const;

 private:
  unsigned int blocks(int per_multiprocessor) const;
  void gather(const GpuPoints& all, std::span<const std::int64_t> rows, T* to) const;

  const execution::Gpu& gpu_;
  std::shared_ptr<cuda::Job> job_;
  MatrixView<const T> points_;
  VectorView<const T> weights_;
  cuda::DeviceBuffer<T> owned_;
  cuda::DeviceBuffer<T> owned_weights_;
  VectorView<const T> weights_on_host_;
  Matrix<T> copied_weights_;  ///< where they came from the GPU
};

#endif

/// Bytes of a cover (seeding/cuda_cover.hpp) on the GPU: distances, groups, and a copy of the points in bytes.
constexpr std::uint64_t gpu_cover_bytes(std::int64_t points, std::int64_t columns, bool groups) {
  return static_cast<std::uint64_t>(points) *
         ((groups ? 15 : 11) + 16 + static_cast<std::uint64_t>(columns + 15) / 16 * 16);
}

/// Calls visit(number of the first row, rows in host memory) with some rows after the other until it returns false.
/// `gpu`: the points' object where `points` lie on a GPU, from which they are copied.
template <class T, class Visit>
void visit_rows(MatrixView<const T> points, const GpuPoints<T>* gpu, const Visit& visit) {
  if constexpr (cuda::is_compiled) {
    if (gpu) return cuda::visit_rows(points, gpu->job().get(), visit);
  }
  visit(std::int64_t{0}, points);
}

}  // namespace gradus::kmeans_detail
