// cuda_tensor_f64: the tensor cores' own arithmetic in double: the bits of `strict`, at the highest rate of double.
//
// What changes from `cuda_pipelined`: the innermost step. A tensor core takes 16 x 8 elements of C eight products of k
// further with one instruction of a warp (mma.sync in f64), twice as fast as the units of fma. It rounds as a chain of
// fma with k ascending does, after each product, so that the sums are those of `strict`.
//
// * A is packed in the order in which the lanes of a warp want it: one load of 16 bytes brings a lane its two elements
//   of 16 rows, and a warp's 512 bytes lie side by side. Rows of B are copied as they are, 128 columns at a time, where
//   their addresses allow it; otherwise B is packed likewise.
// * A warp has 64 x 32 elements, 64 sums of each thread. The totals over the blocks of 256 of k would be another 128
//   registers of a thread. They are touched once in 256 steps, and lie in shared memory.
//
// Operations: 2 m n k, m and n rounded up to 128. Bytes: A twice read and once written, and as `cuda_pipelined`.
// The rate of the tensor cores is the floor.
//
// Limits: double; compute capability 9.0, whose instruction this is.
//
// Source: NVIDIA, PTX ISA: mma.sync.m16n8k4 for f64; how it rounds was measured (docs/decisions/matmul.md).
#include "matmul/gpu/pack.cuh"
#include "matmul/gpu/vectors.cuh"
#include "matmul/variants.hpp"

namespace gradus::matmul_detail {

namespace {

/// Four of k for 128 lines lie together: for each sixteen lines the elements of a lane, those of line lane / 4 and
/// eight more at k = lane % 4.
struct ByLanes {
  static constexpr int depth = 4;
  __device__ static int line(int place) { return place % 512 / 64 * 16 + place % 2 * 8 + place % 64 / 8; }
  __device__ static int k(int place) { return place / 512 * 4 + place / 2 % 4; }
};

/// sums += rows columns' for four of k: of a lane rows lane / 4 and 8 more at k = lane % 4, and column lane / 4; sums
/// are those of these rows and columns 2 (lane % 4) and 1 more.
__device__ __forceinline__ void multiply_add(double (&sums)[4], const Vector<double>& rows, double column) {
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
               : "d"(rows.at[0]), "d"(rows.at[1]), "d"(column));
}

/// A product with A packed, and B as it is: rows of a tile are 1 KiB side by side, and come one by one.
struct HalfPacked : PackedProduct<double> {
  static constexpr int pitch = panel_lines + 4;  ///< in shared memory; the room turns banks from one k to the next

#ifdef GRADUS_WARPGROUP_PRODUCT
  class Source {
   public:
    __device__ Source(const HalfPacked& packed, const Tiles::Place& place)
        : a_(panel(packed.a, packed.a_panels, place.batch, place.row)),
          row_(&packed.product.b.at(place.batch)(0, place.column * panel_lines)),
          row_stride_(packed.product.b.row_stride),
          row_bytes_(static_cast<unsigned int>(
              min(std::int64_t{panel_lines}, packed.product.n - place.column * panel_lines) * sizeof(double))) {}
    __device__ void order(unsigned char* stage, cuda::Barrier& filled) {
      constexpr int depth = plain_tile_depth<double>;
      constexpr unsigned int a_bytes = plain_tile_bytes<double>;
      filled.arrive_for(a_bytes + depth * row_bytes_);
      filled.copy(stage, a_, a_bytes);
      a_ += a_bytes;
      double* to = reinterpret_cast<double*>(stage + a_bytes);
#pragma unroll
      for (int inner = 0; inner < depth; ++inner, row_ += row_stride_)
        filled.copy(to + inner * pitch, row_, row_bytes_);
    }

   private:
    const unsigned char* a_;
    const double* row_;
    std::int64_t row_stride_;
    unsigned int row_bytes_;
  };
#endif
};
/// Whether rows can be copied: from and to multiples of 16 bytes, and no tile ends beyond k.
bool has_copied_rows(const Problem<double>& problem) {
  return has_vectors(problem.b) && problem.n % vector_length<double> == 0 && problem.k % plain_tile_depth<double> == 0;
}

/// For multiply_panels(): eight warps, 64 x 32 elements each.
template <class AnyJob>
class TensorCells {
 public:
  static constexpr bool b_is_packed = std::is_same_v<AnyJob, PackedProduct<double>>;
  static constexpr int stages = 6;
  static constexpr int tile_bytes = plain_tile_bytes<double>;
  static constexpr int stage_bytes =
      tile_bytes + (b_is_packed ? tile_bytes : int{sizeof(double)} * plain_tile_depth<double> * HalfPacked::pitch);
  static constexpr int warp_rows = 64;
  static constexpr int warp_columns = 32;
  static constexpr int own_sums = warp_rows * warp_columns / 32;  ///< of a thread
  static constexpr std::size_t own_shared_bytes = sizeof(double) * own_sums * multiplying_threads;
  using Job = AnyJob;

