// The size of the first launch of a GPU variant. The speed of the variant is not known before this launch.
#pragma once

#include "cuda/launch.hpp"

namespace gradus::matmul_detail {

/// Returns the number of multiply-adds of the first launch (see cuda::Portions). The slowest rung takes a third of a
/// second for this launch. The fastest rung rarely needs a second launch.
template <class T>
double first_portion() {
  constexpr double seconds_at_best = 0.02;
  return seconds_at_best * cuda::fma_per_second(sizeof(T));
}

}  // namespace gradus::matmul_detail
