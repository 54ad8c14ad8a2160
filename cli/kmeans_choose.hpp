// `gradus kmeans -k 2..20`: fits with several numbers of clusters side by side, and the one that a criterion takes.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/kmeans_criteria.hpp"

namespace gradus::cli {

enum class Criterion : std::uint8_t { silhouette, calinski_harabasz, davies_bouldin };

/// Numbers and ranges, separated by commas: "16", "2..20", "2,4,8..12". Ascending, each one once. UsageError for
/// others.
std::vector<std::int64_t> parse_cluster_counts(const std::string& text);

/// One of the fits.
struct Candidate {
  std::int64_t clusters = 0;
  double inertia = 0;
  int iterations = 0;
  double seconds = 0;
  std::optional<KMeansCriteria> criteria;  ///< none with one cluster, or as many clusters as points
};

/// Which fits there are, and which one is kept.
struct ChoiceOptions {
  std::vector<std::int64_t> cluster_counts;  ///< ascending
  Criterion criterion = Criterion::silhouette;
  std::int64_t silhouette_points = KMeansCriteriaOptions{}.silhouette_points;
};

/// What is fitted: the rows, as they come or standardized, and a fit of them.
template <class T>
struct Fitting {
  MatrixView<const T> rows;
  std::function<KMeansResult<T>(const KMeansOptions&)> fit;
};

/// The only fit, or of several numbers of clusters the one that the criterion takes.
template <class T>
struct Choice {
  KMeansResult<T> result;
  std::vector<Candidate> candidates;   ///< where there are several
  std::size_t chosen = 0;              ///< of these
  std::int64_t silhouette_points = 0;  ///< of which the silhouette is
};

/// The fit of `options`, or those with several numbers of clusters. For float and double.
template <class T>
Choice<T> fit_all(const KMeansOptions& options, const ChoiceOptions& wanted, const Session& session,
                  const Fitting<T>& fitting);

/// Which one the criterion takes, the one with the fewest clusters where several are equal; nothing where it says
/// nothing of any.
std::optional<std::size_t> taken_by(const std::vector<Candidate>& candidates, Criterion criterion);

/// As a table, with what each criterion takes below it. `sample`: the points of which the silhouette is, of `points`.
std::string choice_text(const Session& session, const std::vector<Candidate>& candidates, std::size_t chosen,
                        Criterion criterion, std::int64_t sample, std::int64_t points);
std::string choice_csv(const std::vector<Candidate>& candidates);
nlohmann::ordered_json choice_json(const std::vector<Candidate>& candidates, Criterion criterion, std::int64_t sample);

}  // namespace gradus::cli
