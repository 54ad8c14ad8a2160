#include "kmeans/api/estimate.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "cpu/threads.hpp"
#include "kmeans/checkpoint/checkpoint_file.hpp"
#include "kmeans/hierarchy/shares.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/means/exact_means.hpp"
#include "kmeans/points/gpu_source.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/quality/moves.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Returns the number of rows from which first centroids are chosen.
std::int64_t seeding_rows(std::int64_t points, const KMeansOptions& options) {
  return options.init_rows > 0 ? std::min(options.init_rows, points) : points;
}

/// Returns the bytes of the choice of first centroids, with a copy of the rows if the choice is among some of them.
std::uint64_t seeding_bytes(const Shape& shape, const KMeansOptions& options, SeedingFilter filter,
                            std::uint64_t copy = 0) {
  Shape rows = shape;
  rows.points = seeding_rows(shape.points, options);
  if (rows.points == shape.points) return seeding_bytes(shape, options.init, filter, copy);
  rows.weighted = true;
  return seeding_bytes(rows, options.init, filter) +
         static_cast<std::uint64_t>(rows.points) *
             (sizeof(std::int64_t) + static_cast<std::uint64_t>((shape.dimensions + 1) * shape.element_bytes));
}

}  // namespace

Shape shape_of(const KMeansShape& shape, const KMeansOptions& options) {
  const double share = static_cast<double>(seeding_rows(shape.points, options)) /
                       static_cast<double>(std::max<std::int64_t>(1, shape.points));
  return {.points = shape.points,
          .dimensions = shape.dimensions,
          .clusters = options.clusters,
          .element_bytes = bytes_in_job(shape),
          .weighted = shape.weighted,
          .first_distances = share * first_distances(options.init, options.clusters, shape.dimensions),
          .stored = is_stored(shape),
          .kept_bytes = kept_bytes(is_stored(shape) ? shape.element_bytes : 0, options.metric)};
}

std::uint64_t copy_bytes(const Shape& shape, const Variant& variant, SeedingFilter filter) {
  return variant.facts.copy_bytes != nullptr && filter != SeedingFilter::never ? variant.facts.copy_bytes(shape) : 0;
}

namespace {

/// Returns the bytes for rows that are widened: a copy of all rows, or the rows that threads read at a time.
std::uint64_t widened_bytes(const Shape& shape, const Variant& variant, KMeansMetric metric,
                            const Execution& execution) {
  if (!shape.stored) return 0;
  const auto row_bytes = static_cast<std::uint64_t>(shape.dimensions) * static_cast<std::uint64_t>(shape.element_bytes);
  // If some ranks have no GPU, the points of all ranks stay in host memory.
  const bool stays_on_gpu = variant.device_input && execution.communicator == nullptr;
  if (widens_points(&variant, stays_on_gpu))
    return core::checked_multiply(static_cast<std::uint64_t>(shape.points), row_bytes, "points");
  if (stays_on_gpu) return 0;
  const std::uint64_t visit = visit_bytes(shape.points, shape.dimensions);
  if (metric == KMeansMetric::cosine) return visit;  // iterations read rows of unit length
  // Blocks of an iteration have at most cached_values values or 64 rows, and blocks of the seeding at most 256 rows.
  const std::int64_t most =
      std::min(std::clamp<std::int64_t>(cached_values / shape.dimensions, 256, block_points), shape.points);
  const std::int64_t rows = cpu::thread_count(execution) * most;
  return std::max(visit, core::checked_multiply(static_cast<std::uint64_t>(rows), row_bytes, "points"));
}

/// Returns the bytes of hierarchical first centroids. A part may be larger than this estimate assumes, and its fit then
/// compares its memory with the available memory again.
std::uint64_t hierarchy_bytes(const Shape& shape, const KMeansOptions& options, const Execution& execution,
                              const Variant& variant) {
  const std::int64_t parts = part_count(shape.clusters);
  const auto mean_times_4 = [&](std::int64_t count) { return std::min(count, 4 * ((count + parts - 1) / parts)); };
  Shape coarse = shape;
  coarse.clusters = parts;
  Shape part = shape;
  part.points = mean_times_4(shape.points);
  part.clusters = mean_times_4(shape.clusters);
  part.stored = false;
  part.kept_bytes = 0;
  const auto row_bytes = static_cast<std::uint64_t>(shape.dimensions) * static_cast<std::uint64_t>(shape.element_bytes);
  const std::uint64_t of_part =
      host_memory(part, {.metric = options.metric}, execution, variant, SeedingFilter::never) +
      core::checked_multiply(static_cast<std::uint64_t>(part.points), row_bytes, "points");
  return static_cast<std::uint64_t>(shape.points) * (sizeof(std::int32_t) + sizeof(std::int64_t)) +
         std::max(host_memory(coarse, {}, execution, variant, SeedingFilter::never), of_part);
}

}  // namespace

