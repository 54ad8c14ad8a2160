// The points of a job at the place where it runs, and their statistics.
#pragma once

#include <memory>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "kmeans/api/plan.hpp"

namespace gradus::kmeans_detail {

template <class T>
class PreparedPoints {
 public:
  /// Brings the points to the place of the job and reads them. `centroids`: given ones in host memory, or empty.
  /// `gpu_bytes`: GPU memory of the job besides points and weights. Throws InputError for unusable values.
  PreparedPoints(const JobPlan<T>& plan, MatrixView<const T> points, MatrixView<const T> centroids, KMeansMetric metric,
                 std::uint64_t gpu_bytes, std::vector<Phase>& phases);

  const PointSource<T>& source() const { return *source_; }
  MatrixView<const T> centroids() const { return centroids_; }  ///< in host memory
  const Statistics& statistics() const { return statistics_; }

  /// Counts different points up to the number of clusters. Throws InputError for fewer, unless the options accept that.
  std::int64_t different_points(const KMeansOptions& options) const;
  /// Throws InputError if there are several clusters, and points differ but all squared distances are zero.
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
