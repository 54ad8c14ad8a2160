// What all variants of matrix multiplication share: the problem they are given, its shape, and the row of the table.
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

/// Terms of a chain of the canonical result.
inline constexpr std::int64_t block_depth = 256;

/// The sizes on which the choice of a variant and the estimates of work and memory depend.
struct Shape {
  std::int64_t batches = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int element_bytes = 4;
  MatmulAccuracy accuracy = MatmulAccuracy::strict;  ///< wanted
  bool totals = false;  ///< sums on their way need memory of their own, for C is still read or does not lie in lines
  core::Memory bring = {};  ///< what a job on a GPU takes to have the matrices there as variants take them

  /// Fused multiplications and additions.
  double operations() const {
    return static_cast<double>(batches) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

/// Where an operand of a problem lies.
template <class T>
struct Operand {
  T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;

  GRADUS_HOST_DEVICE T& operator()(std::int64_t row, std::int64_t column) const {
    return data[row * row_stride + column * column_stride];
  }
  /// That of one matrix of the batch.
  GRADUS_HOST_DEVICE Operand at(std::int64_t batch) const {
    return {data + batch * batch_stride, row_stride, column_stride, 0};
  }
  Operand transposed() const { return {data, column_stride, row_stride, batch_stride}; }
};

/// C = alpha A B + beta C for each of the batch, m, n, k and the number of them all above 0, alpha not 0.
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
  /// For a variant that takes GPU memory (Variant::device_input): the job on whose GPU all three lie, with elements
  /// side by side in rows (column_stride 1) and one row behind the other (row_stride at least the length of a row).
  /// Null for the others, whose matrices are in host memory.
  cuda::Job* gpu = nullptr;
  std::stop_token stop;  ///< the job's; see core/stop.hpp for how to look at it

  Shape shape() const {
    return {.batches = batches,
            .m = m,
            .n = n,
            .k = k,
            .element_bytes = sizeof(T),
            .totals = beta != 0 || (c.row_stride != 1 && c.column_stride != 1)};
  }
  /// One of the batch.
  Problem at(std::int64_t batch) const {
    Problem one = *this;
    one.batches = 1;
    one.a = a.at(batch);
    one.b = b.at(batch);
    one.c = c.at(batch);
    return one;
  }
  /// (A B)' = B' A': the same products and sums.
  Problem transposed() const {
    Problem other = *this;
    std::swap(other.m, other.n);
    other.a = b.transposed();
    other.b = a.transposed();
    other.c = c.transposed();
    return other;
  }
};

/// That of views which fit each other.
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

/// Variants write into Problem::c, and have nothing else to say.
struct Done {};

/// The end of an element's computation: `total` is the sum of all its products, `before` what stood there.
template <class T>
GRADUS_HOST_DEVICE T finished(T total, T alpha, T beta, T before) {
  const T product = alpha * total;
  const T value = beta == 0 ? product : std::fma(beta, before, product);
  // NOLINTNEXTLINE(misc-redundant-expression): false for NaN
  return value == value ? value : std::numeric_limits<T>::quiet_NaN();
}

/// beta C, where there is nothing to be added to it.
template <class T>
GRADUS_HOST_DEVICE T scaled(T beta, T before) {
  const T value = beta == 0 ? T{0} : beta * before;
  // NOLINTNEXTLINE(misc-redundant-expression): false for NaN
  return value == value ? value : std::numeric_limits<T>::quiet_NaN();
}

/// Half the distance from 1 to the next T.
template <class T>
constexpr double unit_roundoff = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;

/// The same with two digits, for tables.
template <class T>
constexpr double rounded_unit = sizeof(T) == sizeof(float) ? 6e-8 : 1.2e-16;

/// g / (1 - g), g = roundings * unit; infinity where there is no such bound.
inline double error_of(double roundings, double unit) {
  const double g = roundings * unit;
  return g < 1 ? g / (1 - g) : std::numeric_limits<double>::infinity();
}

/// Of one sum of k products, each product and each sum rounded, in any order.
template <class T>
double textbook_bound(std::int64_t depth) {
  return error_of(static_cast<double>(depth) + 2, unit_roundoff<T>);
}

/// What core/ladder.hpp wants to know of this room.
struct Room {
  static constexpr std::string_view name = "matmul";
  using Shape = matmul_detail::Shape;
  using Elements = core::Elements<float, double>;
  template <class T>
  using Problem = matmul_detail::Problem<T>;
  template <class>
  using Result = Done;
  /// What a row says beside.
  struct RowFacts {
    MatmulAccuracy accuracy = MatmulAccuracy::strict;
  };
};
using Variant = core::Variant<Room>;

/// For rows: sums and products rounded one by one, in the order of k.
inline constexpr core::Contract textbook{
    .kind = core::Contract::within, .bound = rounded_unit<float>, .of = "k |A| |B|"};

}  // namespace gradus::matmul_detail
