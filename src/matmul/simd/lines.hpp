// Part of simd_packed: products in which one side has at most Lines::most_few lines and the lines of the other side are
// contiguous along k. Packing would cost as much as the product.
#pragma once

#include "cpu/threads.hpp"
#include "matmul/problem.hpp"
#include "matmul/simd/kernels.hpp"

namespace gradus::matmul_detail {

/// A product of many lines and a few other lines. It is transposed if necessary, so that the lines are the rows of A,
/// and the few are the columns of B. If the given product does not have this form, `is_one` is false.
template <class T>
struct FewTimesLines {
  Problem<T> problem;
  bool is_one = false;

  FewTimesLines(const Problem<T>& given, Geometry geometry) {
    const auto suits = [&](const Problem<T>& one) {
      return geometry.lines > 0 && one.a.column_stride == 1 && one.n <= Lines<T>::most_few && one.k >= 2;
    };
    const Problem<T> turned = given.transposed();
    const bool first_choice = given.m >= given.n;
    for (const Problem<T>* const one : {first_choice ? &given : &turned, first_choice ? &turned : &given}) {
      if (is_one || !suits(*one)) continue;
      problem = *one;
      is_one = true;
    }
  }
};

/// Computes the rows of C in the range `own` for a FewTimesLines::problem with a single product. Returns early after a
/// stop request.
template <class T>
void multiply_lines(const Problem<T>& problem, cpu::Range own);

/// Returns the number of lines that a thread takes at a time. This is the number of lines that can be in flight at
/// once, or a smaller number if there are few lines.
std::int64_t lines_of_a_piece(std::int64_t lines, int threads);

}  // namespace gradus::matmul_detail
