/// How well a clustering tells its clusters apart: silhouette, Calinski-Harabasz and Davies-Bouldin index of labels,
/// wherever these come from. With them the number of clusters is chosen.
///
/// Complexity: O(m^2 d) operations for the silhouette of m points, O(n d + k^2 d) for the indices of each labeling; the
/// points are read twice for each labeling. Sources: Rousseeuw 1987; Calinski and Harabasz 1974; Davies and Bouldin
/// 1979.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gradus/kmeans.hpp"

namespace gradus {

/// How well clusters are told apart, by the three usual criteria. They are defined as scikit-learn defines them; every
/// point counts once, whatever its weight in the fit. With KMeansMetric::cosine they are those of the rows of unit
/// length, and the distance of the silhouette is 1 - cosine similarity.
struct KMeansCriteria {
  /// Mean of (b - a) / max(a, b) over the points (0 where a point is alone in its cluster, or a = b = 0): a is its mean
  /// distance to the other points of its cluster, b the least mean distance to the points of another cluster. Between
  /// -1 and 1; the greater, the better. None where the sample (see KMeansCriteriaOptions) has fewer than two clusters,
  /// or no two points in one.
  std::optional<double> silhouette;
  /// B / (k - 1) over W / (n - k): W is the sum of the squared distances of the points to their cluster's mean, B that
  /// of the clusters' means to the mean of all, once for each of their points; k the number of clusters with points.
  /// 1 where W = 0. The greater, the better.
  double calinski_harabasz = 0;
  /// Mean over the clusters of the largest (s_i + s_j) / |m_i - m_j|: s is the mean distance of a cluster's points to
  /// their mean m. Pairs with equal means count as 0. The less, the better.
  double davies_bouldin = 0;
};

struct KMeansCriteriaOptions {
  KMeansMetric metric = KMeansMetric::euclidean;
  /// The silhouette takes all distances between points, O(n^2 d) operations. With more points than this, that many are
  /// drawn, without replacement, and it is the silhouette of these among themselves.
  std::int64_t silhouette_points = 20000;
  std::uint64_t seed = 0;  ///< of the draw
};

struct KMeansCriteriaResult {
  std::vector<KMeansCriteria> labelings;  ///< one for each labeling
  std::int64_t silhouette_points = 0;     ///< points of which the silhouette is
  RunReport report;
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeansCriteriaResult kmeans_criteria(MatrixView<const T> points,
                                                   std::span<const VectorView<const std::int32_t>> labelings,
                                                   const KMeansCriteriaOptions& options, const Execution& execution);

}  // namespace detail

/// The criteria of several labelings of the same points, such as those of fits with different numbers of clusters; the
/// distances between points, on which most of the time goes, are measured once for all. A labeling has one label of 0
/// to n - 1 for each point; clusters without points do not count. Runs on the CPU; the same bits on any number of
/// threads. Throws UsageError for views and options that cannot be, InputError for NaN, infinity, labels out of range,
/// and where a labeling has fewer than 2 clusters or more than n - 1; UnsupportedError for memory of a GPU.
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
