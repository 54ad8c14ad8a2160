// cuda_resident: cells stay in registers for many generations.
//
// What changes from `cuda_bit_sliced`: there, each generation passes through memory and costs a launch, and each word
// is loaded and added again for the rows above and below. Here, a thread holds one word in each of 8 or 16 rows in
// registers. A warp holds these rows in a strip of 1024 columns. The strips of the warps of a block form a tile:
//
// * Left and right neighbours come from adjacent lanes by two shuffles per word. Neighbours above and below are in the
//   same thread, except for the thread's first and last row. The sums of these two rows pass through shared memory,
//   with one barrier per generation.
// * The sums of a row are computed once for the three rows that need them. In total, 32 cells take 2 shuffles, 2 shifts
//   and about 10 logic operations.
// * A tile includes a border of 32 columns and up to 32 rows of its neighbours' cells. Incorrect cells spread inwards
//   from the tile's rim by one cell per generation, so up to 32 generations are correct without communication.
// * If all tiles fit on the GPU at once, they stay in registers. Each pass writes only the rims for the neighbours and
//   reads the borders again, with a barrier of all blocks in between. Larger grids pass through memory once per pass
//   instead of once per generation.
//
// Operations: 12 per word on the unit that limits the rate. The borders add 6 % for columns, and 10 to 33 % for rows.
// On an NVIDIA H200, this unit performs 1.67e13 operations per second, so at most 4.4e13 cells per second can be
// computed. Bytes: for large grids, 1/4 byte per cell and pass.
//
// Each rule in the list of network/plan.hpp has a compiled network. All other rules, and rules that change between
// generations, use the general network at half the rate.
//
// Limits: none.
//
// Source: temporal blocking in registers, for example K. Matsumura et al., "AN5D: automated stencil framework for
// high-degree temporal blocking on GPUs" (2020); bit-parallel addition as in `cuda_bit_sliced`.
#include "life/gpu/memory.hpp"
#include "life/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include <cooperative_groups.h>

#include <utility>

#include "cuda/launch.hpp"
#include "life/gpu/generations.hpp"
#include "life/gpu/tiles.hpp"
#include "life/gpu/words.cuh"

