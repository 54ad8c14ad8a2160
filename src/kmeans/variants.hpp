// Every variant's entry point, one line each; the table is in variants.cpp.
#pragma once

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

#define GRADUS_KMEANS_VARIANT(name) \
  template <class T>                \
  KMeansResult<T> name(const Problem<T>& problem, const Execution& execution)

GRADUS_KMEANS_VARIANT(sequential);
GRADUS_KMEANS_VARIANT(openmp_shared);
GRADUS_KMEANS_VARIANT(openmp_critical);
GRADUS_KMEANS_VARIANT(openmp_reduce);
GRADUS_KMEANS_VARIANT(openmp_reduce_first_touch);
GRADUS_KMEANS_VARIANT(tbb_flow_graph);
GRADUS_KMEANS_VARIANT(simd_float_sums);
GRADUS_KMEANS_VARIANT(simd_small_dim);
GRADUS_KMEANS_VARIANT(simd_grid);
GRADUS_KMEANS_VARIANT(simd_large_dim);
GRADUS_KMEANS_VARIANT(simd_bounds);
GRADUS_KMEANS_VARIANT(cuda_naive);
GRADUS_KMEANS_VARIANT(cuda_transpose);
GRADUS_KMEANS_VARIANT(cuda_shared);
GRADUS_KMEANS_VARIANT(cuda_unrolled);
GRADUS_KMEANS_VARIANT(cuda_update_kernel);
GRADUS_KMEANS_VARIANT(cuda_all_gpu);
GRADUS_KMEANS_VARIANT(cuda_graph);
GRADUS_KMEANS_VARIANT(cuda_small_dim);
GRADUS_KMEANS_VARIANT(cuda_ordered);
GRADUS_KMEANS_VARIANT(cuda_tensor);

/// Chunks of points, each with sums of its own, that tbb_flow_graph makes at most for each thread.
inline constexpr int tbb_flow_graph_chunks_per_thread = 4;

#undef GRADUS_KMEANS_VARIANT

}  // namespace gradus::kmeans_detail
