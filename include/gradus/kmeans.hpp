/// k-means clustering: Lloyd's algorithm, exact and reproducible.
///
/// Canonical result (what every production variant gives, to the bit, on any number of threads):
///
/// * Squared distance D(x, c): the chain acc = fma(t, t, acc) with t = double(x_j) - double(c_j), j ascending,
///   from acc = 0, in IEEE double.
/// * Label of x: the lowest cluster among those with the least D(x, c).
/// * Centroid: the exact weighted mean of the cluster's points, sum of w*x over sum of w in real numbers, rounded once
///   to T (nearest, ties to even), whatever the spread of values and weights. Points of weight 0 have labels and are
///   counted, but do not affect centroids.
/// * Inertia: the exact sum of the products w * D(x, c_label), each rounded to the 53 bits of a double with no limit to
///   its exponent; rounded once to double. InputError where that is beyond the range of double. With
///   KMeansMetric::cosine it is half of that, which is the sum of w * (1 - cosine similarity).
/// * An iteration assigns all points and moves all centroids. The fit ends when no label changed and no empty cluster
///   moved to another place, or by another of the rules below; a last assignment gives labels, counts and inertia.
/// * KMeansMetric::cosine: rows, and the means after each update, are scaled to unit length: s_j = x_j * 2^-e in
///   double, where e brings the row's largest magnitude to between 1/2 and 1; then s_j / sqrt(L) rounded to T, where L
///   is the chain acc = fma(s_j, s_j, acc). A cluster whose mean is zero has no direction, and keeps its centroid.
///
/// Limits: coordinates and weights of at most 2^500 in magnitude, and no columns so many and so wide that squared
/// distances overflow; InputError otherwise. Squared distances below the least double are zero, as in IEEE arithmetic.
///
/// Memory of a GPU: every view may lie on a GPU (MemoryPlace::on_gpu), in memory from cudaMalloc, a memory pool, or
/// managed memory. Points there are used where they are, and the job runs on that GPU: on another device, and with a
/// variant that needs points in host memory, it is refused (UnsupportedError, or UsageError where the request names two
/// GPUs). One copy is made where a kernel cannot read them as they lie: for rows that are not contiguous, do not begin
/// at a multiple of 16 bytes or do not end at one (with KMeansMetric::cosine also for the rows of unit length). Weights
/// lie beside the points or in host memory, given centroids anywhere. Execution::stream says when the memory may be
/// read.
///
/// Ranks (Execution::communicator): the rows are split over them, and all that is said here of one process is true of
/// all of them together, to the bit. Labels, distances and report are those of this rank's rows, in host memory; row
/// numbers are among all, up to 2^36. Each rank may run another variant of the contract "same bits", on CPU or GPU.
///
/// Complexity of an iteration: O(n k d) operations at most and one reading of the points; memory beyond the input:
/// O(n) for labels (and for bounds, where a variant keeps them) and O(threads k d).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/kmeans_standardization.hpp"
#include "gradus/names.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

/// Where the first centroids come from. All of them but `given` depend on the data and the seed only,
/// never on the number of threads.
enum class KMeansInit : std::uint8_t {
  kmeans_plus_plus,  ///< greedy k-means++ (Arthur and Vassilvitskii 2007): best of 2 + floor(ln k) trials a step
  kmeans_parallel,   ///< k-means|| (Bahmani et al. 2012): a few rounds of oversampling, then k-means++ on the sample
  random,            ///< k different rows, uniformly (by weight where weights are given)
  first,             ///< the first k rows
  given              ///< KMeansMemory::initial_centroids
};
template <>
inline constexpr auto enum_names<KMeansInit> = std::to_array<EnumName<KMeansInit>>(
    {{KMeansInit::kmeans_plus_plus, "k-means++"},
     {KMeansInit::kmeans_parallel, "k-means-parallel", "k-means||"},  // the literature's name, which shells want quoted
     {KMeansInit::random, "random"},
     {KMeansInit::first, "first"},
     {KMeansInit::given, "given"}});

