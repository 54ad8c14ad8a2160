// Size of the first launch of a GPU variant, before its speed is known.
#pragma once

#include "cuda/launch.hpp"

namespace gradus::matmul_detail {

/// Returns the number of multiply-adds of the first launch (see cuda::Portions). This many take a third of a second on
/// the slowest rung, and the fastest rung rarely needs more than one launch.
template <class T>
double first_portion() {
  constexpr double seconds_at_best = 0.02;
  return seconds_at_best * cuda::fma_per_second(sizeof(T));
}

}  // namespace gradus::matmul_detail
