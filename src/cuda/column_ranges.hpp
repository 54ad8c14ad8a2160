// Scans rows on a GPU: the range of each column, and the first invalid value.
#pragma once

#include "core/column_ranges.hpp"
#include "cuda/sizes.hpp"
#include "cuda/stream.hpp"
#include "gradus/array.hpp"

namespace gradus::cuda {

/// Reads each row once, on the current GPU, and then waits for the stream. Minima and maxima are exact, so the order of
/// threads does not matter. `scratch` has column_range_words() words on the GPU.
template <class T>
core::FoundRanges find_column_ranges(MatrixView<const T> rows, unsigned long long* scratch, const Stream& stream);

}  // namespace gradus::cuda
