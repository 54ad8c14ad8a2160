// `gradus kmeans -k 2..20`: which numbers of clusters are compared, and the comparison as text.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/session.hpp"
#include "gradus/kmeans_choose.hpp"

namespace gradus::cli {

/// Numbers and ranges, separated by commas: "16", "2..20", "2,4,8..12". Ascending, each one once. UsageError for
/// others.
std::vector<std::int64_t> parse_cluster_counts(const std::string& text);

/// As a table, with what each criterion takes below it. `sample`: the points of which the silhouette is, of `points`.
std::string choice_text(const Session& session, const std::vector<KMeansCandidate>& candidates, std::size_t chosen,
                        KMeansCriterion criterion, std::int64_t sample, std::int64_t points);
std::string choice_csv(const std::vector<KMeansCandidate>& candidates);
nlohmann::ordered_json choice_json(const std::vector<KMeansCandidate>& candidates, KMeansCriterion criterion,
                                   std::int64_t sample);

}  // namespace gradus::cli