/// What happens to a cluster that has no point of positive weight.
enum class KMeansEmptyCluster : std::uint8_t {
  relocate,  ///< it moves to the point farthest from its centroid (lowest row on ties), as scikit-learn does; but see
             ///< KMeansFewerDistinct
  keep,      ///< its centroid stays where it was
  error      ///< the job ends with gradus::Error
};
template <>
inline constexpr auto enum_names<KMeansEmptyCluster> =
    std::to_array<EnumName<KMeansEmptyCluster>>({{KMeansEmptyCluster::relocate, "relocate"},
                                                 {KMeansEmptyCluster::keep, "keep"},
                                                 {KMeansEmptyCluster::error, "error"}});

/// What happens where the points of positive weight are at fewer different places than there are clusters. (-0 is where
/// 0 is; with KMeansMetric::cosine it is their directions, as rows of unit length, that count.)
enum class KMeansFewerDistinct : std::uint8_t {
  error,  ///< InputError that says how many there are
  /// The fit is made, and ends; where there are enough different points it is the same as with `error`. Let m be the
  /// number of different points, and k that of clusters.
  ///
  /// First centroids: k-means++ and k-means|| choose m rows at the different places, `random` all rows of positive
  /// weight where these are fewer than k. The rows chosen are then repeated, in their order and from the first one on,
  /// until there are k. `first` and `given` are as ever.
  ///
  /// Empty clusters: when e of the k clusters are empty, KMeansEmptyCluster::relocate moves the lowest m - (k - e) of
  /// them, so many as there are different points without a cluster of their own. Each of the other empty ones is
  /// surplus, and repeats a centroid: the new one of the lowest cluster with points whose centroid was at the same
  /// place before, or else that of the lowest cluster with points at all. `keep` and `error` are as ever: with the
  /// latter a surplus cluster ends the job.
  ///
  /// Of equally near centroids the lowest has the point, so that surplus clusters count 0 once no label changes.
  accept
};
template <>
inline constexpr auto enum_names<KMeansFewerDistinct> = std::to_array<EnumName<KMeansFewerDistinct>>(
    {{KMeansFewerDistinct::error, "error"}, {KMeansFewerDistinct::accept, "accept"}});

enum class KMeansMetric : std::uint8_t {
  euclidean,
  cosine  ///< spherical k-means: rows and centroids are scaled to unit length; a zero row is an InputError
};
template <>
inline constexpr auto enum_names<KMeansMetric> =
    std::to_array<EnumName<KMeansMetric>>({{KMeansMetric::euclidean, "euclidean"}, {KMeansMetric::cosine, "cosine"}});

/// A file in which kmeans() keeps how far it has come, so that a fit that ends early goes on elsewhere: on any number
/// of threads and ranks, on a GPU or not, by any variant of the contract "same bits" (UnsupportedError for the others).
/// It ends with the uninterrupted fit's bits, but for seconds, `rechecked`, and of `history` what is a variant's own.
///
/// The file is NumPy's .npz, and takes two to three times the bytes of the centroids, whatever the number of points; it
/// holds up to 4 GiB. It appears whole or not at all, each time in the place of the one before, written by a thread of
/// its own beside the iterations. InputError where another file than a checkpoint is in its
/// place, and Error where it cannot be made, when the fit begins; later a full disk is told by `note`, and the fit goes
/// on. A stop request writes one of the last whole iteration (not where a GPU makes several at a time); so does the end
/// of the fit, of the result, for which `resume` then needs one pass. On ranks the first one reads and writes the file;
/// the others need not see it.
struct KMeansCheckpoint {
  std::string file = {};  ///< empty: none
  double seconds = 600;   ///< one each time that so many have passed; infinity: never
  int iterations = 0;     ///< one after each so many iterations of a fit; 0: never
  /// Go on from the file; where there is none, begin anew. InputError where it is damaged, or where points, weights,
  /// given centroids or options (but max_iterations, until a fit has ended) were others; the file stays as it is.
  bool resume = false;
  /// Set it, from a signal's handler if need be, and there is a checkpoint as soon as the iteration under way is done;
  /// it is cleared then. Null: nobody asks.
  std::atomic<bool>* request = nullptr;
  /// What a person should know: from where the fit goes on, or that a checkpoint could not be written. Called from the
  /// calling thread only; on ranks from that of the first one.
  std::function<void(std::string_view)> note = {};
};

