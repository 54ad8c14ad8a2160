// Stores shifted and scaled rows as FP16. Also stores the lengths of the rows and of their rounding errors, for the
// error bound.
#pragma once

#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

#include "kmeans/assign/job.cuh"

namespace gradus::kmeans_detail::tensor {

struct Conversion {
  const double* middle;
  double scale;  ///< a power of two
  int d;
  int stride;
};

/// Converts one row with `lanes` adjacent lanes of a warp. If `sign` is -1, stores the negated row. Rounds lengths up.
/// All lanes of the warp must take part. Lanes without a row pass any row and `is_wanted` = false.
template <int lanes, class T>
inline __device__ TensorLengths convert_row(const T* row, const Conversion& by, double sign, bool is_wanted,
                                            __half* halves) {
  constexpr int quad = 4;
  double squares = 0;
  double rests = 0;
  for (int first = static_cast<int>(threadIdx.x) % lanes * quad; first < by.stride; first += lanes * quad) {
    T own[quad] = {};
    if (by.d % quad == 0) {  // each row starts at a multiple of 16 bytes
      struct alignas(16) Part {
        T values[16 / sizeof(T)];
      };
      constexpr int count = 16 / static_cast<int>(sizeof(T));
      if (first < by.d)
#pragma unroll
        for (int part = 0; part < quad / count; ++part) {
          const Part values = reinterpret_cast<const Part*>(row + first)[part];
#pragma unroll
          for (int index = 0; index < count; ++index) own[part * count + index] = values.values[index];
        }
    } else {
#pragma unroll
      for (int index = 0; index < quad; ++index)
        if (first + index < by.d) own[index] = row[first + index];
    }
    struct alignas(8) Halves {
      __half values[quad];
    } rounded;
#pragma unroll
    for (int index = 0; index < quad; ++index) {
      const int dim = first + index;
      const double value = dim < by.d ? sign * (static_cast<double>(own[index]) - by.middle[dim]) * by.scale : 0.0;
      // Rounding to float and then to FP16 is faster than rounding directly to FP16. The error of both roundings is
      // measured below.
      rounded.values[index] = __float2half_rn(static_cast<float>(value));
      const double rest = value - static_cast<double>(__half2float(rounded.values[index]));
      squares += value * value;
      rests += rest * rest;
    }
    if (is_wanted) *reinterpret_cast<Halves*>(halves + first) = rounded;
  }
#pragma unroll
  for (int other = lanes / 2; other > 0; other /= 2) {
    squares += __shfl_xor_sync(everyone, squares, other);
    rests += __shfl_xor_sync(everyone, rests, other);
  }
  return {__double2float_ru(sqrt(squares) * (1 + 0x1p-30)), __double2float_ru(sqrt(rests) * (1 + 0x1p-30))};
}

// Converts the points. Row i of the result is the point slots[i], or point i if `slots` is null. Launch: `lanes` lanes
// per row, grid-stride loop.
template <int lanes, class T>
__global__ void convert_points(const T* points, std::int64_t n, const std::int32_t* slots, Conversion by,
                               __half* halves, TensorLengths* lengths) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x / lanes;
  const std::int64_t own = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes;
  const std::int64_t rounds = (n + stride - 1) / stride;
  const auto point_of = [&](std::int64_t slot) -> std::int64_t { return slot >= n ? 0 : slots ? slots[slot] : slot; };
  std::int64_t next = point_of(own);
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t slot = own + round * stride;
    const std::int64_t point = next;
    next = point_of(slot + stride);  // the next point is loaded while this point is converted
    const TensorLengths both = convert_row<lanes>(points + point * by.d, by, 1.0, slot < n, halves + slot * by.stride);
    if (threadIdx.x % lanes == 0 && slot < n) lengths[slot] = both;
  }
}

// Sets slots[i] = i. Launch: a grid-stride loop.
static __global__ void name_slots(std::int32_t* slots, std::int64_t n) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t slot = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; slot < n; slot += stride)
    slots[slot] = static_cast<std::int32_t>(slot);
}

// Writes place_of[slots[i]] = i. Launch: a grid-stride loop.
static __global__ void invert_slots(const std::int32_t* slots, std::int64_t n, std::int32_t* place_of) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t slot = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; slot < n; slot += stride)
    place_of[slots[slot]] = static_cast<std::int32_t>(slot);
}

// Copies converted rows in a new order. Row i receives the row of the point slots[i], which is row place_of[slots[i]]
// of `from`. Launch: a grid-stride loop over units of 16 bytes.
static __global__ void reorder_rows(const __half* from, const TensorLengths* from_lengths, int row_elements,
                                    std::int64_t n, const std::int32_t* slots, const std::int32_t* place_of, __half* to,
                                    TensorLengths* to_lengths) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t units = row_elements / 8;
  for (std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; index < n * units; index += stride) {
    const std::int64_t slot = index / units;
    const std::int64_t unit = index % units;
    const std::int64_t old = place_of[slots[slot]];
    reinterpret_cast<uint4*>(to)[index] = reinterpret_cast<const uint4*>(from)[old * units + unit];
    if (unit == 0) to_lengths[slot] = from_lengths[old];
  }
}

// Copies the listed rows of a block from pinned host memory, or widens them. A row keeps its number. Launch: a warp per
// row, a grid-stride loop.
template <class T>
__global__ void bring_rows(const cuda::DeviceRows<T> from, const std::int32_t* rows, const unsigned int* count, T* to) {
  const unsigned int warps = gridDim.x * blockDim.x / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned int all = *count;
  for (unsigned int index = (blockIdx.x * blockDim.x + threadIdx.x) / 32; index < all; index += warps) {
    const std::int64_t row = rows[index];
#pragma unroll 4
    for (int dim = lane; dim < from.columns; dim += 32) to[row * from.columns + dim] = value_at(from, row, dim);
  }
}

inline __device__ void raise(float* largest, float value) {
  // Non-negative floats have the same order as the integers with the same bits, so the integers are compared.
  atomicMax(reinterpret_cast<int*>(largest), __float_as_int(value));
}

// Converts the centroids and negates them.
// Launch: one warp per centroid, including the padding of the last tile.
template <class T>
__global__ void convert_centroids(const T* centroids, int k, int padded, Conversion by, __half* halves,
                                  float* half_squares, TensorLengths* lengths, TensorLengths* largest) {
  const int cluster = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (cluster >= padded) return;
  __half* row = halves + static_cast<std::int64_t>(cluster) * by.stride;
  if (cluster >= k) {
    for (int dim = lane; dim < by.stride; dim += 32) row[dim] = __float2half(0.0f);
    if (lane == 0) half_squares[cluster] = tensor_nowhere;
    return;
  }
  const T* centroid = centroids + static_cast<std::int64_t>(cluster) * by.d;
  const TensorLengths own = convert_row<32>(centroid, by, -1.0, true, row);
  double squares = 0;
  for (int dim = lane; dim < by.d; dim += 32) {
    const double value = (static_cast<double>(centroid[dim]) - by.middle[dim]) * by.scale;
    squares += value * value;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) squares += __shfl_xor_sync(everyone, squares, lanes);
  if (lane != 0) return;
  half_squares[cluster] = static_cast<float>(0.5 * squares);
  lengths[cluster] = own;
  raise(&largest->length, own.length);
  raise(&largest->residue, own.residue);
}

}  // namespace gradus::kmeans_detail::tensor
