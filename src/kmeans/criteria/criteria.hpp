// kmeans_criteria() for points in any type, and its memory estimate.
#pragma once

#include <cstdint>
#include <span>

#include "gradus/kmeans_criteria.hpp"
#include "kmeans/points/point_rows.hpp"

namespace gradus::kmeans_detail {

/// Does what kmeans_criteria() does.
template <class T>
KMeansCriteriaResult criteria_of(const PointRows<T>& points, std::span<const VectorView<const std::int32_t>> labelings,
                                 const KMeansCriteriaOptions& options, const Execution& execution);

/// Returns the memory that the criteria need in addition to points and labels. `clusters` contains the number of
/// clusters of each labeling.
std::uint64_t criteria_bytes(const KMeansShape& shape, std::span<const std::int64_t> clusters,
                             const KMeansCriteriaOptions& options, int threads);

}  // namespace gradus::kmeans_detail
