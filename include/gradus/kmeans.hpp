/// k-means clustering: Lloyd's algorithm, exact and reproducible.
///
/// Canonical result. Every production variant returns the same bits, on any number of threads:
///
/// * Squared distance D(x, c): the chain acc = fma(t, t, acc) with t = double(x_j) - double(c_j), for ascending j,
///   starting with acc = 0, in IEEE double.
/// * Label of x: the lowest cluster index with minimal D(x, c).
/// * Centroid: the exact weighted mean of the cluster's points, that is, the sum of w * x divided by the sum of w, in
///   real numbers. It is rounded once to T (to nearest, ties to even), for every range of values and weights. Points of
///   weight 0 have labels and are counted, but do not affect centroids.
/// * Inertia: the exact sum of the products w * D(x, c_label), rounded once to double. Each product is first rounded to
///   53 bits with an unbounded exponent. With KMeansMetric::cosine the inertia is half of this sum. This half is the
///   sum of w * (1 - cosine similarity). Throws InputError if the sum exceeds the range of double.
/// * Iteration: assigns all points and then moves all centroids. The fit stops after an iteration in which no label
///   changed and no empty cluster was relocated, or by another rule of KMeansOptions. A final assignment gives labels,
///   counts and inertia.
/// * KMeansMetric::cosine scales every row to unit length. After each update, it scales the means in the same way. Let
///   e be an exponent for which 2^-e brings the row's largest magnitude into [1/2, 1]. Let s_j = x_j * 2^-e in double,
///   and let L be the chain acc = fma(s_j, s_j, acc). The scaled row is s_j / sqrt(L), rounded to T. A cluster whose
///   mean is zero has no direction and keeps its centroid.
///
/// Limits: coordinates and weights have a magnitude of at most 2^500, and squared distances must not overflow
/// (InputError otherwise). Squared distances below the smallest double are zero, as in IEEE arithmetic.
///
/// GPU memory: every view may be on a GPU (MemoryPlace::on_gpu), in memory from cudaMalloc, a memory pool, or managed
/// memory. Points on a GPU are used in place, and the job runs on that GPU. A request for another device, or for a
/// variant that needs points in host memory, throws UnsupportedError; a request that names two GPUs throws UsageError.
/// If a kernel cannot read the layout of the points, the job copies them once. This happens if rows are not contiguous,
/// or do not begin and end at a multiple of 16 bytes. KMeansMetric::cosine always makes a copy (rows of unit length).
/// Weights are on the same GPU as the points or in host memory. Given centroids may be anywhere. Execution::stream
/// states when the memory may be read.
///
/// Ranks (Execution::communicator): the rows are split over the ranks, and the canonical result holds for all rows
/// together, to the bit. Labels, distances and the report cover the rows of this rank. The rows and the results of a
/// rank are in host memory. Row numbers count the rows of all ranks, up to 2^36. Each rank may run a different variant
/// of the contract "same bits", on CPU or GPU.
///
/// Complexity of an iteration: at most O(n k d) operations and one pass over the points. Memory in addition to the
/// input: O(n) for labels (and for bounds, if the variant keeps them) and O(threads k d).
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
#include "gradus/stored_matrix.hpp"

