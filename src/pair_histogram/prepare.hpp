// From what a caller gives to what variants take: everything is checked, and what all of them need is computed.
#pragma once

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// The errors are those of pair_histogram().
template <class T>
Problem<T> prepare(MatrixView<const T> points, const PairHistogramOptions<T>& options, const Execution& execution);

std::int64_t pair_count(std::int64_t points, std::int64_t others, bool cross);

}  // namespace gradus::pair_histogram_detail
