// The vectorised inner loops that search for predecessors.
#pragma once

#include <cstdint>
#include <limits>

namespace gradus::shortest_paths_detail {

inline constexpr std::int64_t marked_rows = 4;
inline constexpr std::int64_t marked_columns = 64;

/// A floating-point sum is as good as a length if it is at most this multiple of the length. The length is a rounded
/// sum too, added up in another order.
template <class C>
inline constexpr C marked_tolerance = 1 + 4 * std::numeric_limits<C>::epsilon();

/// Finds predecessors for `marked_rows` sources and `marked_columns` vertices. best[source][vertex] becomes the lowest
/// `via` in [first_via, first_via + vias) for which to_via[source][via - first_via] + weights[via - first_via][vertex]
/// == lengths[source][vertex]. If there is no such `via`, the element stays unchanged. In floating-point, the sum may
/// be at most `marked_tolerance` times the length instead of equal, and no length may be negative. Matrices are
/// contiguous and aligned to 64 bytes.
void mark_predecessors(const std::int32_t* const* to_via, const std::int32_t* weights, const std::int32_t* lengths,
                       std::int64_t first_via, std::int64_t vias, std::int32_t* best);
void mark_predecessors(const std::int64_t* const* to_via, const std::int64_t* weights, const std::int64_t* lengths,
                       std::int64_t first_via, std::int64_t vias, std::int64_t* best);
void mark_predecessors(const float* const* to_via, const float* weights, const float* lengths, std::int64_t first_via,
                       std::int64_t vias, float* best);
void mark_predecessors(const double* const* to_via, const double* weights, const double* lengths,
                       std::int64_t first_via, std::int64_t vias, double* best);

/// Number of sources whose lengths fill 128 bytes.
template <class C>
inline constexpr std::int64_t listed_sources = 128 / static_cast<std::int64_t>(sizeof(C));

/// Finds predecessors for each vertex v and `listed_sources<C>` sources. best[v][source] becomes the lowest vertex
/// from[e] for which lengths[from[e]][source] + weights[e] == lengths[v][source], or -1 if there is no such vertex. The
/// edges to v are the edges from begin[v] up to begin[v + 1], in ascending order of tails. In floating-point, compares
/// as mark_predecessors() does. Matrices are contiguous and aligned to 64 bytes.
void mark_listed_predecessors(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                              const std::int32_t* weights, const std::int32_t* lengths, std::int32_t* best);
void mark_listed_predecessors(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                              const std::int64_t* weights, const std::int64_t* lengths, std::int64_t* best);
void mark_listed_predecessors(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                              const float* weights, const float* lengths, float* best);
void mark_listed_predecessors(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                              const double* weights, const double* lengths, double* best);

}  // namespace gradus::shortest_paths_detail
