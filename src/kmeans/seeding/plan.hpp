// The plan for the choice of the first centroids. It depends only on the shape, the method and the available memory.
#pragma once

#include <cstdint>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Selects the additional memory that the choice uses for points in host memory: an 8-bit copy (byte_rows.hpp), or
/// stored distances (dense_cover.hpp). `dense` selects the dense cover whenever it supports the job. The chosen rows do
/// not depend on this selection.
enum class SeedingFilter { where_it_pays, never, always, dense };

// The number of rounds of k-means||, and the expected number of rows per round divided by k. Bahmani et al. found that
// five rounds of 2k rows yield initial centroids that are as good as with k-means++.
inline constexpr int oversampling_rounds = 5;
inline constexpr std::uint64_t oversampling_factor = 2;

/// Returns the expected number of rows that k-means|| chooses in all rounds together.
constexpr std::int64_t sample_rows(std::int64_t clusters) {
  return static_cast<std::int64_t>(oversampling_factor) * oversampling_rounds * clusters + 1;
}

/// Returns the number of candidates per step of greedy k-means++.
int trials_of_a_step(std::int64_t clusters);

/// The kinds of covers for points in host memory. A cover measures the distances to chosen rows.
enum class CoverKind { dense, filtered, plain };
/// Returns the kind of cover for a job. `expected` is the expected number of chosen rows. `groups` is true if
/// weights_of_chosen() will be called.
CoverKind cover_kind(std::int64_t columns, bool weighted, std::int64_t expected, bool groups, SeedingFilter filter);

/// Returns the bytes of host memory that the choice needs in addition to the points. `copy` is the size of the 8-bit
/// copy if the fit needs this copy anyway, otherwise 0.
std::uint64_t seeding_bytes(const Shape& shape, KMeansInit init, SeedingFilter filter, std::uint64_t copy = 0);

/// Returns the cost of the choice of the first centroids, expressed as a number of distances per point. If the filter
/// is used, the number includes only a part of all distances.
double first_distances(KMeansInit init, std::int64_t clusters, std::int64_t columns);

}  // namespace gradus::kmeans_detail
