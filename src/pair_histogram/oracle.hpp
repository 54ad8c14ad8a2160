// The reference: the canonical rule, pair by pair. Shares no code with the variants; neither a rung nor a baseline.
#pragma once

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
PairHistogramResult oracle(const Problem<T>& problem);

}  // namespace gradus::pair_histogram_detail
