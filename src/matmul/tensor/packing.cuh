// Packs floats for the tensor cores.
//
// FP16 has the 11 significant bits of TF32 at twice the rate and half the bytes, but a narrow range. Each row of A and
// each column of B is therefore lifted: multiplied by the power of two that brings its largest magnitude into [2^14,
// 2^15). FP16's range suffices for a lifted element that is zero or has a magnitude of at least 2^-14. A line is `odd`
// if it has a lifted element of smaller magnitude, infinity or NaN. The kernels at the end of multiply.cuh compute,
// with the accuracy `strict`, the elements of C that belong to odd lines. A power of two changes no digit, and it is
// removed at the end.
//
// The tiles of a panel are contiguous along k. The parts of a tile are also contiguous, and each part has the layout of
// shared memory. The copy engine therefore copies a tile in one piece, and no thread computes an address. Panels are
// padded with zeros past the borders.
//
// Source of the splitting and of scaling the lower part by 2^11: H. Ootomo and R. Yokota, "Recovering single precision
// accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance" (2022).
#pragma once

#include "matmul/gpu/pack.cuh"
#include "matmul/gpu/vectors.cuh"
#include "matmul/tensor/panels.hpp"

namespace gradus::matmul_detail::tensor {

static_assert(tile_depth == cuda::tile_depth && part_bytes == panel_lines * cuda::tile_row_bytes);

inline constexpr int greatest_exponent = 14;
inline constexpr int least_exponent = -14;
inline constexpr int low_exponent = 11;      ///< the lower part is multiplied by 2^low_exponent
inline constexpr int odd_line = -(1 << 20);  ///< marks an odd line; stored instead of the lift

/// The extremes of a line. `greatest` has the bits of the largest magnitude. `least` is 0x7fffffff minus the bits of
/// the smallest nonzero magnitude. Both are 0 if all elements are 0.
struct Extremes {
  unsigned int greatest;
  unsigned int least;

  __device__ void meet(float value) {
    const unsigned int magnitude = __float_as_uint(value) & 0x7fffffffu;
    greatest = max(greatest, magnitude);
    if (magnitude != 0) least = max(least, 0x7fffffffu - magnitude);
  }
  __device__ void meet(const Extremes& other) {
    greatest = max(greatest, other.greatest);
    least = max(least, other.least);
  }
  /// Returns the exponent of the line's factor, or odd_line.
  __device__ int lift() const {
    if (greatest == 0) return 0;
    if (greatest >= 0x7f800000u) return odd_line;
    const int lift = greatest_exponent - ilogbf(__uint_as_float(greatest));
    const int lowest = ilogbf(__uint_as_float(0x7fffffffu - least)) + lift;
    return lowest < least_exponent ? odd_line : lift;
  }
};

/// A list of odd lines, in any order. Lines are numbered consecutively over all matrices.
struct OddLines {
  int* count;
  std::int64_t* lines;

  __device__ void note(std::int64_t line) const { lines[atomicAdd(count, 1)] = line; }
};

// Launch shape: one block per row.
static __global__ void __launch_bounds__(packing_threads)
    find_lifts_of_rows(Operand<const float> matrices, Panels panels, bool wide, int* lifts, OddLines odd) {
  const std::int64_t line = blockIdx.x;
  const float* const row =
      matrices.data + line / panels.lines * matrices.batch_stride + line % panels.lines * matrices.row_stride;
  Extremes extremes{0, 0};
  constexpr int vector = vector_length<float>;
  const std::int64_t in_vectors = wide ? panels.depth / vector * vector : 0;
  for (std::int64_t at = std::int64_t{threadIdx.x} * vector; at < in_vectors; at += packing_threads * vector) {
    const Vector<float> values = load_vector(row + at);
#pragma unroll
    for (int index = 0; index < vector; ++index) extremes.meet(values.at[index]);
  }
  for (std::int64_t at = in_vectors + threadIdx.x; at < panels.depth; at += packing_threads) extremes.meet(row[at]);
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    extremes.meet(
        {__shfl_xor_sync(0xffffffffu, extremes.greatest, lanes), __shfl_xor_sync(0xffffffffu, extremes.least, lanes)});
  __shared__ Extremes of_warps[packing_threads / 32];
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = extremes;
  __syncthreads();  // the extremes of all warps are ready
  if (threadIdx.x != 0) return;
  for (const Extremes& of_warp : of_warps) extremes.meet(of_warp);
  const int lift = extremes.lift();
  lifts[line] = lift;
  if (lift == odd_line) odd.note(line);
}

inline constexpr int stretch_of_columns = 128;  ///< number of elements of a column that a block scans

// Launch shape: one block per 32 columns and stretch_of_columns of their elements. `found` must be zero.
static __global__ void __launch_bounds__(packing_threads)
    find_extremes_of_columns(Operand<const float> matrices, Panels panels, Extremes* found) {
  const std::int64_t across = (panels.lines + 31) / 32;
  const std::int64_t stretches = (panels.depth + stretch_of_columns - 1) / stretch_of_columns;
  const std::int64_t matrix = blockIdx.x / (across * stretches);
  const std::int64_t within = blockIdx.x % (across * stretches);
  const std::int64_t column = within % across * 32 + threadIdx.x % 32;
  const std::int64_t first = within / across * stretch_of_columns;
  const std::int64_t end = min(first + stretch_of_columns, panels.depth);
  constexpr int warps = packing_threads / 32;
  Extremes extremes{0, 0};
  const float* const from = matrices.data + matrix * matrices.batch_stride + column;
  if (column < panels.lines)
#pragma unroll 8
    for (std::int64_t at = first + threadIdx.x / 32; at < end; at += warps)
      extremes.meet(from[at * matrices.row_stride]);
  __shared__ Extremes of_warps[warps][32];
  of_warps[threadIdx.x / 32][threadIdx.x % 32] = extremes;
  __syncthreads();  // the extremes of all warps are ready
  if (threadIdx.x >= 32 || column >= panels.lines) return;
  for (int warp = 1; warp < warps; ++warp) extremes.meet(of_warps[warp][threadIdx.x]);
  Extremes& to = found[matrix * panels.lines + column];
  atomicMax(&to.greatest, extremes.greatest);
  atomicMax(&to.least, extremes.least);
}

// Launch shape: one thread per column.
static __global__ void find_lifts_of_columns(const Extremes* found, std::int64_t lines, int* lifts, OddLines odd) {
  const std::int64_t line = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  const int lift = found[line].lift();
  lifts[line] = lift;
  if (lift == odd_line) odd.note(line);
}

/// A power of two as the product of two floats, because the power itself may be outside of float's range.
struct Factors {
  float first;
  float second;

