// The memory of kmeans_projection(), for programs that check it before a long job.
#pragma once

#include <cstdint>

#include "gradus/kmeans_projection.hpp"

namespace gradus::kmeans_detail {

/// Returns the bytes that kmeans_projection() needs in addition to the points.
std::uint64_t projection_bytes(std::int64_t rows, std::int64_t columns, const KMeansProjectionOptions& options);

}  // namespace gradus::kmeans_detail
