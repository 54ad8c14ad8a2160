// simd_tiled: the tiles of openmp_tiled, contiguous in memory, and relaxed as min-plus products whose results stay in
// vector registers.
//
// What changes from `openmp_tiled`:
// * Once the diagonal tile is closed, relaxing a tile through it is a min-plus product, C = min(C, A + B). This also
//   holds for the tiles of its row and column, where one factor is a copy of the tile's previous value. The order of
//   the loops is therefore free everywhere except on the diagonal.
// * The product is blocked like a matrix product: four rows by four vectors of C (two vectors if there are only 16
//   registers) stay in registers for all 64 intermediate vertices. Each intermediate vertex loads 4 vectors and 4
//   numbers for 16 additions and 16 minima. The textbook's loop loads two vectors and stores one for every addition and
//   minimum.
// * The matrix is copied into tiles, and back at the end. In the original matrix, each line of a tile is on a different
//   page. If the length of a row is a power of two, the lines of a tile also map to a few sets of the cache and evict
//   each other.
// * Highway selects the best instruction set of the CPU at run time (AVX-512, AVX2, …).
//
// Work: N^3 relaxations, with N rounded up to a multiple of 64. Memory: another N^2 elements. Each step of 64 vertices
// starts the thread team once and has two barriers.
// Limits: computes only in int32, int64, float and double. If distances may need a wider type, openmp_tiled must be
// used. Source: the blocking of K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008),
// applied to the min-plus semiring.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shortest_paths/rungs/simd_tiled.cpp"
// clang-format off
#include "core/checked.hpp"
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstdint>

#ifndef GRADUS_SHORTEST_PATHS_SIMD_TILED
#define GRADUS_SHORTEST_PATHS_SIMD_TILED
namespace gradus::shortest_paths_detail {

constexpr std::int64_t simd_side = 64;  // side of a tile; a multiple of four vectors of any type

}  // namespace gradus::shortest_paths_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::shortest_paths_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int block_rows = 4;
constexpr int block_vectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

/// Computes c = min(c, a + b) on tiles. c must differ from a and b.
template <class T>
HWY_INLINE void min_plus(T* HWY_RESTRICT c, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b) {
  const hn::CappedTag<T, simd_side / block_vectors> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t row = 0; row < simd_side; row += block_rows)
    for (std::int64_t column = 0; column < simd_side; column += block_vectors * lanes) {
      V best[block_rows][block_vectors];
#pragma GCC unroll 4
      for (int r = 0; r < block_rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < block_vectors; ++v)
          best[r][v] = hn::Load(d, c + (row + r) * simd_side + column + v * lanes);
      for (std::int64_t via = 0; via < simd_side; ++via) {
        V onward[block_vectors];
#pragma GCC unroll 4
        for (int v = 0; v < block_vectors; ++v) onward[v] = hn::Load(d, b + via * simd_side + column + v * lanes);
#pragma GCC unroll 4
        for (int r = 0; r < block_rows; ++r) {
          const V to_via = hn::Set(d, a[(row + r) * simd_side + via]);
#pragma GCC unroll 4
          for (int v = 0; v < block_vectors; ++v) best[r][v] = hn::Min(best[r][v], hn::Add(to_via, onward[v]));
        }
      }
#pragma GCC unroll 4
      for (int r = 0; r < block_rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < block_vectors; ++v)
          hn::Store(best[r][v], d, c + (row + r) * simd_side + column + v * lanes);
    }
}

/// Finds all routes within a diagonal tile, one intermediate vertex after another.
template <class T>
HWY_INLINE void close_tile(T* tile) {
  const hn::CappedTag<T, simd_side> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t via = 0; via < simd_side; ++via) {
    const T* const onward = tile + via * simd_side;
    for (std::int64_t row = 0; row < simd_side; ++row) {
      T* const to = tile + row * simd_side;
      const auto to_via = hn::Set(d, to[via]);
      for (std::int64_t column = 0; column < simd_side; column += lanes)
        hn::Store(hn::Min(hn::Load(d, to + column), hn::Add(to_via, hn::Load(d, onward + column))), d, to + column);
    }
  }
}

}  // namespace

