#include "kmeans/seeding/plan.hpp"

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "kmeans/hierarchy/shares.hpp"
#include "kmeans/seeding/dense_cover.hpp"
#include "kmeans/seeding/filtered_cover.hpp"

namespace gradus::kmeans_detail {

namespace {

// Up to most_columns_of_cover columns, the triangle inequality avoids more distances than the 8-bit copy. If fewer rows
// than fewest_chosen_by_filter will be chosen, it takes as long to make the copy as to compute all distances without it
// (docs/decisions/0013-first-centroids.md).
constexpr std::int64_t most_columns_of_cover = 5;
constexpr std::int64_t fewest_chosen_by_filter = 6;

bool is_filtered(std::int64_t columns, std::int64_t expected, SeedingFilter filter) {
  if (columns > ByteRows<float>::most_columns || filter == SeedingFilter::never || filter == SeedingFilter::dense)
    return false;
  if (filter == SeedingFilter::always) return true;
  return columns > most_columns_of_cover && expected >= fewest_chosen_by_filter;
}

/// Returns true if k-means++ is faster when it computes all distances than when it avoids some distances
/// (docs/decisions/0013-first-centroids.md).
bool is_dense(std::int64_t columns, std::int64_t clusters, SeedingFilter filter) {
  if (filter != SeedingFilter::where_it_pays) return filter == SeedingFilter::dense;
  return clusters <= (columns <= few_columns ? 64 : columns <= 24 ? 32 : columns <= 64 ? 16 : 10);
}

}  // namespace

int trials_of_a_step(std::int64_t clusters) { return 2 + static_cast<int>(std::log(static_cast<double>(clusters))); }

CoverKind cover_kind(std::int64_t columns, bool weighted, std::int64_t expected, bool groups, SeedingFilter filter) {
  if (DenseCover<float>::takes(weighted, groups, trials_of_a_step(expected)) && is_dense(columns, expected, filter))
    return CoverKind::dense;
  return is_filtered(columns, expected, filter) ? CoverKind::filtered : CoverKind::plain;
}

double first_distances(KMeansInit init, std::int64_t clusters, std::int64_t columns) {
  const auto k = static_cast<double>(clusters);
  // With the filter, a pair counts as a tenth of a distance, because byte products exclude most pairs. Because of the
  // byte products, the choice of the first centroids became 7 to 100 times as fast (docs/decisions/0013).
  const auto filtered = [&](std::int64_t expected) {
    return is_filtered(columns, expected, SeedingFilter::where_it_pays) ? 0.1 : 1.0;
  };
  switch (init) {
    case KMeansInit::kmeans_plus_plus: return filtered(clusters) * k * (trials_of_a_step(clusters) + 1);
    case KMeansInit::kmeans_parallel:
      return filtered(sample_rows(clusters)) * k * oversampling_factor * oversampling_rounds;
    case KMeansInit::hierarchical:
      return static_cast<double>(part_count(clusters) * (coarse_iterations + part_iterations));
    case KMeansInit::random:
    case KMeansInit::first:
    case KMeansInit::given: break;
  }
  return 0;
}

std::uint64_t seeding_bytes(const Shape& shape, KMeansInit init, SeedingFilter filter, std::uint64_t copy) {
  if (init != KMeansInit::kmeans_plus_plus && init != KMeansInit::kmeans_parallel) return 0;
  const auto of_plain_cover = [](std::int64_t rows) { return 16 * static_cast<std::uint64_t>(rows); };
  const auto of_cover = [&](std::int64_t rows, std::int64_t expected) {
    const bool filtered = is_filtered(shape.dimensions, expected, filter);
    return filtered ? FilteredCover<float>::bytes(rows, shape.dimensions) : of_plain_cover(rows);
  };
  if (init == KMeansInit::kmeans_plus_plus) {
    const std::uint64_t bytes = of_cover(shape.points, shape.clusters);
    const int trials = trials_of_a_step(shape.clusters);
    if (cover_kind(shape.dimensions, shape.weighted, shape.clusters, false, filter) != CoverKind::dense) return bytes;
    // If there is too little memory for the dense cover, the plain cover replaces it. Therefore, the estimate is at
    // least the memory of the plain cover.
    return copy +
           std::max(DenseCover<float>::bytes(shape.points, shape.dimensions, trials), of_plain_cover(shape.points));
  }
  const std::int64_t expected = sample_rows(shape.clusters);
  const std::int64_t sample = std::min(shape.points, expected + shape.clusters);
  const auto row_bytes = static_cast<std::uint64_t>(shape.dimensions) * static_cast<std::uint64_t>(shape.element_bytes);
  return of_cover(shape.points, expected) + of_cover(sample, shape.clusters) +
         core::checked_multiply(static_cast<std::uint64_t>(sample), row_bytes, "centroids");
}

}  // namespace gradus::kmeans_detail
