/// k-means in one dimension: the clustering with the least inertia.
///
/// Lloyd's algorithm finds a clustering that no single step improves. In one dimension, kmeans1d() finds a clustering
/// that no clustering improves: the sum of w * (x - mean)^2 over the points, with the exact mean of each cluster, is
/// the least in exact arithmetic, for all values and weights in the limits of gradus/kmeans.hpp.
///
/// * Clusters are numbered by ascending values. Equal values, and -0 and 0, are in one cluster.
/// * If several clusterings have the least inertia, the result is the one with the least borders: the first value of
///   every cluster is the least that it is in any of them. One of the clusterings has all of these borders.
/// * Centroids, counts and the inertia are defined as in gradus/kmeans.hpp. Therefore `inertia` is computed from the
///   rounded centroids. It exceeds the least inertia by no more than the rounding of the centroids causes.
/// * A point of weight 0 has the label of the nearest centroid. Another point has the label of its cluster. Where the
///   rounding of centroids moves the middle of two of them past a value, kmeans_predict() may return another label.
/// * With KMeansFewerDistinct::accept, and fewer different values than clusters, each value is a cluster. The centroids
///   of the other clusters repeat these values cyclically, and their counts are 0.
///
/// The result does not depend on threads, and runs on one CPU thread.
///
/// Complexity: O(n log n) operations for values without many ties; at most O(n k log n). Memory for n values: 16 n
/// bytes to sort them (32 n with weights), and then 36 bytes for each different value (60 with weights).
///
/// Sources: Wu, "Optimal quantization by matrix searching" (1991); Aggarwal, Schieber and Tokuyama, "Finding a
/// minimum-weight k-link path in graphs with the concave Monge property and applications" (1994).
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

template <class T>
struct KMeans1dResult {
  Matrix<T> centroids;               ///< clusters x 1, ascending; repeated if there are fewer different values
  Buffer<std::int32_t> labels;       ///< n labels; empty if KMeansMemory::labels was given
  std::vector<std::int64_t> counts;  ///< number of points that have each label
  double inertia = 0;                ///< inertia of `labels` and `centroids`
  RunReport report;                  ///< names no variant
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeans1dResult<T> kmeans1d(MatrixView<const T> points, const KMeansOptions& options,
                                         const KMeansMemory<T>& memory, const Execution& execution);

}  // namespace detail

/// Clusters `points`, an n x 1 matrix in host memory with 1 <= clusters <= n < 2^31. Of the options, only the number of
/// clusters and KMeansFewerDistinct apply. `memory` may hold weights and memory for the labels.
///
/// Throws InputError for several columns and for the values that kmeans() refuses, UsageError for invalid options, for
/// options of Lloyd's algorithm that differ from their defaults, for malformed views and for given centroids,
/// UnsupportedError for GPUs, variants and ranks, OutOfMemoryError if memory does not suffice, and InterruptedError
/// after a stop request. Reports progress as a number of borders.
template <RowsOf<float, double> Points>
KMeans1dResult<ElementOf<Points>> kmeans1d(const Points& points, const KMeansOptions& options,
                                           const KMeansMemory<ElementOf<Points>>& memory = {},
                                           const Execution& execution = {}) {
  return detail::kmeans1d<ElementOf<Points>>(view_of(points), options, memory, execution);
}

/// Overload for the n elements of a vector.
template <class T>
KMeans1dResult<T> kmeans1d(VectorView<const T> values, const KMeansOptions& options, const KMeansMemory<T>& memory = {},
                           const Execution& execution = {}) {
  return detail::kmeans1d<T>(MatrixView<const T>(values.data(), values.size(), 1, values.place()), options, memory,
                             execution);
}

}  // namespace gradus
