// Plain data that the kernel of pair counts shares with its driver. The kernel is compiled for several instruction
// sets.
#pragma once

#include <cstdint>

#include "pair_histogram/simd/edge_table.hpp"

namespace gradus::pair_histogram_detail {

/// Kernels may read this number of elements past the end of an array.
constexpr std::int64_t sky_overshoot = 16;
constexpr std::int64_t sky_list = 1024;
constexpr std::int64_t sky_list_room = sky_list + 2 * sky_overshoot;
/// Counters that take turns need not wait for each other.
constexpr std::int64_t sky_copies = 4;
constexpr std::int64_t sky_buffer_room = 2 * sky_list_room;

/// The second points near a group of first points.
struct SkyList {
  alignas(64) float locals[3][sky_list_room];  ///< relative to the origin of the group
  alignas(64) float places[3][sky_list_room];  ///< relative to the observer; unused with a fixed line of sight
  alignas(64) std::int32_t numbers[sky_list_room];
};

enum class SkyLookup : std::uint8_t {
  none,  ///< all pairs are in one bin
  even,  ///< all bins have one width
  table
};

/// Second bins of one width. The integer part of `value * per_length + before` is the place of a coordinate, from 1 in
/// the first bin.
struct SkyEvenBins {
  float per_length = 0;
  float before = 0;
  float least = 0;  ///< smaller results have the same place
  float most = 0;   ///< greater results have the same place
  float doubt = 0;  ///< a result is doubtful if it is nearer to an integer
};

/// Results of SkyEvenBins as integers with `shift` bits after the point, and half of the doubtful range added. A result
/// is doubtful if none of the bits of `doubt_mask` is set.
struct SkyFixedBins {
  float per_length = 0;
  float before = 0;
  float least = 0;
  std::int32_t doubt_mask = 0;
  int shift = 0;
};

/// A table of r_p^2 or s^2 that fits in vector registers. The last bits of an interval's number are its index.
struct SkyRegisters {
  float least = 0;  ///< smaller values belong to the same interval
  alignas(64) float low[intervals_in_registers];
  alignas(64) float high[intervals_in_registers];
  alignas(64) std::int32_t place[intervals_in_registers];
};

/// All lengths are in units of the reach of the bins.
struct SkyView {
  bool is_across = true;     ///< axes r_p and pi, otherwise s and mu
  bool is_midpoint = true;   ///< the line of sight goes through the midpoint, otherwise along the last coordinate
  bool numbers_all = false;  ///< if true, `settle_row` is called for the pairs of each first point
  float scale[3] = {};       ///< length of an integer step
  float list_square = 0;     ///< points at a greater squared distance from a group are certainly out of reach
  float first_square = 0;    ///< pairs with a greater r_p^2 (or s^2) are certainly out of reach
  float second_end = 0;      ///< pairs with a greater pi are certainly out of reach
  float mu_error = 0;        ///< error of mu times the separation
  SkyLookup second_lookup = SkyLookup::table;
  SkyEvenBins even;
  SkyFixedBins fixed;
  const SkyRegisters* registers = nullptr;  ///< equal to the first table, or null
  EdgeTableView table[2];
  SkyList* list = nullptr;
  // Pairs in bins, in buffers of sky_buffer_room elements.
  std::int32_t* slots = nullptr;
  std::int32_t* numbers = nullptr;  ///< the second points, if `numbers_all`
  std::int64_t length = 0;
  // A full buffer, whose pairs are counted while the other one is filled.
  std::int32_t* full_slots = nullptr;
  std::int64_t counted = 0;
  std::int64_t full_length = 0;
  // Doubtful pairs, in buffers of sky_buffer_room elements.
  std::int32_t* doubtful_first = nullptr;
  std::int32_t* doubtful_second = nullptr;
  std::int64_t doubts = 0;
  std::uint32_t* counts = nullptr;  ///< sky_copies counters per slot, which take turns
  std::int64_t slot_count = 0;
  std::int64_t sum_of_counts = 0;                     ///< since the last call of `settle_counts`
  std::int64_t settle_after = std::int64_t{1} << 30;  ///< sum of counts at which `settle_counts` is called
  /// Called with the pairs of a first point, which are in the buffer from `begin` on.
  void (*settle_row)(void* owner, std::int64_t first, std::int64_t begin) = nullptr;
  void (*settle_doubts)(void* owner) = nullptr;
  void (*settle_counts)(void* owner) = nullptr;
  void* owner = nullptr;
};

/// One set of points, sorted by column of cells and along the columns.
struct SkyColumns {
  const std::int32_t* steps[3] = {};   ///< coordinates in integer steps
  const std::int64_t* keys = nullptr;  ///< the last coordinate, as an increasing number of steps
  const float* places[3] = {};         ///< coordinates relative to the observer; null with a fixed line of sight
};

struct SkyRun {
  std::int64_t begin;
  std::int64_t end;
};

/// A few first points that are close together, and the runs of second points that may be in reach of them.
struct SkyGroup {
  SkyColumns first;
  SkyColumns second;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int32_t origin[3] = {};  ///< the middle of the group's bounding box, in steps
  float half[3] = {};           ///< half of the box's extents
  bool is_own = false;          ///< both are one set: the first run begins with the group, and each pair counts once
  const SkyRun* runs = nullptr;
  std::int64_t run_count = 0;
};

/// Counts the pairs of a group. Leaves some pairs in the buffers.
void count_sky_group(SkyView& view, const SkyGroup& group);
/// Counts the pairs in both buffers.
void flush_sky_pairs(SkyView& view);

}  // namespace gradus::pair_histogram_detail
