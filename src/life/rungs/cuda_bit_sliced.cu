// cuda_bit_sliced: 32 cells per word; a network of logic operations counts the neighbours of all 32 at once.
//
// What changes from `cuda_shared`: a thread computes a word instead of a cell. In each of three rows, it loads its word
// and the words to the left and right, and shifts in the bits of these neighbours. It adds the cells with bit-parallel
// full adders, whose sums and carries are words too (network/plan.hpp). A LOP3 instruction computes any function of
// three words, so a rule takes about ten LOP3 instructions. Nothing is unpacked: the cells stay in the caller's format.
//
// Bytes: one bit is read and one bit is written per cell, an eighth of the traffic of `cuda_shared`; the words of other
// rows and columns come from the caches. Operations: nine loads, six shifts and about 27 logic operations per 32 cells.
// For large grids, a generation takes at least the time of one pass over memory; small grids are limited by launches.
//
// Limits: none.
//
// Source: bit-parallel operations: L. Lamport, "Multiple byte processing with full-word instructions" (1975).
#include "life/gpu/memory.hpp"
#include "life/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "cuda/launch.hpp"
#include "life/gpu/generations.hpp"
#include "life/gpu/words.cuh"

namespace gradus::life_detail {

namespace {

// Computes one word per thread. Launch shape: blocks of 256 threads, linear over the words of all rows.
constexpr int block_threads = 256;

__global__ void next_generation_of_words(ConstWords from, Words to, Extent extent,
                                         const __grid_constant__ Coefficients rule) {
  const std::int64_t words = extent.row_words();
  const std::int64_t index = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (index >= extent.height * words) return;
  const std::int64_t y = index / words;
  const std::int64_t column = index % words;
  const Column left(extent, column - 1);
  const Column here(extent, column);
  const Column right(extent, column + 1);
  Word cells = 0;  // this thread's word in the row that was added last
  const auto sums_of_row = [&](std::int64_t at) {
    cells = 0;
    if (extent.torus) at = wrapped(at, extent.height);
    else if (at < 0 || at >= extent.height) return RowSums<Word>{0, 0};
    const Word* const row = from.row(at);
    cells = here.load(row);
    return sums_of(left.load(row), cells, right.load(row));
  };
  const RowSums<Word> above = sums_of_row(y - 1);
  const RowSums<Word> below = sums_of_row(y + 1);
  const RowSums<Word> own = sums_of_row(y);
  to.row(y)[column] = GeneralNetwork<WordOps>(&rule).next(above, own, below, cells) & extent.mask(column);
}

}  // namespace

Solved cuda_bit_sliced(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "generations");
  const cuda::Stream& stream = problem.gpu->stream();
  const Extent extent = extent_of(problem);
  const AnyRule rule = any_rule(problem);
  const Turns<Words> turns{words_of(problem.result), take_words(extent, problem.gpu->memory()), problem.generations};
  const unsigned int blocks = cuda::blocks_for(extent.height * extent.row_words(), block_threads);
  for_passes(problem, execution, problem.generations, 1, 2e10, [&](std::int64_t first, std::int64_t number) {
    for (std::int64_t generation = first; generation < first + number; ++generation) {
      const ConstWords from = generation == 0
                                  ? words_of(problem.cells)
                                  : ConstWords{turns.source(generation).words, turns.source(generation).stride};
      next_generation_of_words<<<blocks, block_threads, 0, stream>>>(from, turns.target(generation), extent,
                                                                     rule.of[generation % 2]);
      cuda::check_launch("next_generation_of_words");
    }
  });
  stream.wait();
  return {};
}

}  // namespace gradus::life_detail
#endif

namespace gradus::life_detail {

extern constinit const Variant cuda_bit_sliced_rung{
    .name = "cuda_bit_sliced",
    .summary = "32 cells in a word, counted by a network of logic operations",
    .change = "an eighth of the bytes; about 27 operations for 32 cells",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = execution::on_gpu,
    .memory = grids_on_gpu<1, 1>,
    .run = GRADUS_CUDA_RUNS(cuda_bit_sliced),
};

}  // namespace gradus::life_detail
