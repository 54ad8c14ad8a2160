// Loads and stores of 16 bytes of contiguous elements per instruction.
#pragma once

#include "matmul/gpu/product.cuh"

namespace gradus::matmul_detail {

template <class T>
constexpr int vector_length = 16 / static_cast<int>(sizeof(T));

template <class T>
struct alignas(16) Vector {
  T at[vector_length<T>];
};

/// Returns true if 16-byte loads and stores are possible in every row, at every column that is a multiple of
/// vector_length.
template <class T>
GRADUS_HOST_DEVICE bool has_vectors(const Operand<T>& operand) {
  constexpr std::int64_t length = vector_length<T>;
  return reinterpret_cast<std::uintptr_t>(operand.data) % 16 == 0 && operand.row_stride % length == 0 &&
         operand.batch_stride % length == 0;
}

/// Returns true if each pair of adjacent elements that begins at an even column can be loaded or stored by one
/// instruction.
template <class T>
bool has_pairs(const Operand<T>& operand) {
  return reinterpret_cast<std::uintptr_t>(operand.data) % (2 * sizeof(T)) == 0 && operand.row_stride % 2 == 0 &&
         operand.batch_stride % 2 == 0;
}

template <class T>
__device__ __forceinline__ Vector<T> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T>*>(from);
}
template <class T>
__device__ __forceinline__ void store_vector(T* to, const Vector<T>& vector) {
  *reinterpret_cast<Vector<T>*>(to) = vector;
}

/// Loads elements of A that are adjacent along k. Past the borders, the values change no sum. `wide` is the result of
/// has_vectors().
template <class T>
__device__ __forceinline__ Vector<T> load_along_a(const Product<T>& product, std::int64_t row, std::int64_t inner,
                                                  bool wide) {
  if (wide && row < product.m && inner + vector_length<T> <= product.k) return load_vector(&product.a(row, inner));
  Vector<T> vector;
#pragma unroll
  for (int index = 0; index < vector_length<T>; ++index) vector.at[index] = product.load_a(row, inner + index);
  return vector;
}
/// Loads adjacent elements of a row of B. Past the borders, the values change no sum. `wide` is the result of
/// has_vectors().
template <class T>
__device__ __forceinline__ Vector<T> load_along_b(const Product<T>& product, std::int64_t inner, std::int64_t column,
                                                  bool wide) {
  if (wide && inner < product.k && column + vector_length<T> <= product.n)
    return load_vector(&product.b(inner, column));
  Vector<T> vector;
#pragma unroll
  for (int index = 0; index < vector_length<T>; ++index) vector.at[index] = product.load_b(inner, column + index);
  return vector;
}

template <class T>
__device__ __forceinline__ void finish_along_row(const Product<T>& product, std::int64_t row, std::int64_t column,
                                                 Vector<T> totals, bool wide) {
  if (wide && product.beta == 0 && row < product.m && column + vector_length<T> <= product.n) {
#pragma unroll
    for (int index = 0; index < vector_length<T>; ++index) product.finish(totals.at[index], totals.at[index]);
    store_vector(&product.c(row, column), totals);
    return;
  }
#pragma unroll
  for (int index = 0; index < vector_length<T>; ++index) product.finish(row, column + index, totals.at[index]);
}

}  // namespace gradus::matmul_detail
