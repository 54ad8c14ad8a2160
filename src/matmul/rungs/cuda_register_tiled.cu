// cuda_register_tiled: each thread keeps 64 elements of C in registers (f64: 16).
//
// What changes from `cuda_hoisted`: there, every multiply-add loads two elements from shared memory, which delivers one
// element per clock to each of 32 lanes. These loads, not the arithmetic, limit the rate. Here, each thread computes 8
// x 8 elements of C. For each k it loads 8 elements of A's tile and 8 of B's and performs 64 multiply-adds. That is a
// quarter of a load per multiply-add instead of two. A block of 16 x 16 threads computes 128 x 128 elements from 8
// columns of A and 8 rows of B in shared memory. The elements of a thread are 16 apart in both directions, so that
// neighbours in a warp read neighbouring elements from different banks and write contiguous elements.
//
// In f32 a thread keeps two sets of sums in 128 registers: one for the current block of 256 terms and one for the
// preceding blocks. In f64 each element needs two registers, so a thread computes only 4 x 4 elements.
//
// Barriers: as `cuda_tiled`, but once per 8 values of k.
// Operations: 2 m n k, with m and n rounded up to multiples of 128 (f64: 64). Bytes per multiply-add (f32): 1/16 byte
// from global memory (two elements per 128 multiply-adds) and one byte from shared memory.
// Limits: as `cuda_tiled`.
// Source: V. Volkov, J. W. Demmel, "Benchmarking GPUs to tune dense linear algebra" (2008).
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "matmul/gpu/product.cuh"

namespace gradus::matmul_detail {

namespace {

constexpr int depth = 8;          // columns of A and rows of B per pass
constexpr int threads_side = 16;  // threads of a block in each direction
constexpr int block_threads = threads_side * threads_side;
static_assert(block_depth % depth == 0);

template <class T>
constexpr int own = sizeof(T) == 4 ? 8 : 4;  // rows and columns of C per thread
template <class T>
constexpr int side = threads_side* own<T>;  // rows and columns of C per block

// Launch shape: a block of 256 threads per tile of C.
template <class T>
__global__ void __launch_bounds__(block_threads) multiply(Product<T> product, Tiles tiles) {
  // The first index is k, so that a warp's rows are contiguous. +1 places consecutive k in different banks.
  __shared__ T a_tile[depth][side<T> + 1];
  __shared__ T b_tile[depth][side<T>];
  const Tiles::Place place = tiles.place();
  product.select(place.batch);
  const std::int64_t top = place.row * side<T>;
  const std::int64_t left = place.column * side<T>;
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread / threads_side;
  const int column = thread % threads_side;
  T totals[own<T>][own<T>];
  T sums[own<T>][own<T>];
#pragma unroll
  for (int r = 0; r < own<T>; ++r)
#pragma unroll
    for (int c = 0; c < own<T>; ++c) totals[r][c] = T(-0.0);
  for (std::int64_t block = 0; block < product.k; block += block_depth) {
#pragma unroll
    for (int r = 0; r < own<T>; ++r)
#pragma unroll
      for (int c = 0; c < own<T>; ++c) sums[r][c] = 0;
    for (std::int64_t first = block; first < min(block + block_depth, product.k); first += depth) {
#pragma unroll
      for (int turn = 0; turn < side<T> * depth / block_threads; ++turn) {
        const int element = turn * block_threads + thread;
        a_tile[element % depth][element / depth] = product.load_a(top + element / depth, first + element % depth);
        b_tile[element / side<T>][element % side<T>] =
            product.load_b(first + element / side<T>, left + element % side<T>);
      }
      __syncthreads();  // both tiles are filled
#pragma unroll
      for (int inner = 0; inner < depth; ++inner) {
        T here[own<T>];
        T there[own<T>];
#pragma unroll
        for (int index = 0; index < own<T>; ++index) {
          here[index] = a_tile[inner][row + index * threads_side];
          there[index] = b_tile[inner][column + index * threads_side];
        }
#pragma unroll
        for (int r = 0; r < own<T>; ++r)
#pragma unroll
          for (int c = 0; c < own<T>; ++c) sums[r][c] = fma(here[r], there[c], sums[r][c]);
      }
      __syncthreads();  // both tiles have been read
    }
#pragma unroll
    for (int r = 0; r < own<T>; ++r)
#pragma unroll
      for (int c = 0; c < own<T>; ++c) totals[r][c] += sums[r][c];
  }
#pragma unroll
  for (int r = 0; r < own<T>; ++r)
#pragma unroll
    for (int c = 0; c < own<T>; ++c)
      product.finish(top + row + r * threads_side, left + column + c * threads_side, totals[r][c]);
}

}  // namespace

template <class T>
Done cuda_register_tiled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  for_tiles(problem, execution, phases, side<T>, side<T>,
            [&](const Product<T>& product, const Tiles& tiles, unsigned blocks) {
              multiply<<<blocks, block_threads, 0, problem.gpu->stream()>>>(product, tiles);
              cuda::check_launch("multiply");
            });
  return {};
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

extern constinit const Variant cuda_register_tiled_rung{
    .name = "cuda_register_tiled",
    .summary = "64 elements of a thread in registers: a quarter of a load for each multiply-add",
    .change = "a quarter of a load from shared memory for each multiply-add instead of two",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = execution::on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_register_tiled<float>, cuda_register_tiled<double>),
};

}  // namespace gradus::matmul_detail
