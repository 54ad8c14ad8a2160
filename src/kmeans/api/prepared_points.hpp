// The points of a job where it works on them, and what is known of them before it starts.
#pragma once

#include <memory>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "kmeans/api/plan.hpp"

namespace gradus::kmeans_detail {

template <class T>
class PreparedPoints {
 public:
  /// Brings the points to where the job runs, and reads them. `centroids`: given ones in host memory, or none.
  /// `gpu_bytes`: what the job will take on the GPU beside points and weights. InputError for values that cannot be
  /// used.
  PreparedPoints(const JobPlan<T>& plan, MatrixView<const T> points, MatrixView<const T> centroids, KMeansMetric metric,
                 std::uint64_t gpu_bytes, std::vector<Phase>& phases);

  const PointSource<T>& source() const { return *source_; }
  MatrixView<const T> centroids() const { return centroids_; }  ///< in host memory
  const Statistics& statistics() const { return statistics_; }

  /// Counted up to the number of clusters. InputError where they are fewer, unless that is accepted.
  std::int64_t different_points(const KMeansOptions& options) const;
  /// InputError unless several clusters can be told apart.
  void require_distances(std::int64_t clusters) const;

  /// A problem that refers to this object's memory.
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
