// Plain data that the kernel of pair counts shares with its driver. The kernel is compiled for several instruction
// sets.
#pragma once

#include <cstdint>

#include "pair_histogram/simd/edge_table.hpp"

namespace gradus::pair_histogram_detail {

/// Kernels may read this number of elements past the end of an array.
constexpr std::int64_t sky_overshoot = 16;
constexpr std::int64_t sky_buffer = 2048;
constexpr std::int64_t sky_buffer_room = sky_buffer + 2 * sky_overshoot;

/// All lengths are in units of the reach of the bins.
struct SkyView {
  bool is_across = true;    ///< axes r_p and pi, otherwise s and mu
  bool is_midpoint = true;  ///< the line of sight goes through the midpoint, otherwise along the last coordinate
  float scale[3] = {};      ///< length of an integer step
  float first_square = 0;   ///< pairs with a greater r_p^2 (or s^2) are certainly out of reach
  float second_end = 0;     ///< pairs with a greater pi are certainly out of reach
  float near_square = 0;    ///< pairs with a smaller s^2 are doubtful, because mu is inaccurate
  EdgeTableView table[2];
  // Pairs in reach, in buffers of sky_buffer_room elements.
  float* square = nullptr;  ///< s^2, or r_p^2 times `norm`
  float* along = nullptr;   ///< magnitude of pi times the root of `norm`
  float* norm = nullptr;    ///< squared norm of the sum of both points; unused with a fixed line of sight
  std::int32_t* first = nullptr;
  std::int32_t* second = nullptr;
  std::int32_t* slots = nullptr;     ///< 0 for doubtful pairs
  std::int32_t* doubtful = nullptr;  ///< numbers of the doubtful pairs in the buffers
  std::int64_t length = 0;
  std::int64_t doubts = 0;
  std::uint64_t* counts = nullptr;
  /// Called with a full buffer after its slots are counted: counts the doubtful pairs, weights and regions.
  void (*settle)(void* owner) = nullptr;
  bool settles_all = false;  ///< if false, `settle` is called only if pairs are doubtful
  void* owner = nullptr;
};

/// One set of points, sorted by column of cells and along the columns.
struct SkyColumns {
  const std::int32_t* steps[3] = {};   ///< coordinates in integer steps
  const std::int64_t* keys = nullptr;  ///< the last coordinate, as an increasing number of steps
  const float* places[3] = {};         ///< coordinates relative to the observer; null with a fixed line of sight
};

/// A range of first points and a range of second points, each within a column. A pair is visited if the difference of
/// the keys, with `turn` added to the key of the second point, is at most `reach` in magnitude.
struct SkySegment {
  SkyColumns first;
  SkyColumns second;
  std::int64_t first_begin = 0;
  std::int64_t first_end = 0;
  std::int64_t second_begin = 0;
  std::int64_t second_end = 0;
  std::int64_t reach = 0;
  std::int64_t turn = 0;
  bool is_own = false;  ///< both ranges are in the same column of one set: second points come after first points
};

/// Collects and counts the pairs of a segment. Leaves some pairs in the buffers.
void count_sky_segment(SkyView& view, const SkySegment& segment);
/// Counts the pairs in the buffers.
void flush_sky_pairs(SkyView& view);

}  // namespace gradus::pair_histogram_detail
