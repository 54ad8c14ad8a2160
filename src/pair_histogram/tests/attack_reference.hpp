// A reference that visits each pair, as include/gradus/pair_histogram.hpp specifies. It shares no code with the
// library.
#pragma once

#include <cstdint>
#include <vector>

#include "pair_histogram/tests/job.hpp"

namespace gradus::attack {

/// Returns a result in which only these members are set: `edges`, `counts`, `weighted`, `below`, `beyond` and `pairs`.
/// The options must be valid.
template <class T>
PairHistogramResult pair_reference(MatrixView<const T> points, const PairHistogramJob<T>& options);

double half_of_cell(const std::vector<double>& box);

}  // namespace gradus::attack
