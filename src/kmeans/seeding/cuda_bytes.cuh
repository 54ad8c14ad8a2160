// A copy of the points in bytes, which proves for most pairs of a point x and a candidate y that y is no nearer to x
// than the row that x belongs to: a quarter to an eighth of the bytes to read, and products on the tensor cores. Only
// what it leaves undecided takes the canonical chain.
//
// Rows are moved by a middle m and scaled by a power of two to at most 1 in magnitude; row x becomes s_x q_x with
// integers |q| <= 127, and e_x is the length of what the rounding took away. Then
//
//     |x - y|  >=  |s_x q_x - s_y q_y| - e_x - e_y,
//     |s_x q_x - s_y q_y|^2 = s_x^2 q_x.q_x + s_y^2 q_y.q_y - 2 s_x s_y q_x.q_y,
//
// where the products of integers are exact. y is out of reach of x where that square is at least (r_x + e_y)^2, r_x
// being e_x and the distance of x to its own row. Roundings, all of them to one side or below the margins named here:
//   * s^2 q.q is kept 2^-19 of itself too small. By |2 a b| <= a^2 + b^2 the few roundings of the sum in float are
//     below 2^-20 (s_x^2 q_x.q_x + s_y^2 q_y.q_y), whatever cancels.
//   * (r_x + e_y)^2 is taken 2^-19 too large, and r_x 2^-19, which also covers the relative errors of both canonical
//     chains: (d + 3) 2^-53.
//   * e has room for the rounding of x - m, 2^-44 for each column. It keeps every bound above 2^-88, far above what
//     products of small floats lose, and in a chain of doubles above what squares lose by underflow
//     (least_magnitude).
// A bound that is infinite or no number decides nothing.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cuda/rows.cuh"
#include "kmeans/gpu/cuda_exact_sums.hpp"

namespace gradus::kmeans_detail {

using cuda::DeviceRows;

constexpr int byte_columns = 4096;  ///< at most: eight candidates fit the shared memory
constexpr double byte_margin = 0x1p-19;

/// Bytes of a row, a multiple of what a thread reads at a time.
constexpr int byte_stride(std::int64_t columns) { return static_cast<int>((columns + 15) / 16 * 16); }

/// The length of what roundings took away, of the squares of which this is the sum.
__device__ inline float residue_of(double squares, int columns) {
  return __double2float_ru(sqrt(squares) * (1 + byte_margin) + sqrt(static_cast<double>(columns)) * 0x1p-44);
}

/// What ByteRows (byte_rows.hpp) is on the host: the copy of the points, and what the bound asks for.
struct DeviceByteRows {
  const signed char* bytes;  ///< [row][byte_stride]
  const float* scale;        ///< s
  const float* square;       ///< s^2 q.q, a little too small
  const float* residue;      ///< e
  float* reach;              ///< r
  int stride;
  double unit;  ///< the power of two by which points are scaled

  /// r for a point whose canonical squared distance to its own row is `closest`.
  __device__ float reach_of(std::int64_t row, double closest) const {
    return __fadd_ru(__double2float_ru(sqrt(closest) * unit * (1 + byte_margin)), residue[row]);
  }
};

/// A candidate as the bound asks for it.
struct ByteCandidate {
  float twice_scale;
  float square;
  float residue;
};

/// What of a row the bound asks for.
struct BytePoint {
  float scale;
  float square;
  float reach;

