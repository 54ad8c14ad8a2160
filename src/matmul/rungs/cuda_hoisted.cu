// cuda_hoisted: values that the loops recompute in every pass are computed once, before the loops.
//
// What changes from `cuda_unrolled`: there, each tile costs four comparisons with the borders and the computation of
// two addresses, in which rows and columns are multiplied by strides in 64 bits. Here, each thread advances two
// pointers, one along its row of A and one down its column of B. It checks once whether the row and the column are
// inside the matrices. It checks the border of k once per 32 tiles instead of in every tile. It also uses pointers for
// its addresses in shared memory.
//
// The hoisted values occupy registers, so the launch bounds limit how many registers the compiler may use.
//
// Barriers, operations and bytes: as `cuda_tiled`. Limits: as `cuda_tiled`.
// Source: loop-invariant code motion; A. Aho, R. Sethi, J. Ullman, "Compilers" (1986), section 9.5. Compilers move what
// they can prove to be invariant. They do not move a 64-bit multiplication that depends on a comparison.
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "matmul/gpu/product.cuh"

namespace gradus::matmul_detail {

namespace {

constexpr int side = 32;
constexpr int at_once = 8;
static_assert(block_depth % side == 0 && side % at_once == 0);

/// The values that a thread computes before the loops.
template <class T>
struct Walk {
  const T* a;  ///< the next element of A to load
  const T* b;
  std::int64_t b_step;  ///< distance in memory from a tile of B to the tile below it
  bool in_a;            ///< true if the thread's row is inside A
  bool in_b;
  T* a_place;  ///< where the thread stores its element of A in shared memory
  T* b_place;
  const T* a_row;     ///< the row of A's tile that the thread reads in shared memory
  const T* b_column;  ///< the column of B's tile that the thread reads in shared memory
};

/// Extends the chain `sum` by one tile. The first `depth` products of the tile are inside the matrices.
template <class T, bool whole>
__device__ __forceinline__ T add_tile(Walk<T>& walk, T sum, int depth) {
  const bool a_is_there = walk.in_a && (whole || static_cast<int>(threadIdx.x) < depth);
  const bool b_is_there = walk.in_b && (whole || static_cast<int>(threadIdx.y) < depth);
  *walk.a_place = a_is_there ? *walk.a : T(-0.0);
  *walk.b_place = b_is_there ? *walk.b : T(0);
  walk.a += side;
  walk.b += walk.b_step;
  __syncthreads();  // both tiles are filled
#pragma unroll
  for (int inner = 0; inner < side; inner += at_once) {
    T here[at_once];
    T there[at_once];
#pragma unroll
    for (int index = 0; index < at_once; ++index) {
      here[index] = walk.a_row[inner + index];
      there[index] = walk.b_column[(inner + index) * side];
    }
#pragma unroll
    for (int index = 0; index < at_once; ++index) sum = fma(here[index], there[index], sum);
  }
  __syncthreads();  // both tiles have been read
  return sum;
}

// Launch shape: one block per tile of C, one thread per element. The launch bounds request two blocks per
// multiprocessor, so that one block multiplies while the other waits at its barrier. A thread may then use 32
// registers, which is enough to keep the hoisted values. Without the bounds the compiler uses 44 registers for double,
// and only one block fits.
template <class T>
__global__ void __launch_bounds__(side* side, 2) multiply(Product<T> product, Tiles tiles) {
  __shared__ alignas(16) T a_tile[side * side];
  __shared__ alignas(16) T b_tile[side * side];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const Tiles::Place place = tiles.place();
  product.select(place.batch);
  const std::int64_t row = place.row * side + y;
  const std::int64_t column = place.column * side + x;
  Walk<T> walk{.a = product.a.data + row * product.a.row_stride + x,
               .b = product.b.data + y * product.b.row_stride + column,
               .b_step = side * product.b.row_stride,
               .in_a = row < product.m,
               .in_b = column < product.n,
               .a_place = a_tile + y * side + x,
               .b_place = b_tile + y * side + x,
               .a_row = a_tile + y * side,
               .b_column = b_tile + x};
  T total = T(-0.0);
  for (std::int64_t left = product.k; left > 0; left -= block_depth) {
    T sum = 0;
    if (left >= block_depth) {
#pragma unroll 1
      for (int tile = 0; tile < static_cast<int>(block_depth) / side; ++tile) sum = add_tile<T, true>(walk, sum, side);
    } else {
#pragma unroll 1
      for (int depth = static_cast<int>(left); depth > 0; depth -= side) sum = add_tile<T, false>(walk, sum, depth);
    }
    total += sum;
  }
  product.finish(row, column, total);
}

}  // namespace

template <class T>
Done cuda_hoisted(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
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

extern constinit const Variant cuda_hoisted_rung{
    .name = "cuda_hoisted",
    .summary = "addresses and comparisons with borders before the loops",
    .change = "no 64-bit products or border checks for each tile",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = execution::on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_hoisted<float>, cuda_hoisted<double>),
};

}  // namespace gradus::matmul_detail
