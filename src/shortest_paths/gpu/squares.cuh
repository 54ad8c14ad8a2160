// Transposes a matrix in squares, so that memory is read and written along its rows.
#pragma once

#include <cuda_runtime.h>

namespace gradus::shortest_paths_detail {

inline constexpr int square = 32;

/// Calls store(column, row, element(row, column)) for each element of a square of 32 x 32 elements, on 32 x 8 threads.
/// The threads of a warp read elements that are adjacent in a row, and store elements that are adjacent in a column.
template <class Value, class Element, class Store>
__device__ __forceinline__ void turn_square(const Element& element, const Store& store) {
  __shared__ Value values[square][square + 1];
  const int x = static_cast<int>(threadIdx.x);
  for (int y = static_cast<int>(threadIdx.y); y < square; y += 8) values[y][x] = element(y, x);
  __syncthreads();  // the square is loaded
  for (int y = static_cast<int>(threadIdx.y); y < square; y += 8) store(y, x, values[x][y]);
}

}  // namespace gradus::shortest_paths_detail