  /// What the square of the copies' distance is at least; `product`: of the candidate's bytes with the row's.
  __device__ float least(const ByteCandidate& candidate, int product) const {
    return fmaf(-(scale * candidate.twice_scale), static_cast<float>(product), square + candidate.square);
  }
  /// What it is at most: the squares were kept 2^-19 too small, and roundings took less than 2^-20 of them.
  __device__ float most(float square_of_candidate, float least) const {
    return fmaf(square + square_of_candidate, static_cast<float>(2 * byte_margin), least);
  }
  /// From which square of the copies' distance on a candidate is proved to be no nearer than the row's own.
  __device__ float reached(float residue_of_candidate) const {
    const float sum = reach + residue_of_candidate;
    return sum * (sum * static_cast<float>(1 + byte_margin));
  }
  __device__ bool is_out_of_reach(const ByteCandidate& candidate, int product) const {
    return least(candidate, product) >= reached(candidate.residue);
  }
};

/// r for a point whose own row may become one at whose copy the square of the distance is at most `most`. Larger than
/// the distance by more than its roundings, so that what it rules out is not even as near.
__device__ inline float reach_within(float most, float residue, float other_residue) {
  return (sqrtf(fmaxf(most, 0.0f)) + 2 * residue + other_residue) * static_cast<float>(1 + 4 * byte_margin);
}

/// A product of 16 rows and 8 candidates of 32 bytes each, added to what is there.
__device__ inline void multiply_bytes(int (&sums)[4], unsigned int a0, unsigned int a1, unsigned int a2,
                                      unsigned int a3, unsigned int b0, unsigned int b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/// Bytes from one candidate to the next in shared memory: threads that read 64 bytes of two rows meet no bank twice.
__host__ __device__ constexpr int byte_pitch(int stride) { return ((stride + 63) / 64 | 1) * 64; }

/// Brings the bytes of `count` rows into shared memory, and zeros for those up to `padded`. By all threads of a block.
__device__ inline void bring_bytes(const DeviceByteRows& rows, const std::int64_t* which, int count, int padded,
                                   signed char* to) {
  const int words = byte_pitch(rows.stride) / 4;
  const int row_words = rows.stride / 4;
  for (int index = static_cast<int>(threadIdx.x); index < padded * words; index += static_cast<int>(blockDim.x)) {
    const int number = index / words;
    const int word = index - number * words;
    const bool is_there = number < count && word < row_words;
    reinterpret_cast<unsigned int*>(to)[index] =
        is_there ? __ldg(reinterpret_cast<const unsigned int*>(rows.bytes + which[number] * rows.stride) + word) : 0;
  }
}

/// Asks for the bytes of `count` rows, at which a warp looks next.
__device__ inline void fetch_bytes(const DeviceByteRows& rows, std::int64_t first, std::int64_t count) {
  for (std::int64_t offset = 128 * (threadIdx.x % 32); offset < count * rows.stride; offset += 128 * 32)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(rows.bytes + first * rows.stride + offset));
}

/// 16 bytes that pass the first cache: each is read once in a step.
__device__ inline uint4 read_once(const signed char* from) {
  uint4 value;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from));
  return value;
}

/// The canonical chain. A call, so that its registers are not those of the look at all rows.
template <class T>
__device__ __noinline__ double distance_between(const T* x, const T* y, int columns, bool by_quads) {
  constexpr int quad = 16 / static_cast<int>(sizeof(T));
  constexpr int ahead = 8;  // quads of x that are on their way
  double sum = 0;
  const auto extend = [&](T left, T right) {
    const double difference = static_cast<double>(left) - static_cast<double>(right);
    sum = fma(difference, difference, sum);
  };
  int column = 0;
  if (by_quads) {
    const auto get = [&](const T* from) { return __ldg(reinterpret_cast<const uint4*>(from)); };
    uint4 next[ahead];
#pragma unroll
    for (int index = 0; index < ahead; ++index)
      if ((index + 1) * quad <= columns) next[index] = get(x + index * quad);
    for (; column + ahead * quad <= columns; column += ahead * quad) {
#pragma unroll
      for (int index = 0; index < ahead; ++index) {
        union {
          uint4 all;
          T values[quad];
        } left{next[index]}, right{get(y + column + index * quad)};
        const int later = column + (index + ahead) * quad;
        if (later + quad <= columns) next[index] = get(x + later);
#pragma unroll
        for (int element = 0; element < quad; ++element) extend(left.values[element], right.values[element]);
      }
    }
  }
#pragma unroll 4
  for (; column < columns; ++column) extend(__ldg(x + column), __ldg(y + column));
  return sum;
}

