// The look at rows in host memory: the range of each column, and the first value that cannot be used.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "core/column_ranges.hpp"
#include "gradus/array.hpp"

namespace gradus::cpu {

/// Reads all rows, shared among threads. InputError that begins with `what` and names the first bad value where one is
/// NaN, infinite, or above core::largest_magnitude; rows are numbered from `first_row` on. InterruptedError after a
/// stop request.
template <class T>
core::ColumnRanges column_ranges(MatrixView<const T> rows, const char* what, int threads,
                                 const std::stop_token& stop = {}, std::int64_t first_row = 0);

/// Per column, the least exponent of a bit of its values: every value is an integer times two to that power. Where that
/// is not below `enough` of the column, `enough`. Reads all rows, shared among threads; InterruptedError after a stop
/// request.
template <class T>
std::vector<int> finest_bits(MatrixView<const T> rows, std::span<const int> enough, int threads,
                             const std::stop_token& stop = {});

}  // namespace gradus::cpu
