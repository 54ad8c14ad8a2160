// For kernels that read a matrix in GPU memory: access to single elements, and a loop that visits all elements column
// by column.
#pragma once

#include <cstdint>

namespace gradus::cuda {

template <class T>
struct DeviceRows {
  const T* data;
  std::int64_t count;
  std::int64_t stride;
  int columns;
};

template <class T>
__device__ T value_at(const DeviceRows<T>& rows, std::int64_t row, int column) {
  return rows.data[row * rows.stride + column];
}

/// Each thread visits its values column by column. It calls visit(row, column, value) for each value, and flush(column)
/// after its last value of a column. Launch shape: blocks of 256 threads, grid-stride loop over the rows.
template <class T, class Visit, class Flush>
__device__ void visit_columns(const DeviceRows<T>& rows, const Visit& visit, const Flush& flush) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int at_once = max(1, threads / rows.columns);  // neighbouring threads read neighbouring elements
  const int offset = thread / rows.columns;
  for (int column = thread - offset * rows.columns; column < rows.columns && offset < at_once; column += threads) {
    for (std::int64_t row = std::int64_t{blockIdx.x} * at_once + offset; row < rows.count;
         row += std::int64_t{gridDim.x} * at_once)
      visit(row, column, value_at(rows, row, column));
    flush(column);
  }
}

}  // namespace gradus::cuda
