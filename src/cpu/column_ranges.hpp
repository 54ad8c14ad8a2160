// Scans rows in host memory: the range of each column, and the first invalid value.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "core/column_ranges.hpp"
#include "gradus/array.hpp"

namespace gradus::cpu {

/// Returns the range of each column. Reads all rows, shared among threads. If a value is NaN, infinite, or above
/// core::largest_magnitude, throws InputError that begins with `what` and names the first such value; rows are numbered
/// from `first_row`. Throws InterruptedError after a stop request.
template <class T>
core::ColumnRanges column_ranges(MatrixView<const T> rows, const char* what, int threads,
                                 const std::stop_token& stop = {}, std::int64_t first_row = 0);

/// Returns, per column, the largest exponent e, at most `enough` of the column, such that every value is an integer
/// times 2^e. Reads all rows, shared among threads. Throws InterruptedError after a stop request.
template <class T>
std::vector<int> finest_bits(MatrixView<const T> rows, std::span<const int> enough, int threads,
                             const std::stop_token& stop = {});

}  // namespace gradus::cpu
