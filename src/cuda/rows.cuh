// For kernels that read a matrix in GPU memory: access to single elements, and a loop that visits all elements column
// by column.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "gradus/stored_matrix.hpp"

namespace gradus::cuda {

/// Rows of elements of type T, or of a StoredType. Kernels widen stored elements to float where they read them.
template <class T>
struct DeviceRows {
  const T* data;  ///< null if the rows are stored
  std::int64_t count;
  std::int64_t stride;
  int columns;
  const unsigned char* stored = nullptr;  ///< the first element of stored rows, otherwise null
  StoredType type = StoredType::u8;       ///< type of the elements of stored rows

  __host__ __device__ bool are_stored() const {
    if constexpr (sizeof(T) == sizeof(float)) return stored != nullptr;
    else return false;
  }
  DeviceRows slice(std::int64_t first, std::int64_t number) const {
    if (are_stored()) return {nullptr, number, stride, columns, stored + first * stride * bytes_of(type), type};
    return {data + first * stride, number, stride, columns};
  }
};

/// Converts the stored element with this index to float.
__device__ inline float widened(const unsigned char* stored, StoredType type, std::int64_t index) {
  if (type == StoredType::u8) return stored[index];
  if (type == StoredType::i8) return static_cast<float>(reinterpret_cast<const signed char*>(stored)[index]);
  const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(stored)[index];
  if (type == StoredType::f16) return __half2float(__ushort_as_half(bits));
  return __uint_as_float(std::uint32_t{bits} << 16);
}

template <class T>
__device__ T value_at(const DeviceRows<T>& rows, std::int64_t row, int column) {
  const std::int64_t index = row * rows.stride + column;
  if (rows.are_stored()) return static_cast<T>(widened(rows.stored, rows.type, index));
  return rows.data[index];
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
