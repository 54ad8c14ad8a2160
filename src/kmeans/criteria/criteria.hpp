// The memory of kmeans_criteria().
#pragma once

#include <cstdint>
#include <span>

#include "gradus/kmeans_criteria.hpp"

namespace gradus::kmeans_detail {

/// Bytes that the criteria of labelings with these numbers of clusters take beyond points and labels.
std::uint64_t criteria_bytes(const KMeansShape& shape, std::span<const std::int64_t> clusters,
                             const KMeansCriteriaOptions& options, int threads);

}  // namespace gradus::kmeans_detail
