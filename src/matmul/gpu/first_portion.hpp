// How much the GPU variants do at first, before they know how fast they are.
#pragma once

#include "cuda/launch.hpp"

namespace gradus::matmul_detail {

/// Multiplications and additions of the first launch, see cuda::Portions: the slowest rung takes a third of a second,
/// and what the fastest does in one launch is large enough for it not to be cut.
template <class T>
double first_portion() {
  constexpr double seconds_at_best = 0.02;
  return seconds_at_best * cuda::fma_per_second(sizeof(T));
}

}  // namespace gradus::matmul_detail
