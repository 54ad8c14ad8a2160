// cuda_tensor_f64: the tensor cores compute in double. Gives the bits of `strict` at the highest rate for double.
//
// What changes from `cuda_pipelined`: the innermost step. One warp instruction (mma.sync in f64) advances 16 x 8
// elements of C by four steps of k on a tensor core. Tensor cores do this twice as fast as the FMA units. The
// instruction rounds after each product, like a chain of fma in ascending k. The sums therefore have the bits of
// `strict`.
// * The copy engine fetches tiles of A and B directly from the matrices, by row and column (cuda/tensor_map.hpp).
//   During the copy it permutes units of 16 bytes, so that the lanes of a warp read different banks. If addresses or
//   sizes rule this out, A and B are packed into the same order.
// * A warp computes 64 x 32 elements, which are 64 sums per thread. The totals over the blocks of 256 terms would need
//   another 128 registers per thread. Each total is accessed only once in 256 steps, so totals are kept in shared
//   memory.
// * The two warps that share a tensor core finish a tile at the same time. To keep the core busy, a warp loads the
//   first operands of the next tile between the last products of the current tile. One step before it loads these
//   operands, the warp tests whether the next tile has arrived.
//
// Operations: 2 m n k, with m and n rounded up to 128. Bytes: as `cuda_pipelined`, without the packing. The rate of the
// tensor cores gives the lower bound of the time.
// Limits: double only; compute capability 9.0, which introduced this instruction.
// Source: NVIDIA, PTX ISA: mma.sync.m16n8k4 for f64; its rounding was measured (docs/decisions/matmul.md).
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "cuda/tensor_map.hpp"
#include "matmul/gpu/pack.cuh"
#include "matmul/gpu/vectors.cuh"

namespace gradus::matmul_detail {

namespace {

constexpr int depth = plain_tile_depth<double>;
constexpr int row_bytes = 128;  ///< bytes of a row in shared memory: eight units, in an order that depends on the row
constexpr int group = 16;       ///< a row of the tile of B holds this number of neighbouring columns, all for one k
static_assert(depth * sizeof(double) == row_bytes && group * sizeof(double) == row_bytes);

/// The layouts of a tile. In RowsOfA, a row of the tile holds 16 values of k of one row of A. In the layout of B, a row
/// of the tile holds 16 columns of B for one k.
struct RowsOfA {
  static constexpr int depth = matmul_detail::depth;
  __device__ static int line(int place) { return place / 16; }
  __device__ static int k(int place) { return (place / 2 % 8 ^ line(place) % 8) * 2 + place % 2; }
};
struct RowsOfB {
  static constexpr int depth = matmul_detail::depth;
  __device__ static int k(int place) { return place / 16 % depth; }
  __device__ static int line(int place) {
    return place / (16 * depth) * group + (place / 2 % 8 ^ k(place) % 8) * 2 + place % 2;
  }
};

/// A product whose operands the copy engine reads from their original memory.
struct MappedProduct : PackedProduct<double> {
  CUtensorMap a_map;
  CUtensorMap b_map;

#ifdef GRADUS_WARPGROUP_PRODUCT
  class Source {
   public:
    __device__ Source(const MappedProduct& mapped, const Tiles::Place& place)
        : mapped_(mapped), row_(static_cast<int>(place.row) * panel_lines),
          column_(static_cast<int>(place.column) * panel_lines),
          a_matrix_(mapped.a_panels.matrices == 1 ? 0 : static_cast<int>(place.batch)),
          b_matrix_(mapped.b_panels.matrices == 1 ? 0 : static_cast<int>(place.batch)) {}
    __device__ void order(unsigned char* stage, cuda::Barrier& filled) {
      constexpr int bytes = plain_tile_bytes<double>;
      filled.arrive_for(2 * bytes);
      filled.copy_box(stage, mapped_.a_map, k_, row_, a_matrix_);
#pragma unroll
      for (int first = 0; first < panel_lines; first += group)
        filled.copy_box(stage + bytes + first * depth * int{sizeof(double)}, mapped_.b_map, column_ + first, k_,
                        b_matrix_);
      k_ += depth;
    }