namespace gradus::life_detail {

namespace {

constexpr int no_compiled_rule = -1;

/// For each warp: the sums of its first row, which the warp above needs, and of its last row, which the warp below
/// needs. The array has an unused row at each end.
using Seams = RowSums<Word>[2][most_warps(8) + 2][Tiling::lanes];

/// Returns the sums of a row of a warp's words, one word per lane. Lanes 0 and 31 use each other's word as their outer
/// neighbour. On a torus that is as wide as the warp, these words are indeed neighbours. In all other cases, the sums
/// of lanes 0 and 31 are incorrect, but these lanes are the rim of the border.
__device__ __forceinline__ RowSums<Word> sums_in_warp(Word here) {
  const int lane = static_cast<int>(threadIdx.x);
  return sums_of(__shfl_sync(~0u, here, lane + 31), here, __shfl_sync(~0u, here, lane + 1));
}

template <int rule_index>
__device__ __forceinline__ Word next_word(const AnyRule& rule, std::int64_t generation, RowSums<Word> above,
                                          RowSums<Word> here, RowSums<Word> below, Word cells) {
  if constexpr (rule_index == no_compiled_rule)
    return GeneralNetwork<WordOps>(&rule.of[generation % 2]).next(above, here, below, cells);
  else return CompiledNetwork<WordOps, rule_index>(nullptr).next(above, here, below, cells);
}

/// Advances a block's tile by `count` generations. If `bordered` is set, clears the cells beyond the grid in each
/// generation: the columns outside `mask`, and the thread's rows outside [begin, end).
template <int rows, int rule_index, bool bordered>
__device__ __forceinline__ void advance(Word (&cells)[rows], Seams (&seams)[2], const AnyRule& rule,
                                        std::int64_t generation, int count, Word mask, int begin, int end) {
  const int lane = static_cast<int>(threadIdx.x % Tiling::lanes);
  const int warp = static_cast<int>(threadIdx.x / Tiling::lanes);
  const auto inside = [&](int row, Word word) {
    if constexpr (!bordered) return word;
    else return row >= begin && row < end ? word & mask : Word{0};
  };
  for (int step = 0; step < count; ++step) {
    Seams& seam = seams[step % 2];  // slower warps may still read the other buffer
    const RowSums<Word> first = sums_in_warp(cells[0]);
    const RowSums<Word> last = sums_in_warp(cells[rows - 1]);
    seam[0][warp + 1][lane] = first;
    seam[1][warp + 1][lane] = last;
    const RowSums<Word> second = sums_in_warp(cells[1]);
    RowSums<Word> above = first;
    RowSums<Word> here = second;
#pragma unroll
    for (int row = 1; row + 1 < rows; ++row) {
      const RowSums<Word> below = row + 2 == rows ? last : sums_in_warp(cells[row + 1]);
      cells[row] = inside(row, next_word<rule_index>(rule, generation + step, above, here, below, cells[row]));
      above = here;
      here = below;
    }
    __syncthreads();  // the sums of all neighbours are written
    const RowSums<Word> before = seam[1][warp][lane];
    const RowSums<Word> after = seam[0][warp + 2][lane];
    cells[0] = inside(0, next_word<rule_index>(rule, generation + step, before, first, second, cells[0]));
    cells[rows - 1] =
        inside(rows - 1, next_word<rule_index>(rule, generation + step, above, last, after, cells[rows - 1]));
  }
}

/// The passes [first, first + count) of a run. Each pass computes `depth` generations; the last pass of the run
/// computes the rest.
struct Passes {
  ConstWords cells;  ///< the cells of generation 0
  Turns<Words> turns;
  std::int64_t generations;
  std::int64_t first;
  std::int64_t count;
};

// Launch shape: a block of tiling.threads() threads per tile. If `count` exceeds 1, the launch is cooperative and the
// tiles stay in registers.
template <int rows, int rule_index, bool bordered>
__global__ void __launch_bounds__(most_warps(rows) * Tiling::lanes, 1)
    advance_tiles(const __grid_constant__ Passes passes, const __grid_constant__ Tiling tiling,
                  const __grid_constant__ Extent extent, const __grid_constant__ AnyRule rule) {
  __shared__ Seams seams[2];
  const int lane = static_cast<int>(threadIdx.x % Tiling::lanes);
  const int warp = static_cast<int>(threadIdx.x / Tiling::lanes);
  const std::int64_t words = extent.row_words();
  const std::int64_t top = blockIdx.x / tiling.across * tiling.own_rows;
  const std::int64_t bottom = min(top + tiling.own_rows, extent.height);
  const std::int64_t first_row = top - tiling.depth + warp * rows;
  const std::int64_t column = blockIdx.x % tiling.across * tiling.own_words + lane - tiling.border_words;
  const bool is_own = lane >= tiling.border_words && lane < tiling.border_words + tiling.own_words && column < words;
  // True for the words that are in the border of another tile. These are the outermost words and, if the seam of a
  // torus is inside a word, the words that are partly visible from the other side.
  const bool is_rim = lane <= tiling.border_words || lane + 1 >= tiling.border_words + tiling.own_words ||
                      column + 3 >= words || column < 3;
  const Word mask = extent.mask(column);
  const auto of_thread = [&](std::int64_t y) {
    return static_cast<int>(max(std::int64_t{0}, min(std::int64_t{rows}, y - first_row)));
  };
  const int begin = of_thread(0);
  const int end = of_thread(extent.height);
  const int own_begin = of_thread(top);
  const int own_end = of_thread(bottom);
  const Column loaded(extent, column);
  Word cells[rows];
  for (std::int64_t pass = passes.first; pass < passes.first + passes.count; ++pass) {
    const Words before = passes.turns.source(pass);
    const ConstWords from = pass == 0 ? passes.cells : ConstWords{before.words, before.stride};
    std::int64_t y = extent.torus ? wrapped(first_row, extent.height) : 0;
    const Word* from_row = from.row(extent.torus ? y : first_row);
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      const bool is_held = pass > passes.first && is_own && row >= own_begin && row < own_end;
      if (!is_held) cells[row] = bordered && (row < begin || row >= end) ? 0 : loaded.load(from_row);
      from_row += from.stride;
      if (!bordered && ++y == extent.height) y = 0, from_row = from.words;
    }
    const std::int64_t done = pass * tiling.depth;
    const auto count = static_cast<int>(min(std::int64_t{tiling.depth}, passes.generations - done));
    advance<rows, rule_index, bordered>(cells, seams, rule, done, count, mask, begin, end);
    const Words to = passes.turns.target(pass);
    const bool is_last = pass + 1 == passes.first + passes.count;
    // Other tiles do not read the rows between the upper and the lower rim, so only the last pass writes them.
    const int inner_begin = is_last || is_rim ? rows : of_thread(top + tiling.depth);
    const int inner_end = of_thread(bottom - tiling.depth);
    Word* to_row = to.row(first_row) + column;
#pragma unroll
    for (int row = 0; row < rows; ++row, to_row += to.stride)
      if (is_own && row >= own_begin && row < own_end && (row < inner_begin || row >= inner_end))
        *to_row = cells[row] & mask;
    if (!is_last) cooperative_groups::this_grid().sync();  // the rims of all tiles are written
  }
}

template <int rows, int rule_index, bool bordered>
void launch(const Passes& passes, const Tiling& tiling, const Extent& extent, const AnyRule& rule,
            const cuda::Stream& stream) {
  constexpr auto kernel = advance_tiles<rows, rule_index, bordered>;
  const auto blocks = static_cast<unsigned int>(tiling.tiles());
  const auto threads = static_cast<unsigned int>(tiling.threads());
  if (passes.count == 1) {
    kernel<<<blocks, threads, 0, stream>>>(passes, tiling, extent, rule);
  } else {
    void* arguments[] = {const_cast<Passes*>(&passes), const_cast<Tiling*>(&tiling), const_cast<Extent*>(&extent),
                         const_cast<AnyRule*>(&rule)};
    cuda::check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads),
                                            arguments, 0, stream),
                "cudaLaunchCooperativeKernel");
  }
  cuda::check_launch("advance_tiles");
}

