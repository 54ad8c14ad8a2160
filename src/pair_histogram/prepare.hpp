// Checks the caller's arguments and computes what all variants need.
#pragma once

#include <cstdint>
#include <vector>

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// Throws UsageError if the periodic box is invalid for points with this number of dimensions. An empty box means open
/// space.
void check_box(const std::vector<double>& box, const std::vector<double>& origin, std::int64_t dimensions);

/// Returns half of the box's least length or, for a triclinic cell, half of its least height. At most one image of a
/// pair has a distance smaller than the result.
double greatest_reach(const std::vector<double>& box);
void check_reach(double reach, const std::vector<double>& box);

/// Sets up the problem, except for `lowest`, `highest` and `sums`, which depend on the points' values. This function
/// and the functions below throw the errors of pair_histogram().
template <class T>
Problem<T> describe(MatrixView<const T> points, const PairHistogramOptions& options,
                    const PairHistogramMemory<T>& memory, const Execution& execution);

/// Describes a problem for which only the sizes are known, for an estimate. Assumes the longest sums of weights and
/// unknown extents.
Shape describe_shape(const PairHistogramShape& shape, const PairHistogramOptions& options, const Execution& execution);

/// Scans the points and weights and completes the problem. The scan runs on the GPU if the data is there
/// (Problem::gpu), otherwise on `threads` CPU threads. Both give the same bits.
template <class T>
void examine(Problem<T>& problem, int threads);

template <class T>
Problem<T> prepare(MatrixView<const T> points, const PairHistogramOptions& options,
                   const PairHistogramMemory<T>& memory, const Execution& execution);

std::int64_t pair_count(std::int64_t points, std::int64_t others, bool cross);

}  // namespace gradus::pair_histogram_detail
