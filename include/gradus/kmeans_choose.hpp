/// Choosing the number of clusters: fits with several numbers of clusters, compared by three criteria, of which one
/// recommends a fit.
///
/// Each fit is kmeans() with the same options and that number of clusters. The criteria are those of kmeans_criteria()
/// and share the distances between points. Sources: see gradus/kmeans_criteria.hpp.
///
/// Complexity: the fits, one after the other, and the criteria of all labelings. Memory beyond one fit: labels and
/// centroids of every fit.
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

/// The criterion that recommends a fit: the one with the largest silhouette or Calinski-Harabasz index, or the least
/// Davies-Bouldin index.
enum class KMeansCriterion : std::uint8_t { silhouette, calinski_harabasz, davies_bouldin };
template <>
inline constexpr auto enum_names<KMeansCriterion> =
    std::to_array<EnumName<KMeansCriterion>>({{KMeansCriterion::silhouette, "silhouette"},
                                              {KMeansCriterion::calinski_harabasz, "calinski-harabasz"},
                                              {KMeansCriterion::davies_bouldin, "davies-bouldin"}});

struct KMeansChoiceOptions {
  std::vector<std::int64_t> clusters = {};  ///< the numbers to compare: at least 1, ascending, each one once
  KMeansCriterion criterion = KMeansCriterion::silhouette;
  std::int64_t silhouette_points = KMeansCriteriaOptions{}.silhouette_points;  ///< see KMeansCriteriaOptions
};

/// One of the fits.
struct KMeansCandidate {
  std::int64_t clusters = 0;
  double inertia = 0;
  int iterations = 0;
  double seconds = 0;
  std::optional<KMeansCriteria> criteria = {};  ///< none where fewer than 2 clusters have points, or as many as points
};

template <class T>
struct KMeansChoice {
  KMeansResult<T> result = {};                   ///< the recommended fit
  std::vector<KMeansCandidate> candidates = {};  ///< in the order of KMeansChoiceOptions::clusters
  std::size_t chosen = 0;              ///< the index of `result` among them; 0 where the criterion recommends none
  std::int64_t silhouette_points = 0;  ///< points of which the silhouette is
  RunReport report = {};               ///< of the whole call; its phases are "fit", "criteria" and "total"
};

namespace detail {

template <class T>
GRADUS_EXPORT KMeansChoice<T> kmeans_choose(MatrixView<const T> points, const KMeansOptions& options,
                                            const KMeansChoiceOptions& choice, const KMeansMemory<T>& memory,
                                            const Execution& execution);

}  // namespace detail

/// Fits `points` (n x d) with each of the numbers of clusters and returns all criteria, and the fit that one of them
/// recommends: the same bits as kmeans() with that number. KMeansOptions::clusters is ignored; seed and metric hold for
/// the criteria too, which are those of the standardized points where the options standardize. With
/// KMeansMemory::labels the labels of the recommended fit are there. Points on a GPU are fitted there; a copy in host
/// memory is made for the criteria.
/// Errors as those of kmeans(), InputError before the first fit where one number of clusters exceeds n. UsageError for
/// numbers that are not ascending, and for what only one fit can have: given centroids, graph file, checkpoint.
/// UnsupportedError on ranks. Reports progress as "clusters": the fits that are done, of all.
template <RowsOf<float, double> Points>
KMeansChoice<ElementOf<Points>> kmeans_choose(const Points& points, const KMeansOptions& options,
                                              const KMeansChoiceOptions& choice,
                                              const KMeansMemory<std::type_identity_t<ElementOf<Points>>>& memory = {},
                                              const Execution& execution = {}) {
  return detail::kmeans_choose<ElementOf<Points>>(view_of(points), options, choice, memory, execution);
}

/// Returns the index of the candidate that the criterion recommends, the first of equal ones; nothing where no
/// candidate has a value.
GRADUS_EXPORT std::optional<std::size_t> kmeans_recommended(std::span<const KMeansCandidate> candidates,
                                                            KMeansCriterion criterion);

/// Returns the value of the criterion, where the candidate has one.
GRADUS_EXPORT std::optional<double> kmeans_criterion(const KMeansCandidate& candidate, KMeansCriterion criterion);

/// Memory that kmeans_choose() takes beyond its input. Errors as those of kmeans_memory().
GRADUS_EXPORT MemoryEstimate kmeans_choose_memory(const KMeansShape& shape, const KMeansOptions& options,
                                                  const KMeansChoiceOptions& choice, const Execution& execution = {});

}  // namespace gradus
