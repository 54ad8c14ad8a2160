// The distances of 256 rows of points to some other rows, by a block, and sums over the block: what the look at points
// and the choice of first centroids share on a GPU.
//
// A block works on the blocks of RowSums (row_sums.hpp). It brings a tile of their columns to shared memory, side by
// side as they lie, and each thread then walks along its own row, so that the chain of each distance has the canonical
// order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/rows.cuh"
#include "kmeans/cuda_exact_sums.hpp"
#include "kmeans/row_sums.hpp"

namespace gradus::kmeans_detail {

using cuda::DeviceRows;

inline constexpr int block_rows = static_cast<int>(RowSums::block_rows);
inline constexpr int direct_columns = 8;  // rows so short that a warp's reads of its own rows use whole lines

/// sums[g] = D(row, the row of `others` with number which[g], or g) for g < count <= Group.
template <class T, int Group>
__device__ void squared_distances_of_row(const DeviceRows<T>& rows, std::int64_t row, const DeviceRows<T>& others,
                                         const std::int64_t* which, int count, double (&sums)[Group]) {
  for (int column = 0; column < rows.columns; ++column) {
    const auto value = static_cast<double>(value_at(rows, row, column));
#pragma unroll
    for (int g = 0; g < Group; ++g) {
      if (g >= count) break;
      const double difference = value - static_cast<double>(value_at(others, which ? which[g] : g, column));
      sums[g] = fma(difference, difference, sums[g]);
    }
  }
}

/// sums[g] = D(row `first` + thread, the row of `others` with number which[g], or g) for g < count <= Group.
/// Launch shape: blocks of block_rows threads, of which all take part.
template <class T, int Group>
__device__ void squared_distances_of_block(const DeviceRows<T>& rows, std::int64_t first, const DeviceRows<T>& others,
                                           const std::int64_t* which, int count, double (&sums)[Group]) {
  constexpr int width = 128 / static_cast<int>(sizeof(T));
  __shared__ T tile[block_rows * (width + 1)];  // the odd width keeps the rows of a warp on different banks
  __shared__ double other[Group * width];
  const int thread = static_cast<int>(threadIdx.x);
  const int rows_here = static_cast<int>(min(std::int64_t{block_rows}, rows.count - first));
  for (int g = 0; g < Group; ++g) sums[g] = 0;
  if (rows.columns <= direct_columns) {
    if (thread < rows_here) squared_distances_of_row(rows, first + thread, others, which, count, sums);
    return;
  }
  for (int dim = 0; dim < rows.columns; dim += width) {
    const int columns = min(width, rows.columns - dim);
    __syncthreads();  // all have read the tile before
    for (int index = thread; index < rows_here * columns; index += block_rows) {
      const int row = index / columns;
      tile[row * (width + 1) + (index - row * columns)] = value_at(rows, first + row, dim + index - row * columns);
    }
    for (int index = thread; index < Group * columns; index += block_rows) {
      const int g = index / columns;
      const int column = index - g * columns;
      other[g * width + column] =
          g < count ? static_cast<double>(value_at(others, which ? which[g] : g, dim + column)) : 0.0;
    }
    __syncthreads();  // the tile is complete
    if (thread >= rows_here) continue;
    for (int column = 0; column < columns; ++column) {
      const double value = static_cast<double>(tile[thread * (width + 1) + column]);
#pragma unroll
      for (int g = 0; g < Group; ++g) {
        const double difference = value - other[g * width + column];
        sums[g] = fma(difference, difference, sums[g]);
      }
    }
  }
}

/// The sum over the block, in thread 0.
__device__ inline Word block_total(Word value) {
  __shared__ Word parts[block_rows / 32];
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(0xffffffffu, value, lanes);
  __syncthreads();  // the parts of a call before have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();  // every warp's part is there
  Word sum = 0;
  if (threadIdx.x == 0)
    for (const Word part : parts) sum += part;
  return sum;
}

}  // namespace gradus::kmeans_detail
