// The points of a job in the memory where the job runs, and their statistics.
#pragma once

#include <memory>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "kmeans/api/plan.hpp"

namespace gradus::kmeans_detail {

template <class T>
class PreparedPoints {
 public:
  /// Copies the points to the memory where the job runs, if necessary, and examines their values. `centroids` are the
  /// given ones in host memory, or empty. `gpu_bytes` is the GPU memory that the job uses besides points and weights.
  /// Throws InputError for unusable values.
  PreparedPoints(const JobPlan<T>& plan, MatrixView<const T> points, MatrixView<const T> centroids, KMeansMetric metric,
                 std::uint64_t gpu_bytes, std::vector<Phase>& phases);

  const PointSource<T>& source() const { return *source_; }
  MatrixView<const T> centroids() const { return centroids_; }  ///< in host memory
  const Statistics& statistics() const { return statistics_; }

  /// Returns the number of different points, counted up to the number of clusters. Throws InputError if there are fewer
  /// different points than clusters, unless the options accept that.
  std::int64_t different_points(const KMeansOptions& options) const;
  /// Throws InputError if there are several clusters and all squared distances are zero although points differ.
  void require_distances(std::int64_t clusters) const;

  /// Returns a problem that refers to memory of this object.
  Problem<T> problem();

 private:
  void scale_centroids(const JobPlan<T>& plan);

  std::unique_ptr<PointSource<T>> source_;
  MatrixView<const T> centroids_;
  Matrix<T> unit_centroids_;
  Statistics statistics_;
  core::ExactAccumulator rank_inertia_;
};

}  // namespace gradus::kmeans_detail
