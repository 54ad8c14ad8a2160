// Portions of A and B on their way to shared memory, past the registers.
#pragma once

#include "cuda/async_copy.cuh"
#include "matmul/gpu/product.cuh"
#include "matmul/gpu/vectors.cuh"

namespace gradus::matmul_detail {

/// Which vectors of 16 bytes may be loaded and stored.
struct Wide {
  bool a;
  bool b;
  bool c;
};

/// The copies of a thread: the same vectors of every portion. A stage holds a portion of A, rows Shape::a_pitch
/// elements apart, and behind it, from Shape::a_elements on, one of B, rows Shape::b_pitch apart.
template <class T, class Shape>
class Copies {
 public:
  __device__ Copies(const Product<T>& product, std::int64_t top, std::int64_t left, const Wide& wide)
      : product_(product), top_(top), left_(left), wide_(wide), thread_(static_cast<int>(threadIdx.x)) {}

  /// Puts those of the portion that begins at `first` into `stage`. Rows beyond the last one of A are copies of it,
  /// and the elements of C that come from them are not stored.
  __device__ __forceinline__ void order(std::int64_t first, T* stage) const {
    const bool whole = first + Shape::portion <= product_.k;
#pragma unroll
    for (int turn = 0; turn < Shape::rows * Shape::portion / vector / Shape::threads; ++turn) {
      constexpr int in_a_row = Shape::portion / vector;
      const int index = turn * Shape::threads + thread_;
      const int row = index / in_a_row;
      const int inner = index % in_a_row * vector;
      T* const to = stage + row * Shape::a_pitch + inner;
      const T* const from = &product_.a(min(top_ + row, product_.m - 1), first + inner);
      if (whole && wide_.a) cuda::copy_16_bytes(to, from);
      else copy_elements(to, from, min(std::int64_t{vector}, product_.k - first - inner), T(-0.0));
    }
#pragma unroll
    for (int turn = 0; turn < Shape::portion * Shape::columns / vector / Shape::threads; ++turn) {
      constexpr int in_a_row = Shape::columns / vector;
      const int index = turn * Shape::threads + thread_;
      const int inner = index / in_a_row;
      const std::int64_t column = left_ + index % in_a_row * vector;
      T* const to = stage + Shape::a_elements + inner * Shape::b_pitch + index % in_a_row * vector;
      const std::int64_t there = first + inner < product_.k ? min(std::int64_t{vector}, product_.n - column) : 0;
      const T* const from = there > 0 ? &product_.b(first + inner, column) : product_.b.data;
      if (wide_.b) cuda::copy_or_zero<16>(to, from, there > 0 ? static_cast<int>(there) * int{sizeof(T)} : 0);
      else copy_elements(to, from, there, T(0));
    }
  }

 private:
  static constexpr int vector = Shape::vector;

  /// A vector, element by element, of which `there` are within the matrix; the others become `beyond`, which is there
  /// after the barrier as copies are.
  __device__ __forceinline__ static void copy_elements(T* to, const T* from, std::int64_t there, T beyond) {
#pragma unroll
    for (int index = 0; index < vector; ++index)
      if (index < there) cuda::copy_or_zero<sizeof(T)>(to + index, from + index, sizeof(T));
      else to[index] = beyond;
  }

  const Product<T>& product_;
  std::int64_t top_;
  std::int64_t left_;
  Wide wide_;
  int thread_;
};

}  // namespace gradus::matmul_detail
