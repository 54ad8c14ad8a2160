/// Chooses the number of clusters: makes one fit for each of several numbers of clusters, rates every fit by four
/// criteria, and recommends the fit that one chosen criterion rates best.
///
/// Each fit is a call of kmeans() with the same options, except for the number of clusters. Three criteria and their
/// sources are described in gradus/kmeans_criteria.hpp, the elbow at KMeansCandidate. The distances between points are
/// computed once for all fits.
///
/// Complexity: the time of all fits, which run one after another, and the time of the criteria of all labelings. Memory
/// in addition to the memory of one fit: labels and centroids of every fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gradus/kmeans.hpp"
#include "gradus/kmeans_criteria.hpp"

namespace gradus {

/// The criterion that recommends a fit: the largest silhouette, the largest Calinski-Harabasz index, the smallest
/// Davies-Bouldin index, or the largest elbow.
enum class KMeansCriterion : std::uint8_t { silhouette, calinski_harabasz, davies_bouldin, elbow };
template <>
inline constexpr auto enum_names<KMeansCriterion> =
    std::to_array<EnumName<KMeansCriterion>>({{KMeansCriterion::silhouette, "silhouette"},
                                              {KMeansCriterion::calinski_harabasz, "calinski-harabasz"},
                                              {KMeansCriterion::davies_bouldin, "davies-bouldin"},
                                              {KMeansCriterion::elbow, "elbow"}});

struct KMeansChoiceOptions {
  std::vector<std::int64_t> clusters = {};  ///< numbers of clusters to compare, each at least 1, strictly ascending
  KMeansCriterion criterion = KMeansCriterion::silhouette;
  std::int64_t silhouette_points = KMeansCriteriaOptions{}.silhouette_points;  ///< see KMeansCriteriaOptions
};

struct KMeansCandidate {
  std::int64_t clusters = 0;
  double inertia = 0;
  int iterations = 0;
  double seconds = 0;
  /// Empty if the number of clusters with points is below 2 or above n - 1.
  std::optional<KMeansCriteria> criteria = {};
  /// Distance by which the curve of the inertia over the number of clusters sags below the straight line from the first
  /// to the last candidate. The line's extent is 1 in both directions, and the elbow is 0 at its ends. Empty for fewer
  /// than three candidates, and if the last inertia is not smaller than the first. Source: V. Satopaa et al., "Finding
  /// a 'kneedle' in a haystack", ICDCS Workshops 2011.
  std::optional<double> elbow = {};
};

template <class T>
struct KMeansChoice {
  KMeansResult<T> result = {};                   ///< the recommended fit
  std::vector<KMeansCandidate> candidates = {};  ///< in the order of KMeansChoiceOptions::clusters
  std::size_t chosen = 0;              ///< index of `result` in `candidates`; 0 if the criterion recommends no fit
  std::int64_t silhouette_points = 0;  ///< number of points in the silhouette
  RunReport report = {};               ///< covers the whole call; its phases are "fit", "criteria" and "total"
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeansChoice<T> kmeans_choose(MatrixView<const T> points, const KMeansOptions& options,
                                            const KMeansChoiceOptions& choice, const KMeansMemory<T>& memory,
                                            const Execution& execution);

}  // namespace detail

/// Fits `points` (n x d) once for each number of clusters. Returns the criteria of all fits, and the recommended fit.
/// This fit has the bits that kmeans() returns for the same number of clusters.
///
/// KMeansOptions::clusters is ignored. Seed and metric also apply to the criteria. If the options standardize, the
/// criteria rate the standardized points. KMeansMemory::labels receives the labels of the recommended fit. Points on a
/// GPU are fitted on that GPU and copied to host memory for the criteria. With Execution::gpus, each fit runs on all of
/// these GPUs. Progress of the phase "clusters" counts completed fits.
///
/// Throws the errors of kmeans(). Throws InputError before the first fit if a number of clusters exceeds n. Throws
/// UsageError if the numbers of clusters do not ascend. Given centroids, a graph file (dump_graph) and a checkpoint
/// apply to a single fit, so options that contain one of them also throw UsageError. Throws UnsupportedError with
/// ranks.
template <RowsOf<float, double> Points>
KMeansChoice<ElementOf<Points>> kmeans_choose(const Points& points, const KMeansOptions& options,
                                              const KMeansChoiceOptions& choice,
                                              const KMeansMemory<std::type_identity_t<ElementOf<Points>>>& memory = {},
                                              const Execution& execution = {}) {
  return detail::kmeans_choose<ElementOf<Points>>(view_of(points), options, choice, memory, execution);
}

/// Overload for rows of 8-bit integers or 16-bit floating-point numbers, in host memory. The fits copy the points where
/// kmeans() does; the criteria copy only the points of the silhouette, unless the metric is cosine.
GRADUS_EXPORT KMeansChoice<float> kmeans_choose(const StoredMatrixView& points, const KMeansOptions& options,
                                                const KMeansChoiceOptions& choice,
                                                const KMeansMemory<float>& memory = {},
                                                const Execution& execution = {});

/// Returns the index of the candidate that the criterion recommends. On ties, this is the first one. Returns nullopt if
/// no candidate has a value of the criterion.
GRADUS_EXPORT std::optional<std::size_t> kmeans_recommended(std::span<const KMeansCandidate> candidates,
                                                            KMeansCriterion criterion);

/// Returns the value of the criterion for the candidate, or nullopt if the candidate has no such value.
GRADUS_EXPORT std::optional<double> kmeans_criterion(const KMeansCandidate& candidate, KMeansCriterion criterion);

/// Returns the memory that kmeans_choose() needs in addition to its input. Throws the errors of kmeans_memory().
GRADUS_EXPORT MemoryEstimate kmeans_choose_memory(const KMeansShape& shape, const KMeansOptions& options,
                                                  const KMeansChoiceOptions& choice, const Execution& execution = {});

}  // namespace gradus