void min_plus_i32(std::int32_t* c, const std::int32_t* a, const std::int32_t* b) { min_plus(c, a, b); }
void min_plus_i64(std::int64_t* c, const std::int64_t* a, const std::int64_t* b) { min_plus(c, a, b); }
void min_plus_f32(float* c, const float* a, const float* b) { min_plus(c, a, b); }
void min_plus_f64(double* c, const double* a, const double* b) { min_plus(c, a, b); }
void close_i32(std::int32_t* tile) { close_tile(tile); }
void close_i64(std::int64_t* tile) { close_tile(tile); }
void close_f32(float* tile) { close_tile(tile); }
void close_f64(double* tile) { close_tile(tile); }

}  // namespace HWY_NAMESPACE
}  // namespace gradus::shortest_paths_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <type_traits>

#include "core/phases.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/textbook.hpp"

namespace gradus::shortest_paths_detail {

namespace {

HWY_EXPORT(min_plus_i32);
HWY_EXPORT(min_plus_i64);
HWY_EXPORT(min_plus_f32);
HWY_EXPORT(min_plus_f64);
HWY_EXPORT(close_i32);
HWY_EXPORT(close_i64);
HWY_EXPORT(close_f32);
HWY_EXPORT(close_f64);

// Overloads that select the kernel by type.
// NOLINTBEGIN(bugprone-macro-parentheses): a type, and a part of a name
#define GRADUS_KERNELS(T, type)                                                                   \
  void min_plus(T* c, const T* a, const T* b) { HWY_DYNAMIC_DISPATCH(min_plus_##type)(c, a, b); } \
  void close(T* tile) { HWY_DYNAMIC_DISPATCH(close_##type)(tile); }
GRADUS_KERNELS(std::int32_t, i32)
GRADUS_KERNELS(std::int64_t, i64)
GRADUS_KERNELS(float, f32)
GRADUS_KERNELS(double, f64)
#undef GRADUS_KERNELS
// NOLINTEND(bugprone-macro-parentheses)

constexpr std::int64_t tile_elements = simd_side * simd_side;

/// The matrix as tiles in row-major order. Tiles at the border are padded with vertices that have no edges.
template <class T>
class Tiles {
 public:
  explicit Tiles(std::int64_t n)
      : n_(n), side_((n + simd_side - 1) / simd_side), elements_(side_ * side_ * tile_elements) {}

  std::int64_t side() const { return side_; }
  T* at(std::int64_t row, std::int64_t column) { return elements_.data() + (row * side_ + column) * tile_elements; }

  void take(std::int64_t row, std::int64_t column, MatrixView<T> matrix) {
    T* to = at(row, column);
    const std::int64_t left = column * simd_side;
    const std::int64_t columns = std::min(simd_side, n_ - left);
    for (std::int64_t line = row * simd_side; line < (row + 1) * simd_side; ++line, to += simd_side) {
      const std::int64_t there = line < n_ ? columns : 0;
      if (there > 0) std::copy_n(matrix.row(line) + left, there, to);
      std::fill(to + there, to + simd_side, unreachable<T>());
    }
  }

  void give(std::int64_t row, std::int64_t column, MatrixView<T> matrix) {
    const T* from = at(row, column);
    const std::int64_t left = column * simd_side;
    for (std::int64_t line = row * simd_side; line < std::min((row + 1) * simd_side, n_); ++line, from += simd_side)
      std::copy_n(from, std::min(simd_side, n_ - left), matrix.row(line) + left);
  }

 private:
  std::int64_t n_;
  std::int64_t side_;
  Buffer<T> elements_;
};

/// Relaxes everything through the vertices of one closed tile, and closes the next diagonal tile.
template <class T>
void relax_by_way_of(std::int64_t step, Tiles<T>& tiles, cpu::PayingTeam& team, const std::stop_token& stop) {
  const std::int64_t side = tiles.side();
  T* const diagonal = tiles.at(step, step);
  if (side == 1) return;
  cpu::PayingTeam::Pass timed(team);
#pragma omp parallel num_threads(team.threads())
  {
    alignas(64) T before[tile_elements];
    std::optional<cpu::PayingTeam::Share> own_time(std::in_place, timed);
#pragma omp for schedule(dynamic) nowait  // the loops over the row and the column are independent
    for (std::int64_t column = 0; column < side; ++column) {
      if (column == step || stop.stop_requested()) continue;
      std::copy_n(tiles.at(step, column), tile_elements, before);
      min_plus(tiles.at(step, column), diagonal, before);
    }
#pragma omp for schedule(dynamic) nowait
    for (std::int64_t row = 0; row < side; ++row) {
      if (row == step || stop.stop_requested()) continue;
      std::copy_n(tiles.at(row, step), tile_elements, before);
      min_plus(tiles.at(row, step), before, diagonal);
    }
    own_time.reset();
#pragma omp barrier  // the remaining tiles read the row and the column
    own_time.emplace(timed);
    // The loop starts with the next diagonal tile, so that one thread closes it while other threads continue.
#pragma omp for collapse(2) schedule(dynamic, 4) nowait
    for (std::int64_t down = 1; down <= side; ++down)
      for (std::int64_t right = 1; right <= side; ++right) {
        const std::int64_t row = (step + down) % side;
        const std::int64_t column = (step + right) % side;
        if (row == step || column == step || stop.stop_requested()) continue;
        min_plus(tiles.at(row, column), tiles.at(row, step), tiles.at(step, column));
        if (down == 1 && right == 1) close(tiles.at(row, column));
      }
  }
}

}  // namespace

template <class T>
Solved simd_tiled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  const std::stop_token& stop = problem.stop;
  Tiles<T> tiles(problem.n());
  const std::int64_t side = tiles.side();
  {
    const core::PhaseTimer timer(phases, "to_tiles");
#pragma omp parallel for collapse(2) num_threads(threads) schedule(static)
    for (std::int64_t row = 0; row < side; ++row)
      for (std::int64_t column = 0; column < side; ++column)
        if (!stop.stop_requested()) tiles.take(row, column, problem.distances);
  }
  {
    const core::PhaseTimer timer(phases, "relax");
    cpu::PayingTeam team(threads, cpu::may_shrink_team());
    if (side > 0) close(tiles.at(0, 0));
    for (std::int64_t step = 0; step < side; ++step) {
      relax_by_way_of(step, tiles, team, stop);
      after_step(problem, execution, step + 1, side);
    }
  }
  const core::PhaseTimer timer(phases, "from_tiles");
#pragma omp parallel for collapse(2) num_threads(threads) schedule(static)
  for (std::int64_t row = 0; row < side; ++row)
    for (std::int64_t column = 0; column < side; ++column)
      if (!stop.stop_requested()) tiles.give(row, column, problem.distances);
  core::honour_stop(stop, "stopped while putting tiles together");
  return {};
}

namespace {

// Returns the memory for a copy of the matrix in tiles.
core::Memory tiles_memory(const Shape& shape, int) {
  const auto rounded = static_cast<std::uint64_t>((shape.vertices + 63) / 64 * 64);
  return {.host = core::checked_multiply(core::checked_multiply(rounded, rounded, "tiles"),
                                         static_cast<std::uint64_t>(shape.element_bytes), "tiles")};
}

}  // namespace

extern constinit const Variant simd_tiled_rung{
    .name = "simd_tiled",
    .summary = "contiguous tiles, relaxed as min-plus products in vector registers",
    .change = "16 results or more in registers over 64 vertices; contiguous tiles; the CPU's best instructions",
    .contract = exact,
    .backend = core::Backend::simd,
    .supports = in_own_type,
    .memory = tiles_memory,
    .run = {simd_tiled<std::int32_t>, simd_tiled<std::int64_t>, simd_tiled<float>, simd_tiled<double>},
};

}  // namespace gradus::shortest_paths_detail
#endif  // HWY_ONCE