namespace byte_rows {

constexpr int sample_rows = 256;

/// The mean of some rows of each column. Launch shape: a block of sample_rows threads for each column.
template <class T>
__global__ void find_middle(const DeviceRows<T> rows, double* middle) {
  __shared__ double sums[sample_rows];
  const int column = static_cast<int>(blockIdx.x);
  const std::int64_t count = min(std::int64_t{sample_rows}, rows.count);
  const std::int64_t number = threadIdx.x;
  sums[threadIdx.x] = number < count ? static_cast<double>(value_at(rows, number * rows.count / count, column)) : 0.0;
  for (int half = sample_rows / 2; half > 0; half /= 2) {
    __syncthreads();  // the sums of before are there
    if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) middle[column] = sums[0] / static_cast<double>(count);
}

/// The largest |x - m|, as the bits of a double that is not negative. Launch shape: see cuda::visit_columns().
template <class T>
__global__ void find_magnitude(const DeviceRows<T> rows, const double* middle, Word* largest) {
  double most = 0;
  const auto visit = [&](std::int64_t, int column, T value) {
    const double magnitude = fabs(static_cast<double>(value) - middle[column]);
    // What is no number counts as infinite.
    if (!(magnitude <= most)) most = magnitude > most ? magnitude : std::numeric_limits<double>::infinity();
  };
  visit_columns(rows, visit, [](int) {});
  for (int lanes = 16; lanes > 0; lanes /= 2) most = fmax(most, __shfl_xor_sync(0xffffffffu, most, lanes));
  if (threadIdx.x % 32 == 0) atomicMax(largest, static_cast<Word>(__double_as_longlong(most)));
}

struct Output {
  signed char* bytes;
  float* scale;
  float* square;
  float* residue;
  float* reach;
};

/// Launch shape: `lanes` threads for each row, a power of two up to 32; the grid's stride over the rows.
template <class T>
__global__ void convert(const DeviceRows<T> rows, const double* middle, double unit, int lanes, const double* closest,
                        Output out) {
  constexpr unsigned int everyone = 0xffffffffu;
  const int stride = byte_stride(rows.columns);
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int lane = static_cast<int>(thread % lanes);
  // All lanes of a warp go round as often: they exchange what they found.
  const std::int64_t rounds = (rows.count * lanes + threads - 1) / threads;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t row = (round * threads + thread) / lanes;
    const bool is_row = row < rows.count;
    const auto value = [&](int column) {
      if (!is_row || column >= rows.columns) return 0.0;
      return (static_cast<double>(value_at(rows, row, column)) - middle[column]) * unit;
    };
    double largest = 0;
    for (int column = 4 * lane; column < stride; column += 4 * lanes)
      for (int next = 0; next < 4; ++next) largest = fmax(largest, fabs(value(column + next)));
    for (int distance = lanes / 2; distance > 0; distance /= 2)
      largest = fmax(largest, __shfl_xor_sync(everyone, largest, distance));
    const float scale = __double2float_ru(largest / 127);
    const double per_unit = scale > 0 ? 1 / static_cast<double>(scale) : 0.0;
    double rests = 0;
    long long squares = 0;
    for (int column = 4 * lane; column < stride; column += 4 * lanes) {
      signed char quad[4];
      for (int next = 0; next < 4; ++next) {
        const double exact = value(column + next);
        const int rounded = max(-127, min(127, __double2int_rn(exact * per_unit)));
        const double rest = exact - static_cast<double>(scale) * rounded;
        rests += rest * rest;
        squares += rounded * rounded;
        quad[next] = static_cast<signed char>(rounded);
      }
      if (is_row)
        *reinterpret_cast<char4*>(out.bytes + row * stride + column) = make_char4(quad[0], quad[1], quad[2], quad[3]);
    }
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      rests += __shfl_xor_sync(everyone, rests, distance);
      squares += __shfl_xor_sync(everyone, squares, distance);
    }
    if (!is_row || lane != 0) continue;
    const double wide = static_cast<double>(scale);
    const float residue = residue_of(rests, rows.columns);
    out.scale[row] = scale;
    out.square[row] = __double2float_rd(wide * wide * static_cast<double>(squares) * (1 - byte_margin));
    out.residue[row] = residue;
    out.reach[row] = __fadd_ru(__double2float_ru(sqrt(closest[row]) * unit * (1 + byte_margin)), residue);
  }
}

}  // namespace byte_rows

}  // namespace gradus::kmeans_detail
