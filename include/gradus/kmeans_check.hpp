/// Verification of a k-means result, computed by Gradus or by another library.
///
/// The call checks two properties. They are reported separately, because a result may have one without the other:
///
/// * Labels: each label is the lowest index among the nearest centroids, by the canonical distance D of
///   gradus/kmeans.hpp.
/// * Means: each centroid is the exact weighted mean of the points with its label, rounded once. With
///   KMeansMetric::cosine, rows and means are scaled to unit length. A cluster without points of positive weight has no
///   mean, and so does a cluster whose mean has no direction.
///
/// A fit that stopped because no label changed has both properties. A fit that stopped earlier, at its iteration limit
/// or by its tolerance, has correct labels, but its centroids are the means of the labels of the last iteration: the
/// labels were assigned to the centroids after that.
///
/// Complexity: one assignment of the points and one pass for the sums. Memory in addition to the input: O(n) for
/// labels, O(k d) for sums.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

struct KMeansCheckOptions {
  /// 0 for the canonical rule. Otherwise a label passes if D(label) - D(nearest) is at most this times D(label), and a
  /// coordinate of a centroid passes if it differs from the mean by at most this times the largest magnitude in its
  /// column of the centroids and means.
  double tolerance = 0;
  /// Number of rows, spread evenly, whose nearest centroid is searched by the oracle's plain loop. If there are not
  /// more rows than that, labels, means and inertia come from plain loops and exact accumulators alone.
  std::int64_t reference_rows = 0;
};

struct KMeansLabelCheck {
  std::int64_t incorrect = 0;         ///< number of labels that do not pass
  std::int64_t within_tolerance = 0;  ///< number of labels that pass only because of the tolerance
  double largest_excess = 0;          ///< largest (D(label) - D(nearest)) / D(label) of all points
  std::int64_t row = -1;              ///< row of the first label that does not pass, or -1
  std::int32_t label = -1;            ///< the label in this row
  std::int32_t nearest = -1;          ///< the correct label of this row
  double distance = 0;                ///< D(label) of this row
  double nearest_distance = 0;        ///< D(nearest) of this row
};

struct KMeansMeanCheck {
  std::int64_t incorrect = 0;         ///< number of centroids that do not pass
  std::int64_t within_tolerance = 0;  ///< number of centroids that pass only because of the tolerance
  std::int64_t without_mean = 0;      ///< number of clusters that have no mean
  double largest_deviation = 0;       ///< largest difference between a coordinate and the mean
  /// With KMeansMetric::euclidean: a lower bound, up to rounding errors of double, for the amount by which the inertia
  /// decreases if the centroids move to the means. One more iteration lowers it by at least this amount.
  double excess_inertia = 0;
  std::int64_t cluster = -1;  ///< index of the first centroid that does not pass, or -1
  std::int64_t column = -1;   ///< first column of this centroid that does not pass
  double value = 0;           ///< the coordinate there
  double mean = 0;            ///< the correct coordinate
  double ulps = 0;            ///< number of steps between adjacent numbers of the type, from `value` to `mean`
};

struct KMeansCheck {
  KMeansLabelCheck labels;
  KMeansMeanCheck means;
  double inertia = 0;                ///< inertia of the given labels and centroids, defined as for a fit
  std::vector<std::int64_t> counts;  ///< number of points that have each label
  std::int64_t reference_rows = 0;   ///< number of rows that were compared by the plain loop
  /// Number of these rows for which the production variant found another nearest centroid. It is 0 unless the variant
  /// has a fault.
  std::int64_t reference_differences = 0;
  RunReport report;

  /// Returns true if both properties hold.
  bool passed() const { return labels.incorrect == 0 && means.incorrect == 0 && reference_differences == 0; }
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeansCheck kmeans_check(const KMeansModel<T>& model, MatrixView<const T> points,
                                       VectorView<const std::int32_t> labels, const KMeansCheckOptions& options,
                                       VectorView<const T> weights, const Execution& execution);

}  // namespace detail

/// Checks centroids and labels against the points (n x d) and the optional weights of a fit. `model` has the centroids,
/// metric and standardization, for example kmeans_model(fit); `labels` has one label per point. With several ranks,
/// `points`, `labels` and `weights` are the rows of this rank, and the result covers all ranks.
///
/// An incorrect result is returned, not thrown. Throws InputError if shapes do not match, and for a label that is not a
/// cluster, NaN, infinity and negative weights. Throws UnsupportedError if an array is in GPU memory. Otherwise throws
/// the errors of kmeans_predict().
template <class T, RowsOf<T> Points>
KMeansCheck kmeans_check(const KMeansModel<T>& model, const Points& points,
                         std::type_identity_t<VectorView<const std::int32_t>> labels,
                         const KMeansCheckOptions& options = {}, std::type_identity_t<VectorView<const T>> weights = {},
                         const Execution& execution = {}) {
  return detail::kmeans_check<T>(model, view_of(points), labels, options, weights, execution);
}

}  // namespace gradus
