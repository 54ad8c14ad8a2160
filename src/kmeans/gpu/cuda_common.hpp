// Host code of the CUDA variants: the data on the GPU, and an engine for those variants that update the centroids on
// the CPU.
#pragma once

#include <span>
#include <string>

#include "cuda/launch.hpp"
#include "cuda/memory.hpp"
#include "cuda/pinned.hpp"
#include "cuda/portions.hpp"
#include "cuda/transfer.hpp"
#include "execution/devices.hpp"
#include "kmeans/lloyd/lloyd.hpp"
#include "kmeans/means/float_sums.hpp"
#include "kmeans/points/cuda_points.hpp"

namespace gradus::kmeans_detail {

using cuda::block_threads;
using cuda::blocks_for;

enum class Layout : std::uint8_t {
  rows,    ///< the coordinates of a point are contiguous: element point * d + dim
  columns  ///< the values of a column are contiguous: element dim * n + point
};

/// A fit on a GPU, with its GPU job and the points in the layout that the variant needs. If the points are already on
/// the GPU, have this layout and permit 16-byte reads, they are used in place. Otherwise they are copied.
template <class T>
class CudaFit {
 public:
  /// `needs` is the GPU memory that the variant needs beyond points, weights and labels. The memory check includes it.
  CudaFit(const Problem<T>& problem, const Execution& execution, Layout layout, GpuNeeds needs);

  const Problem<T>& problem() const { return problem_; }
  const cuda::Stream& stream() const { return gpu_job_->stream(); }
  cuda::Staging& staging() { return gpu_job_->staging(); }
  const execution::Gpu& gpu() const { return gpu_; }
  int threads() const { return gpu_job_->threads(); }
  Layout layout() const { return layout_; }
  /// Returns the points if passes process them by blocks (GpuTier), otherwise null.
  const GpuPoints<T>* in_blocks() const { return in_blocks_; }
  const T* points() const { return points_; }
  const T* weights() const { return weights_; }  ///< null if all weights are 1

  /// Returns the number of multiply-adds per point in a pass without pruning, for cuda::Portions.
  double point_operations() const { return static_cast<double>(problem_.k()) * static_cast<double>(problem_.d()); }

  /// Adds the duration of the upload to the phases. Only the first call has an effect.
  void add_upload_phase(std::vector<Phase>& phases) {
    if (upload_seconds_ > 0) core::add_phase(phases, "to_device", upload_seconds_);
    upload_seconds_ = 0;
  }

 private:
  void lay_out_columns(MatrixView<const T> rows);

  const Problem<T>& problem_;
  const execution::Gpu& gpu_;
  Layout layout_;
  std::unique_ptr<GpuPoints<T>> own_;  ///< set if the points are in host memory
  const GpuPoints<T>* in_blocks_ = nullptr;
  std::shared_ptr<cuda::Job> gpu_job_;
  cuda::DeviceBuffer<T> copy_;  ///< allocated if the points cannot be used in place
  const T* points_ = nullptr;
  const T* weights_ = nullptr;
  double upload_seconds_ = 0;
};

/// Computes the inertia in double, in a fixed order of additions. `labels` and `centroids` (stored by rows) must be on
/// the GPU.
template <class T>
double float_inertia(const CudaFit<T>& job, const T* centroids, const std::int32_t* labels);

template <class T>
std::uint64_t centroid_bytes(const Problem<T>& problem) {
  return static_cast<std::uint64_t>(problem.k()) * static_cast<std::uint64_t>(problem.d()) * sizeof(T);
}

/// Transposes a matrix with one row per cluster. In the result, element dim * k + cluster is coordinate `dim` of the
/// cluster.
template <class T>
void to_columns(MatrixView<const T> rows, T* columns) {
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t dim = 0; dim < rows.columns(); ++dim) columns[dim * rows.rows() + row] = rows(row, dim);
}

