// Pair-distance histograms as include/gradus/pair_histogram.hpp defines them, by looking at each pair. It shares no
// code with the library.
#pragma once

#include <cstdint>
#include <vector>

#include "pair_histogram/tests/job.hpp"

namespace gradus::attack {

/// edges, counts, weighted, below, beyond and pairs. The options must be possible ones.
template <class T>
PairHistogramResult pair_reference(MatrixView<const T> points, const PairHistogramJob<T>& options);

/// Half of the least height of the reduced cell.
double half_of_cell(const std::vector<double>& box);

}  // namespace gradus::attack
