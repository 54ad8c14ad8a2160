// Rows as FP16, shifted and scaled, with what the error bound asks for: the length of each row, and the length of what
// the rounding took away.
#pragma once

#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

#include "kmeans/tensor/job.cuh"

namespace gradus::kmeans_detail::tensor {

struct Conversion {
  const double* middle;
  double scale;  ///< a power of two
  int d;
  int stride;
};

/// One row by one warp. `sign`: -1 leaves its negative. The lengths are rounded up.
template <class T>
inline __device__ TensorLengths convert_row(const T* row, const Conversion& by, double sign, __half* halves) {
  double squares = 0;
  double rests = 0;
  for (int dim = static_cast<int>(threadIdx.x) % 32; dim < by.stride; dim += 32) {
    const double value = dim < by.d ? sign * (static_cast<double>(row[dim]) - by.middle[dim]) * by.scale : 0.0;
    const __half rounded = __double2half(value);
    const double rest = value - static_cast<double>(__half2float(rounded));
    halves[dim] = rounded;
    squares += value * value;
    rests += rest * rest;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    squares += __shfl_xor_sync(everyone, squares, lanes);
    rests += __shfl_xor_sync(everyone, rests, lanes);
  }
  return {__double2float_ru(sqrt(squares) * (1 + 0x1p-30)), __double2float_ru(sqrt(rests) * (1 + 0x1p-30))};
}

// Launch shape: a warp for each row, the grid's stride.
template <class T>
__global__ void convert_points(const T* points, std::int64_t n, Conversion by, __half* halves, TensorLengths* lengths) {
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / 32;
  for (std::int64_t point = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; point < n; point += warps) {
    const TensorLengths own = convert_row(points + point * by.d, by, 1.0, halves + point * by.stride);
    if (threadIdx.x % 32 == 0) lengths[point] = own;
  }
}

inline __device__ void raise(float* largest, float value) {
  // Floats that are not negative have the order of their bits.
  atomicMax(reinterpret_cast<int*>(largest), __float_as_int(value));
}

// Launch shape: a warp for each centroid, those that fill up the last tile included.
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
  const TensorLengths own = convert_row(centroid, by, -1.0, row);
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