/// Sums the points of each cluster on the CPU, with separate sums per thread.
template <class T>
void add_by_labels(const Problem<T>& problem, const std::int32_t* labels, std::span<FloatSums<T>> copies,
                   FloatSums<T>& total);

/// Number of operations in the first launch of a teaching variant's kernel, for cuda::Portions.
inline constexpr double operations_of_the_first_launch = 0x1p34;

/// The engine of the variants that assign on the GPU and update on the CPU. `assign(points, count, centroids, labels,
/// stream)` launches the variant's kernel for `count` points. All pointers that `assign` receives refer to GPU memory.
/// `points` and `labels` start at the first of these points, and the centroids have `layout`.
template <class T, class Assign>
class CudaAssignEngine {
 public:
  CudaAssignEngine(CudaFit<T>& job, Layout layout, Assign assign)
      : job_(job), layout_(layout), assign_(assign), portions_(job.problem().stop, operations_of_the_first_launch),
        sums_(job.problem()), centroids_(job.problem().k() * job.problem().d()), staged_centroids_(centroids_.size()),
        labels_(job.problem().n()), new_labels_(job.problem().n()) {
    for (int thread = 0; thread < job.threads(); ++thread) copies_.emplace_back(job.problem());
  }

  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels, std::vector<Phase>& phases) {
    job_.add_upload_phase(phases);
    {
      core::PhaseTimer timer(phases, "to_device");
      send(centroids, layout_);
      job_.stream().wait();
    }
    {
      core::PhaseTimer timer(phases, "assign");
      const std::int64_t point_step = job_.layout() == Layout::rows ? job_.problem().d() : 1;
      portions_.run(labels_.size(), job_.point_operations(), 1024, job_.stream(),
                    [&](std::int64_t first, std::int64_t count) {
                      assign_(job_.points() + first * point_step, count, centroids_.data(), labels_.data() + first,
                              job_.stream());
                    });
      job_.stream().wait();
    }
    {
      core::PhaseTimer timer(phases, "to_host");
      cuda::download(labels_, new_labels_.data(), labels_.size(), job_.staging(), job_.threads(), job_.stream());
    }
    core::PhaseTimer timer(phases, "update");
    std::int64_t changed = 0;
    const std::int64_t stretch = core::chunk_length(labels_.size(), 1, job_.threads());
#pragma omp parallel for num_threads(job_.threads()) schedule(static) reduction(+ : changed)
    for (std::int64_t first = 0; first < labels_.size(); first += stretch) {
      if (job_.problem().stop.stop_requested()) continue;
      for (std::int64_t point = first; point < std::min(first + stretch, labels_.size()); ++point) {
        changed += labels[point] != new_labels_[point];
        labels[point] = new_labels_[point];
      }
    }
    add_by_labels<T>(job_.problem(), labels, copies_, sums_);
    return {changed};
  }

  const FloatSums<T>& sums() const { return sums_; }

  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool /*labels_are_current*/) {
    std::vector<Phase> uncounted;  // not reported, because the driver's phase includes this time
    pass(centroids, labels, uncounted);
    send(centroids, Layout::rows);
    return float_inertia(job_, centroids_.data(), labels_.data());
  }
  static double rechecked() { return 0; }

 private:
  void send(MatrixView<const T> centroids, Layout layout) {
    if (layout == Layout::columns) to_columns(centroids, staged_centroids_.data());
    else std::copy_n(centroids.data(), staged_centroids_.size(), staged_centroids_.data());
    centroids_.copy_from_host(staged_centroids_.data(), staged_centroids_.size(), job_.stream());
  }

  CudaFit<T>& job_;
  Layout layout_;
  Assign assign_;
  cuda::Portions portions_;
  FloatSums<T> sums_;
  std::vector<FloatSums<T>> copies_;
  cuda::DeviceBuffer<T> centroids_;
  cuda::PinnedBuffer<T> staged_centroids_;
  cuda::DeviceBuffer<std::int32_t> labels_;
  Buffer<std::int32_t> new_labels_;
};

}  // namespace gradus::kmeans_detail
