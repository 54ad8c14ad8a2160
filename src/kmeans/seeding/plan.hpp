// How the choice of first centroids goes about its work: a pure function of shape, method and memory.
#pragma once

#include <cstdint>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Whether the choice among points in host memory takes the memory for a copy in 8 bits (byte_rows.hpp), or for all
/// distances (dense_cover.hpp; `dense`: wherever it can). Its result does not depend on it.
enum class SeedingFilter { where_it_pays, never, always, dense };

// Rounds of k-means|| and, in multiples of k, the rows that each is expected to choose: Bahmani et al. found that five
// rounds of 2k already give seeds as good as k-means++ does.
inline constexpr int oversampling_rounds = 5;
inline constexpr std::uint64_t oversampling_factor = 2;

/// Rows that k-means|| chooses in all rounds, about.
constexpr std::int64_t sample_rows(std::int64_t clusters) {
  return static_cast<std::int64_t>(oversampling_factor) * oversampling_rounds * clusters + 1;
}

/// Candidates of a step of greedy k-means++.
int trials_of_a_step(std::int64_t clusters);

/// The class that measures distances to chosen rows in host memory.
enum class CoverKind { dense, filtered, plain };
/// `expected`: how many rows will be chosen; `groups`: whether weights_of_chosen() will be asked for.
CoverKind cover_kind(std::int64_t columns, bool weighted, std::int64_t expected, bool groups, SeedingFilter filter);

/// What the choice takes in host memory, with points there; `copy`: of it the copy that is wanted beside.
std::uint64_t seeding_bytes(const Shape& shape, KMeansInit init, SeedingFilter filter, std::uint64_t copy = 0);

/// Distances of each point that the choice of `clusters` first centroids takes: all pairs, or the share of them that
/// the filter costs where it is used.
double first_distances(KMeansInit init, std::int64_t clusters, std::int64_t columns);

}  // namespace gradus::kmeans_detail