/// What is computed.
struct KMeansOptions {
  std::int64_t clusters = 8;
  KMeansInit init = KMeansInit::kmeans_plus_plus;
  int restarts = 1;  ///< number of fits, each from its own seed; the one with the least inertia wins
  int max_iterations = 300;
  /// Stop when the sum of the centroids' squared movements is at most tolerance times the mean variance of the
  /// columns (scikit-learn's definition; from exact sums). 0 disables the rule; "no label changed" always stops.
  double tolerance = 1e-4;
  /// Stop when at most this fraction of the points changed labels. 0 disables the rule.
  double changed_fraction = 0.0;
  KMeansEmptyCluster empty = KMeansEmptyCluster::relocate;
  KMeansFewerDistinct fewer_distinct = KMeansFewerDistinct::error;
  KMeansMetric metric = KMeansMetric::euclidean;
  /// Standardize the columns first (gradus/kmeans_standardization.hpp; every point counts once, whatever its weight):
  /// the fit is that of a standardized copy of the points, in host memory. Given centroids are in the units of the data
  /// and are standardized alike. Inertia, history and the cosine metric are those of the standardized points. Mean and
  /// scale of ranks are those of all ranks' rows.
  bool standardize = false;
  std::uint64_t seed = 0;
  KMeansCheckpoint checkpoint = {};
};

/// What is read and written beside the points. Memory for results has no bytes in common with what is read
/// (UsageError).
template <class T>
struct KMeansMemory {
  MatrixView<const T> initial_centroids = {};  ///< clusters x d where KMeansOptions::init is `given`, or else empty
  VectorView<const T> weights = {};            ///< one non-negative weight per point, or empty
  /// Where the n labels are wanted, in host memory or on the GPU that the job runs on; then KMeansResult::labels stays
  /// empty. Empty: the labels are in the result. UsageError for any other number of them.
  VectorView<std::int32_t> labels = {};
};

enum class KMeansStopReason : std::uint8_t { labels_unchanged, centroids_settled, few_labels_changed, iteration_limit };
template <>
inline constexpr auto enum_names<KMeansStopReason> = std::to_array<EnumName<KMeansStopReason>>(
    {{KMeansStopReason::labels_unchanged, "no label changed"},
     {KMeansStopReason::centroids_settled, "the centroids moved less than the tolerance"},
     {KMeansStopReason::few_labels_changed, "few labels changed"},
     {KMeansStopReason::iteration_limit, "the iteration limit was reached"}});

/// One iteration: the assignment to the centroids of the iteration before, and the update that followed.
struct KMeansIteration {
  /// Of this assignment, from the sums of the update and not from the distances. With e_j the extent of column j over
  /// points and first centroids (with KMeansMetric::cosine at least 2), M_j its largest magnitude, W the sum and w the
  /// largest of the weights (n and 1 without them) but at least 2^-1000, to within
  /// (k + d + 8) 2^-51 W sum e_j^2 + 2^-72 n w sum e_j M_j (the second part beyond 2^24 points times the square of
  /// n 2^-24), and what squares below the least double lose.
  /// Infinite beyond the range of double.
  double inertia = 0;
  std::int64_t changed = 0;  ///< labels that changed; n in the first iteration
  double shift = 0;          ///< sum of the centroids' squared movements
  double seconds = 0;
};