   private:
    const MappedProduct& mapped_;
    int row_;
    int column_;
    int a_matrix_;
    int b_matrix_;
    int k_ = 0;
  };
#endif
};

cuda::MappedMatrices matrices_of(const Operand<const double>& operand, std::int64_t rows, std::int64_t columns,
                                 std::int64_t batches) {
  return {operand.data,        rows, columns, operand.batch_stride == 0 ? 1 : batches, operand.row_stride,
          operand.batch_stride};
}

/// Multiplies rows by columns over four values of k, and adds the products to the sums. A lane supplies two rows and
/// one column, all at k = lane % 4. The lane holds the sums of its two rows for two columns.
__device__ __forceinline__ void multiply_add(double (&sums)[4], const Vector<double>& rows, double column) {
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
               : "d"(rows.at[0]), "d"(rows.at[1]), "d"(column));
}

/// Consumer for multiply_panels(): eight warps with 64 x 32 elements each.
template <class AnyJob>
class TensorCells {
 public:
  static constexpr bool loads_ahead = true;
  static constexpr int stages = 3;
  static constexpr int tile_bytes = plain_tile_bytes<double>;
  static constexpr int stage_bytes = 2 * tile_bytes;
  static constexpr int warp_rows = 64;
  static constexpr int warp_columns = 32;
  static constexpr int own_sums = warp_rows * warp_columns / 32;  ///< sums per thread
  static constexpr std::size_t own_shared_bytes = sizeof(double) * own_sums * multiplying_threads;
  using Job = AnyJob;

  // Lanes 4 i to 4 i + 3 read row i and column i (of eight rows and eight columns) at k = 0 to 3. Any mapping of the
  // numbers i to rows and columns of the tile gives a correct result. This mapping lets the 16 lanes that are served
  // together read 16 different pairs of banks.
  __device__ TensorCells(const Job& job, unsigned char* shared) : job_(job) {
    const int thread = static_cast<int>(threadIdx.x) - copying_threads;
    const int lane = thread % 32;
    const int i = lane / 4;
    const int k = lane % 4;
    const int row_of_eight = i % 4 * 2 + i / 4;
    const int unit_of_b = i % 2 * 4 + i / 2;
    row_ = thread / 32 / warps_across * warp_rows + row_of_eight;
    first_column_ = thread / 32 % warps_across * warp_columns + 2 * k;
    a_ = row_ * row_bytes + (k / 2 ^ row_of_eight) * 16 + k % 2 * 8;
    b_ = tile_bytes + thread / 32 % warps_across * (warp_columns * depth * int{sizeof(double)}) + k * row_bytes +
         (unit_of_b ^ k) * 16;
    totals_ = reinterpret_cast<Vector<double>*>(shared) + thread;
#pragma unroll
    for (int index = 0; index < own_sums; ++index) sum(index) = 0;
  }

