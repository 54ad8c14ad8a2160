// Device functions for a thread block: distances of 256 rows of points to other rows, and sums over the block. Two
// parts of a GPU job use these functions: the statistics of points, and the choice of initial centroids.
//
// A thread block processes the row blocks of RowSums (row_sums.hpp). Each thread loops over one row, so each distance
// is added up in the canonical order. Short rows are read directly, long rows through a tile of columns in shared
// memory.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "cuda/rows.cuh"
#include "kmeans/means/cuda_exact_sums.hpp"
#include "kmeans/means/row_sums.hpp"

namespace gradus::kmeans_detail {

using cuda::DeviceRows;

inline constexpr int block_rows = static_cast<int>(RowSums::block_rows);
inline constexpr int short_columns = 8;  // rows with at most this number of columns are read directly
inline constexpr int most_others = 64;

/// The rows to which distances are computed. `Group` of these rows are processed at a time. All threads of a block must
/// construct the object together, once per kernel.
template <class T, int Group>
class OtherRows {
 public:
  /// If `which` is null, uses the first `count` rows of `others`. Otherwise uses the rows with the numbers which[0], …,
  /// which[count - 1]. `count` must be at most most_others.
  __device__ OtherRows(const DeviceRows<T>& others, const std::int64_t* which, int count)
      : others_(others), which_(which), count_(count) {
    if (!are_short()) return;
    Shared& near = shared();  // shared memory keeps these rows for all blocks of points
    const int padded = (count + Group - 1) / Group * Group;
    for (int index = static_cast<int>(threadIdx.x); index < padded * others.columns; index += block_rows)
      near.others[index] = value_of(index / others.columns, index % others.columns);
    __syncthreads();  // all threads have written their rows
  }

  /// Sets distances[g] to the squared distance between the row `first` + thread and the other row `part` + g, if both
  /// rows exist.
  __device__ void find(const DeviceRows<T>& rows, std::int64_t first, int part, double (&distances)[Group]) const {
#pragma unroll
    for (int g = 0; g < Group; ++g) distances[g] = 0;
    const int thread = static_cast<int>(threadIdx.x);
    const int rows_here = static_cast<int>(min(std::int64_t{block_rows}, rows.count - first));
    if (!are_short()) return find_by_tiles(rows, first, rows_here, part, distances);
    if (thread >= rows_here) return;
    const double* const near = shared().others + part * rows.columns;
    for (int column = 0; column < rows.columns; ++column) {
      const auto value = static_cast<double>(value_at(rows, first + thread, column));
#pragma unroll
      for (int g = 0; g < Group; ++g) extend(distances[g], value - near[g * rows.columns + column]);
    }
  }

 private:
  static constexpr int width = 128 / static_cast<int>(sizeof(T));  // number of columns of a tile

  struct Shared {
    T tile[block_rows * (width + 1)];  // the odd width puts the rows of a warp in different banks
    double others[std::max(Group * width, most_others* short_columns)];
  };
  __device__ static Shared& shared() {
    __shared__ Shared memory;
    return memory;
  }

  __device__ bool are_short() const { return others_.columns <= short_columns; }
  __device__ double value_of(int other, int column) const {
    if (other >= count_) return 0;
    return static_cast<double>(value_at(others_, which_ ? which_[other] : other, column));
  }
  __device__ static void extend(double& chain, double difference) { chain = fma(difference, difference, chain); }

  __device__ void find_by_tiles(const DeviceRows<T>& rows, std::int64_t first, int rows_here, int part,
                                double (&distances)[Group]) const {
    Shared& near = shared();
    const int thread = static_cast<int>(threadIdx.x);
    for (int dim = 0; dim < rows.columns; dim += width) {
      const int columns = min(width, rows.columns - dim);
      __syncthreads();  // all threads have read the previous tile
      for (int index = thread; index < rows_here * columns; index += block_rows) {
        const int row = index / columns;
        const int column = index - row * columns;
        near.tile[row * (width + 1) + column] = value_at(rows, first + row, dim + column);
      }
      for (int index = thread; index < Group * columns; index += block_rows) {
        const int g = index / columns;
        const int column = index - g * columns;
        near.others[g * width + column] = value_of(part + g, dim + column);
      }
      __syncthreads();  // the tile is complete
      if (thread >= rows_here) continue;
      for (int column = 0; column < columns; ++column) {
        const auto value = static_cast<double>(near.tile[thread * (width + 1) + column]);
#pragma unroll
        for (int g = 0; g < Group; ++g) extend(distances[g], value - near.others[g * width + column]);
      }
    }
  }

  const DeviceRows<T>& others_;
  const std::int64_t* which_;
  int count_;
};

/// Returns the sum of all threads' values to thread 0. The result is valid only in this thread.
__device__ inline Word block_total(Word value) {
  __shared__ Word parts[block_rows / 32];
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(0xffffffffu, value, lanes);
  __syncthreads();  // all parts of the previous call have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();  // every warp has written its part
  Word sum = 0;
  if (threadIdx.x == 0)
    for (const Word part : parts) sum += part;
  return sum;
}

}  // namespace gradus::kmeans_detail
