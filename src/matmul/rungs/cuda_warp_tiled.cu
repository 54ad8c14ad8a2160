// cuda_warp_tiled: 128-bit loads, and a level of warp tiles between block tiles and thread tiles.
//
// What changes from `cuda_register_tiled`:
// * A warp computes a tile of 32 x 64 elements (f64: 16 x 32) with 4 x 8 threads. For each k the warp reads 32 elements
//   of A and 64 of B from shared memory. In `cuda_register_tiled`, a warp has 2 x 16 threads and reads 16 elements of A
//   and 128 of B.
// * The 8 rows of a thread are two groups of 4 neighbours, and so are its 8 columns (f64: groups of 2). Each load
//   instruction fetches 16 bytes, so 64 multiply-adds need 4 loads instead of 16. Consecutive threads have contiguous
//   groups, so 8 threads read 128 contiguous bytes and access each bank once.
// * Loads from global memory also fetch 16 bytes if address and stride are multiples of 16 bytes. A is transposed on
//   its way into shared memory, where it is indexed by k.
// * The next tiles are loaded into registers while the current tiles are used. Shared memory holds two pairs of tiles,
//   so each pair needs one barrier instead of two. Pointers advance as in `cuda_hoisted`. A block checks once whether
//   its tile of C is inside the matrices, and only tiles on the border check their loads.
// * A thread visits the columns of consecutive rows in alternating directions. Each multiply-add then shares an operand
//   with the previous one, and the operand need not be read from the register file again.
// * Tiles of C are numbered in strips of eight rows of tiles, so that concurrent tiles share A and B in the L2 cache.
//
// Operations: 2 m n k, with m and n rounded up to multiples of 128 (f64: 64). Bytes: from global memory as
// `cuda_register_tiled`. From shared memory a thread loads the same number of bytes, but a warp loads fewer, because
// the threads of a row share one transfer.
// Limits: as `cuda_tiled`.
// Source: A. Kerr, D. Merrill, J. Demouth, J. Tran, "CUTLASS: fast linear algebra in CUDA C++" (2017).
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "matmul/gpu/product.cuh"
#include "matmul/gpu/vectors.cuh"

