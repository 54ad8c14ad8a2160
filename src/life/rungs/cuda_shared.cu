// cuda_shared: tiles of cells in shared memory, loaded once for all threads of a block.
//
// What changes from `cuda_naive`: there, each cell is loaded nine times. Here, a block loads a tile of 32 x 32 cells,
// and a border of one cell around the tile. It loads each of these cells only once. After a barrier, all threads find
// their neighbours in shared memory. A thread computes four cells, eight rows apart.
//
// Bytes: 34 x 34 cells are loaded per 32 x 32 cells, instead of nine loads per cell from the L1 cache; one byte is
// written per cell. Since Volta, the L1 cache holds the three rows anyway. Little is gained, because loads from shared
// memory only replace cache hits.
//
// Limits: none.
//
// Source: NVIDIA, CUDA C++ Programming Guide: shared memory; the stencil is its classic example.
#include "life/gpu/memory.hpp"
#include "life/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "life/gpu/bytes.cuh"

namespace gradus::life_detail {

namespace {

// Launch shape: blocks of 32 x 8 threads for tiles of 32 x 32 cells.
constexpr int tile = 32;
constexpr int block_height = 8;

__global__ void next_generation_by_tiles(Bytes from, Bytes to, Lists rule) {
  __shared__ unsigned char cells[tile + 2][tile + 2];
  const std::int64_t left = std::int64_t{blockIdx.x} * tile;
  for (std::int64_t top = std::int64_t{blockIdx.y} * tile; top < from.extent.height;
       top += std::int64_t{gridDim.y} * tile) {
    for (int place = static_cast<int>(threadIdx.y * tile + threadIdx.x); place < (tile + 2) * (tile + 2);
         place += tile * block_height)
      cells[place / (tile + 2)][place % (tile + 2)] =
          static_cast<unsigned char>(from.alive(top + place / (tile + 2) - 1, left + place % (tile + 2) - 1));
    __syncthreads();  // the tile and its border are complete
    const int column = static_cast<int>(threadIdx.x) + 1;
    for (int row = static_cast<int>(threadIdx.y) + 1; row <= tile; row += block_height) {
      const int neighbours = cells[row - 1][column - 1] + cells[row - 1][column] + cells[row - 1][column + 1] +
                             cells[row][column - 1] + cells[row][column + 1] + cells[row + 1][column - 1] +
                             cells[row + 1][column] + cells[row + 1][column + 1];
      const std::int64_t y = top + row - 1;
      const std::int64_t x = left + column - 1;
      if (y < to.extent.height && x < to.extent.width) to.at(y, x) = rule.lives(cells[row][column], neighbours) ? 1 : 0;
    }
    __syncthreads();  // all threads have read the tile before it is replaced
  }
}

}  // namespace

Solved cuda_shared(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  const cuda::Stream& stream = problem.gpu->stream();
  constexpr std::int64_t most_blocks_down = 65535;
  const dim3 blocks(cuda::blocks_for(problem.cells.width, tile),
                    static_cast<unsigned int>(std::min((problem.cells.height + tile - 1) / tile, most_blocks_down)));
  generations_of_bytes(problem, execution, phases, [&](const Bytes& from, const Bytes& to, const Lists& rule) {
    next_generation_by_tiles<<<blocks, dim3(tile, block_height), 0, stream>>>(from, to, rule);
    cuda::check_launch("next_generation_by_tiles");
  });
  return {};
}

}  // namespace gradus::life_detail
#endif

namespace gradus::life_detail {

extern constinit const Variant cuda_shared_rung{
    .name = "cuda_shared",
    .summary = "tiles of cells in shared memory, each cell read once",
    .change = "one load per cell instead of nine",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = execution::on_gpu,
    .memory = grids_on_gpu<2, 8>,
    .run = GRADUS_CUDA_RUNS(cuda_shared),
};

}  // namespace gradus::life_detail
