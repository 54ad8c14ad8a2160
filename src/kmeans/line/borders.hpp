// The clustering of the values of a column that has the least inertia.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/execution.hpp"
#include "kmeans/line/values.hpp"

namespace gradus::kmeans_detail {

/// Returns the borders of the best clustering into `clusters` ranges, at most as many as there are groups: the first
/// group of each cluster, and the number of groups. If several clusterings are best, each border is the least that it
/// has in any of them; these borders together are one of the best clusterings, because costs of ranges satisfy the
/// quadrangle inequality. Throws OutOfMemoryError if the tables do not fit in memory.
std::vector<std::int32_t> best_borders(const LineValues& line, const LineSums& sums, std::int64_t clusters,
                                       const Execution& execution);

/// Returns the memory, in bytes, to sort the values and to find the borders if few of them are uncertain: keys and
/// weights, twice each, the different values with their sums, and a table of paths.
constexpr std::uint64_t bytes_of_line(std::uint64_t points, std::uint64_t clusters, bool weighted) {
  return points * (weighted ? 140 : 100) + clusters * 32;
}

}  // namespace gradus::kmeans_detail
