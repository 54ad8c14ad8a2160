/// Bisecting k-means: starts with one cluster of all points and splits clusters in two until there are k.
///
/// * Each split is a fit of two clusters to the points of one cluster (kmeans()). KMeansSplit chooses the cluster.
/// Among
///   clusters with the same score, the leftmost is split.
/// * The splits form a binary tree, and its leaves are the clusters, numbered from left to right. A point goes to the
///   child with the nearer centroid, on ties to the left child. Therefore, the label of a point is not always the
///   cluster with the nearest centroid.
/// * A cluster whose points of positive weight are all equal is not split. If there are fewer different points than
///   clusters, and the options accept that, further clusters repeat the centroids cyclically and have no points.
/// * Centroid, inertia and D are defined as in gradus/kmeans.hpp. The result does not depend on threads.
///
/// Complexity: each level of the tree costs as much as a fit of two clusters. A balanced tree has log2(k) levels.
/// Source: Steinbach, Karypis and Kumar, "A comparison of document clustering techniques" (2000).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/names.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

/// The cluster that is split next.
enum class KMeansSplit : std::uint8_t {
  biggest_inertia,  ///< the cluster of the largest inertia
  largest_cluster   ///< the cluster with the most points, whatever their weights
};
template <>
inline constexpr auto enum_names<KMeansSplit> = std::to_array<EnumName<KMeansSplit>>(
    {{KMeansSplit::biggest_inertia, "biggest-inertia"}, {KMeansSplit::largest_cluster, "largest-cluster"}});

/// The splits, in the order in which they were made. Split s has the children 2 s (left) and 2 s + 1 (right).
template <class T>
struct KMeansTree {
  Matrix<T> centroids;  ///< a row for each child
  /// For each child: the split of its points, or ~label if the child is a cluster. Without splits, all points have
  /// label 0.
  std::vector<std::int32_t> next;
};

template <class T>
struct KMeansBisection {
  Matrix<T> centroids;               ///< clusters x d
  Buffer<std::int32_t> labels;       ///< n labels; empty if KMeansMemory::labels was given
  std::vector<std::int64_t> counts;  ///< number of points that have each label
  double inertia = 0;                ///< inertia of `labels` and `centroids`
  KMeansTree<T> tree;
  RunReport report;  ///< names no variant
};

/// Returns the first two centroids (2 x d) of the split of these rows. Called from the thread that made the call.
template <class T>
using KMeansFirstTwo = std::function<Matrix<T>(std::span<const std::int64_t> rows)>;

namespace detail {

template <class T>
GRADUS_EXPORT KMeansBisection<T> kmeans_bisecting(MatrixView<const T> points, const KMeansOptions& options,
                                                  KMeansSplit split, const KMeansMemory<T>& memory,
                                                  const Execution& execution, const KMeansFirstTwo<T>& first_two);
template <class T>
GRADUS_EXPORT Buffer<std::int32_t> kmeans_tree_labels(MatrixView<const T> centroids, std::span<const std::int32_t> next,
                                                      MatrixView<const T> points, const Execution& execution);

}  // namespace detail

/// Clusters `points`, n x d in host memory with 1 <= clusters <= n. Initialization,
/// restarts, stopping rules, the seed and the treatment of empty clusters apply to the fit of each split. `memory` may
/// hold weights and memory for the labels. If `first_two` is set, it replaces KMeansOptions::init.
///
/// Throws the errors of kmeans(), UsageError for other options that differ from their defaults and for given centroids,
/// and UnsupportedError for ranks and for points on a GPU. Reports progress as a number of clusters.
template <RowsOf<float, double> Points>
KMeansBisection<ElementOf<Points>> kmeans_bisecting(const Points& points, const KMeansOptions& options,
                                                    KMeansSplit split = KMeansSplit::biggest_inertia,
                                                    const KMeansMemory<ElementOf<Points>>& memory = {},
                                                    const Execution& execution = {},
                                                    const KMeansFirstTwo<ElementOf<Points>>& first_two = {}) {
  return detail::kmeans_bisecting<ElementOf<Points>>(view_of(points), options, split, memory, execution, first_two);
}

/// Returns the labels of further points in host memory. For the points of the fit, they are the labels of the fit.
/// Throws InputError for other numbers of columns and for values that are not finite.
template <class T, RowsOf<T> Points>
Buffer<std::int32_t> kmeans_predict(const KMeansTree<T>& tree, const Points& points, const Execution& execution = {}) {
  return detail::kmeans_tree_labels<T>(tree.centroids.view(), tree.next, view_of(points), execution);
}

}  // namespace gradus
