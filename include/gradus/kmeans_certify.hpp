/// A proven lower bound for the inertia of every clustering of points into k clusters.
///
/// Lloyd's algorithm may end in a poor local optimum. kmeans_certify() bounds how poor a result can be: no clustering
/// of the points into at most k clusters has an inertia below KMeansCertificate::bound. Every step of the proof is
/// rounded down in double, so that rounding errors cannot make the bound too large. The bound depends on points,
/// weights, k and labels only, and not on the number of threads.
///
/// The labels help to find a good bound, but the bound holds whatever they are. It is good if the clusters are apart
/// from each other, or if there are fewer clusters than columns and the columns beyond the first k - 1 principal
/// components carry most of the inertia. For overlapping clusters in few columns it may be 0.
///
/// Complexity: O(n d^2) operations for scatter matrices (with at most 1024 columns, and k d^2 <= 2^24), O(n d) to
/// O(n k d) for distances, and O(k^2) for the tree of clusters. Memory: a copy of the points in double, and the
/// scatter matrices.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/names.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

/// The proof that gives the largest bound.
enum class KMeansBound : std::uint8_t {
  none,        ///< the bound is 0
  one_column,  ///< the optimum of points with one column, by kmeans1d()
  groups,      ///< each cluster, or a few clusters together, needs a center near its points
  potentials,  ///< for two columns: potentials of the points, which no center anywhere can exhaust
  spectrum     ///< the inertia beyond the first k - 1 principal components
};
template <>
inline constexpr auto enum_names<KMeansBound> =
    std::to_array<EnumName<KMeansBound>>({{KMeansBound::none, "none"},
                                          {KMeansBound::one_column, "one-column"},
                                          {KMeansBound::groups, "groups"},
                                          {KMeansBound::potentials, "potentials"},
                                          {KMeansBound::spectrum, "spectrum"}});

struct KMeansCertificate {
  double bound = 0;  ///< no clustering into at most k clusters has an inertia below this
  KMeansBound method = KMeansBound::none;
  RunReport report;  ///< names no variant

  /// Returns the largest share by which the inertia of another clustering can be below `inertia`: from 0, if the result
  /// is an optimum, to 1, if nothing is proven.
  double gap(double inertia) const { return inertia > bound ? 1 - bound / inertia : 0; }
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeansCertificate kmeans_certify(const KMeansModel<T>& model, MatrixView<const T> points,
                                               VectorView<const std::int32_t> labels, VectorView<const T> weights,
                                               const Execution& execution, double effort);

}  // namespace detail

/// Returns a lower bound for the inertia of every clustering of `points` (n x d) with optional weights into as many
/// clusters as `model` has. The bound refers to the metric and standardization of the model; its centroids have no
/// effect. `labels` has one label per point. `effort` limits the search for potentials of points with two columns, as a
/// multiple of the work of a usual fit (16 distances per point and cluster): more effort usually gives a larger bound.
///
/// Throws InputError if shapes do not match, for an effort that is negative or not finite, and for a label that is not
/// a cluster, NaN, infinity and negative weights. Throws UnsupportedError for arrays in GPU memory, GPUs, variants and
/// ranks, OutOfMemoryError if memory does not suffice, and InterruptedError after a stop request.
template <class T, RowsOf<T> Points>
KMeansCertificate kmeans_certify(const KMeansModel<T>& model, const Points& points,
                                 std::type_identity_t<VectorView<const std::int32_t>> labels,
                                 std::type_identity_t<VectorView<const T>> weights = {},
                                 const Execution& execution = {}, double effort = 1) {
  return detail::kmeans_certify<T>(model, view_of(points), labels, weights, execution, effort);
}

}  // namespace gradus
