// Every variant's entry point, for the table in variants.cpp.
#pragma once

#include "shortest_paths/problem.hpp"

namespace gradus::shortest_paths_detail {

template <class T>
Solved sequential(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved openmp_rows(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved sequential_recursive(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved openmp_recursive(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved openmp_recursive_split(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved openmp_tiled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved simd_tiled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved openmp_dijkstra(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved cuda_naive(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved cuda_tiled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved cuda_register_tiled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved cuda_dpx(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
Solved cuda_panels(const Problem<T>&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::shortest_paths_detail

/// The instances of a variant, at the end of its file.
#define GRADUS_SHORTEST_PATHS_RUNG(variant)                                                     \
  template Solved variant(const Problem<std::int32_t>&, const Execution&, std::vector<Phase>&); \
  template Solved variant(const Problem<std::int64_t>&, const Execution&, std::vector<Phase>&); \
  template Solved variant(const Problem<float>&, const Execution&, std::vector<Phase>&);        \
  template Solved variant(const Problem<double>&, const Execution&, std::vector<Phase>&);
