// cuda_tensor_f64: the tensor cores' own arithmetic in double: the bits of `strict`, at the highest rate of double.
//
// What changes from `cuda_pipelined`: the innermost step. A tensor core takes 16 x 8 elements of C eight products of k
// further with one instruction of a warp (mma.sync in f64), twice as fast as the units of fma. It rounds as a chain of
// fma with k ascending does, after each product, so that the sums are those of `strict`.
//
// * A warp has 32 x 64 elements, 64 sums of each thread. Operands come from shared memory, one element at a time: rows of
//   A and of B are four elements apart beyond a multiple of all banks, so that the 4 x 8 elements which a warp reads at
//   once lie in different ones.
// * The totals over the blocks of 256 of k would be another 128 registers of a thread. They are touched once in 256
//   steps, and lie in shared memory.
//
// Operations: 2 m n k, m and n rounded up to 128. Bytes: as `cuda_pipelined`. The rate of the tensor cores is the floor.
//
// Limits: double; compute capability 9.0, whose instruction this is.
//
// Source: NVIDIA, PTX ISA: mma.sync.m16n8k8 for f64; how it rounds was measured (docs/decisions/matmul.md).
#include "matmul/gpu/copies.cuh"
#include "matmul/gpu/plan.hpp"
#include "matmul/variants.hpp"

