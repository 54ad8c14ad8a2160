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
GRADUS_PAIR_HISTOGRAM_VARIANT(cuda_naive);
GRADUS_PAIR_HISTOGRAM_VARIANT(cuda_privatized);
GRADUS_PAIR_HISTOGRAM_VARIANT(cuda_tiled);
GRADUS_PAIR_HISTOGRAM_VARIANT(cuda_tiled_privatized);
GRADUS_PAIR_HISTOGRAM_VARIANT(cuda_lane_copies);
GRADUS_PAIR_HISTOGRAM_VARIANT(cuda_shuffle);
GRADUS_PAIR_HISTOGRAM_VARIANT(cuda_filter);

#undef GRADUS_PAIR_HISTOGRAM_VARIANT

}  // namespace gradus::pair_histogram_detail