namespace gradus::matmul_detail {

namespace {

constexpr int block_threads = 256;
constexpr int warps_down = 4;  // per block
constexpr int warps_across = 2;
constexpr int lanes_down = 4;  // per warp
constexpr int lanes_across = 8;
constexpr int groups = 2;  // number of groups of rows per thread, and of groups of columns

template <class T>
constexpr int own = groups* vector_length<T>;  // rows and columns per thread
template <class T>
constexpr int rows = warps_down* lanes_down* own<T>;
template <class T>
constexpr int columns = warps_across* lanes_across* own<T>;
constexpr int depth = 16;  // length of a tile along k
template <class T>
constexpr int loads = rows<T>* depth / vector_length<T> / block_threads;  // load instructions per thread and tile
static_assert(rows<float> == columns<float> && loads<float> > 0 && block_depth % depth == 0);
static_assert(rows<double> == columns<double> && loads<double> > 0 && block_depth % depth == 0);

// Launch shape: a block of 256 threads per tile of C. `wide_a`: A may be loaded in vectors.
template <class T>
__global__ void __launch_bounds__(block_threads, 1)
    multiply(Product<T> product, Tiles tiles, bool wide_a, bool wide_b, bool wide_c) {
  constexpr int vector = vector_length<T>;
  // The first index is the buffer, and the second is k. The padding places consecutive k in different banks.
  __shared__ alignas(16) T a_tiles[2][depth][rows<T> + vector];
  __shared__ alignas(16) T b_tiles[2][depth][columns<T>];
  const Tiles::Place place = tiles.place_in_strips(tiles.first + blockIdx.x);
  product.select(place.batch);
  const std::int64_t top = place.row * rows<T>;
  const std::int64_t left = place.column * columns<T>;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warp = thread / 32;
  // The thread's first row and column in the tile. The first groups of all threads of the warp come before any thread's
  // second group.
  const int row = warp / warps_across * (lanes_down * own<T>)+lane / lanes_across * vector;
  const int column = warp % warps_across * (lanes_across * own<T>)+lane % lanes_across * vector;
  // The first elements of A and B that the thread copies. In each turn, the threads of the block copy adjacent rows of
  // A (a_rows_at_once) and of B (b_inner_at_once), and the next turn copies the rows that follow.
  const int a_row = thread / (depth / vector);
  const int a_inner = thread % (depth / vector) * vector;
  constexpr int a_rows_at_once = rows<T> / loads<T>;
  const int b_inner = thread / (columns<T> / vector);
  const int b_column = thread % (columns<T> / vector) * vector;
  constexpr int b_inner_at_once = depth / loads<T>;

  Vector<T> from_a[loads<T>];
  Vector<T> from_b[loads<T>];
  const bool is_inside = wide_a && wide_b && top + rows<T> <= product.m && left + columns<T> <= product.n;
  const T* next_a = product.a.data + (top + a_row) * product.a.row_stride + a_inner;
  const T* next_b = product.b.data + b_inner * product.b.row_stride + left + b_column;
  const auto load = [&](std::int64_t first) {
    if (is_inside && first + depth <= product.k) {
#pragma unroll
      for (int turn = 0; turn < loads<T>; ++turn) {
        from_a[turn] = load_vector(next_a + turn * a_rows_at_once * product.a.row_stride);
        from_b[turn] = load_vector(next_b + turn * b_inner_at_once * product.b.row_stride);
      }
      next_a += depth;
      next_b += depth * product.b.row_stride;
      return;
    }
#pragma unroll
    for (int turn = 0; turn < loads<T>; ++turn) {
      from_a[turn] = load_along_a(product, top + a_row + turn * a_rows_at_once, first + a_inner, wide_a);
      from_b[turn] = load_along_b(product, first + b_inner + turn * b_inner_at_once, left + b_column, wide_b);
    }
  };
  const auto store = [&](int buffer) {
#pragma unroll
    for (int turn = 0; turn < loads<T>; ++turn) {
#pragma unroll
      for (int index = 0; index < vector; ++index)
        a_tiles[buffer][a_inner + index][a_row + turn * a_rows_at_once] = from_a[turn].at[index];
      store_vector(&b_tiles[buffer][b_inner + turn * b_inner_at_once][b_column], from_b[turn]);
    }
  };

  T totals[own<T>][own<T>];
  T sums[own<T>][own<T>];
#pragma unroll
  for (int r = 0; r < own<T>; ++r)
#pragma unroll
    for (int c = 0; c < own<T>; ++c) {
      totals[r][c] = T(-0.0);
      sums[r][c] = 0;
    }
  load(0);
  store(0);
  __syncthreads();  // the first tiles are filled
  int buffer = 0;
#pragma unroll 1
  for (std::int64_t first = 0; first < product.k; first += depth) {
    const bool has_next = first + depth < product.k;
    if (has_next) load(first + depth);
#pragma unroll
    for (int inner = 0; inner < depth; ++inner) {
      Vector<T> here[groups];
      Vector<T> there[groups];
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        here[group] = load_vector(&a_tiles[buffer][inner][row + group * lanes_down * vector]);
        there[group] = load_vector(&b_tiles[buffer][inner][column + group * lanes_across * vector]);
      }
#pragma unroll
      for (int r = 0; r < own<T>; ++r)
#pragma unroll
        for (int turn = 0; turn < own<T>; ++turn) {
          const int c = r % 2 == 0 ? turn : own<T> - 1 - turn;
          sums[r][c] = fma(here[r / vector].at[r % vector], there[c / vector].at[c % vector], sums[r][c]);
        }
    }
    if (has_next) {
      buffer = 1 - buffer;
      store(buffer);
      __syncthreads();  // the next tiles are filled, and no thread reads the previous tiles any more
    }
    if ((first + depth) % block_depth != 0 && has_next) continue;
#pragma unroll
    for (int r = 0; r < own<T>; ++r)
#pragma unroll
      for (int c = 0; c < own<T>; ++c) {
        totals[r][c] += sums[r][c];
        sums[r][c] = 0;
      }
  }
#pragma unroll
  for (int r = 0; r < own<T>; ++r)
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      Vector<T> all;
#pragma unroll
      for (int index = 0; index < vector; ++index) all.at[index] = totals[r][group * vector + index];
      finish_along_row(product, top + row + r / vector * (lanes_down * vector) + r % vector,
                       left + column + group * (lanes_across * vector), all, wide_c);
    }
}

}  // namespace

template <class T>
Done cuda_warp_tiled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  for_tiles(problem, execution, phases, rows<T>, columns<T>,
            [&](const Product<T>& product, const Tiles& tiles, unsigned blocks) {
              multiply<<<blocks, block_threads, 0, problem.gpu->stream()>>>(
                  product, tiles, has_vectors(product.a), has_vectors(product.b), has_vectors(product.c));
              cuda::check_launch("multiply");
            });
  return {};
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

extern constinit const Variant cuda_warp_tiled_rung{
    .name = "cuda_warp_tiled",
    .summary = "tiles of warps, 128 bits with every load",
    .change = "4 loads for 64 multiply-adds instead of 16",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = execution::on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_warp_tiled<float>, cuda_warp_tiled<double>),
};

}  // namespace gradus::matmul_detail
