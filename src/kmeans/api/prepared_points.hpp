// The points of a job and their statistics. The points are in the memory where the job runs.
#pragma once

#include <memory>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "kmeans/api/plan.hpp"
#include "kmeans/points/gpu_tier.hpp"

namespace gradus::kmeans_detail {

template <class T>
class PreparedPoints {
 public:
  /// Copies the points to the memory where the job runs, if necessary, and examines their values. Throws InputError for
  /// unusable values. `centroids`: the given centroids in host memory, or empty. `needs`: the GPU memory that the job
  /// uses in addition to points and weights.
  PreparedPoints(const JobPlan<T>& plan, const PointRows<T>& points, MatrixView<const T> centroids, KMeansMetric metric,
                 GpuNeeds needs, std::vector<Phase>& phases);

  const PointSource<T>& source() const { return *source_; }
  MatrixView<const T> centroids() const { return centroids_; }  ///< in host memory
  const Statistics& statistics() const { return statistics_; }

  /// Counts the different points, but stops at the number of clusters. Throws InputError if there are fewer different
  /// points than clusters, unless the options accept that.
  std::int64_t different_points(const KMeansOptions& options) const;
  /// Throws InputError if there are several clusters and not all points are equal, but all their squared distances are
  /// zero.
  void require_distances(std::int64_t clusters) const;

  /// Returns a problem that refers to memory owned by this object.
  Problem<T> problem();

 private:
  void scale_centroids(const JobPlan<T>& plan);

  Matrix<T> widened_;  ///< a copy of stored points, if the job cannot read them
  std::unique_ptr<PointSource<T>> source_;
  MatrixView<const T> centroids_;
  Matrix<T> unit_centroids_;
  Statistics statistics_;
  core::ExactAccumulator rank_inertia_;
};

}  // namespace gradus::kmeans_detail