namespace gradus {

/// Choice of the first centroids. All methods but `given` depend only on the data and the seed, never on the number of
/// threads.
enum class KMeansInit : std::uint8_t {
  kmeans_plus_plus,  ///< greedy k-means++ (Arthur and Vassilvitskii 2007): best of 2 + floor(ln k) trials per step
  kmeans_parallel,   ///< k-means|| (Bahmani et al. 2012): a few rounds of oversampling, then k-means++ on the sample
  random,            ///< k different rows, drawn uniformly, or in proportion to the weights if there are weights
  first,             ///< the first k rows
  given,             ///< the caller's centroids, in KMeansMemory::initial_centroids
  /// Two levels, for many clusters. A fit of ceil(sqrt(k)) clusters divides the points into parts, and each part is
  /// fitted with a share of the k clusters in proportion to its points. The centroids of all parts are the first
  /// centroids. The fits begin with k-means++ and make at most 10 and 20 iterations. The job runs on the CPU,
  /// unless a GPU is requested. Throws UsageError for KMeansOptions::init_rows, and UnsupportedError for GPUs.
  hierarchical
};
template <>
inline constexpr auto enum_names<KMeansInit> = std::to_array<EnumName<KMeansInit>>(
    {{KMeansInit::kmeans_plus_plus, "k-means++"},
     {KMeansInit::kmeans_parallel, "k-means-parallel", "k-means||"},  // "k-means||" needs quotes in a shell
     {KMeansInit::random, "random"},
     {KMeansInit::first, "first"},
     {KMeansInit::given, "given"},
     {KMeansInit::hierarchical, "hierarchical"}});

/// Treatment of a cluster that has no point of positive weight.
enum class KMeansEmptyCluster : std::uint8_t {
  /// Moves the cluster's centroid to the point with the largest distance to its nearest centroid, as in scikit-learn.
  /// On ties, chooses the lowest row. See also KMeansFewerDistinct.
  relocate,
  keep,  ///< keeps its centroid
  error  ///< throws gradus::Error
};
template <>
inline constexpr auto enum_names<KMeansEmptyCluster> =
    std::to_array<EnumName<KMeansEmptyCluster>>({{KMeansEmptyCluster::relocate, "relocate"},
                                                 {KMeansEmptyCluster::keep, "keep"},
                                                 {KMeansEmptyCluster::error, "error"}});

/// Treatment of data in which there are fewer distinct points than clusters. Only points of positive weight count. -0
/// and 0 count as equal. With KMeansMetric::cosine, the points are compared after they are scaled to unit length.
enum class KMeansFewerDistinct : std::uint8_t {
  error,  ///< throws InputError with the number of distinct points
  /// Completes the fit. If there are enough distinct points, the result is the same as with `error`. Let m be the
  /// number of distinct points and k the number of clusters.
  ///
  /// First centroids: k-means++ and k-means|| choose m rows, one per distinct point. If there are fewer than k rows of
  /// positive weight, `random` chooses all of them. The chosen rows are then repeated cyclically until there are k.
  /// `first` and `given` do not change. `hierarchical` repeats its centroids in the same way.
  ///
  /// Empty clusters: let e be the number of empty clusters. Then k - e clusters have points, and m - (k - e) distinct
  /// points lack a cluster. KMeansEmptyCluster::relocate moves m - (k - e) empty clusters, lowest index first. Every
  /// other empty cluster is surplus: its centroid becomes a copy of the new centroid of a non-empty cluster. This is
  /// the lowest non-empty cluster whose previous centroid equalled the surplus cluster's previous centroid. If no
  /// non-empty cluster has this property, the lowest non-empty cluster is copied. `keep` and `error` work as usual, so
  /// `error` makes the fit throw for a surplus cluster.
  ///
  /// A point that is equally near to several centroids belongs to the lowest one. Surplus clusters therefore have count
  /// 0 once labels no longer change.
  accept
};
template <>
inline constexpr auto enum_names<KMeansFewerDistinct> = std::to_array<EnumName<KMeansFewerDistinct>>(
    {{KMeansFewerDistinct::error, "error"}, {KMeansFewerDistinct::accept, "accept"}});

enum class KMeansMetric : std::uint8_t {
  euclidean,
  cosine  ///< spherical k-means: rows and centroids are scaled to unit length; a row of zeros causes InputError
};
template <>
inline constexpr auto enum_names<KMeansMetric> =
    std::to_array<EnumName<KMeansMetric>>({{KMeansMetric::euclidean, "euclidean"}, {KMeansMetric::cosine, "cosine"}});

/// A file in which kmeans() saves the state of a fit. An interrupted fit can resume from the file on any number of
/// threads and ranks, on CPU or GPU, and with any variant of the contract "same bits" (other variants throw
/// UnsupportedError). The resumed fit returns the same bits as an uninterrupted fit, except for durations, `rechecked`
/// and the variant-specific parts of `history`.
///
/// The file is NumPy's .npz, of up to 4 GiB. Its size is two to three times the size of the centroids and does not
/// depend on the number of points. A separate thread writes it concurrently with the iterations, and each file replaces
/// the previous one atomically.
///
/// At the start of the fit, InputError is thrown if the existing file is not a checkpoint, and Error if the file cannot
/// be created. If a later write fails, for example because the disk is full, `note` reports the failure and the fit
/// continues. After a stop request, the last complete iteration is saved, unless a GPU runs several iterations at a
/// time. At the end of the fit, the file receives the result; a fit that resumes from it needs only one pass over the
/// points. With several ranks, rank 0 reads and writes the file; other ranks need no access to it.
struct KMeansCheckpoint {
  std::string file = {};  ///< file name; empty: no checkpoints
  double seconds = 600;   ///< writes a checkpoint after this many seconds; infinity: never
  int iterations = 0;     ///< writes a checkpoint after this many iterations; 0: never
  /// Resumes from the file, or starts a new fit if there is no file. If the file is damaged, or if points, weights,
  /// given centroids or options differ from the saved ones, throws InputError and leaves the file unchanged.
  /// As an exception, max_iterations may differ if the saved fit has not ended.
  bool resume = false;
  /// If this flag is set, a checkpoint is written after the current iteration, and the flag is cleared. A signal
  /// handler may set the flag. The pointer may be null.
  std::atomic<bool>* request = nullptr;
  /// Receives messages for the user, such as the iteration from which a fit resumes, or a failed write. Called only
  /// from the thread that called kmeans(), and with several ranks only on rank 0.
  std::function<void(std::string_view)> note = {};
};

struct KMeansOptions {
  std::int64_t clusters = 8;
  KMeansInit init = KMeansInit::kmeans_plus_plus;
  /// Number of rows from which the method chooses the first centroids, in each fit: 0 for all rows. They are drawn
  /// without replacement by seed, fit and row number, so that they do not depend on threads, ranks and GPUs. A copy of
  /// these rows is kept in memory for the choice. Throws UsageError for fewer rows than clusters. `first` and `given`
  /// ignore it.
  std::int64_t init_rows = 0;
  int restarts = 1;  ///< number of fits with different seeds, of which the best wins; 0: as many as pay
  int max_iterations = 300;
  /// Stops when the sum of the centroids' squared movements is at most tolerance times the mean variance of the columns
  /// (scikit-learn's definition, computed from exact sums). 0 disables this rule. In any case, the fit stops when no
  /// label changes.
  double tolerance = 1e-4;
  /// Stops when at most this fraction of the points changed labels. 0 disables the rule.
  double changed_fraction = 0.0;
  KMeansEmptyCluster empty = KMeansEmptyCluster::relocate;
  KMeansFewerDistinct fewer_distinct = KMeansFewerDistinct::error;
  /// Smallest and largest number of points per cluster; 0: no limit. With a limit, every assignment minimizes the sum
  /// of D(x, c_label) over all assignments within the limits, where the distances D count as exact numbers. Among
  /// several minimal assignments, it is the one whose sequence of labels, row by row, is lexicographically least. The
  /// minimum is certified in exact arithmetic. Limits that do not bind change no bit of the result. A cluster without
  /// points, which is possible only if size_min is 0, is treated as without limits.
  ///
  /// Throws UsageError if no assignment is within the limits, and UnsupportedError for weights, several ranks, a GPU
  /// and a named variant. kmeans_memory() reports the memory, which is at most about 200 bytes per point.
  std::int64_t size_min = 0;
  std::int64_t size_max = 0;
  /// Limits the sizes to 10 % around the mean size: floor(0.9 n / k) to ceil(1.1 n / k). Throws UsageError if size_min
  /// or size_max is given too.
  bool balanced = false;
  /// Improves the clustering after the fits by moves. A move replaces some centroids by rows of the points and fits
  /// again from there, by the rules of this job. It is kept if the inertia is smaller, so the inertia never grows, and
  /// the result is the result of a fit. `quality` makes moves for about as long as the fits took, first centroids
  /// included. `quality_moves` makes this number of moves, with the same bits for any number of threads and ranks.
  /// KMeansResult::quality_moves is the number of moves that were made: `quality_moves` with this number repeats a fit
  /// with `quality`. No move is made if no exchange can help, for example with one cluster.
  ///
  /// Throws UsageError if both are given, and UnsupportedError for limits of size, KMeansEmptyCluster::error, GPUs and
  /// variants of another contract than "same bits".
  bool quality = false;
  std::int64_t quality_moves = 0;
  KMeansMetric metric = KMeansMetric::euclidean;
  /// Standardizes the columns first (gradus/kmeans_standardization.hpp), in a copy of the points in host memory. Every
  /// point counts once, whatever its weight. Given centroids are in the units of the data and are standardized in the
  /// same way. Inertia, history and the cosine metric refer to the standardized points. With several ranks, mean and
  /// scale cover the rows of all ranks.
  bool standardize = false;
  std::uint64_t seed = 0;
  KMeansCheckpoint checkpoint = {};
};

/// Optional inputs and output memory of a fit. Throws UsageError if output memory overlaps any input.
template <class T>
struct KMeansMemory {
  /// The first centroids (clusters x d) if KMeansOptions::init is `given`; otherwise empty.
  MatrixView<const T> initial_centroids = {};
  VectorView<const T> weights = {};  ///< one non-negative weight per point, or empty
  /// Memory for the n labels, in host memory or on the GPU that runs the job. If this view is given,
  /// KMeansResult::labels stays empty. If this view is empty, KMeansResult::labels contains the labels. Throws
  /// UsageError for a view of any other size than n or 0.
  VectorView<std::int32_t> labels = {};
};

enum class KMeansStopReason : std::uint8_t { labels_unchanged, centroids_settled, few_labels_changed, iteration_limit };
template <>
inline constexpr auto enum_names<KMeansStopReason> = std::to_array<EnumName<KMeansStopReason>>(
    {{KMeansStopReason::labels_unchanged, "no label changed"},
     {KMeansStopReason::centroids_settled, "the centroids moved less than the tolerance"},
     {KMeansStopReason::few_labels_changed, "few labels changed"},
     {KMeansStopReason::iteration_limit, "the iteration limit was reached"}});

/// One iteration: the points are assigned to the previous centroids, and then the centroids are updated.
struct KMeansIteration {
  /// Inertia of the iteration's assignment. It is computed from the sums of the update, and not from the distances. It
  /// is infinite if it exceeds the range of double.
  ///
  /// Error bound. Let n be the number of points, d the number of columns and k the number of clusters. Further let
  /// * e_j be the extent of column j over the points and the first centroids, but with KMeansMetric::cosine at least 2,
  /// * M_j be the largest magnitude in column j of the points and the first centroids,
  /// * W be the sum of the weights (n without weights),
  /// * w be the largest weight (1 without weights), but at least 2^-1000.
  ///
  /// The error is at most (k + d + 8) 2^-51 W sum e_j^2 + 2^-72 n w sum e_j M_j, plus the loss from squares below the
  /// smallest double. Beyond 2^24 points the second term is multiplied by (n 2^-24)^2.
  double inertia = 0;
  std::int64_t changed = 0;  ///< number of labels that changed; n in the first iteration
  double shift = 0;          ///< sum of the centroids' squared movements
  double seconds = 0;
};

template <class T>
struct KMeansResult {
  Matrix<T> centroids;  ///< clusters x d, in the units of the data
  /// The n labels: the index of the nearest of `centroids` for each point, or with limits of size the least assignment
  /// to `centroids` (KMeansOptions::size_min). Empty if KMeansMemory::labels was given.
  Buffer<std::int32_t> labels;
  std::vector<std::int64_t> counts;  ///< number of points that have each label
  double inertia = 0;                ///< inertia of `labels` and `centroids`
  int iterations = 0;
  bool converged = false;  ///< false if the fit stopped at the iteration limit; true if it stopped for another reason
  KMeansStopReason stop_reason = KMeansStopReason::iteration_limit;
  std::vector<KMeansIteration> history;
  int restart = 0;  ///< index of the winning restart
  /// Number of moves that were made to improve the fit (KMeansOptions::quality). If a move was kept, `iterations`,
  /// `converged`, `stop_reason` and `history` describe the fit of the last kept move.
  std::int64_t quality_moves = 0;
  /// True if the fit resumed from a checkpoint; `history` then also contains the iterations of the earlier job, with
  /// their durations in that job.
  bool resumed = false;
  /// `rechecked` covers all assignments of this job, and not the assignments of an earlier job from which the fit
  /// resumed.
  RunReport report;
  KMeansMetric metric = KMeansMetric::euclidean;  ///< the requested metric
  /// With KMeansOptions::standardize: mean and scale of the columns. Otherwise empty.
  KMeansStandardization standardization;
  /// With KMeansOptions::standardize: the centroids of the standardized points (clusters x d). Each label is the index
  /// of the nearest of these centroids. `centroids` contains the same centroids, converted to the units of the data and
  /// rounded. Otherwise empty.
  Matrix<T> standardized_centroids;
};

/// A fitted model, with which kmeans_predict() and kmeans_transform() process further points. Refers to the memory of
/// the centroids and does not own it.
template <class T>
struct KMeansModel {
  MatrixView<const T> centroids = {};  ///< k x d; for a standardized fit, the standardized centroids
  KMeansMetric metric = KMeansMetric::euclidean;
  KMeansStandardization standardization = {};  ///< applied to points before the comparison with centroids; empty: none
};

/// Returns the model of `fit`. `fit` must outlive the model.
template <class T>
KMeansModel<T> kmeans_model(const KMeansResult<T>& fit) {
  const bool standardized = !fit.standardization.empty();
  return {.centroids = (standardized ? fit.standardized_centroids : fit.centroids).view(),
          .metric = fit.metric,
          .standardization = fit.standardization};
}
template <class T>
KMeansModel<T> kmeans_model(const KMeansResult<T>&& fit) = delete;

template <class T>
struct KMeansInitialCentroids {
  /// clusters x d. With KMeansMetric::cosine, each centroid has unit length. With KMeansOptions::standardize, the
  /// centroids are in the units of the data.
  Matrix<T> centroids;
  /// Number of the row that was chosen for each centroid. Empty for KMeansInit::given and KMeansInit::hierarchical.
  std::vector<std::int64_t> rows;
  RunReport report;
};

struct KMeansPrediction {
  Buffer<std::int32_t> labels;  ///< n labels, or empty if the caller gave memory for them
  double inertia = 0;           ///< defined as for a fit (see the head of this file)
  RunReport report;             ///< `rechecked` covers all assignments
};

/// The size of a fit. Together with KMeansOptions, it determines the memory that the fit needs.
struct KMeansShape {
  std::int64_t points = 0;
  std::int64_t dimensions = 0;
  int element_bytes = 4;  ///< 4: float, 8: double, 1 or 2: a StoredType, with a fit in float
  bool weighted = false;
  MemoryPlace place = {};  ///< location of the points and their weights
};

namespace detail {

// The templates below call these functions. libgradus instantiates them for float and double.
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

/// Clusters the rows of `points`, an n x d matrix of float or double with n >= clusters >= 1 and d >= 1. `points` is a
/// MatrixView or anything that view_of() of array.hpp accepts.
///
/// Throws UsageError for invalid options and malformed views (see array.hpp). Throws InputError for NaN, infinity,
/// magnitudes beyond the limits, negative weights, and fewer points or distinct points than clusters (but see
/// KMeansFewerDistinct). Throws UnsupportedError if the variant or device cannot run here, OutOfMemoryError if memory
/// does not suffice, and InterruptedError after a stop request.
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

/// Clusters rows of 8-bit integers or 16-bit floating-point numbers, in host memory. Returns the bits of the same
/// points converted to float, but does not make a copy of them in float: blocks of rows are converted where they are
/// read. The following jobs do make a copy, which counts towards the memory limit: variants that compute with other
/// arithmetic than "same bits", variants for GPUs, and KMeansOptions::standardize. Otherwise like kmeans() above.
GRADUS_EXPORT KMeansResult<float> kmeans(const StoredMatrixView& points, const KMeansOptions& options,
                                         const KMeansMemory<float>& memory, const Execution& execution = {});
inline KMeansResult<float> kmeans(const StoredMatrixView& points, const KMeansOptions& options,
                                  const Execution& execution = {}) {
  return kmeans(points, options, KMeansMemory<float>{}, execution);
}

/// Returns the first centroids with which kmeans() would start its first fit, and their row numbers. Runs on the same
/// device as kmeans().
///
/// Every method except `given` and `hierarchical` chooses rows of `points`; this includes k-means||. Only `first` may
/// choose rows of weight 0. No row is chosen twice, except under KMeansFewerDistinct. Throws the errors of kmeans(),
/// and UsageError if `memory` has labels.
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

/// Overload for rows of 8-bit integers or 16-bit floating-point numbers; see kmeans().
GRADUS_EXPORT KMeansInitialCentroids<float> kmeans_initial_centroids(const StoredMatrixView& points,
                                                                     const KMeansOptions& options,
                                                                     const KMeansMemory<float>& memory,
                                                                     const Execution& execution = {});

/// Returns the nearest centroid of each row of `points` by the canonical rule. Reports progress as a number of points,
/// at the start and at the end. CPU variants of the contract "same bits" also report progress during the work.
template <RowsOf<float, double> Centroids, RowsOf<ElementOf<Centroids>> Points>
KMeansPrediction kmeans_predict(const Centroids& centroids, const Points& points,
                                KMeansMetric metric = KMeansMetric::euclidean, const Execution& execution = {}) {
  return detail::kmeans_predict<ElementOf<Points>>(view_of(centroids), view_of(points), metric, execution);
}

/// Overload that writes the n labels to the caller's memory. `labels` is in host memory or on the GPU that runs the
/// job. Throws UsageError if the number of labels is not n, or if `labels` overlaps points or centroids.
template <RowsOf<float, double> Centroids, RowsOf<ElementOf<Centroids>> Points>
KMeansPrediction kmeans_predict(const Centroids& centroids, const Points& points, VectorView<std::int32_t> labels,
                                KMeansMetric metric = KMeansMetric::euclidean, const Execution& execution = {}) {
  return detail::kmeans_predict<ElementOf<Points>>(view_of(centroids), view_of(points), labels, metric, execution);
}

/// Overload with weights, which affect the inertia as in a fit, and with optional memory for the labels. Throws
/// UsageError if `memory` has initial centroids.
template <RowsOf<float, double> Centroids, RowsOf<ElementOf<Centroids>> Points>
KMeansPrediction kmeans_predict(const Centroids& centroids, const Points& points,
                                const KMeansMemory<std::type_identity_t<ElementOf<Points>>>& memory,
                                KMeansMetric metric = KMeansMetric::euclidean, const Execution& execution = {}) {
  return detail::kmeans_predict<ElementOf<Points>>(view_of(centroids), view_of(points), memory, metric, execution);
}

/// Returns the distance of every point to every centroid, n x k. Distances are not squared; with KMeansMetric::cosine
/// they are 1 - cosine similarity. Reports progress as a number of points.
template <RowsOf<float, double> Centroids, RowsOf<ElementOf<Centroids>> Points>
Matrix<ElementOf<Points>> kmeans_transform(const Centroids& centroids, const Points& points,
                                           KMeansMetric metric = KMeansMetric::euclidean,
                                           const Execution& execution = {}) {
  return detail::kmeans_transform<ElementOf<Points>>(view_of(centroids), view_of(points), metric, execution);
}

/// Overload that writes the n x k distances to the caller's memory. The job runs on a GPU if the points are on a GPU or
/// if Execution::device requests a GPU, otherwise on the CPU. `distances` is in host memory or, if the job runs on a
/// GPU, on that GPU. kmeans_transform() has no variants, so Execution::variant is ignored, and the report names no
/// variant.
///
/// Throws UsageError if the shape is not n x k or if `distances` overlaps points or centroids. Throws OutOfMemoryError
/// if Execution::memory_limit does not suffice for temporary memory.
template <RowsOf<float, double> Centroids, RowsOf<ElementOf<Centroids>> Points>
RunReport kmeans_transform(const Centroids& centroids, const Points& points,
                           MatrixView<std::type_identity_t<ElementOf<Points>>> distances,
                           KMeansMetric metric = KMeansMetric::euclidean, const Execution& execution = {}) {
  return detail::kmeans_transform<ElementOf<Points>>(view_of(centroids), view_of(points), distances, metric, execution);
}

/// Overloads that apply the metric and standardization of a fit. The labels, inertia and distances are those that the
/// points would have in the fit. If the model standardizes, the call first makes a standardized copy of the points in
/// host memory. With several ranks, all ranks pass the same model. Throws UsageError unless the standardization has as
/// many columns as the centroids.
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

/// Returns the memory that kmeans() needs in addition to its input. A job compares this estimate with the available
/// memory before it allocates, and throws OutOfMemoryError with both numbers if the memory does not suffice. Throws
/// UsageError for invalid options and sizes, such as more clusters than points.
GRADUS_EXPORT MemoryEstimate kmeans_memory(const KMeansShape& shape, const KMeansOptions& options,
                                           const Execution& execution = {});

}  // namespace gradus
