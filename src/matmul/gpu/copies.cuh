// Copies portions of A and B to shared memory without passing through registers.
#pragma once

#include "cuda/async_copy.cuh"
#include "matmul/gpu/product.cuh"
#include "matmul/gpu/vectors.cuh"

namespace gradus::matmul_detail {

/// Flags of the operands: true if 16-byte loads and stores are possible.
struct Wide {
  bool b;
  bool c;
};

/// Issues the copies of one thread, which copies the same positions of every portion. Each stage of shared memory holds
/// one portion of A and one portion of B. The portion of A comes first, ordered by k: all rows for one k are
/// contiguous, and consecutive k are Shape::a_pitch apart. A is transposed during the copy, which requires element-wise
/// copies. The portion of B begins at Shape::a_elements, and its rows are Shape::b_pitch apart.
template <class T, class Shape>
class Copies {
 public:
  /// Starts at k = `first`. Instead of rows past the end of A, copies the last row again. The values of these rows do
  /// not matter, because the elements of C that they affect are not stored.
  __device__ Copies(const Product<T>& product, std::int64_t top, std::int64_t left, std::int64_t first,
                    const Wide& wide)
      : wide_(wide.b), b_stride_(product.b.row_stride), a_stride_(product.a.row_stride) {
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / Shape::portion;
    const std::int64_t last = product.m - 1 - top;  // index of the last row of A, relative to the tile's first row
    a_rows_ = static_cast<int>(max(std::int64_t{0}, min(last - row, std::int64_t{Shape::rows})));
    a_left_ = product.k - first - thread % Shape::portion;
    a_ = &product.a(top + min(std::int64_t{row}, last), first + thread % Shape::portion);
    a_to_ = thread % Shape::portion * Shape::a_pitch + row;
    const int inner = thread / b_in_a_row;
    const std::int64_t column = left + thread % b_in_a_row * vector;
    b_there_ = static_cast<int>(max(std::int64_t{0}, min(std::int64_t{vector}, product.n - column)));
    b_left_ = product.k - first - inner;
    b_ = product.b.data + (b_there_ > 0 ? (first + inner) * b_stride_ + column : 0);
    b_to_ = Shape::a_elements + inner * Shape::b_pitch + thread % b_in_a_row * vector;
  }

  __device__ __forceinline__ void order(T* stage) {
#pragma unroll
    for (int turn = 0; turn < Shape::rows * Shape::portion / Shape::threads; ++turn) {
      constexpr int rows_at_once = Shape::threads / Shape::portion;
      T* const to = stage + a_to_ + turn * rows_at_once;
      if (a_left_ > 0) cuda::copy_or_zero<sizeof(T)>(to, a_ + min(turn * rows_at_once, a_rows_) * a_stride_, sizeof(T));
      else *to = T(-0.0);
    }
#pragma unroll
    for (int turn = 0; turn < Shape::portion * Shape::columns / vector / Shape::threads; ++turn) {
      constexpr int inner_at_once = Shape::threads / b_in_a_row;
      T* const to = stage + b_to_ + turn * inner_at_once * Shape::b_pitch;
      const int there = turn * inner_at_once < b_left_ ? b_there_ : 0;
      const T* const from = there > 0 ? b_ + turn * inner_at_once * b_stride_ : b_;
      if (wide_) {
        cuda::copy_or_zero<16>(to, from, there * int{sizeof(T)});
        continue;
      }
#pragma unroll
      for (int index = 0; index < vector; ++index)
        if (index < there) cuda::copy_or_zero<sizeof(T)>(to + index, from + index, sizeof(T));
        else to[index] = T(0);
    }
    a_ += Shape::portion;
    a_left_ -= Shape::portion;
    if (b_there_ > 0) b_ += Shape::portion * b_stride_;
    b_left_ -= Shape::portion;
  }

 private:
  static constexpr int vector = Shape::vector;
  static constexpr int b_in_a_row = Shape::columns / vector;
  static_assert(Shape::threads % Shape::portion == 0 && Shape::rows * Shape::portion % Shape::threads == 0);
  static_assert(Shape::threads % b_in_a_row == 0 && Shape::portion * b_in_a_row % Shape::threads == 0);

  bool wide_;
  const T* a_;
  const T* b_;
  std::int64_t b_stride_;
  std::int64_t a_stride_;
  std::int64_t a_left_;  ///< number of values of k from the thread's element to the end of the product
  std::int64_t b_left_;
  int a_rows_;   ///< number of rows of A after the thread's first row
  int b_there_;  ///< number of elements of the thread's vector that are inside B
  int a_to_;
  int b_to_;
};

}  // namespace gradus::matmul_detail