template <class T>
struct KMeansResult {
  Matrix<T> centroids;               ///< clusters x d, in the units of the data
  Buffer<std::int32_t> labels;       ///< n, or empty (KMeansMemory::labels); each point's nearest of `centroids`
  std::vector<std::int64_t> counts;  ///< points per cluster under `labels`
  double inertia = 0;                ///< of `labels` and `centroids`
  int iterations = 0;
  bool converged = false;  ///< stopped for any reason but the iteration limit
  KMeansStopReason stop_reason = KMeansStopReason::iteration_limit;
  std::vector<KMeansIteration> history;
  int restart = 0;       ///< which of the restarts won
  bool resumed = false;  ///< the fit went on from a checkpoint; seconds before it are those of another job
  RunReport report;      ///< `rechecked`: of all assignments, after a resumption of those that followed
  KMeansMetric metric = KMeansMetric::euclidean;  ///< as asked for
  /// With KMeansOptions::standardize, otherwise empty: mean and scale of the columns, and the centroids as the fit saw
  /// them (clusters x d), of which each label is the nearest. `centroids` are these, restored and rounded.
  KMeansStandardization standardization;
  Matrix<T> standardized_centroids;
};

/// A fit as what labels further points: see kmeans_predict() and kmeans_transform(). Refers to the centroids' memory.
template <class T>
struct KMeansModel {
  MatrixView<const T> centroids = {};  ///< k x d; of a fit of standardized points the standardized ones
  KMeansMetric metric = KMeansMetric::euclidean;
  KMeansStandardization standardization = {};  ///< of the points before they are compared; empty: they stay as they are
};

/// Returns the model of a fit, which must outlive it.
template <class T>
KMeansModel<T> kmeans_model(const KMeansResult<T>& fit) {
  const bool standardized = !fit.standardization.empty();
  return {.centroids = (standardized ? fit.standardized_centroids : fit.centroids).view(),
          .metric = fit.metric,
          .standardization = fit.standardization};
}
template <class T>
KMeansModel<T> kmeans_model(const KMeansResult<T>&& fit) = delete;

/// What a fit begins with.
template <class T>
struct KMeansInitialCentroids {
  /// clusters x d; with KMeansMetric::cosine of unit length, with KMeansOptions::standardize in the units of the data
  Matrix<T> centroids;
  std::vector<std::int64_t> rows;  ///< of the points, one for each centroid; empty for KMeansInit::given
  RunReport report;
};

struct KMeansPrediction {
  Buffer<std::int32_t> labels;  ///< n, or empty where the caller gave memory for them
  double inertia = 0;           ///< as that of a fit: see the head of this file
  RunReport report;             ///< `rechecked`: of all assignments
};

/// The sizes on which a fit's memory depends, beside KMeansOptions.
struct KMeansShape {
  std::int64_t points = 0;
  std::int64_t dimensions = 0;
  int element_bytes = 4;  ///< 4: float, 8: double
  bool weighted = false;
  MemoryPlace place = {};  ///< where the points and their weights lie
};

namespace detail {

// What libgradus has of the calls below, for float and double.
template <class T>
GRADUS_EXPORT KMeansResult<T> kmeans(MatrixView<const T> points, const KMeansOptions& options,
                                     const KMeansMemory<T>& memory, const Execution& execution);
template <class T>
GRADUS_EXPORT KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points,
                                              KMeansMetric metric, const Execution& execution);
template <class T>
GRADUS_EXPORT KMeansInitialCentroids<T> kmeans_initial_centroids(MatrixView<const T> points,
                                                                 const KMeansOptions& options,
                                                                 const KMeansMemory<T>& memory,
                                                                 const Execution& execution);
template <class T>
GRADUS_EXPORT KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points,
                                              const KMeansMemory<T>& memory, KMeansMetric metric,
                                              const Execution& execution);
template <class T>
GRADUS_EXPORT KMeansPrediction kmeans_predict(MatrixView<const T> centroids, MatrixView<const T> points,
                                              VectorView<std::int32_t> labels, KMeansMetric metric,
                                              const Execution& execution);
