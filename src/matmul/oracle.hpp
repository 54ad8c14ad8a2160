// The canonical result and the exact one, computed plainly. Never a rung, and never timed as a baseline.
#pragma once

#include <vector>

#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

__extension__ using Float128 = __float128;

/// In which products of two T are exact, and sums nearly so.
template <class T>
struct ExactOf {
  using Type = double;
};
template <>
struct ExactOf<double> {
  using Type = Float128;
};
template <class T>
using Exact = typename ExactOf<T>::Type;

/// Of each element of C, matrix after matrix and row after row.
template <class T>
struct Truth {
  std::vector<T> strict;
  std::vector<Exact<T>> exact;
  std::vector<Exact<T>> magnitude;  ///< |alpha| |A| |B| + |beta| |C|
};

template <class T>
struct Element {
  T strict;
  Exact<T> exact;
  Exact<T> magnitude;
};

/// One element of C: `before` stood there. Also where k = 0 or alpha = 0. Garbage after a stop request of the
/// problem's.
template <class T>
Element<T> true_element(const Problem<T>& problem, std::int64_t batch, std::int64_t row, std::int64_t column, T before);

/// Of a problem whose C is as it was before.
template <class T>
Truth<T> oracle(const Problem<T>& problem);

}  // namespace gradus::matmul_detail
