// The product of bytes on AMX tiles, which finds candidates for the nearest centroids of points. simd_large_dim.cpp
// explains the filter.
#pragma once

#include <cstdint>

namespace gradus::kmeans_detail {

enum class TileUse {
  never,
  where_they_pay,
  always,  ///< also for small products, and on CPUs without AMX by code that computes the same scores slowly
};
/// Tests change it for filters that they make.
inline TileUse tile_use = TileUse::where_they_pay;

/// Returns true if searches with AVX-512 use tiles. Requests the tiles from the operating system on the first call.
bool uses_tiles(std::int64_t dimensions, std::int64_t clusters);

inline constexpr std::int64_t tile_group = 32;        ///< points that are quantized together
inline constexpr std::int64_t tile_groups = 4;        ///< most groups that are searched together
inline constexpr std::int32_t no_limit = 0x7e000000;  ///< exceeds every score
inline constexpr std::int32_t too_many = -1;          ///< TileSearch::counts of a point with too many candidates

/// Returns the bytes of a row, padded to whole tiles.
constexpr std::int64_t padded_bytes(std::int64_t dimensions) { return (dimensions + 63) / 64 * 64; }

/// Returns the index of a coordinate among the tiles of points.
constexpr std::int64_t tile_index(std::int64_t point, std::int64_t column, std::int64_t row_bytes) {
  return point / 16 * 16 * row_bytes + column / 64 * 1024 + point % 16 * 64 + column % 64;
}

/// A search of groups of points. Plain data, because the code is compiled for another instruction set.
struct TileSearch {
  std::int64_t row_bytes;  ///< padded_bytes() of the columns
  std::int64_t clusters;   ///< a multiple of 64
  std::int64_t groups;
  const std::uint8_t* panels;   ///< the centroids in panels of 64: [panel][quad][cluster][4]
  const std::int8_t* points;    ///< tiles of 16 points: [tile][64 columns][point][column]
  const std::int32_t* offsets;  ///< [group][cluster]: the score is the offset plus the product
  const std::int32_t* bands;    ///< per point: a score that exceeds the least score by more is no candidate
  std::int32_t* limits;         ///< per point: a greater score is no candidate. The search lowers the limit
  std::int32_t* counts;         ///< output, per point: number of candidates, or too_many
  std::int64_t capacity;        ///< distance between the candidates of two points
  std::int32_t* scores;         ///< output, [point][capacity]: scores of the candidates
  std::int32_t* candidates;     ///< output, [point][capacity]: clusters, in ascending order. Some may exceed the limit
  const char* const* ahead;     ///< rows to prefetch during the search
  std::int64_t ahead_rows;
  std::int64_t ahead_bytes;  ///< length of such a row
};

/// Finds, for each point, the clusters whose scores do not exceed the least score by more than the band, nor the limit.
/// Requires uses_tiles() and AVX-512.
void search_tiles(const TileSearch& search);

}  // namespace gradus::kmeans_detail
