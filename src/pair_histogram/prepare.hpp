// From what a caller gives to what variants take: everything is checked, and what all of them need is computed.
#pragma once

#include <cstdint>
#include <vector>

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// UsageError for a periodic box that cannot be one of points of that many dimensions; no lengths: open space.
void check_box(const std::vector<double>& box, const std::vector<double>& origin, std::int64_t dimensions);

/// The distance up to which a pair's nearest image in such a box is its only one: half of the least length, or of the
/// least height of the reduced cell. Infinite in open space.
double greatest_reach(const std::vector<double>& box);
/// Throws UsageError if bins reach further than that.
void check_reach(double reach, const std::vector<double>& box);

/// Everything but what only the points can tell: `lowest`, `highest`, `sums`. The errors of this and of the
/// following are those of pair_histogram().
template <class T>
Problem<T> describe(MatrixView<const T> points, const PairHistogramOptions& options,
                    const PairHistogramMemory<T>& memory, const Execution& execution);

/// Sizes alone, for an estimate: with the longest sums of weights. Extents stay unknown. UsageError for impossible
/// ones.
Shape describe_shape(const PairHistogramShape& shape, const PairHistogramOptions& options, const Execution& execution);

/// Looks at the points and weights, and completes the problem: on the GPU where they lie there (Problem::gpu),
/// otherwise with `threads` of the processor. The results are the same to the bit.
template <class T>
void examine(Problem<T>& problem, int threads);

/// Both, for points in host memory.
template <class T>
Problem<T> prepare(MatrixView<const T> points, const PairHistogramOptions& options,
                   const PairHistogramMemory<T>& memory, const Execution& execution);

std::int64_t pair_count(std::int64_t points, std::int64_t others, bool cross);

}  // namespace gradus::pair_histogram_detail
