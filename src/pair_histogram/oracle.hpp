// The plain truth: the canonical rule, pair by pair, sharing no machinery with the variants. Never a rung and never
// timed as a baseline.
#pragma once

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
PairHistogramResult oracle(const Problem<T>& problem);

}  // namespace gradus::pair_histogram_detail