using Launch = void (*)(const Passes&, const Tiling&, const Extent&, const AnyRule&, const cuda::Stream&);

/// Returns true if the rule has tiles with 8 rows per thread in addition to tiles with 16. This is the case for B3/S23
/// and for rules that are not compiled. On small grids, 8 rows per thread give more warps than 16 rows do, and more
/// warps hide more latency.
constexpr bool has_short_rows(int rule_index) { return rule_index <= 0; }

template <bool bordered, int... index>
Launch launch_of(int rule_index, int rows, std::integer_sequence<int, index...>) {
  static constexpr Launch compiled[] = {launch<16, index, bordered>...};
  if (rule_index == no_compiled_rule)
    return rows == 8 ? launch<8, no_compiled_rule, bordered> : launch<16, no_compiled_rule, bordered>;
  if (rule_index == 0 && rows == 8) return launch<8, 0, bordered>;
  return compiled[rule_index];
}

}  // namespace

Solved cuda_resident(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "generations");
  const cuda::Stream& stream = problem.gpu->stream();
  const Extent extent = extent_of(problem);
  const AnyRule rule = any_rule(problem);
  const int rule_index = problem.even == problem.odd ? compiled_index(problem.even) : no_compiled_rule;
  const bool one_wraps = extent.torus && extent.width == Tiling::lanes * word_bits;
  const Tiling tiling = tiling_of(extent.height, extent.row_words(), one_wraps, problem.generations,
                                  cuda::multiprocessors(), has_short_rows(rule_index));
  constexpr auto all = std::make_integer_sequence<int, compiled_rule_count>();
  const Launch launch =
      extent.torus ? launch_of<false>(rule_index, tiling.rows, all) : launch_of<true>(rule_index, tiling.rows, all);
  const std::int64_t passes = (problem.generations + tiling.depth - 1) / tiling.depth;
  const Turns<Words> turns{words_of(problem.result), take_words(extent, problem.gpu->memory()), passes};
  for_passes(problem, execution, passes, tiling.depth, 1e11, [&](std::int64_t first, std::int64_t number) {
    const std::int64_t at_once = tiling.stays ? number : 1;
    for (std::int64_t pass = first; pass < first + number; pass += at_once)
      launch({words_of(problem.cells), turns, problem.generations, pass, at_once}, tiling, extent, rule, stream);
  });
  stream.wait();
  return {};
}

}  // namespace gradus::life_detail
#endif

namespace gradus::life_detail {

extern constinit const Variant cuda_resident_rung{
    .name = "cuda_resident",
    .summary = "cells stay in registers for many generations; tiles exchange their borders",
    .change =
        "memory and barriers of all blocks once in up to 32 generations; sums of a row formed once: 14 instructions "
        "for 32 cells",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = execution::on_gpu,
    .memory = grids_on_gpu<1, 1>,
    .run = GRADUS_CUDA_RUNS(cuda_resident),
};

}  // namespace gradus::life_detail
