// Memory estimates that a public call makes before it allocates.
#pragma once

#include <cstdint>

#include "execution/request.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/seeding/plan.hpp"

namespace gradus::kmeans_detail {

/// The part of a fit that a call performs.
enum class Extent { first_centroids, fit };

Shape shape_of(const KMeansShape& shape, const KMeansOptions& options);

/// Returns true if the elements have a StoredType.
inline bool is_stored(const KMeansShape& shape) { return shape.element_bytes == 1 || shape.element_bytes == 2; }

/// Returns the bytes of an element in the type of the job.
inline int bytes_in_job(const KMeansShape& shape) {
  return is_stored(shape) ? static_cast<int>(sizeof(float)) : shape.element_bytes;
}
/// Returns the bytes of an element of the points, for KMeansShape::element_bytes.
template <class T>
int element_bytes(const PointRows<T>& points) {
  return points.is_stored() ? bytes_of(points.stored().type()) : static_cast<int>(sizeof(T));
}

/// Returns Shape::kept_bytes for stored elements of this size (0: the points are not stored). Rows of unit length have
/// no stored type.
constexpr int kept_bytes(int stored_bytes, KMeansMetric metric) {
  return metric == KMeansMetric::cosine ? 0 : stored_bytes;
}

/// Returns the bytes of the variant's copy of the points, or 0 if the variant makes none.
std::uint64_t copy_bytes(const Shape& shape, const Variant& variant, SeedingFilter filter);

/// Returns true if the job copies all points of a rank in host memory, in the type of the job. A GPU widens the points
/// itself. `variant`: null for a job without variants. Calls, their estimates and the estimates before a call ask this
/// function.
inline bool widens_points(const Variant* variant, bool stays_on_gpu) {
  return !stays_on_gpu && variant != nullptr && !variant->facts.widens_rows;
}

std::uint64_t host_memory(const Shape& shape, const KMeansOptions& options, const Execution& execution,
                          const Variant& variant, SeedingFilter filter, Extent extent = Extent::fit);

/// Returns SeedingFilter::where_it_pays if there is enough memory for the copies that speed up seeding and iterations.
/// Otherwise returns SeedingFilter::never. Points on a GPU need no such copies. `bytes(filter)` must return the memory
/// of the job with that filter.
template <class Bytes>
SeedingFilter seeding_filter(const Execution& execution, bool stays_on_gpu, const Bytes& bytes) {
  return !stays_on_gpu && execution::has_memory(bytes(SeedingFilter::where_it_pays), execution)
             ? SeedingFilter::where_it_pays
             : SeedingFilter::never;
}

/// Returns the host memory of kmeans_transform(), without the bytes of the result. `execution` names the place of the
/// job.
template <class T>
std::uint64_t transform_memory(const PointRows<T>& points, MatrixView<const T> centroids, KMeansMetric metric,
                               const Execution& execution);

/// Returns the GPU memory of a job, without its points, the copy of the points with unit length, and the weights. The
/// seeding frees its memory before the variant allocates, so the result is the larger of these two amounts.
std::uint64_t device_memory(const Shape& shape, const Execution& execution, const Variant& variant);

/// Returns the memory of one part of a fit on several GPUs: of `rows` of the points that `shape` describes.
MemoryEstimate memory_of_part(KMeansShape shape, const KMeansOptions& options, const Execution& execution,
                              std::size_t part, std::int64_t rows);

// The functions below are for estimates of several fits whose results are kept.

/// Returns the options of a fit with `clusters` clusters to points that are already standardized.
KMeansOptions options_of_fit(const KMeansOptions& options, std::int64_t clusters);
/// Returns the bytes of a fit's labels, centroids and counts.
std::uint64_t result_bytes(const KMeansShape& shape, std::int64_t clusters);
/// Returns `execution` with its memory limit reduced by `bytes`. If no memory is left, the next call with this
/// execution fails.
Execution without(std::uint64_t bytes, const Execution& execution);

}  // namespace gradus::kmeans_detail
