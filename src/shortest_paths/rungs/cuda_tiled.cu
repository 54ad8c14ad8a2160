// cuda_tiled: 32 intermediate vertices at a time, in three kernels, with tiles of 32 x 32 elements in shared memory.
//
// What changes from `cuda_naive`: a tile that is loaded once serves 32 intermediate vertices instead of one. This
// requires a different order of the work. A round allows the 32 vertices of one diagonal tile as intermediate vertices:
//   1. the diagonal tile: all routes within it, one intermediate vertex after another; one block;
//   2. the other tiles of its row and its column, which depend on the diagonal tile and on themselves;
//   3. all other tiles. Each depends on one tile of the row and one of the column, which are now final, and on no
//      other. This is nearly all of the work, and its threads wait only once, until both tiles are loaded.
//
// Barriers: in steps 1 and 2 a thread's result is another thread's operand. Each intermediate vertex needs one barrier
// before the tile is overwritten and one before the next vertex reads it. The order of launches separates the steps.
// Work: N^3 relaxations, with N rounded up to a multiple of 32; 3 N / 32 launches. Bytes (int32): in step 3 a block
// reads three tiles and writes one. For 32^3 relaxations, this is half a byte per relaxation. Each relaxation also
// needs two loads from shared memory, which now limit the rate.
// Limits: as `cuda_naive`. A tile has one thread per element, so a requested block size has no effect.
// Source: G. J. Katz, J. T. Kider, "All-pairs shortest-paths for large graphs on the GPU" (2008), after G.
// Venkataraman, S. Sahni, S. Mukhopadhyaya, "A blocked all-pairs shortest-paths algorithm" (2003).
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "shortest_paths/gpu/cuda_distances.hpp"

namespace gradus::shortest_paths_detail {

namespace {

constexpr int side = 32;

/// A tile in shared memory. The unused last column avoids bank conflicts in a column.
template <class T>
struct Tile {
  T at[side][side + 1];
};

// Launch shape of all three kernels: one block per tile, one thread per element.
template <class T>
__global__ void __launch_bounds__(side* side) close_diagonal(Grid<T> grid, std::int64_t step) {
  __shared__ Tile<T> tile;
  const int row = threadIdx.y;
  const int column = threadIdx.x;
  const std::int64_t from = step * side + row;
  const std::int64_t to = step * side + column;
  tile.at[row][column] = grid.load(from, to);
  __syncthreads();  // the tile is filled
  for (int via = 0; via < side; ++via) {
    const T best = shorter(tile.at[row][column], tile.at[row][via] + tile.at[via][column]);
    __syncthreads();  // all threads have read their operands
    tile.at[row][column] = best;
    __syncthreads();  // all threads have written their results
  }
  grid.store(from, to, tile.at[row][column]);
}

// blockIdx.y is 0 for the row of the diagonal tile, 1 for its column.
template <class T>
__global__ void __launch_bounds__(side* side) relax_row_and_column(Grid<T> grid, std::int64_t step) {
  if (blockIdx.x == step) return;
  __shared__ Tile<T> diagonal;
  __shared__ Tile<T> tile;
  const int row = threadIdx.y;
  const int column = threadIdx.x;
  const bool in_row = blockIdx.y == 0;
  const std::int64_t from = (in_row ? step : blockIdx.x) * side + row;
  const std::int64_t to = (in_row ? blockIdx.x : step) * side + column;
  diagonal.at[row][column] = grid.load(step * side + row, step * side + column);
  T best = grid.load(from, to);
  tile.at[row][column] = best;
  __syncthreads();  // both tiles are filled
  for (int via = 0; via < side; ++via) {
    best = shorter(
        best, in_row ? diagonal.at[row][via] + tile.at[via][column] : tile.at[row][via] + diagonal.at[via][column]);
    __syncthreads();  // all threads have read their operands
    tile.at[row][column] = best;
    __syncthreads();  // all threads have written their results
  }
  grid.store(from, to, best);
}

template <class T>
__global__ void __launch_bounds__(side* side) relax_rest(Grid<T> grid, std::int64_t step) {
  if (blockIdx.x == step || blockIdx.y == step) return;
  __shared__ Tile<T> to_via;
  __shared__ Tile<T> onward;
  const int row = threadIdx.y;
  const int column = threadIdx.x;
  const std::int64_t from = std::int64_t{blockIdx.y} * side + row;
  const std::int64_t to = std::int64_t{blockIdx.x} * side + column;
  to_via.at[row][column] = grid.load(from, step * side + column);
  onward.at[row][column] = grid.load(step * side + row, to);
  T best = grid.load(from, to);
  __syncthreads();  // both tiles are filled
#pragma unroll
  for (int via = 0; via < side; ++via) best = shorter(best, to_via.at[row][via] + onward.at[via][column]);
  grid.store(from, to, best);
}

}  // namespace

template <class T>
Solved cuda_tiled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  CudaDistances<T> distances(problem, execution, phases);
  const Grid<T> grid = distances.grid();
  const unsigned int tiles = cuda::blocks_for(grid.n, side);
  const dim3 threads(side, side);
  distances.relax(tiles, teaching_portion, [&](std::int64_t first, std::int64_t number) {
    for (std::int64_t step = first; step < first + number; ++step) {
      close_diagonal<<<1, threads, 0, distances.stream()>>>(grid, step);
      relax_row_and_column<<<dim3(tiles, 2), threads, 0, distances.stream()>>>(grid, step);
      relax_rest<<<dim3(tiles, tiles), threads, 0, distances.stream()>>>(grid, step);
      cuda::check_launch("relax_rest");
    }
  });
  return {};
}

}  // namespace gradus::shortest_paths_detail
#endif

namespace gradus::shortest_paths_detail {

extern constinit const Variant cuda_tiled_rung{
    .name = "cuda_tiled",
    .summary = "32 intermediate vertices at a time: diagonal, its row and column, rest, in shared memory",
    .change = "a tile that is loaded once serves 32 vertices; three launches for each 32",
    .contract = exact,
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = own_type_on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_tiled<std::int32_t>, cuda_tiled<std::int64_t>, cuda_tiled<float>, cuda_tiled<double>),
};

}  // namespace gradus::shortest_paths_detail