namespace gradus::matmul_detail {

namespace {

struct TensorShape {
  static constexpr int vector = vector_length<double>;
  static constexpr int warps_across = 2;
  static constexpr int threads = 256;
  static constexpr int warp_rows = 32;
  static constexpr int warp_columns = 64;
  static constexpr int rows = threads / 32 / warps_across * warp_rows;
  static constexpr int columns = warps_across * warp_columns;
  static constexpr int portion = 8;
  static constexpr int stages = 4;
  static constexpr int a_pitch = portion + 4;
  static constexpr int b_pitch = columns + 4;
  static constexpr int a_elements = rows * a_pitch;
  static constexpr int stage_elements = a_elements + portion * b_pitch;
  static constexpr int sums = warp_rows * warp_columns / 32;  ///< of a thread
  static constexpr std::size_t bytes = sizeof(double) * (stages * stage_elements + sums * threads);
};

/// sums[r][c]: 16 x 8 elements; of a lane those of rows lane / 4 and 8 more, columns 2 (lane % 4) and 1 more.
using Sums = double[TensorShape::warp_rows / 16][TensorShape::warp_columns / 8][4];

/// sums += rows columns for eight of k: of a lane rows lane / 4 and 8 more at k = lane % 4, then likewise at 4 more;
/// column lane / 4 at the same two.
__device__ __forceinline__ void multiply_add(double (&sums)[4], const double (&rows)[4], const double (&column)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
      : "d"(rows[0]), "d"(rows[1]), "d"(rows[2]), "d"(rows[3]), "d"(column[0]), "d"(column[1]));
}

/// sums += A B for a portion in shared memory, from the lane's first row and first column on.
__device__ __forceinline__ void add_portion(Sums& sums, const double* a, const double* b) {
  using Shape = TensorShape;
  constexpr int down = Shape::warp_rows / 16;
  double rows[down][4];
#pragma unroll
  for (int r = 0; r < down; ++r)
#pragma unroll
    for (int index = 0; index < 4; ++index)
      rows[r][index] = a[(16 * r + index % 2 * 8) * Shape::a_pitch + index / 2 * 4];
#pragma unroll
  for (int c = 0; c < Shape::warp_columns / 8; ++c) {
    const double column[2] = {b[8 * c], b[8 * c + 4 * Shape::b_pitch]};
#pragma unroll
    for (int r = 0; r < down; ++r) multiply_add(sums[r][c], rows[r], column);
  }
}

// Launch shape: a block for each tile of C.
__global__ void __launch_bounds__(TensorShape::threads, 1)
    multiply_tiles(Product<double> product, Tiles tiles, Wide wide) {
  using Shape = TensorShape;
  static_assert(Shape::portion == 8 && block_depth % Shape::portion == 0);
  constexpr int down = Shape::warp_rows / 16;
  constexpr int across = Shape::warp_columns / 8;
  constexpr auto portions_of_a_block = static_cast<int>(block_depth / Shape::portion);
  extern __shared__ __align__(16) double shared[];
  double* const own_totals = shared + Shape::stages * Shape::stage_elements + threadIdx.x;
  const Tiles::Place place = tiles.place_in_strips(tiles.first + blockIdx.x);
  product.select(place.batch);
  const std::int64_t top = place.row * Shape::rows;
  const std::int64_t left = place.column * Shape::columns;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / Shape::warps_across * Shape::warp_rows;
  const int warp_column = warp % Shape::warps_across * Shape::warp_columns;
  const int a_place = (warp_row + lane / 4) * Shape::a_pitch + lane % 4;
  const int b_place = Shape::a_elements + lane % 4 * Shape::b_pitch + warp_column + lane / 4;

  const auto portions = static_cast<int>((product.k + Shape::portion - 1) / Shape::portion);
  const Copies<double, Shape> copies(product, top, left, wide);
#pragma unroll
  for (int ahead = 0; ahead < Shape::stages - 1; ++ahead) {
    if (ahead < portions) copies.order(std::int64_t{ahead} * Shape::portion, shared + ahead * Shape::stage_elements);
    cuda::end_group();
  }
  Sums sums = {};
#pragma unroll 1
  for (int now = 0; now < portions; ++now) {
    cuda::wait_for_copies<Shape::stages - 2>();
    __syncthreads();  // this portion is there, and nobody reads the one before, whose place the next one takes
    if (const int next = now + Shape::stages - 1; next < portions)
      copies.order(std::int64_t{next} * Shape::portion, shared + next % Shape::stages * Shape::stage_elements);
    cuda::end_group();
    const double* const operands = shared + now % Shape::stages * Shape::stage_elements;
    add_portion(sums, operands + a_place, operands + b_place);
    const bool is_last = now + 1 == portions;
    if ((now + 1) % portions_of_a_block != 0 && !is_last) continue;
    // The end of a block of k.
    const bool is_first = now < portions_of_a_block;
#pragma unroll
    for (int index = 0; index < Shape::sums; ++index) {
      double& sum = sums[index / (4 * across)][index / 4 % across][index % 4];
      double& total = own_totals[index * Shape::threads];
      if (!is_first) sum = total + sum;
      if (is_last) continue;
      total = sum;
      sum = 0;
    }
  }
#pragma unroll
  for (int r = 0; r < down; ++r)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int c = 0; c < across; ++c)
        finish_along_row(product, top + warp_row + 16 * r + 8 * half + lane / 4,
                         left + warp_column + 8 * c + lane % 4 * 2,
                         Vector<double>{{sums[r][c][2 * half], sums[r][c][2 * half + 1]}}, wide.c);
}

}  // namespace

template <class T>
Done cuda_tensor_f64(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  if constexpr (sizeof(T) == sizeof(double)) {
    using Shape = TensorShape;
    static_assert(Shape::bytes <= tensor_f64_shared_bytes);
    cuda::allow_shared_memory(reinterpret_cast<const void*>(multiply_tiles), Shape::bytes);
    for_tiles(problem, execution, phases, Shape::rows, Shape::columns,
              [&](const Product<double>& product, const Tiles& tiles, unsigned blocks) {
                const Wide wide{has_vectors(product.a), has_vectors(product.b), has_vectors(product.c)};
                multiply_tiles<<<blocks, Shape::threads, Shape::bytes, problem.gpu->stream()>>>(product, tiles, wide);
                cuda::check_launch("multiply_tiles");
              });
    return {};
  } else {
    return cuda_pipelined(problem, execution, phases);  // the frame lets no float come here
  }
}

GRADUS_MATMUL_RUNG(cuda_tensor_f64)

}  // namespace gradus::matmul_detail
