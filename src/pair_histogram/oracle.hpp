// The reference: the canonical rule, pair by pair, sharing no code with the variants. Neither a rung nor a timing
// baseline.
#pragma once

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
PairHistogramResult oracle(const Problem<T>& problem);

}  // namespace gradus::pair_histogram_detail
