// cuda_tiled: 32 vertices in the middle at a time, in three kernels, with tiles of 32 x 32 elements in shared memory.
//
// What changes from `cuda_naive`: a tile that is loaded once serves 32 vertices in the middle instead of one. For that
// the order of the work changes. A round allows the 32 vertices of one tile of the diagonal as stops on the way:
//   1. the tile on the diagonal: all routes within it, vertex after vertex; one block;
//   2. the other tiles of its row and its column, which need it and themselves;
//   3. all other tiles, which need one tile of the row and one of the column, now that these are done, and have nothing
//      to do with each other. This is nearly all of the work, and its threads wait once, for the two tiles to be there.
//
// Barriers: in steps 1 and 2 a thread's result is another's operand, so that there is one before the next vertex reads
// the tile, and one before it overwrites it. Steps follow each other by the order of launches.
//
// Work: N^3 relaxations, N rounded up to a multiple of 32; 3 N / 32 launches. Bytes: in step 3 a block reads three
// tiles and writes one for 32^3 relaxations, half a byte for each (int32); two loads from shared memory for each are
// what it waits for now. Limits: as `cuda_naive`. A tile has a thread for each element, so that a block size that is
// asked for has no effect.
// Source: G. J. Katz, J. T. Kider, "All-pairs shortest-paths for large graphs on the GPU" (2008), after
// G. Venkataraman, S. Sahni, S. Mukhopadhyaya, "A blocked all-pairs shortest-paths algorithm" (2003).
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "shortest_paths/gpu/cuda_distances.hpp"

namespace gradus::shortest_paths_detail {

namespace {

constexpr int side = 32;

/// A tile in shared memory. One column is never used: with it the elements of a column lie in different banks.
template <class T>
struct Tile {
  T at[side][side + 1];
};

// Launch shape of all three: a block for each tile, in it a thread for each element.
template <class T>
__global__ void __launch_bounds__(side* side) close_diagonal(Grid<T> grid, std::int64_t step) {
  __shared__ Tile<T> tile;
  const int row = threadIdx.y;
  const int column = threadIdx.x;
  const std::int64_t from = step * side + row;
  const std::int64_t to = step * side + column;
  tile.at[row][column] = grid.load(from, to);
  __syncthreads();  // the tile is there
  for (int via = 0; via < side; ++via) {
    const T best = shorter(tile.at[row][column], tile.at[row][via] + tile.at[via][column]);
    __syncthreads();  // all have read it
    tile.at[row][column] = best;
    __syncthreads();  // all have written it
  }
  grid.store(from, to, tile.at[row][column]);
}

// blockIdx.y: 0 for the row of the tile on the diagonal, 1 for its column.
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
  __syncthreads();  // both tiles are there
  for (int via = 0; via < side; ++via) {
    best = shorter(
        best, in_row ? diagonal.at[row][via] + tile.at[via][column] : tile.at[row][via] + diagonal.at[via][column]);
    __syncthreads();  // all have read it
    tile.at[row][column] = best;
    __syncthreads();  // all have written it
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
  __syncthreads();  // both tiles are there
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
    .summary = "32 vertices in the middle at a time: diagonal, its row and column, rest, in shared memory",
    .change = "a tile that is loaded once serves 32 vertices; three launches for each 32",
    .contract = exact,
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = own_type_on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_tiled<std::int32_t>, cuda_tiled<std::int64_t>, cuda_tiled<float>, cuda_tiled<double>),
};

}  // namespace gradus::shortest_paths_detail
