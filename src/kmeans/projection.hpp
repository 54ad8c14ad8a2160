// kmeans_projection() of points in any type, and of standardized points without a standardized copy. The memory of this
// call, for programs that check it before a long job.
#pragma once

#include <cstdint>

#include "gradus/kmeans_projection.hpp"
#include "gradus/kmeans_standardization.hpp"
#include "kmeans/points/point_rows.hpp"

namespace gradus::kmeans_detail {

/// Projects the points, or the points standardized by `by`.
template <class T>
KMeansProjection projection_of(const PointRows<T>& points, const KMeansStandardization& by,
                               const KMeansProjectionOptions& options, const Execution& execution);

/// Returns the bytes that kmeans_projection() needs in addition to the points.
std::uint64_t projection_bytes(std::int64_t rows, std::int64_t columns, const KMeansProjectionOptions& options);

}  // namespace gradus::kmeans_detail
