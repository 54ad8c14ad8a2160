// AMX tiles through intrinsics, because Highway has none. A tile has 16 rows of 64 bytes. One instruction multiplies a
// tile of 16 points x 64 columns with a tile of 64 columns x 16 centroids and adds the 16 x 16 sums to a third tile.
// This is 16384 multiply-adds in 16 cycles, eight times the rate of VNNI.
//
// * Registers. Two tiles of points and two tiles of centroids give four tiles of sums: 4 loads feed 4 products. The
//   sums start with the offsets, which a load with stride 0 copies to all rows.
// * Candidates. 16 sums take one cycle of a product over 64 columns, so the selection must take few instructions per 16
//   scores. The scores of a step, 32 points x 32 clusters, are written to a buffer in the first-level cache and
//   compared with the limits of the points. If a score passes, the limit decreases to the least score plus the band,
//   and the scores that still pass are appended to the point's list. Other scores are not kept.
// * Overlap. The scores of a step are compared while the tiles of the next step are computed. There are two buffers.
// * Caches. A load of a tile that misses the first-level cache takes hundreds of cycles, as measured rates suggest. So
//   a step's centroids are used for four groups of points in succession.
#include "kmeans/assign/byte_tiles.hpp"

// Compiler flags for this file enable the instructions. It includes no standard templates: the linker could use their
// instances in code that runs on other CPUs.
#if defined(__AMX_INT8__) && defined(__AMX_TILE__) && defined(__AVX512F__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gradus::kmeans_detail {

namespace {

bool request_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned tiles_and_bytes = 3U << 24;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & tiles_and_bytes) != tiles_and_bytes) return false;
  // Linux gives a process the tile registers on request. The permission covers all of its threads.
  constexpr long request_permission = 0x1023;
  constexpr long tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

bool has_tiles() {
  static const bool answer = request_tiles();
  return answer;
}

struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t column_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfiguration whole_tiles;

constexpr std::int64_t step_clusters = 32;
constexpr std::int64_t panel_clusters = 64;
constexpr std::int64_t quad_bytes = 4 * panel_clusters;
constexpr std::int64_t tile_sums = 256;

/// A group of points and 32 clusters, whose scores are computed in one step.
struct Step {
  std::int64_t group;
  std::int64_t cluster;
  std::int64_t row_bytes;
  const std::int8_t* points;
  const std::uint8_t* panel;
  const std::int32_t* offsets;
};

Step step_at(const TileSearch& search, std::int64_t index) {
  const std::int64_t group = index % search.groups;
  const std::int64_t cluster = index / search.groups * step_clusters;
  return {group,
          cluster,
          search.row_bytes,
          search.points + group * tile_group * search.row_bytes,
          search.panels + cluster / panel_clusters * panel_clusters * search.row_bytes + 4 * (cluster % panel_clusters),
          search.offsets + group * search.clusters + cluster};
}

// Computes the scores of a step, in tiles of 16 points x 16 clusters: two tiles for the first 16 points, then two for
// the others.
inline void compute_scores(const Step& step, std::int32_t* scores) {
  _tile_loadd(0, step.offsets, 0);
  _tile_loadd(1, step.offsets + 16, 0);
  _tile_loadd(2, step.offsets, 0);
  _tile_loadd(3, step.offsets + 16, 0);
  for (std::int64_t column = 0; column < step.row_bytes; column += 64) {
    _tile_loadd(4, step.points + 16 * column, 64);
    _tile_loadd(6, step.panel + column / 4 * quad_bytes, quad_bytes);
    _tile_loadd(7, step.panel + column / 4 * quad_bytes + 64, quad_bytes);
    _tile_loadd(5, step.points + 16 * (step.row_bytes + column), 64);
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 7);
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
  }
  _tile_stored(0, scores, 64);
  _tile_stored(1, scores + tile_sums, 64);
  _tile_stored(2, scores + 2 * tile_sums, 64);
  _tile_stored(3, scores + 3 * tile_sums, 64);
}

// Computes the same scores without tiles.
void compute_scores_slowly(const Step& step, std::int32_t* scores) {
  for (std::int64_t point = 0; point < tile_group; ++point)
    for (std::int64_t cluster = 0; cluster < step_clusters; ++cluster) {
      std::int32_t sum = step.offsets[cluster];
      for (std::int64_t column = 0; column < step.row_bytes; ++column)
        sum += std::int32_t{step.points[tile_index(point, column, step.row_bytes)]} *
               std::int32_t{step.panel[column / 4 * quad_bytes + 4 * cluster + column % 4]};
      scores[(point / 16 * 2 + cluster / 16) * tile_sums + point % 16 * 16 + cluster % 16] = sum;
    }
}