std::uint64_t host_memory(const Shape& shape, const KMeansOptions& options, const Execution& execution,
                          const Variant& variant, SeedingFilter filter, Extent extent) {
  const auto n = static_cast<std::uint64_t>(shape.points);
  const auto element_bytes = static_cast<std::uint64_t>(shape.element_bytes);
  const auto centroid_bytes =
      core::checked_multiply(core::checked_multiply(static_cast<std::uint64_t>(shape.clusters),
                                                    static_cast<std::uint64_t>(shape.dimensions), "centroids"),
                             element_bytes, "centroids");
  std::uint64_t bytes = 4 * centroid_bytes;  // the centroids of the current, the next and the best fit
  const bool moves = extent == Extent::fit && asks_for_moves(options);
  // The labels of the current and the best fit.
  if (extent == Extent::fit) bytes += (options.restarts != 1 || moves ? 8 : 4) * n;
  if (moves)
    bytes = core::checked_add(bytes, 2 * centroid_bytes + move_bytes(shape, cpu::thread_count(execution)), "points");
  if (extent == Extent::fit && !options.checkpoint.file.empty()) bytes += checkpoint_bytes(centroid_bytes);
  if (options.metric == KMeansMetric::cosine)
    bytes += core::checked_multiply(n * element_bytes, static_cast<std::uint64_t>(shape.dimensions), "points");
  const int threads = cpu::thread_count(execution);
  bytes = core::checked_add(bytes, widened_bytes(shape, variant, options.metric, execution), "points");
  const auto of_first_centroids = [&](std::uint64_t copy) {
    return options.init == KMeansInit::hierarchical ? hierarchy_bytes(shape, options, execution, variant)
                                                    : seeding_bytes(shape, options, filter, copy);
  };
  if (extent == Extent::first_centroids) return bytes + column_bytes(shape, threads) + of_first_centroids(0);
  std::uint64_t iterations = core::checked_add(
      variant.memory(shape, threads).host,
      variant.contract.kind == core::Contract::same_bits ? exact_means_bytes(shape) : 0, "the memory of the job");
  const std::uint64_t copy = copy_bytes(shape, variant, filter);
  iterations = core::checked_add(iterations, copy, "the memory of the job");
  return bytes + column_bytes(shape, threads) + std::max(of_first_centroids(copy), iterations);
}

template <class T>
std::uint64_t transform_memory(const PointRows<T>& points, MatrixView<const T> centroids, KMeansMetric metric,
                               const Execution& execution) {
  const Shape shape{points.rows(), points.columns(), centroids.rows(), static_cast<int>(sizeof(T)), false};
  const bool on_gpu = execution.device == Device::gpu;
  const bool unit_length = metric == KMeansMetric::cosine;
  std::int64_t copied_rows = unit_length || !centroids.place().is_host() ? centroids.rows() : 0;
  if (unit_length && !centroids.place().is_host()) copied_rows += centroids.rows();
  if (unit_length && !on_gpu) copied_rows += points.rows();
  const std::uint64_t visited = points.is_stored() && !on_gpu ? visit_bytes(points.rows(), points.columns()) : 0;
  return core::checked_add(column_bytes(shape, cpu::thread_count(execution)) + visited,
                           core::checked_multiply(static_cast<std::uint64_t>(copied_rows) * sizeof(T),
                                                  static_cast<std::uint64_t>(points.columns()), "points"),
                           "the memory of the job");
}
template std::uint64_t transform_memory(const PointRows<float>&, MatrixView<const float>, KMeansMetric,
                                        const Execution&);
template std::uint64_t transform_memory(const PointRows<double>&, MatrixView<const double>, KMeansMetric,
                                        const Execution&);

std::uint64_t device_memory(const Shape& shape, const Execution& execution, const Variant& variant) {
  return std::max(gpu_cover_bytes(shape.points, shape.dimensions, true),
                  variant.memory(shape, cpu::thread_count(execution)).device);
}

KMeansOptions options_of_fit(const KMeansOptions& options, std::int64_t clusters) {
  KMeansOptions result = without_standardize(options);
  result.clusters = clusters;
  return result;
}

Execution without(std::uint64_t bytes, const Execution& execution) {
  Execution left = execution;
  if (left.memory_limit != 0) left.memory_limit = left.memory_limit > bytes ? left.memory_limit - bytes : 1;
  return left;
}

std::uint64_t result_bytes(const KMeansShape& shape, std::int64_t clusters) {
  const auto row_bytes = static_cast<std::uint64_t>(shape.dimensions) * static_cast<std::uint64_t>(bytes_in_job(shape));
  return core::checked_add(4 * static_cast<std::uint64_t>(shape.points),
                           core::checked_multiply(static_cast<std::uint64_t>(clusters), row_bytes + 8, "centroids"),
                           "centroids");
}

}  // namespace gradus::kmeans_detail
