/// k-means over points that arrive in batches: from files larger than memory, from generators, from other processes.
///
/// A KMeansBatches object holds centroids and exact sums over the points of each cluster. add() assigns the points of a
/// batch to the centroids and adds the points to the sums. Because the sums are exact, the means depend neither on the
/// order nor on the size of the batches, nor on the number of threads, nor on how batches are distributed over objects
/// that merge() combines. After one pass over all points, move() gives the bits of one iteration of kmeans() over the
/// same points (with KMeansEmptyCluster::keep).
///
///   KMeansBatches<float> batches(first_centroids);
///   for (int iteration = 0; iteration < 20; ++iteration) {
///     batches.forget();
///     for (const Matrix<float>& batch : source) batches.add(batch);
///     if (batches.move() == 0) break;
///   }
///
/// Without forget(), the sums keep the points of earlier batches, which were assigned to earlier centroids. This is
/// the update of mini-batch k-means (Sculley, "Web-scale k-means clustering", 2010): each centroid is the mean of all
/// points that were ever assigned to it.
///
/// Limits: the limits of gradus/kmeans.hpp, and at most 2^62 points.
///
/// Complexity of add(): one kmeans_predict(), and O(n d) operations to add the points. Memory: O(k d) for the sums (16
/// to 40 bytes per coordinate for data of usual range, 1,100 bytes at most), and 16 n bytes during add().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/kmeans.hpp"

namespace gradus {

/// T is float or double. An object may be used by one thread at a time. It owns all of its memory and can be moved, but
/// not copied.
template <class T>
class GRADUS_EXPORT KMeansBatches {
 public:
  /// Copies the centroids, a k x d matrix in host memory. KMeansMetric::cosine scales them to unit length. Throws
  /// UsageError for a malformed view, InputError for values that kmeans() would refuse, and UnsupportedError for
  /// centroids on a GPU.
  explicit KMeansBatches(MatrixView<const T> centroids, KMeansMetric metric = KMeansMetric::euclidean);
  KMeansBatches(KMeansBatches&&) noexcept;
  KMeansBatches& operator=(KMeansBatches&&) noexcept;
  ~KMeansBatches();

  /// Assigns the rows of `points` to the present centroids, adds the rows to the sums, and returns the labels as
  /// kmeans_predict() does. A batch without rows changes nothing. `memory` may hold weights and memory for the labels,
  /// in host memory. The assignment runs on the requested device. The sums are computed on the CPU.
  ///
  /// Throws the errors of kmeans_predict(), and UnsupportedError for points on a GPU or a request with several ranks
  /// (merge() combines the sums of several processes). After such an error the object is unchanged.
  KMeansPrediction add(MatrixView<const T> points, const KMeansMemory<T>& memory = {}, const Execution& execution = {});

  /// Adds the sums of another object. Throws UsageError unless both objects have the same centroids and metric.
  void merge(const KMeansBatches& other);

  /// Returns the exact weighted mean of each cluster, rounded once to T. A cluster without positive weight keeps its
  /// centroid. `threads`: as Execution::threads.
  Matrix<T> means(int threads = 0) const;

  /// Moves the centroids to means(). Returns the sum of the squared movements.
  double move(int threads = 0);

  /// Forgets all points: the sums, counts and the inertia become zero. The centroids stay.
  void forget();
  /// Forgets the points of one cluster, and moves its centroid to `centroid`, d coordinates. The inertia still includes
  /// the forgotten points. Throws UsageError for a cluster out of range, and InputError for a centroid that kmeans()
  /// would refuse.
  void replace(std::int64_t cluster, VectorView<const T> centroid);

  /// Returns the present centroids, which stay valid until the next call that moves them.
  MatrixView<const T> centroids() const;
  KMeansMetric metric() const;
  /// Returns the number of points in the sums of each cluster.
  const std::vector<std::int64_t>& counts() const;
  /// Returns the total weight of each cluster, rounded once. Without weights, each point has weight 1.
  std::vector<double> weights() const;
  /// Returns the inertia of all points that were added since forget(), rounded once to double and defined as for a fit.
  /// Each batch counts with the centroids at the time of its add(). Throws InputError if the inertia exceeds the range
  /// of double.
  double inertia() const;

  /// Returns the whole object as the bytes of a .npz file: to continue later, or to merge() the sums in another
  /// process. Needs twice the memory of the sums. Throws Error if the file would exceed 4 GiB.
  std::vector<std::byte> save() const;
  /// Returns an object equal to the saved one. Throws InputError if the bytes are damaged or belong to another element
  /// type.
  static KMeansBatches restore(std::span<const std::byte> saved);

 private:
  struct State;
  explicit KMeansBatches(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gradus
