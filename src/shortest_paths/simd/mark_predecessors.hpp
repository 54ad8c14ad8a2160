// The inner loop of the search for predecessors in a dense graph, in vector registers.
#pragma once

#include <cstdint>

namespace gradus::shortest_paths_detail {

inline constexpr std::int64_t marked_rows = 4;
inline constexpr std::int64_t marked_columns = 64;

/// For each of `marked_rows` sources and `marked_columns` vertices: the lowest via in [first_via, first_via + vias)
/// with to_via[source][via - first_via] + weights[via - first_via][vertex] == lengths[source][vertex], if there is one,
/// is put into `best`. Matrices are contiguous, and aligned to 64 bytes.
void mark_predecessors(const std::int32_t* const* to_via, const std::int32_t* weights, const std::int32_t* lengths,
                       std::int64_t first_via, std::int64_t vias, std::int32_t* best);
void mark_predecessors(const std::int64_t* const* to_via, const std::int64_t* weights, const std::int64_t* lengths,
                       std::int64_t first_via, std::int64_t vias, std::int64_t* best);

}  // namespace gradus::shortest_paths_detail