  __device__ explicit Factors(int lift)
      : first(lift == odd_line ? 0 : scalbnf(1, lift / 2)), second(scalbnf(1, lift == odd_line ? 0 : lift - lift / 2)) {
  }
  __device__ float operator()(float value) const { return value * first * second; }
};

/// Stores eight elements that are adjacent along k in FP16. `unit` is the position of the eight elements in `tile`.
template <int parts>
__device__ __forceinline__ void store_parts(const float (&values)[8], unsigned char* tile, unsigned int unit) {
  __half2 high[4];
  __half2 low[4];
#pragma unroll
  for (int pair = 0; pair < 4; ++pair) {
    high[pair] = __floats2half2_rn(values[2 * pair], values[2 * pair + 1]);
    const float2 rounded = __half22float2(high[pair]);
    low[pair] = __floats2half2_rn((values[2 * pair] - rounded.x) * (1 << low_exponent),
                                  (values[2 * pair + 1] - rounded.y) * (1 << low_exponent));
  }
  *reinterpret_cast<uint4*>(tile + unit) = *reinterpret_cast<const uint4*>(high);
  if constexpr (parts == 2) *reinterpret_cast<uint4*>(tile + part_bytes + unit) = *reinterpret_cast<const uint4*>(low);
}

// Packs rows of A. Launch shape: one block per tile.
template <int parts>
__global__ void __launch_bounds__(packing_threads)
    pack_rows(Operand<const float> matrices, Panels panels, bool wide, const int* lifts, unsigned char* packed) {
  const PackedTile place(panels);
  unsigned char* const tile = packed + std::int64_t{blockIdx.x} * parts * part_bytes;
  const int unit = static_cast<int>(threadIdx.x) % 8;
  const std::int64_t inner = place.first + unit * 8;
#pragma unroll
  for (int turn = 0; turn < panel_lines * 8 / packing_threads; ++turn) {
    const int row = turn * (packing_threads / 8) + static_cast<int>(threadIdx.x) / 8;
    const std::int64_t line = place.first_line + row;
    float values[8] = {};
    if (line < panels.lines) {
      const Factors factors(lifts[place.matrix * panels.lines + line]);
      const float* const from =
          matrices.data + place.matrix * matrices.batch_stride + line * matrices.row_stride + inner;
      if (wide && inner + 8 <= panels.depth) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const Vector<float> vector = load_vector(from + 4 * half);
#pragma unroll
          for (int index = 0; index < 4; ++index) values[4 * half + index] = factors(vector.at[index]);
        }
      } else {
#pragma unroll
        for (int index = 0; index < 8; ++index)
          if (inner + index < panels.depth) values[index] = factors(from[index]);
      }
    }
    store_parts<parts>(values, tile, cuda::swizzled(row, unit));
  }
}

// Packs columns of B, which are transposed during packing. Launch shape: one block per tile.
template <int parts>
__global__ void __launch_bounds__(packing_threads)
    pack_columns(Operand<const float> matrices, Panels panels, const int* lifts, unsigned char* packed) {
  __shared__ float turned[tile_depth][panel_lines + 1];
  const PackedTile place(panels);
  unsigned char* const tile = packed + std::int64_t{blockIdx.x} * parts * part_bytes;
  const int column = static_cast<int>(threadIdx.x) % panel_lines;
  const std::int64_t line = place.first_line + column;
  const float* const from = matrices.data + place.matrix * matrices.batch_stride + line;
  const Factors factors(line < panels.lines ? lifts[place.matrix * panels.lines + line] : 0);
#pragma unroll 8
  for (int inner = static_cast<int>(threadIdx.x) / panel_lines; inner < tile_depth;
       inner += packing_threads / panel_lines) {
    const bool is_there = line < panels.lines && place.first + inner < panels.depth;
    turned[inner][column] = is_there ? factors(from[(place.first + inner) * matrices.row_stride]) : 0.0f;
  }
  __syncthreads();  // the tile is filled
  const int unit = static_cast<int>(threadIdx.x) % 8;
#pragma unroll
  for (int turn = 0; turn < panel_lines * 8 / packing_threads; ++turn) {
    const int row = turn * (packing_threads / 8) + static_cast<int>(threadIdx.x) / 8;
    float values[8];
#pragma unroll
    for (int index = 0; index < 8; ++index) values[index] = turned[8 * unit + index][row];
    store_parts<parts>(values, tile, cuda::swizzled(row, unit));
  }
}

}  // namespace gradus::matmul_detail::tensor
