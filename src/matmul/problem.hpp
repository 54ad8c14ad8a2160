// The problem that every variant of matrix multiplication solves, its shape, and the type of the table's rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/host_device.hpp"
#include "core/ladder.hpp"
#include "execution/machine.hpp"
#include "gradus/matmul.hpp"

namespace gradus::cuda {
class Job;
}

namespace gradus::matmul_detail {

/// The number of terms in one chain of the canonical result.
inline constexpr std::int64_t block_depth = 256;

/// The sizes that determine the choice of a variant and the estimates of work and memory.
struct Shape {
  std::int64_t batches = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int element_bytes = 4;
  MatmulAccuracy accuracy = MatmulAccuracy::strict;  ///< the accuracy that the caller requested
  /// True if partial sums cannot be stored in C, because the old elements of C are needed, or because C is contiguous
  /// along neither axis.
  bool totals = false;
  core::Memory bring = {};  ///< memory that a GPU job needs to bring the matrices into the variants' layout

  /// Returns the number of fused multiply-adds.
  double operations() const {
    return static_cast<double>(batches) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

/// An operand's address and strides, in elements.
template <class T>
struct Operand {
  T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;

  GRADUS_HOST_DEVICE T& operator()(std::int64_t row, std::int64_t column) const {
    return data[row * row_stride + column * column_stride];
  }
  GRADUS_HOST_DEVICE Operand at(std::int64_t batch) const {
    return {data + batch * batch_stride, row_stride, column_stride, 0};
  }
  Operand transposed() const { return {data, column_stride, row_stride, batch_stride}; }
};

/// C = alpha A B + beta C for each product of the batch. m, n, k and batches are positive, and alpha is not 0.
template <class T>
struct Problem {
  std::int64_t batches = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Operand<const T> a;  ///< m x k
  Operand<const T> b;  ///< k x n
  Operand<T> c;        ///< m x n
  T alpha = 1;
  T beta = 0;
  /// The job on whose GPU all three matrices reside, or null if they are in host memory. Variants with
  /// Variant::device_input accept matrices on a GPU. The rows of these matrices are contiguous (column_stride 1) and do
  /// not overlap (row_stride >= row length).
  cuda::Job* gpu = nullptr;
  std::stop_token stop;  ///< the job's stop token; core/stop.hpp explains how to poll it

  Shape shape() const {
    return {.batches = batches,
            .m = m,
            .n = n,
            .k = k,
            .element_bytes = sizeof(T),
            .totals = beta != 0 || (c.row_stride != 1 && c.column_stride != 1)};
  }
  Problem at(std::int64_t batch) const {
    Problem one = *this;
    one.batches = 1;
    one.a = a.at(batch);
    one.b = b.at(batch);
    one.c = c.at(batch);
    return one;
  }
  /// Returns the transposed problem, (A B)' = B' A', which adds the same products in the same order.
  Problem transposed() const {
    Problem other = *this;
    std::swap(other.m, other.n);
    other.a = b.transposed();
    other.b = a.transposed();
    other.c = c.transposed();
    return other;
  }
};

/// Returns the problem that the views describe. Their sizes must match.
template <class T>
Problem<T> problem_of(MatmulView<const T> a, MatmulView<const T> b, MatmulView<T> c, double alpha, double beta) {
  const auto operand = [](auto view) {
    return Operand<std::remove_reference_t<decltype(*view.data())>>{
        view.data(), view.row_stride(), view.column_stride(), view.batches() == 1 ? 0 : view.batch_stride()};
  };
  Problem<T> problem;
  problem.batches = c.batches();
  problem.m = c.rows();
  problem.n = c.columns();
  problem.k = a.columns();
  problem.a = operand(a);
  problem.b = operand(b);
  problem.c = operand(c);
  problem.alpha = static_cast<T>(alpha);
  problem.beta = static_cast<T>(beta);
  return problem;
}

/// The empty result of a run: variants write into Problem::c.
struct Done {};

/// Returns the final element of C. `total` is the sum of the element's products, and `before` is the element's old
/// value.
template <class T>
GRADUS_HOST_DEVICE T finished(T total, T alpha, T beta, T before) {
  const T product = alpha * total;
  const T value = beta == 0 ? product : std::fma(beta, before, product);
  // NOLINTNEXTLINE(misc-redundant-expression): false for NaN
  return value == value ? value : std::numeric_limits<T>::quiet_NaN();
}

/// Returns beta C, which is the result if there are no products to add.
template <class T>
GRADUS_HOST_DEVICE T scaled(T beta, T before) {
  const T value = beta == 0 ? T{0} : beta * before;
  // NOLINTNEXTLINE(misc-redundant-expression): false for NaN
  return value == value ? value : std::numeric_limits<T>::quiet_NaN();
}

/// The unit roundoff: half the distance from 1 to the next number of type T.
template <class T>
constexpr double unit_roundoff = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;

/// The unit roundoff, rounded up to two digits for use in tables.
template <class T>
constexpr double rounded_unit = sizeof(T) == sizeof(float) ? 6e-8 : 1.2e-16;

/// Returns g / (1 - g) with g = roundings * unit, or infinity if g >= 1.
inline double error_of(double roundings, double unit) {
  const double g = roundings * unit;
  return g < 1 ? g / (1 - g) : std::numeric_limits<double>::infinity();
}

/// Returns the error bound of a sum of k products, added in any order. Every product and every addition is rounded.
template <class T>
double textbook_bound(std::int64_t depth) {
  return error_of(static_cast<double>(depth) + 2, unit_roundoff<T>);
}

/// The types that core/ladder.hpp needs from this problem.
struct Room {
  static constexpr std::string_view name = "matmul";
  using Shape = matmul_detail::Shape;
  using Elements = core::Elements<float, double>;
  template <class T>
  using Problem = matmul_detail::Problem<T>;
  template <class>
  using Result = Done;
  /// The facts that a row of the variant table states for this problem, in addition to the common ones.
  struct RowFacts {
    MatmulAccuracy accuracy = MatmulAccuracy::strict;
  };
};
using Variant = core::Variant<Room>;

/// The contract of variants that add the products in the order of k and round every product and every sum.
inline constexpr core::Contract textbook{
    .kind = core::Contract::within, .bound = rounded_unit<float>, .of = "k |A| |B|"};

}  // namespace gradus::matmul_detail
