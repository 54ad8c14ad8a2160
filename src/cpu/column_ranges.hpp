// Scans rows in host memory: the range of each column, and the first invalid value.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "core/column_ranges.hpp"
#include "gradus/array.hpp"

namespace gradus::cpu {

/// Returns the range of each column. The threads share the rows. Throws InputError for the first value that is NaN,
/// infinite, or above core::largest_magnitude; the message begins with `what`, and rows are numbered from `first_row`.
/// Throws InterruptedError after a stop request.
template <class T>
core::ColumnRanges column_ranges(MatrixView<const T> rows, const char* what, int threads,
                                 const std::stop_token& stop = {}, std::int64_t first_row = 0);

/// Returns an exponent e for each column: every value of the column is an integer times 2^e. Each e is the largest such
/// exponent that does not exceed the column's element of `enough`. The threads share the rows. Throws InterruptedError
/// after a stop request.
template <class T>
std::vector<int> finest_bits(MatrixView<const T> rows, std::span<const int> enough, int threads,
                             const std::stop_token& stop = {});

}  // namespace gradus::cpu
