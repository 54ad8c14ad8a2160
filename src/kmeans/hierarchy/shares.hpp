// The parts of hierarchical first centroids (hierarchy.hpp), and their shares of the clusters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gradus::kmeans_detail {

inline constexpr int coarse_iterations = 10;
inline constexpr int part_iterations = 20;

/// Returns the number of parts: the square root of `clusters`, rounded up.
std::int64_t part_count(std::int64_t clusters);

/// Distributes `clusters` over parts with these numbers of rows: one for each part with rows, and the others in
/// proportion to the rows. No part gets more than its limit, which is positive if the part has rows. Requires at least
/// one cluster for each part with rows. The sum of the shares is less than `clusters` only if all limits are reached.
std::vector<std::int64_t> shares_of_parts(std::span<const std::int64_t> rows, std::span<const std::int64_t> limits,
                                          std::int64_t clusters);

}  // namespace gradus::kmeans_detail
