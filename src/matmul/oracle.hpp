// Computes the canonical result and the exact result in a straightforward way. The oracle is not a rung and is never
// timed as a baseline.
#pragma once

#include <vector>

#include "matmul/problem.hpp"

namespace gradus::matmul_detail {

__extension__ using Float128 = __float128;

/// A type in which the product of two numbers of type T is exact and sums are nearly exact.
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

/// The correct values of all elements of C, in row-major order, one matrix after another.
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

/// Returns the correct values of one element of C. `before` is the old value of the element. k may be 0 and alpha may
/// be 0. After a stop request the result is undefined.
template <class T>
Element<T> true_element(const Problem<T>& problem, std::int64_t batch, std::int64_t row, std::int64_t column, T before);

/// Returns the correct values for a problem in which C still has its old elements.
template <class T>
Truth<T> oracle(const Problem<T>& problem);

}  // namespace gradus::matmul_detail
