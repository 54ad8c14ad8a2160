// cuda_tiled: a block computes 32 x 32 elements of C from 32 x 32 tiles of A and B in shared memory.
//
// What changes from `cuda_naive`: all threads of a block use the elements that the block loads. Each element that comes
// from global memory serves 32 multiply-adds instead of one. A thread loads one element of each tile, then walks along
// a row of A's tile and a column of B's tile.
//
// Barriers: one after both tiles are filled, and one after all threads have read them, before they are overwritten.
// Operations: 2 m n k, with sizes rounded up to multiples of 32. Bytes (f32): global memory supplies two elements per
// 32 multiply-adds, a quarter of a byte per multiply-add. Shared memory supplies two elements per multiply-add, one of
// which is the same for the whole warp. The loads from shared memory now limit the rate.
// Limits: as `cuda_naive`. A tile has one thread per element, so a requested block size has no effect.
// Source: the CUDA C++ Programming Guide, matrix multiplication with shared memory.
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "matmul/gpu/product.cuh"

namespace gradus::matmul_detail {

namespace {

constexpr int side = 32;
static_assert(block_depth % side == 0);

// Launch shape: one block per tile of C, one thread per element.
template <class T>
__global__ void __launch_bounds__(side* side) multiply(Product<T> product, Tiles tiles) {
  __shared__ T a_tile[side][side];
  __shared__ T b_tile[side][side];
  const Tiles::Place place = tiles.place();
  product.select(place.batch);
  T total = T(-0.0);
  for (std::int64_t block = 0; block < product.k; block += block_depth) {
    T sum = 0;
    for (std::int64_t first = block; first < min(block + block_depth, product.k); first += side) {
      a_tile[threadIdx.y][threadIdx.x] = product.load_a(place.row * side + threadIdx.y, first + threadIdx.x);
      b_tile[threadIdx.y][threadIdx.x] = product.load_b(first + threadIdx.y, place.column * side + threadIdx.x);
      __syncthreads();  // both tiles are filled
#pragma unroll 1
      for (int inner = 0; inner < side; ++inner) sum = fma(a_tile[threadIdx.y][inner], b_tile[inner][threadIdx.x], sum);
      __syncthreads();  // both tiles have been read
    }
    total += sum;
  }
  product.finish(place.row * side + threadIdx.y, place.column * side + threadIdx.x, total);
}

}  // namespace

template <class T>
Done cuda_tiled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const dim3 threads(side, side);
  for_tiles(problem, execution, phases, side, side,
            [&](const Product<T>& product, const Tiles& tiles, unsigned blocks) {
              multiply<<<blocks, threads, 0, problem.gpu->stream()>>>(product, tiles);
              cuda::check_launch("multiply");
            });
  return {};
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

extern constinit const Variant cuda_tiled_rung{
    .name = "cuda_tiled",
    .summary = "32 x 32 elements share tiles of A and B in shared memory",
    .change = "an element comes from global memory once for 32 multiply-adds",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = execution::on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_tiled<float>, cuda_tiled<double>),
};

}  // namespace gradus::matmul_detail
