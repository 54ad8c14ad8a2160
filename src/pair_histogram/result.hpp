// Converts counts to the caller's result.
#pragma once

#include <cstddef>
#include <vector>

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// Returns the size of a whole shell around a point: a length, an area or a volume.
double shell(double low, double high, std::int64_t dimensions);

/// Throws InputError with the message that the sum of the weights in this bin overflows.
[[noreturn]] void throw_sum_too_large(const std::vector<double>& edges, std::size_t bin);

/// Converts the counts of all slots. The number of pairs beyond the bins is the number of all pairs minus the number of
/// pairs in the other slots.
template <class T>
PairHistogramResult result_of(const Problem<T>& problem, const Histogram& histogram);

}  // namespace gradus::pair_histogram_detail