  __device__ __forceinline__ void load(const unsigned char* tile) {
    load_columns(tile, 0);
#pragma unroll
    for (int r = 0; r < down; ++r) load_rows(tile, 0, r);
  }
  /// Multiplies a tile whose first operands are already loaded. Also calls wait() and then loads the first operands of
  /// the next tile.
  template <class Wait>
  __device__ __forceinline__ void multiply(const unsigned char* tile, const unsigned char* next, const Wait& wait) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const bool is_last = step + 1 == steps;
      if (is_last) wait();
      const unsigned char* const from = is_last ? next : tile;
      const int coming = is_last ? 0 : step + 1;
      load_columns(from, coming);
#pragma unroll
      for (int r = 0; r < down; ++r) {
        load_rows(from, coming, r);
#pragma unroll
        for (int c = 0; c < across; ++c)
          multiply_add(sums_[r][c], rows_[step % 2][r], columns_[step % 2][c / 2].at[c % 2]);
      }
    }
  }

  __device__ __forceinline__ void add(std::int64_t tile, bool is_last) {
    constexpr int tiles_of_a_block = block_depth / depth;
    if ((tile + 1) % tiles_of_a_block != 0 && !is_last) return;
    const bool is_first = tile < tiles_of_a_block;
#pragma unroll
    for (int pair = 0; pair < own_sums / 2; ++pair) {
      Vector<double>& total = totals_[pair * multiplying_threads];
      Vector<double> sums{{sum(2 * pair), sum(2 * pair + 1)}};
      if (!is_first) {
        const Vector<double> before = total;
        sums = {{before.at[0] + sums.at[0], before.at[1] + sums.at[1]}};
      }
      if (!is_last) total = sums;
      sum(2 * pair) = is_last ? sums.at[0] : 0;
      sum(2 * pair + 1) = is_last ? sums.at[1] : 0;
    }
  }

  __device__ void finish(const Tiles::Place& place) {
    Product<double> product = job_.product;
    product.select(place.batch);
    const bool wide = has_vectors(product.c);
#pragma unroll
    for (int r = 0; r < down; ++r)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int c = 0; c < across; c += 2)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            finish_along_row(product, place.row * panel_lines + row_ + 16 * r + 8 * half,
                             place.column * panel_lines + first_column_ + 8 * c + 8 * e,
                             Vector<double>{{sums_[r][c][2 * half + e], sums_[r][c + 1][2 * half + e]}}, wide);
  }

 private:
  static constexpr int warps_across = panel_lines / warp_columns;
  static constexpr int down = warp_rows / 16;
  static constexpr int across = warp_columns / 8;
  static constexpr int steps = depth / 4;

  /// Loads rows row_ and row_ + 8 at k = lane % 4, for a step of four values of k.
  __device__ __forceinline__ void load_rows(const unsigned char* tile, int step, int r) {
    const unsigned char* const from = tile + (a_ ^ step * 32) + r * 16 * row_bytes;
    rows_[step % 2][r] = {
        {*reinterpret_cast<const double*>(from), *reinterpret_cast<const double*>(from + 8 * row_bytes)}};
  }
  /// Loads two neighbouring columns, which share a unit. The lane uses them in two different products.
  __device__ __forceinline__ void load_columns(const unsigned char* tile, int step) {
    const unsigned char* const from = tile + (b_ ^ step % 2 * 64) + step * 4 * row_bytes;
#pragma unroll
    for (int pair = 0; pair < across / 2; ++pair)
      columns_[step % 2][pair] = *reinterpret_cast<const Vector<double>*>(from + pair * depth * row_bytes);
  }

  __device__ double& sum(int index) { return sums_[index / (4 * across)][index / 4 % across][index % 4]; }

  const Job& job_;
  int row_;
  int first_column_;
  int a_;  ///< byte offset of the thread's first element of A in a tile
  int b_;
  Vector<double>* totals_;
  double sums_[down][across][4];
  Vector<double> rows_[2][down];
  Vector<double> columns_[2][across / 2];
};

}  // namespace

template <class T>
Done cuda_tensor_f64(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  if constexpr (sizeof(T) == sizeof(double)) {
    const cuda::Stream& stream = problem.gpu->stream();
    const core::PhaseTimer timer(phases, "multiply");
    const cuda::MappedMatrices a = matrices_of(problem.a, problem.m, problem.k, problem.batches);
    const cuda::MappedMatrices b = matrices_of(problem.b, problem.k, problem.n, problem.batches);
    // A tile must not extend past k: the engine pads with +0, and adding +0 times +0 would change a sum of -0.
    if (problem.k % depth == 0 && a.can_be_mapped() && b.can_be_mapped()) {
      const MappedProduct mapped{{problem, plain_panels<double>(a.matrices, problem.m, problem.k),
                                  plain_panels<double>(b.matrices, problem.n, problem.k), nullptr, nullptr},
                                 cuda::tensor_map(a, panel_lines),
                                 cuda::tensor_map(b, depth)};
      multiply_packed<TensorCells<MappedProduct>>(mapped, execution, problem.stop, problem.batches, stream);
    } else {
      multiply_packed<TensorCells<PackedProduct<double>>>(
          packed_product<double, RowsOfA, RowsOfB>(problem, problem.gpu->memory(), stream), execution, problem.stop,
          problem.batches, stream);
    }
    stream.wait();
    return {};
  } else {
    return cuda_pipelined(problem, execution, phases);  // unreachable, because `supports` rejects float
  }
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

namespace {

core::Memory packed_gpu_memory(const Shape& shape, int threads) {
  core::Memory memory = gpu_memory(shape, threads);
  if (shape.element_bytes == sizeof(double)) memory.device += packed_bytes(shape);
  return memory;
}

core::Support double_on_tensor_cores(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = execution::on_gpu(shape, machine); !gpu) return gpu;
  if (shape.element_bytes != sizeof(double))
    return core::Support::no("supports only double; use cuda_pipelined for float");
  return execution::has_warpgroup_products(machine);
}

}  // namespace

extern constinit const Variant cuda_tensor_f64_rung{
    .name = "cuda_tensor_f64",
    .summary = "double on the tensor cores, whose sums are the same chains",
    .change = "512 multiply-adds per warp instruction",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = double_on_tensor_cores,
    .memory = packed_gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_tensor_f64<float>, cuda_tensor_f64<double>),
};

}  // namespace gradus::matmul_detail
