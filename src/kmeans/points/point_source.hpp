// The points of a job, and what iterations, statistics and the choice of first centroids ask of them. Points are in
// host memory (host_points.hpp) or on a GPU (gpu/gpu_points.hpp), and a rank may have none: no caller asks which.
//
// Every answer has the same bits wherever the points are: minima and maxima, sums of integers and the canonical chain
// of each distance do not depend on the source.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/column_ranges.hpp"
#include "gradus/array.hpp"
#include "gradus/kmeans.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

struct Statistics;
class SeedingCover;
enum class SeedingFilter;
template <class T>
class ByteRows;
template <class T>
class GpuPoints;

/// The memory that the choice of first centroids may use.
template <class T>
struct SeedingMemory {
  SeedingFilter filter;
  /// Receives a copy of points in host memory in bytes, which costs little while the points are read anyway; stays null
  /// where the choice reads none. Null: not wanted.
  std::shared_ptr<ByteRows<T>>* copy = nullptr;
};

template <class T>
class PointSource {
 public:
  using Visit = std::function<bool(std::int64_t, MatrixView<const T>)>;
  using Done = std::function<void(std::int64_t)>;

  PointSource(const PointSource&) = delete;
  PointSource& operator=(const PointSource&) = delete;
  virtual ~PointSource() = default;

  /// This rank's points, where they are.
  MatrixView<const T> rows() const { return points_; }
  /// Their weights in host memory, or empty.
  VectorView<const T> host_weights() const { return host_weights_; }
  /// Which of all rows these are.
  const core::RankRows& rank_rows() const { return rank_rows_; }
  core::Ranks& ranks() const { return rank_rows_.ranks(); }
  const std::stop_token& stop() const { return stop_; }
  int threads() const { return threads_; }

  /// The range of each column over all ranks' points. InputError that names the first bad value.
  virtual core::ColumnRanges column_ranges() const = 0;
  /// Scales each row to unit length, in a copy. InputError for a row of zeros.
  virtual void to_unit_rows() = 0;
  /// The mean of the columns' variances, if the source measures it by itself: see mean_column_variance() of
  /// statistics.hpp.
  virtual std::optional<double> own_mean_column_variance(const Statistics& /*statistics*/) const {
    return std::nullopt;
  }

  /// Calls visit(number of the first row among this rank's, rows in host memory) with some rows after the other until
  /// it returns false.
  virtual void visit(const Visit& visit) const = 0;
  /// Returns true if visit() copies every row, which is then read once rather than in parts.
  virtual bool visits_copies() const { return false; }
  /// Copies the rows of these numbers, of all ranks, who call this together.
  virtual Matrix<T> rows_at(std::span<const std::int64_t> numbers) const = 0;
  /// The addresses of this rank's rows of these numbers, which may be copies in `copies`.
  virtual std::vector<const T*> addresses_of(std::span<const std::int64_t> numbers, Matrix<T>& copies) const = 0;

  /// out[p] = D(point p, centroid labels[p]); all but the points in host memory.
  virtual void own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const = 0;
  /// What kmeans_transform() returns; `centroids` in host memory. `progress` receives the number of finished points.
  virtual void distances(MatrixView<const T> centroids, KMeansMetric metric, MatrixView<T> distances,
                         const Done& progress) const = 0;

  /// The points' distances to chosen rows, of which `first` is the first and `expected` will be chosen. `groups`:
  /// whether weights_of_chosen() will be asked for.
  virtual std::unique_ptr<SeedingCover> cover(std::int64_t first, std::int64_t expected, bool groups,
                                              const SeedingMemory<T>& memory) const = 0;
  /// A copy of the rows of these numbers with other weights, in host memory, which ranks share. It refers to this
  /// object's job.
  virtual std::unique_ptr<PointSource> sample(std::span<const std::int64_t> numbers,
                                              VectorView<const T> weights) const = 0;

  /// Admits the caller's memory for results on the GPU that the points are on: see cuda::Job.
  virtual void admit(const void* address, const char* what) const;
  /// Copies labels to such memory.
  virtual void store_labels(MatrixView<const std::int32_t> labels, std::int32_t* to) const;
  /// The points on a GPU, for variants that run there; null: they are elsewhere.
  virtual const GpuPoints<T>* gpu() const { return nullptr; }

 protected:
  PointSource(MatrixView<const T> points, VectorView<const T> host_weights, int threads, std::stop_token stop,
              const core::RankRows& rank_rows)
      : points_(points), host_weights_(host_weights), rank_rows_(rank_rows), stop_(std::move(stop)), threads_(threads) {
  }

  MatrixView<const T> points_;
  VectorView<const T> host_weights_;

 private:
  core::RankRows rank_rows_;
  std::stop_token stop_;
  int threads_;
};

[[noreturn]] void refuse_results_on_gpu(const char* what);

template <class T>
void PointSource<T>::admit(const void* /*address*/, const char* what) const {
  refuse_results_on_gpu(what);
}

template <class T>
void PointSource<T>::store_labels(MatrixView<const std::int32_t> /*labels*/, std::int32_t* /*to*/) const {
  refuse_results_on_gpu("labels");
}

}  // namespace gradus::kmeans_detail
