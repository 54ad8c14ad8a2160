// `gradus kmeans -k 2..20`: parses the numbers of clusters to compare and formats the comparison.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/session.hpp"
#include "gradus/kmeans_choose.hpp"

namespace gradus::cli {

/// Parses numbers and ranges separated by commas: "16", "2..20", "2,4,8..12". Returns them sorted and unique. Throws
/// UsageError if the text is malformed.
std::vector<std::int64_t> parse_cluster_counts(const std::string& text);

/// Returns the comparison as a table, with a legend that explains the criteria. The silhouette covers `sample` of the
/// `points` points.
std::string choice_text(const Session& session, const std::vector<KMeansCandidate>& candidates, std::size_t chosen,
                        KMeansCriterion criterion, std::int64_t sample, std::int64_t points);
std::string choice_csv(const std::vector<KMeansCandidate>& candidates);
nlohmann::ordered_json choice_json(const std::vector<KMeansCandidate>& candidates, KMeansCriterion criterion,
                                   std::int64_t sample);

}  // namespace gradus::cli
