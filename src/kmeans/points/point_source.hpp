// The interface through which iterations, statistics and seeding use the points of a job. Points are in host memory
// (host_points.hpp) or on a GPU (gpu_points.hpp), and a rank may have no points. Callers need not distinguish these
// cases.
//
// Results have the same bits for every source, because extremes, integer sums and canonical chains do not depend on the
// source.
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
#include "kmeans/points/point_rows.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

struct Statistics;
class SeedingCover;
enum class SeedingFilter;
template <class T>
class ByteRows;
template <class T>
class GpuPoints;

/// The memory that the choice of initial centroids may use.
template <class T>
struct SeedingMemory {
  SeedingFilter filter;
  /// If `copy` is null, the caller wants no byte copy of the points. Otherwise, seeding stores the byte copy of host
  /// points in *copy. If seeding makes no byte copy, *copy stays null.
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

  /// Returns this rank's points. Does not copy them. If they are stored in another type, the view has only their shape.
  MatrixView<const T> rows() const { return points_; }
  /// Returns this rank's points if they are stored in another type, otherwise an empty view.
  const StoredMatrixView& stored() const { return stored_; }
  /// Returns the weights in host memory, or an empty view.
  VectorView<const T> host_weights() const { return host_weights_; }
  /// Returns the position of this rank's rows among the rows of all ranks.
  const core::RankRows& rank_rows() const { return rank_rows_; }
  core::Ranks& ranks() const { return rank_rows_.ranks(); }
  const std::stop_token& stop() const { return stop_; }
  int threads() const { return threads_; }

  /// Returns the range of each column over the points of all ranks. Throws InputError for the first invalid value that
  /// is found.
  core::ColumnRanges column_ranges() const;
  /// Replaces the points by a copy with rows of unit length. Throws InputError for a row of zeros.
  virtual void to_unit_rows() = 0;
  /// Returns the same as mean_column_variance() (statistics.hpp) if the source can compute it. Otherwise returns no
  /// value.
  virtual std::optional<double> own_mean_column_variance(const Statistics& /*statistics*/) const {
    return std::nullopt;
  }

  /// Calls visit(first, rows) for blocks of rows until visit returns false. `first` is the index of the block's first
  /// row on this rank; `rows` are in host memory.
  virtual void visit(const Visit& visit) const = 0;
  /// Returns true if visit() copies every row. In this case, callers should visit each row only once.
  virtual bool visits_copies() const { return false; }
  /// Returns copies of the rows with the given global numbers. All ranks must call this function together.
  virtual Matrix<T> rows_at(std::span<const std::int64_t> numbers) const = 0;
  /// Returns the addresses of those rows of this rank that have the given numbers. May copy the rows to `copies`.
  virtual std::vector<const T*> addresses_of(std::span<const std::int64_t> numbers, Matrix<T>& copies) const = 0;

  /// Computes out[p] = D(point p, centroid labels[p]). All arguments are in host memory.
  virtual void own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const = 0;
  /// Computes the distances of kmeans_transform() to `centroids`, which are in host memory. `progress` receives the
  /// number of finished points.
  virtual void distances(MatrixView<const T> centroids, KMeansMetric metric, MatrixView<T> distances,
                         const Done& progress) const = 0;

  /// Returns an object that stores the distance from each point to the nearest chosen row. `first` is the first chosen
  /// row, and `expected` is how many rows will probably be chosen. `groups` is true if weights_of_chosen() will be
  /// called.
  virtual std::unique_ptr<SeedingCover> cover(std::int64_t first, std::int64_t expected, bool groups,
                                              const SeedingMemory<T>& memory) const = 0;
  /// Returns a copy of the given rows with new weights, which are in host memory. With several ranks, each rank
  /// processes a share of these rows. GPUs do not share the rows: each rank then processes all of them, like a job
  /// without ranks.
  virtual std::unique_ptr<PointSource> sample(std::span<const std::int64_t> numbers,
                                              VectorView<const T> weights) const = 0;

  /// Checks whether the source can write results to the caller's memory, and permits this. The memory must be on the
  /// GPU of the points: see cuda::Job.
  virtual void admit(const void* address, const char* what) const;
  /// Copies labels to memory that admit() has accepted.
  virtual void store_labels(MatrixView<const std::int32_t> labels, std::int32_t* to) const;
  /// Returns the points in the form for GPU variants, or null if they are not on a GPU.
  virtual const GpuPoints<T>* gpu() const { return nullptr; }

 protected:
  /// Returns the range of each column over this rank's points. Throws InputError for the first invalid value that is
  /// found.
  virtual core::ColumnRanges own_column_ranges() const = 0;

  PointSource(MatrixView<const T> points, VectorView<const T> host_weights, int threads, std::stop_token stop,
              const core::RankRows& rank_rows)
      : points_(points), host_weights_(host_weights), rank_rows_(rank_rows), stop_(std::move(stop)), threads_(threads) {
  }

  MatrixView<const T> points_;
  StoredMatrixView stored_;
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
