// Memory estimate of kmeans_criteria().
#pragma once

#include <cstdint>
#include <span>

#include "gradus/kmeans_criteria.hpp"

namespace gradus::kmeans_detail {

/// Returns the memory that the criteria need in addition to points and labels. `clusters` contains the number of
/// clusters of each labeling.
std::uint64_t criteria_bytes(const KMeansShape& shape, std::span<const std::int64_t> clusters,
                             const KMeansCriteriaOptions& options, int threads);

}  // namespace gradus::kmeans_detail
