// cuda_unrolled: the innermost loop is unrolled, and its operands are loaded into registers several at a time.
//
// What changes from `cuda_tiled`: there, each multiply-add also costs a comparison, a jump and two address additions,
// and it waits for its two loads from shared memory. Here, the loop over a tile needs no comparison and has constant
// offsets. Eight elements of the row and eight of the column are loaded into registers before they are used. The eight
// loads overlap each other and the multiply-adds of the previous eight elements.
//
// Barriers, operations and bytes: as `cuda_tiled`. Loads from shared memory still limit the rate. The elements of a row
// are contiguous, so the compiler may load four of them by one instruction.
// Limits: as `cuda_tiled`.
// Source: loop unrolling in the reduction of M. Harris, "Optimizing parallel reduction in CUDA" (2007).
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "matmul/gpu/product.cuh"

namespace gradus::matmul_detail {

namespace {

constexpr int side = 32;
constexpr int at_once = 8;
static_assert(block_depth % side == 0 && side % at_once == 0);

// Launch shape: one block per tile of C, one thread per element.
template <class T>
__global__ void __launch_bounds__(side* side) multiply(Product<T> product, Tiles tiles) {
  __shared__ alignas(16) T a_tile[side][side];
  __shared__ alignas(16) T b_tile[side][side];
  const Tiles::Place place = tiles.place();
  product.select(place.batch);
  T total = T(-0.0);
  for (std::int64_t block = 0; block < product.k; block += block_depth) {
    T sum = 0;
    for (std::int64_t first = block; first < min(block + block_depth, product.k); first += side) {
      a_tile[threadIdx.y][threadIdx.x] = product.load_a(place.row * side + threadIdx.y, first + threadIdx.x);
      b_tile[threadIdx.y][threadIdx.x] = product.load_b(first + threadIdx.y, place.column * side + threadIdx.x);
      __syncthreads();  // both tiles are filled
#pragma unroll
      for (int inner = 0; inner < side; inner += at_once) {
        T here[at_once];
        T there[at_once];
#pragma unroll
        for (int index = 0; index < at_once; ++index) {
          here[index] = a_tile[threadIdx.y][inner + index];
          there[index] = b_tile[inner + index][threadIdx.x];
        }
#pragma unroll
        for (int index = 0; index < at_once; ++index) sum = fma(here[index], there[index], sum);
      }
      __syncthreads();  // both tiles have been read
    }
    total += sum;
  }
  product.finish(place.row * side + threadIdx.y, place.column * side + threadIdx.x, total);
}

}  // namespace

template <class T>
Done cuda_unrolled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
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

extern constinit const Variant cuda_unrolled_rung{
    .name = "cuda_unrolled",
    .summary = "the innermost loop unrolled, its operands in registers several at a time",
    .change = "no comparison, jump or address per multiply-add",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = execution::on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_unrolled<float>, cuda_unrolled<double>),
};

}  // namespace gradus::matmul_detail
