// cuda_register_tiled: each thread keeps sixteen results in registers.
//
// What changes from `cuda_tiled`: there, every relaxation loads two elements from shared memory, which delivers one
// element per clock to each of 32 lanes. These loads, not the arithmetic, limit the rate. Here, each thread keeps 4 x 4
// elements of the rest in registers. For each intermediate vertex it loads 4 elements from the column's tile and 4 from
// the row's tile, and performs 16 relaxations. That is half a load per relaxation instead of two. A block of 256
// threads computes 64 x 64 elements.
//
// Steps 1 and 2, the diagonal and its row and column, are the same as in `cuda_tiled`. They are a small part of the
// work. One short kernel performs both: a tile of the row relaxes itself through the diagonal tile.
//
// Barriers of the rest: one, after the tiles are loaded.
//
// Work: N^3 relaxations, with N rounded up to a multiple of 64. Bytes (int32) per relaxation: a quarter of a byte from
// memory, two bytes from shared memory.
//
// Limits: as `cuda_tiled`; a requested block size has no effect.
//
// Source: register blocking of matrix products: V. Volkov, J. W. Demmel, "Benchmarking GPUs to tune dense linear
// algebra" (2008).
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "shortest_paths/gpu/cuda_distances.hpp"

namespace gradus::shortest_paths_detail {

namespace {

constexpr int side = 32;        // number of intermediate vertices of a round
constexpr int block_side = 64;  // elements per block in each direction
constexpr int own = 4;          // rows and columns per thread
constexpr int threads_a_row = block_side / own;
constexpr int rest_threads = threads_a_row * threads_a_row;

// Relaxes one tile. If `diagonal` is true, this is the diagonal tile itself, otherwise a tile in the row (blockIdx.y =
// 0) or in the column (blockIdx.y = 1) of the diagonal tile. Launch shape: one thread per element.
template <class T, bool diagonal>
__global__ void __launch_bounds__(side* side) relax_cross(Grid<T> grid, std::int64_t step) {
  if (!diagonal && blockIdx.x == step) return;
  __shared__ T closed[side][side + 1];
  __shared__ T tile[side][side + 1];
  const int row = threadIdx.y;
  const int column = threadIdx.x;
  const bool in_row = diagonal || blockIdx.y == 0;
  const std::int64_t from = (in_row ? step : blockIdx.x) * side + row;
  const std::int64_t to = (diagonal || !in_row ? step : blockIdx.x) * side + column;
  closed[row][column] = grid.load(step * side + row, step * side + column);
  T best = grid.load(from, to);
  tile[row][column] = best;
  __syncthreads();  // both tiles are filled
  const auto& to_via = diagonal || !in_row ? tile : closed;
  const auto& onward = in_row ? tile : closed;
  for (int via = 0; via < side; ++via) {
    best = shorter(best, to_via[row][via] + onward[via][column]);
    __syncthreads();  // all threads have read their operands
    tile[row][column] = best;
    __syncthreads();  // all threads have written their results
  }
  grid.store(from, to, best);
}

// Launch shape: a block of 256 threads per 64 x 64 elements. Elements in the row or column of the round's diagonal tile
// are already final and are not written.
template <class T>
__global__ void __launch_bounds__(rest_threads) relax_rest(Grid<T> grid, std::int64_t step) {
  // The first index is the intermediate vertex, so that a thread's rows are contiguous.
  __shared__ T to_via[side][block_side + own];
  __shared__ T onward[side][block_side];
  const std::int64_t top = std::int64_t{blockIdx.y} * block_side;
  const std::int64_t left = std::int64_t{blockIdx.x} * block_side;
  const int thread = static_cast<int>(threadIdx.x);
  for (int element = thread; element < block_side * side; element += rest_threads) {
    to_via[element % side][element / side] = grid.load(top + element / side, step * side + element % side);
    onward[element / block_side][element % block_side] =
        grid.load(step * side + element / block_side, left + element % block_side);
  }
  const int row = thread / threads_a_row * own;
  const int column = thread % threads_a_row * own;
  T best[own][own];
#pragma unroll
  for (int r = 0; r < own; ++r)
#pragma unroll
    for (int c = 0; c < own; ++c) best[r][c] = grid.load(top + row + r, left + column + c);
  __syncthreads();  // both tiles are filled
#pragma unroll
  for (int via = 0; via < side; ++via) {
    T here[own];
    T there[own];
#pragma unroll
    for (int index = 0; index < own; ++index) {
      here[index] = to_via[via][row + index];
      there[index] = onward[via][column + index];
    }
#pragma unroll
    for (int r = 0; r < own; ++r)
#pragma unroll
      for (int c = 0; c < own; ++c) best[r][c] = shorter(best[r][c], here[r] + there[c]);
  }
#pragma unroll
  for (int r = 0; r < own; ++r)
#pragma unroll
    for (int c = 0; c < own; ++c) {
      const std::int64_t from = top + row + r;
      const std::int64_t to = left + column + c;
      if (from / side != step && to / side != step) grid.store(from, to, best[r][c]);
    }
}

}  // namespace

template <class T>
Solved cuda_register_tiled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  CudaDistances<T> distances(problem, execution, phases);
  const Grid<T> grid = distances.grid();
  const unsigned int tiles = cuda::blocks_for(grid.n, side);
  const unsigned int blocks = cuda::blocks_for(grid.n, block_side);
  const dim3 threads(side, side);
  distances.relax(tiles, teaching_portion, [&](std::int64_t first, std::int64_t number) {
    for (std::int64_t step = first; step < first + number; ++step) {
      relax_cross<T, true><<<1, threads, 0, distances.stream()>>>(grid, step);
      relax_cross<T, false><<<dim3(tiles, 2), threads, 0, distances.stream()>>>(grid, step);
      relax_rest<<<dim3(blocks, blocks), rest_threads, 0, distances.stream()>>>(grid, step);
      cuda::check_launch("relax_rest");
    }
  });
  return {};
}

}  // namespace gradus::shortest_paths_detail
#endif

namespace gradus::shortest_paths_detail {

extern constinit const Variant cuda_register_tiled_rung{
    .name = "cuda_register_tiled",
    .summary = "16 results of a thread in registers: half a load from shared memory for each relaxation",
    .change = "half a load from shared memory for each relaxation instead of two",
    .contract = exact,
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = own_type_on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_register_tiled<std::int32_t>, cuda_register_tiled<std::int64_t>,
                            cuda_register_tiled<float>, cuda_register_tiled<double>),
};

}  // namespace gradus::shortest_paths_detail
