// Estimates of the memory of a public call, made before it allocates any.
#pragma once

#include <cstdint>

#include "execution/request.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/seeding/plan.hpp"

namespace gradus::kmeans_detail {

/// The part of a fit that a call makes.
enum class Extent { first_centroids, fit };

Shape shape_of(const KMeansShape& shape, const KMeansOptions& options);

/// Returns the bytes of the copy of the points that the variant makes, or 0.
std::uint64_t copy_bytes(const Shape& shape, const Variant& variant, SeedingFilter filter);

std::uint64_t host_memory(const Shape& shape, const KMeansOptions& options, const Execution& execution,
                          const Variant& variant, SeedingFilter filter, Extent extent = Extent::fit);

/// The copies that make the choice of first centroids and iterations fast are made where there is memory for them.
/// `bytes(filter)`: what the job takes. Points on a GPU need none.
template <class Bytes>
SeedingFilter seeding_filter(const Execution& execution, bool stays_on_gpu, const Bytes& bytes) {
  return !stays_on_gpu && execution::has_memory(bytes(SeedingFilter::where_it_pays), execution)
             ? SeedingFilter::where_it_pays
             : SeedingFilter::never;
}

/// On the GPU, beside points, their copy of unit length and weights. What the choice of first centroids takes there is
/// given back before the variant runs.
std::uint64_t device_memory(const Shape& shape, const Execution& execution, const Variant& variant);

// Of several fits, whose results are kept.

/// The options of the fit with that many clusters, of points that are standardized already.
KMeansOptions options_of_fit(const KMeansOptions& options, std::int64_t clusters);
/// Returns the bytes of a fit's labels, centroids and counts.
std::uint64_t result_bytes(const KMeansShape& shape, std::int64_t clusters);
/// Returns the request with that much less memory. If none is left, the call that follows is refused.
Execution without(std::uint64_t bytes, const Execution& execution);

}  // namespace gradus::kmeans_detail
