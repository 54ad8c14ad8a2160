// Of simd_packed: products of which one side has up to four lines, and whose other side's elements lie along k. There
// packing would cost as much as the product.
#pragma once

#include "cpu/threads.hpp"
#include "matmul/problem.hpp"
#include "matmul/simd/kernels.hpp"

namespace gradus::matmul_detail {

/// Such a product: C' of `problem` where `problem.n` are the few, and rows of A the lines.
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

/// These lines of such a product of no batch. Returns early after a stop request.
template <class T>
void multiply_lines(const Problem<T>& problem, cpu::Range own);

/// How many lines a thread of a team takes at a time: as many as are under way at once, or fewer where there are few.
std::int64_t lines_of_a_piece(std::int64_t lines, int threads);

}  // namespace gradus::matmul_detail
