// Points and bins for the tests of pair-distance histograms.
#pragma once

#include <cstdint>

#include "core/generate.hpp"
#include "pair_histogram/tests/job.hpp"

namespace gradus::tests {

/// Returns uniform points in [0, 10).
inline Matrix<double> uniform(std::int64_t n, std::int64_t d, std::uint64_t seed = 5) {
  Matrix<double> points(n, d);
  core::generate_points<double>({.kind = core::Generator::uniform, .seed = seed, .low = 0, .high = 10}, 0,
                                points.view(), 1);
  return points;
}

template <class T = double>
PairHistogramJob<T> bins_of(double width, std::int64_t count) {
  PairHistogramJob<T> options;
  options.bins.bin_width = width;
  options.bins.bins = count;
  return options;
}

}  // namespace gradus::tests
