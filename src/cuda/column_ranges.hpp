// Validation of rows that lie on a GPU: the range of each column, and the first value that cannot be used.
#pragma once

#include "core/column_ranges.hpp"
#include "cuda/sizes.hpp"
#include "cuda/stream.hpp"
#include "gradus/array.hpp"

namespace gradus::cuda {

/// Reads rows on the current GPU once. Extremes are exact, so that threads may come in any order. Waits for the stream.
/// `scratch`: column_range_words() there.
template <class T>
core::FoundRanges find_column_ranges(MatrixView<const T> rows, unsigned long long* scratch, const Stream& stream);

}  // namespace gradus::cuda
