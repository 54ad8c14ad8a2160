// Every variant's entry point, for the table in variants.cpp.
#pragma once

#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
Histogram sequential(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram openmp_shared(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram openmp_privatized(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram simd_brute_force(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram simd_filter(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram simd_cells(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram simd_dual_tree(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram cuda_naive(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram cuda_privatized(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram cuda_tiled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram cuda_tiled_privatized(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram cuda_lane_copies(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram cuda_shuffle(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Histogram cuda_filter(const Problem<T>&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::pair_histogram_detail