template <class T>
GRADUS_EXPORT Matrix<T> kmeans_transform(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                                         const Execution& execution);
template <class T>
GRADUS_EXPORT RunReport kmeans_transform(MatrixView<const T> centroids, MatrixView<const T> points,
                                         MatrixView<T> distances, KMeansMetric metric, const Execution& execution);
template <class T>
GRADUS_EXPORT KMeansPrediction kmeans_predict(const KMeansModel<T>& model, MatrixView<const T> points,
                                              const KMeansMemory<T>& memory, const Execution& execution);
template <class T>
GRADUS_EXPORT Matrix<T> kmeans_transform(const KMeansModel<T>& model, MatrixView<const T> points,
                                         const Execution& execution);
template <class T>
GRADUS_EXPORT RunReport kmeans_transform(const KMeansModel<T>& model, MatrixView<const T> points,
                                         MatrixView<T> distances, const Execution& execution);

}  // namespace detail

/// Clusters the rows of `points` (n x d, n >= clusters >= 1, d >= 1), a matrix of float or double: whatever view_of()
/// of array.hpp makes a view of.
/// Throws UsageError for impossible options and views (see array.hpp), InputError for NaN, infinity, too large values,
/// negative weights, fewer points than clusters or fewer distinct ones (but see KMeansFewerDistinct), UnsupportedError
/// for a variant or device that cannot run here, OutOfMemoryError where memory does not suffice, InterruptedError after
/// a stop request.
template <RowsOf<float, double> Points>
KMeansResult<ElementOf<Points>> kmeans(const Points& points, const KMeansOptions& options,
                                       const KMeansMemory<ElementOf<Points>>& memory, const Execution& execution = {}) {
  return detail::kmeans<ElementOf<Points>>(view_of(points), options, memory, execution);
}
template <RowsOf<float, double> Points>
KMeansResult<ElementOf<Points>> kmeans(const Points& points, const KMeansOptions& options,
                                       const Execution& execution = {}) {
  return detail::kmeans<ElementOf<Points>>(view_of(points), options, {}, execution);
}

/// The first centroids alone: those with which kmeans() of the same arguments begins its first fit, and the numbers of
/// the rows that they are. Every method but `given` chooses rows of the points, k-means|| too, none of them of weight 0
/// (but `first` takes the first rows whatever their weights); no row is chosen twice, except where KMeansFewerDistinct
/// says so. Runs where kmeans() would. Errors as those of kmeans(); UsageError where `memory` has labels.
template <RowsOf<float, double> Points>
KMeansInitialCentroids<ElementOf<Points>> kmeans_initial_centroids(const Points& points, const KMeansOptions& options,
                                                                   const KMeansMemory<ElementOf<Points>>& memory,
                                                                   const Execution& execution = {}) {
  return detail::kmeans_initial_centroids<ElementOf<Points>>(view_of(points), options, memory, execution);
}
template <RowsOf<float, double> Points>
KMeansInitialCentroids<ElementOf<Points>> kmeans_initial_centroids(const Points& points, const KMeansOptions& options,
                                                                   const Execution& execution = {}) {
  return detail::kmeans_initial_centroids<ElementOf<Points>>(view_of(points), options, {}, execution);
}

/// The nearest centroid of each row of `points`, by the canonical rule. Reports progress in points: at the beginning,
/// at the end, and in between where a variant of the contract "same bits" runs on the CPU.
template <RowsOf<float, double> Centroids, RowsOf<ElementOf<Centroids>> Points>
KMeansPrediction kmeans_predict(const Centroids& centroids, const Points& points,
                                KMeansMetric metric = KMeansMetric::euclidean, const Execution& execution = {}) {
  return detail::kmeans_predict<ElementOf<Points>>(view_of(centroids), view_of(points), metric, execution);
}

/// The same, written to the caller's memory: n labels, in host memory or on the GPU that the job runs on. UsageError
/// where the number of labels is not that of the points, or where their memory overlaps that of points or centroids.
template <RowsOf<float, double> Centroids, RowsOf<ElementOf<Centroids>> Points>
KMeansPrediction kmeans_predict(const Centroids& centroids, const Points& points, VectorView<std::int32_t> labels,
                                KMeansMetric metric = KMeansMetric::euclidean, const Execution& execution = {}) {
  return detail::kmeans_predict<ElementOf<Points>>(view_of(centroids), view_of(points), labels, metric, execution);
}

