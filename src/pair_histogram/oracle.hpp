// The reference, which applies the canonical rule to one pair after another. It shares no code with the variants, and
// is neither a rung nor a baseline.
#pragma once

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
PairHistogramResult oracle(const Problem<T>& problem);

}  // namespace gradus::pair_histogram_detail
