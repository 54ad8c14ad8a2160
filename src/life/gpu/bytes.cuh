// Cells as bytes in GPU memory, for the textbook GPU rungs.
#pragma once

#include "cuda/launch.hpp"
#include "life/gpu/generations.hpp"
#include "life/gpu/words.cuh"

namespace gradus::life_detail {

/// A contiguous grid of cells, one byte each.
struct Bytes {
  unsigned char* cells;
  Extent extent;

  /// Returns 1 if the cell is alive, otherwise 0. The cell may be next to the grid, one cell beyond the border.
  __device__ int alive(std::int64_t y, std::int64_t x) const {
    if (extent.torus) {
      y = wrapped(y, extent.height);
      x = wrapped(x, extent.width);
    } else if (y < 0 || y >= extent.height || x < 0 || x >= extent.width) {
      return 0;
    }
    return cells[y * extent.width + x];
  }
  __device__ unsigned char& at(std::int64_t y, std::int64_t x) const { return cells[y * extent.width + x]; }
};

inline Bytes take_bytes(const Extent& extent, cuda::Arena& memory) {
  return {memory.take<unsigned char>(extent.height * extent.width), extent};
}

/// The rule as two lists of bits. Each list has one bit for each number of live neighbours.
struct Lists {
  unsigned int birth;
  unsigned int survival;
  __device__ bool lives(int alive, int neighbours) const {
    return ((alive != 0 ? survival : birth) >> neighbours & 1) != 0;
  }
};
inline Lists lists_of(const LifeRule& rule) { return {rule.birth, rule.survival}; }

// Unpacks cells. Each thread unpacks a word of 64 cells. Launch shape: blocks of 256 threads, linear over all words.
static __global__ void unpack_cells(LifeGridView from, Bytes to) {
  const std::int64_t words = (to.extent.width + 63) / 64;
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= to.extent.height * words) return;
  const std::int64_t y = index / words;
  const std::int64_t first = index % words * 64;
  const std::uint64_t word = from.words[y * from.stride + index % words];
  for (std::int64_t x = first; x < min(first + 64, to.extent.width); ++x) to.at(y, x) = word >> (x - first) & 1;
}
// Packs cells. Launch shape: as for unpack_cells.
static __global__ void pack_cells(Bytes from, LifeGridSpan to) {
  const std::int64_t words = (from.extent.width + 63) / 64;
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= from.extent.height * words) return;
  const std::int64_t y = index / words;
  const std::int64_t first = index % words * 64;
  std::uint64_t word = 0;
  for (std::int64_t x = first; x < min(first + 64, from.extent.width); ++x)
    word |= std::uint64_t{from.at(y, x)} << (x - first);
  to.words[y * to.stride + index % words] = word;
}

/// Runs generations on two grids of bytes. After each generation, source and target change places. step(from, to, rule)
/// must launch the kernel of one generation.
template <class Step>
void generations_of_bytes(const Problem& problem, const Execution& execution, std::vector<Phase>& phases,
                          const Step& step) {
  const cuda::Stream& stream = problem.gpu->stream();
  const Extent extent = extent_of(problem);
  Bytes now = take_bytes(extent, problem.gpu->memory());
  Bytes next = take_bytes(extent, problem.gpu->memory());
  constexpr int threads = 256;
  const unsigned int blocks = cuda::blocks_for(extent.height * ((extent.width + 63) / 64), threads);
  {
    const core::PhaseTimer timer(phases, "unpack");
    unpack_cells<<<blocks, threads, 0, stream>>>(problem.cells, now);
    cuda::check_launch("unpack_cells");
    stream.wait();
  }
  {
    const core::PhaseTimer timer(phases, "generations");
    for_passes(problem, execution, problem.generations, 1, 2e9, [&](std::int64_t first, std::int64_t number) {
      for (std::int64_t generation = first; generation < first + number; ++generation) {
        step(now, next, lists_of(problem.rule_of(generation)));
        std::swap(now, next);
      }
    });
    stream.wait();
  }
  const core::PhaseTimer timer(phases, "pack");
  pack_cells<<<blocks, threads, 0, stream>>>(now, problem.result);
  cuda::check_launch("pack_cells");
  stream.wait();
}

}  // namespace gradus::life_detail
