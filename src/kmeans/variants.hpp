// Every variant's entry point, for the table in variants.cpp.
#pragma once

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

template <class T>
KMeansResult<T> sequential(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> openmp_shared(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> openmp_critical(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> openmp_locked(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> openmp_reduce(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> openmp_reduce_first_touch(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> openmp_reduce_first_touch_points(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> tbb_flow_graph(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> simd_float_sums(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> simd_small_dim(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> simd_grid(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> simd_large_dim(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> simd_bounds(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> cuda_naive(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> cuda_transpose(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> cuda_shared(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> cuda_unrolled(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> cuda_update_kernel(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> cuda_all_gpu(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> cuda_graph(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> cuda_small_dim(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> cuda_ordered(const Problem<T>&, const Execution&, std::vector<Phase>&);
template <class T>
KMeansResult<T> cuda_tensor(const Problem<T>&, const Execution&, std::vector<Phase>&);

/// Chunks of points, each with sums of its own, that tbb_flow_graph makes at most for each thread.
inline constexpr int tbb_flow_graph_chunks_per_thread = 4;

}  // namespace gradus::kmeans_detail