// Removes the candidates whose scores exceed the limit. If this does not make room for another step, gives up on the
// point.
void make_room(const TileSearch& search, std::int64_t point) {
  std::int32_t* const scores = search.scores + point * search.capacity;
  std::int32_t* const candidates = search.candidates + point * search.capacity;
  std::int32_t left = 0;
  for (std::int32_t index = 0; index < search.counts[point]; ++index) {
    scores[left] = scores[index];
    candidates[left] = candidates[index];
    left += scores[index] <= search.limits[point];
  }
  search.counts[point] = left;
  if (left + step_clusters <= search.capacity) return;
  search.counts[point] = too_many;
  search.limits[point] = -no_limit;  // no further score passes
}

// Appends the clusters of a step that pass the limit. `halves` are the scores of 16 clusters each.
__attribute__((noinline)) void append(const TileSearch& search, std::int64_t point, std::int64_t cluster,
                                      const std::int32_t* const (&halves)[2]) {
  std::int32_t least = halves[0][0];
  for (const std::int32_t* const half : halves)
    for (std::int64_t index = 0; index < 16; ++index) least = half[index] < least ? half[index] : least;
  const std::int64_t lowered = std::int64_t{least} + search.bands[point];
  if (lowered < search.limits[point]) search.limits[point] = static_cast<std::int32_t>(lowered);
  if (search.counts[point] + step_clusters > search.capacity) make_room(search, point);
  if (search.counts[point] == too_many) return;
  const __m512i limit = _mm512_set1_epi32(search.limits[point]);
  __m512i clusters = _mm512_add_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                      _mm512_set1_epi32(static_cast<std::int32_t>(cluster)));
  for (const std::int32_t* const half : halves) {
    const __m512i some = _mm512_loadu_si512(half);
    const __mmask16 passes = _mm512_cmple_epi32_mask(some, limit);
    const std::int64_t at = point * search.capacity + search.counts[point];
    _mm512_storeu_si512(search.scores + at, _mm512_maskz_compress_epi32(passes, some));
    _mm512_storeu_si512(search.candidates + at, _mm512_maskz_compress_epi32(passes, clusters));
    search.counts[point] += __builtin_popcount(passes);
    clusters = _mm512_add_epi32(clusters, _mm512_set1_epi32(16));
  }
}

inline void select(const TileSearch& search, const Step& step, const std::int32_t* scores) {
  for (std::int64_t row = 0; row < tile_group; ++row) {
    const std::int64_t point = step.group * tile_group + row;
    const std::int32_t* const of_point = scores + row / 16 * 2 * tile_sums + row % 16 * 16;
    const std::int32_t* const halves[] = {of_point, of_point + tile_sums};
    const __m512i limit = _mm512_set1_epi32(search.limits[point]);
    const __mmask16 first = _mm512_cmple_epi32_mask(_mm512_loadu_si512(halves[0]), limit);
    const __mmask16 second = _mm512_cmple_epi32_mask(_mm512_loadu_si512(halves[1]), limit);
    if (__builtin_expect((first | second) != 0, 0)) append(search, point, step.cluster, halves);
  }
}

template <class Compute>
inline void search_with(const TileSearch& search, const Compute& compute) {
  alignas(4096) std::int32_t scores[2][4 * tile_sums];
  for (std::int64_t point = 0; point < search.groups * tile_group; ++point) search.counts[point] = 0;
  const std::int64_t steps = search.clusters / step_clusters * search.groups;
  const std::int64_t row_lines = (search.ahead_bytes + 63) / 64;
  std::int64_t line = 0;
  Step former{};
  for (std::int64_t index = 0; index < steps; ++index) {
    const Step step = step_at(search, index);
    compute(step, scores[index % 2]);
    for (const std::int64_t end = (index + 1) * search.ahead_rows * row_lines / steps; line < end; ++line)
      __builtin_prefetch(search.ahead[line / row_lines] + line % row_lines * 64, 0, 2);
    if (index > 0) select(search, former, scores[(index + 1) % 2]);
    former = step;
  }
  select(search, former, scores[(steps + 1) % 2]);
}

}  // namespace

bool uses_tiles(std::int64_t dimensions, std::int64_t clusters) {
  if (tile_use != TileUse::where_they_pay) return tile_use == TileUse::always;
  // A step takes a third of a microsecond plus its products, and a point takes the distance to its former centroid.
  // With fewer columns or clusters, VNNI takes about as long.
  return dimensions >= 96 && clusters >= 256 && has_tiles();
}

void search_tiles(const TileSearch& search) {
  if (!has_tiles()) return search_with(search, compute_scores_slowly);
  _tile_loadconfig(&whole_tiles);
  search_with(search, [](const Step& step, std::int32_t* scores) { compute_scores(step, scores); });
  _tile_release();
}

}  // namespace gradus::kmeans_detail

#else

namespace gradus::kmeans_detail {

bool uses_tiles(std::int64_t /*dimensions*/, std::int64_t /*clusters*/) { return false; }
void search_tiles(const TileSearch& /*search*/) {}

}  // namespace gradus::kmeans_detail

#endif