  __device__ TensorCells(const Job& job, unsigned char* shared) : job_(job) {
    const int thread = static_cast<int>(threadIdx.x) - copying_threads;
    lane_ = thread % 32;
    row_ = thread / 32 / warps_across * warp_rows;
    column_ = thread / 32 % warps_across * warp_columns;
    totals_ = reinterpret_cast<double*>(shared) + thread;
#pragma unroll
    for (int index = 0; index < own_sums; ++index) sum(index) = 0;
  }

  __device__ __forceinline__ void multiply(const unsigned char* tile, std::int64_t) {
    const double* const a = reinterpret_cast<const double*>(tile) + row_ * 4 + lane_ * 2;
    const double* const b =
        reinterpret_cast<const double*>(tile + tile_bytes) +
        (b_is_packed ? column_ * 4 + lane_ * 2 : lane_ % 4 * HalfPacked::pitch + column_ + lane_ / 4);
    constexpr int steps = plain_tile_depth<double> / 4;
    constexpr int between_steps = panel_lines * 4;
    Vector<double> rows[2][down];
    Vector<double> columns[2][across / 2];
    const auto load = [&](int step) {
#pragma unroll
      for (int r = 0; r < down; ++r) rows[step % 2][r] = load_vector(a + step * between_steps + r * 64);
#pragma unroll
      for (int c = 0; c < across / 2; ++c)
        if constexpr (b_is_packed) columns[step % 2][c] = load_vector(b + step * between_steps + c * 64);
        else
          columns[step % 2][c] = {
              {b[step * 4 * HalfPacked::pitch + c * 16], b[step * 4 * HalfPacked::pitch + c * 16 + 8]}};
    };
    load(0);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      if (step + 1 < steps) load(step + 1);
#pragma unroll
      for (int r = 0; r < down; ++r)
#pragma unroll
        for (int c = 0; c < across; ++c)
          multiply_add(sums_[r][c], rows[step % 2][r], columns[step % 2][c / 2].at[c % 2]);
    }
  }

  __device__ __forceinline__ void add(std::int64_t tile, bool is_last) {
    constexpr int tiles_of_a_block = block_depth / plain_tile_depth<double>;
    if ((tile + 1) % tiles_of_a_block != 0 && !is_last) return;
    const bool is_first = tile < tiles_of_a_block;
#pragma unroll
    for (int index = 0; index < own_sums; ++index) {
      double& total = totals_[index * multiplying_threads];
      if (!is_first) sum(index) = total + sum(index);
      if (is_last) continue;
      total = sum(index);
      sum(index) = 0;
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
        for (int c = 0; c < across; ++c)
          finish_along_row(product, place.row * panel_lines + row_ + 16 * r + 8 * half + lane_ / 4,
                           place.column * panel_lines + column_ + 8 * c + lane_ % 4 * 2,
                           Vector<double>{{sums_[r][c][2 * half], sums_[r][c][2 * half + 1]}}, wide);
  }

 private:
  static constexpr int warps_across = panel_lines / warp_columns;
  static constexpr int down = warp_rows / 16;
  static constexpr int across = warp_columns / 8;

  __device__ double& sum(int index) { return sums_[index / (4 * across)][index / 4 % across][index % 4]; }

  const Job& job_;
  int lane_;
  int row_;
  int column_;
  double* totals_;
  double sums_[down][across][4];
};

}  // namespace

template <class T>
Done cuda_tensor_f64(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  if constexpr (sizeof(T) == sizeof(double)) {
    const cuda::Stream& stream = problem.gpu->stream();
    const core::PhaseTimer timer(phases, "multiply");
    cuda::Arena& memory = problem.gpu->memory();
    if (has_copied_rows(problem))
      multiply_packed<TensorCells<HalfPacked>>({packed_product<double, ByLanes, false>(problem, memory, stream)},
                                               execution, problem.stop, problem.batches, stream);
    else
      multiply_packed<TensorCells<PackedProduct<double>>>(packed_product<double, ByLanes>(problem, memory, stream),
                                                          execution, problem.stop, problem.batches, stream);
    stream.wait();
    return {};
  } else {
    return cuda_pipelined(problem, execution, phases);  // the frame lets no float come here
  }
}

GRADUS_MATMUL_RUNG(cuda_tensor_f64)

}  // namespace gradus::matmul_detail
