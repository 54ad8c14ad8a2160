// Combines a histogram's options and memory in one object, for tests that vary both.
#pragma once

#include "gradus/pair_histogram.hpp"

namespace gradus {

template <class T>
struct PairHistogramJob : PairHistogramOptions, PairHistogramMemory<T> {};

template <RowsOf<float, double> Points>
PairHistogramResult pair_histogram(const Points& points, const PairHistogramJob<ElementOf<Points>>& job,
                                   const Execution& execution = {}) {
  return pair_histogram(points, job, job, execution);
}

}  // namespace gradus
