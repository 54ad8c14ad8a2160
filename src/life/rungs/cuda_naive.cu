// cuda_naive: one byte per cell in GPU memory, and one thread per cell of a generation.
//
// What changes from the CPU rungs: there are no loops over rows and columns. Each thread loads its cell and the eight
// neighbours, adds, and writes the cell of the next generation. A launch computes a generation; the next launch starts
// when this generation is complete.
//
// Bytes: nine loads per cell, most of them from the L1 cache, since the threads of a warp read adjacent cells; one byte
// is written per cell. Operations: about forty per cell, mostly for the nine loads and the sums.
//
// Limits: none.
//
// Source: NVIDIA, CUDA C++ Programming Guide: thread hierarchy.
#include "life/gpu/memory.hpp"
#include "life/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "life/gpu/bytes.cuh"

namespace gradus::life_detail {

namespace {

// Launch shape: blocks of 32 x 8 threads that tile the grid.
constexpr int block_width = 32;
constexpr int block_height = 8;

__global__ void next_generation(Bytes from, Bytes to, Lists rule) {
  const std::int64_t x = std::int64_t{blockIdx.x} * block_width + threadIdx.x;
  for (std::int64_t y = std::int64_t{blockIdx.y} * block_height + threadIdx.y; y < from.extent.height;
       y += std::int64_t{gridDim.y} * block_height) {
    if (x >= from.extent.width) return;
    const int neighbours = from.alive(y - 1, x - 1) + from.alive(y - 1, x) + from.alive(y - 1, x + 1) +
                           from.alive(y, x - 1) + from.alive(y, x + 1) + from.alive(y + 1, x - 1) +
                           from.alive(y + 1, x) + from.alive(y + 1, x + 1);
    to.at(y, x) = rule.lives(from.at(y, x), neighbours) ? 1 : 0;
  }
}

}  // namespace

Solved cuda_naive(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  const cuda::Stream& stream = problem.gpu->stream();
  constexpr std::int64_t most_blocks_down = 65535;
  const dim3 blocks(
      cuda::blocks_for(problem.cells.width, block_width),
      static_cast<unsigned int>(std::min((problem.cells.height + block_height - 1) / block_height, most_blocks_down)));
  generations_of_bytes(problem, execution, phases, [&](const Bytes& from, const Bytes& to, const Lists& rule) {
    next_generation<<<blocks, dim3(block_width, block_height), 0, stream>>>(from, to, rule);
    cuda::check_launch("next_generation");
  });
  return {};
}

}  // namespace gradus::life_detail
#endif

namespace gradus::life_detail {

extern constinit const Variant cuda_naive_rung{
    .name = "cuda_naive",
    .summary = "a byte per cell in GPU memory, a thread per cell of a generation",
    .change = "tens of thousands of threads; a launch per generation",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = execution::on_gpu,
    .memory = grids_on_gpu<2, 8>,
    .run = GRADUS_CUDA_RUNS(cuda_naive),
};

}  // namespace gradus::life_detail
