// Chooses the points that become the centroids of empty clusters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// A point that leaves its cluster and becomes the centroid of an empty cluster.
struct Relocation {
  std::int64_t point = 0;  ///< index among the points of all ranks
  std::int32_t from = 0;
  std::int32_t to = 0;
  double weight = 1;
};

/// A point that may be relocated.
struct FarPoint {
  double distance;  ///< squared distance to the point's centroid
  double weight;
  std::int64_t point;  ///< index among the points of all ranks
  std::int32_t label;
};

/// Sorts points by distance, farthest first, and then by row. This is a total order of all points. Therefore, the
/// choice does not depend on the number of threads, ranks or GPUs.
void sort_by_distance(std::span<FarPoint> points);

/// This rank's points of positive weight, ordered by their distances to their centroids, farthest first.
class FarPoints {
 public:
  virtual ~FarPoints() = default;

  /// Measures the points, and prepares at() for the first `count` of them. Adds the number of points of positive weight
  /// of each cluster to `members`. If a cluster has more than `count` of them, any number above `count` will do.
  virtual void measure(std::int64_t count, std::span<std::uint64_t> members) = 0;
  /// Returns the number of points of positive weight.
  virtual std::int64_t size() const = 0;
  /// Returns the point at index `place` of the order. If the sorted part ends before this index, sorts at least `ahead`
  /// more points.
  virtual FarPoint at(std::int64_t place, std::int64_t ahead) = 0;
};

/// Sorts on the CPU. `labels` are in host memory.
template <class T>
class HostFarPoints final : public FarPoints {
 public:
  HostFarPoints(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels)
      : problem_(problem), centroids_(centroids), labels_(labels) {}

  void measure(std::int64_t count, std::span<std::uint64_t> members) override;
  std::int64_t size() const override { return size_; }
  FarPoint at(std::int64_t place, std::int64_t ahead) override;

 private:
  void sort_more(std::int64_t count);

  const Problem<T>& problem_;
  MatrixView<const T> centroids_;
  const std::int32_t* labels_;
  Buffer<double> distances_;
  std::int64_t size_ = 0;
  std::vector<std::int64_t> order_;  ///< the sorted part; only as much as is needed is sorted
};

/// Returns a relocation for each empty cluster, in ascending order. At most `empty` clusters are empty, i.e. without a
/// point of positive weight. The farthest point moves to the first empty cluster. On ties, the point with the lowest
/// row moves first. A point is not relocated if it has no weight, or if it is the last point with weight in its
/// cluster. If there are fewer different points than clusters, the last empty clusters get no point and stay surplus
/// (KMeansFewerDistinct). Collective.
template <class T>
std::vector<Relocation> relocate(const Problem<T>& problem, std::int64_t empty, FarPoints& points);

/// Returns the coordinates of the relocated points as a matrix in host memory. Collective.
template <class T>
Matrix<T> rows_of(const Problem<T>& problem, std::span<const Relocation> moves);

}  // namespace gradus::kmeans_detail
