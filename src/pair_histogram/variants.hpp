// Every variant's entry point, one line each; the table is in variants.cpp.
#pragma once

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

#define GRADUS_PAIR_HISTOGRAM_VARIANT(name) \
  template <class T>                        \
  Histogram name(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases)

GRADUS_PAIR_HISTOGRAM_VARIANT(sequential);
GRADUS_PAIR_HISTOGRAM_VARIANT(openmp_shared);
GRADUS_PAIR_HISTOGRAM_VARIANT(openmp_privatized);
GRADUS_PAIR_HISTOGRAM_VARIANT(simd_brute_force);
GRADUS_PAIR_HISTOGRAM_VARIANT(simd_filter);
GRADUS_PAIR_HISTOGRAM_VARIANT(simd_cells);
GRADUS_PAIR_HISTOGRAM_VARIANT(simd_dual_tree);

#undef GRADUS_PAIR_HISTOGRAM_VARIANT

}  // namespace gradus::pair_histogram_detail
