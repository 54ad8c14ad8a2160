/// Quality of a clustering: the silhouette, Calinski-Harabasz and Davies-Bouldin index of any labels. They help to
/// choose the number of clusters.
///
/// Complexity: O(m^2 d) operations for the silhouette of m points, O(n d + k^2 d) for the indices of each labeling. The
/// points are read twice per labeling. Sources: Rousseeuw 1987; Calinski and Harabasz 1974; Davies and Bouldin 1979.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gradus/kmeans.hpp"

namespace gradus {

/// The three criteria of a labeling, as scikit-learn defines them. Every point counts once, whatever its weight in the
/// fit. With KMeansMetric::cosine, all rows are first scaled to unit length. The criteria rate the scaled rows, and the
/// silhouette uses the distance 1 - cosine similarity.
struct KMeansCriteria {
  /// Mean of (b - a) / max(a, b) over the points, in [-1, 1]; greater is better. For each point, a is the mean distance
  /// to the other points of its cluster. For each other cluster, there is a mean distance to its points; b is the
  /// smallest of these means. The term of a point is 0 if the point is alone in its cluster, or if a = b = 0. There is
  /// no silhouette if the sample (see KMeansCriteriaOptions) has fewer than two clusters, or no cluster with two
  /// points.
  std::optional<double> silhouette;
  /// The Calinski-Harabasz index (B / (k - 1)) / (W / (n - k)) for n points and k non-empty clusters; greater is
  /// better. W is the sum of the squared distances between each point and the mean of its cluster. B is the sum, over
  /// all points, of the squared distance between the mean of the point's cluster and the mean of all points. If W = 0,
  /// the index is 1.
  double calinski_harabasz = 0;
  /// The Davies-Bouldin index: the mean, over the clusters i, of the maximum of (s_i + s_j) / |m_i - m_j| over the
  /// other clusters j; smaller is better. m_i is the mean of cluster i, and s_i is the mean distance of the cluster's
  /// points to m_i. A pair of clusters with equal means counts as 0.
  double davies_bouldin = 0;
};

struct KMeansCriteriaOptions {
  KMeansMetric metric = KMeansMetric::euclidean;
  /// Maximum number of points in the silhouette, which needs O(n^2 d) operations for n points. If there are more
  /// points, the silhouette covers a sample of this size, drawn without replacement.
  std::int64_t silhouette_points = 20000;
  std::uint64_t seed = 0;  ///< seed of the sample
};

struct KMeansCriteriaResult {
  std::vector<KMeansCriteria> labelings;  ///< one per labeling
  std::int64_t silhouette_points = 0;     ///< number of points in the silhouette
  RunReport report;
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeansCriteriaResult kmeans_criteria(MatrixView<const T> points,
                                                   std::span<const VectorView<const std::int32_t>> labelings,
                                                   const KMeansCriteriaOptions& options, const Execution& execution);

}  // namespace detail

/// Returns the criteria of several labelings of the same points, such as fits with different numbers of clusters. The
/// distances between points, which take most of the time, are computed once for all labelings. A labeling has one label
/// from 0 to n - 1 per point; empty clusters do not count. Runs on the CPU, with the same bits on any number of
/// threads.
///
/// Throws UsageError for malformed views and invalid options. Throws InputError for NaN, infinity, labels out of range,
/// and labelings with fewer than 2 or more than n - 1 clusters. Throws UnsupportedError for GPU memory.
template <RowsOf<float, double> Points>
KMeansCriteriaResult kmeans_criteria(const Points& points, std::span<const VectorView<const std::int32_t>> labelings,
                                     const KMeansCriteriaOptions& options = {}, const Execution& execution = {}) {
  return detail::kmeans_criteria<ElementOf<Points>>(view_of(points), labelings, options, execution);
}
template <RowsOf<float, double> Points>
KMeansCriteriaResult kmeans_criteria(const Points& points, VectorView<const std::int32_t> labels,
                                     const KMeansCriteriaOptions& options = {}, const Execution& execution = {}) {
  return detail::kmeans_criteria<ElementOf<Points>>(view_of(points), std::span(&labels, 1), options, execution);
}

}  // namespace gradus
