// Points that lie in the memory of a GPU, and what the host side of a job asks of them: their ranges and variance, rows
// for the first centroids, distances. Plain C++; a build without CUDA has make_gpu_points() alone, which refuses.
//
// Every answer has the bits of the host's own functions (statistics.hpp, cover.hpp, distance.hpp): minima and maxima,
// sums of integers and the canonical chain of each distance do not depend on who computes them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/column_ranges.hpp"
#include "core/philox.hpp"
#include "core/visit_copies.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// What Cover (cover.hpp) is on the host, by looking at every point in every step: on a GPU that is cheaper than to
/// know which points need no look.
template <class T>
class GpuCover {
 public:
  static constexpr std::int64_t most_candidates = 64;  ///< of one call

  GpuCover() = default;
  GpuCover(const GpuCover&) = delete;
  GpuCover& operator=(const GpuCover&) = delete;
  virtual ~GpuCover() = default;

  virtual std::uint64_t total() const = 0;
  virtual const std::vector<std::int64_t>& chosen() const = 0;
  virtual std::vector<std::int64_t> rows_at(std::span<const std::uint64_t> targets) const = 0;
  virtual std::vector<std::uint64_t> gains(std::span<const std::int64_t> candidates) const = 0;
  virtual void add(std::span<const std::int64_t> rows) = 0;
  virtual std::vector<std::int64_t> sample(std::uint64_t wanted, const core::Philox& random, int round) const = 0;
  virtual std::vector<std::uint64_t> weights_of_chosen() const = 0;
};

template <class T>
class GpuPoints {
 public:
  GpuPoints() = default;
  GpuPoints(const GpuPoints&) = delete;
  GpuPoints& operator=(const GpuPoints&) = delete;
  virtual ~GpuPoints() = default;

  virtual MatrixView<const T> rows() const = 0;          ///< on the GPU
  virtual VectorView<const T> weights() const = 0;       ///< on the GPU, or empty
  virtual VectorView<const T> host_weights() const = 0;  ///< the same in host memory

  /// InputError that names the first bad value.
  virtual core::ColumnRanges column_ranges() = 0;
  /// What mean_column_variance() of statistics.hpp gives; nothing where the points are too far apart in magnitude.
  virtual std::optional<double> mean_column_variance(const Statistics& statistics) = 0;
  /// Scales each row to unit length, in memory of its own. InputError for a row of zeros.
  virtual void to_unit_rows() = 0;

  /// Rows in host memory: those named, or `count` from `first` on.
  virtual Matrix<T> copy_rows(std::span<const std::int64_t> rows) const = 0;
  virtual Matrix<T> copy_slice(std::int64_t first, std::int64_t count) const = 0;

  /// out[p] = D(point p, centroid labels[p]); all but the points in host memory.
  virtual void own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const = 0;
  /// What kmeans_transform() gives; `centroids` in host memory, `distances` there or on the GPU.
  virtual void distances(MatrixView<const T> centroids, Metric metric, MatrixView<T> distances) const = 0;
  /// Before results are written there: waits for Execution::stream, for its work may still use the memory. UsageError
  /// where the address is not memory of this GPU, whatever the view of it says.
  virtual void take_for_results(const void* address, const char* what, const Execution& execution) const = 0;
  /// Copies labels from host memory to the GPU.
  virtual void store_labels(const std::int32_t* labels, VectorView<std::int32_t> to) const = 0;

  /// `first`: the row chosen first. `groups`: whether weights_of_chosen() will be asked for.
  virtual std::unique_ptr<GpuCover<T>> cover(std::int64_t first, bool groups) const = 0;
};

/// Bytes of a cover on the GPU.
constexpr std::uint64_t gpu_cover_bytes(std::int64_t points, bool groups) {
  return static_cast<std::uint64_t>(points) * (groups ? 13 : 9);
}

/// `points`, and `weights` where there are any, on the GPU of `execution`: where they lie if they lie there, otherwise
/// copies. Waits for Execution::stream first. `extra_bytes`: what the job will take there beside them, for the check
/// that all fits: Error with both numbers where it does not.
template <class T>
std::unique_ptr<GpuPoints<T>> make_gpu_points(MatrixView<const T> points, VectorView<const T> weights,
                                              const Execution& execution, std::uint64_t extra_bytes);

/// A copy in host memory of rows that may lie on a GPU. Waits for Execution::stream first.
template <class T>
Matrix<T> copy_to_host(MatrixView<const T> rows, const char* what, const Execution& execution);

/// Calls visit(number of the first row, rows in host memory) with some rows after the other until it returns false.
/// `gpu`: the points' object where `points` lie on a GPU, from which they are copied.
template <class T, class Visit>
void visit_rows(MatrixView<const T> points, const GpuPoints<T>* gpu, const Visit& visit) {
  if (!gpu) {
    visit(std::int64_t{0}, points);
    return;
  }
  const auto copy = [&](std::int64_t first, std::int64_t count) { return gpu->copy_slice(first, count); };
  core::visit_copies<T>(points.rows(), copy, visit);
}

}  // namespace gradus::kmeans_detail
