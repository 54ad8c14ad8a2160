// Fits whose clusters have limits of size. Lloyd's driver runs them like any variant; only the assignment differs.
#pragma once

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Returns true if the options limit the sizes of the clusters.
bool has_size_limits(const KMeansOptions& options);
/// Returns the limits for this number of points. Throws UsageError if no assignment is within the limits.
SizeLimits size_limits(const KMeansOptions& options, std::int64_t points);
/// Throws UsageError or UnsupportedError if limits cannot be combined with other arguments.
void check_size_limits(const KMeansOptions& options, bool weighted, const Execution& execution);

/// The variant that runs all fits with limits. It is not part of the ladder.
extern constinit const Variant limited_sizes_rung;

}  // namespace gradus::kmeans_detail
