// Plans how to choose the first centroids. The plan depends only on shape, method and memory.
#pragma once

#include <cstdint>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Selects which additional memory the choice uses for points in host memory: an 8-bit copy (byte_rows.hpp), or all
/// distances (dense_cover.hpp; `dense`: wherever possible). The chosen rows do not depend on it.
enum class SeedingFilter { where_it_pays, never, always, dense };

// Number of rounds of k-means||, and the expected number of rows per round as a multiple of k. Bahmani et al. found
// that five rounds of 2k rows are as good as the seeds of k-means++.
inline constexpr int oversampling_rounds = 5;
inline constexpr std::uint64_t oversampling_factor = 2;

/// Returns the expected number of rows that k-means|| chooses in all rounds together.
constexpr std::int64_t sample_rows(std::int64_t clusters) {
  return static_cast<std::int64_t>(oversampling_factor) * oversampling_rounds * clusters + 1;
}

/// Returns the number of candidates per step of greedy k-means++.
int trials_of_a_step(std::int64_t clusters);

/// The kinds of covers, which measure distances to chosen rows in host memory.
enum class CoverKind { dense, filtered, plain };
/// `expected`: how many rows will be chosen. `groups`: true if weights_of_chosen() will be called.
CoverKind cover_kind(std::int64_t columns, bool weighted, std::int64_t expected, bool groups, SeedingFilter filter);

/// Returns the bytes of host memory that the choice needs in addition to the points. `copy`: the bytes wanted for the
/// 8-bit copy.
std::uint64_t seeding_bytes(const Shape& shape, KMeansInit init, SeedingFilter filter, std::uint64_t copy = 0);

/// Returns the number of distances per point that the choice of the first centroids costs: all of them, or the share
/// that the filter leaves.
double first_distances(KMeansInit init, std::int64_t clusters, std::int64_t columns);

}  // namespace gradus::kmeans_detail