/// The same with weights, for an inertia as that of a fit, and with labels in the caller's memory where `memory` has
/// some. UsageError where it has initial centroids.
template <RowsOf<float, double> Centroids, RowsOf<ElementOf<Centroids>> Points>
KMeansPrediction kmeans_predict(const Centroids& centroids, const Points& points,
                                const KMeansMemory<std::type_identity_t<ElementOf<Points>>>& memory,
                                KMeansMetric metric = KMeansMetric::euclidean, const Execution& execution = {}) {
  return detail::kmeans_predict<ElementOf<Points>>(view_of(centroids), view_of(points), memory, metric, execution);
}

/// The distance (not squared; with KMeansMetric::cosine, 1 - cosine similarity) of every point to every centroid: n x
/// k. Reports progress in points.
template <RowsOf<float, double> Centroids, RowsOf<ElementOf<Centroids>> Points>
Matrix<ElementOf<Points>> kmeans_transform(const Centroids& centroids, const Points& points,
                                           KMeansMetric metric = KMeansMetric::euclidean,
                                           const Execution& execution = {}) {
  return detail::kmeans_transform<ElementOf<Points>>(view_of(centroids), view_of(points), metric, execution);
}

/// The same, written to the caller's memory: n x k elements, in host memory or, for a job on a GPU, there. The job runs
/// on a GPU where the points lie on one or Execution::device asks for one, otherwise on the CPU, whose caches are
/// nearer to the result. There are no variants: Execution::variant is ignored, and the report names none.
/// UsageError where the shape is not n x k, or where the memory overlaps that of points or centroids; OutOfMemoryError
/// where Execution::memory_limit does not suffice for what is made beside the result.
template <RowsOf<float, double> Centroids, RowsOf<ElementOf<Centroids>> Points>
RunReport kmeans_transform(const Centroids& centroids, const Points& points,
                           MatrixView<std::type_identity_t<ElementOf<Points>>> distances,
                           KMeansMetric metric = KMeansMetric::euclidean, const Execution& execution = {}) {
  return detail::kmeans_transform<ElementOf<Points>>(view_of(centroids), view_of(points), distances, metric, execution);
}

/// The same with a fit's metric and standardization: the labels, inertia and distances are those that the fit would
/// have given these points. If the model standardizes, a standardized copy of the points is made in host memory first.
/// All ranks have the same model. Throws UsageError unless its standardization has as many columns as its
/// centroids.
template <class T, RowsOf<T> Points>
KMeansPrediction kmeans_predict(const KMeansModel<T>& model, const Points& points,
                                const KMeansMemory<std::type_identity_t<T>>& memory = {},
                                const Execution& execution = {}) {
  return detail::kmeans_predict<T>(model, view_of(points), memory, execution);
}
template <class T, RowsOf<T> Points>
Matrix<T> kmeans_transform(const KMeansModel<T>& model, const Points& points, const Execution& execution = {}) {
  return detail::kmeans_transform<T>(model, view_of(points), execution);
}
template <class T, RowsOf<T> Points>
RunReport kmeans_transform(const KMeansModel<T>& model, const Points& points,
                           MatrixView<std::type_identity_t<T>> distances, const Execution& execution = {}) {
  return detail::kmeans_transform<T>(model, view_of(points), distances, execution);
}

/// Memory that `kmeans` takes beyond its input. A job compares both numbers with what there is before it allocates;
/// OutOfMemoryError with both where they do not fit. UsageError for impossible options and sizes, such as more clusters
/// than points.
GRADUS_EXPORT MemoryEstimate kmeans_memory(const KMeansShape& shape, const KMeansOptions& options,
                                           const Execution& execution = {});

}  // namespace gradus
