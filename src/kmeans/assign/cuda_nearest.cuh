// Device code that several CUDA variants share: centroids in shared memory, and the unrolled search.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>

#include "cuda/launch.hpp"

namespace gradus::kmeans_detail {

/// Copies `count` elements to the start of the block's dynamic shared memory. All threads of the block must call this
/// function.
template <class T>
__device__ const T* copy_to_shared(const T* from, int count) {
  extern __shared__ __align__(16) unsigned char memory[];
  T* shared = reinterpret_cast<T*>(memory);
  for (int index = static_cast<int>(threadIdx.x); index < count; index += static_cast<int>(blockDim.x))
    shared[index] = from[index];
  __syncthreads();  // all elements are written before any thread reads them
  return shared;
}

template <class T>
struct NearestInShared {
  std::int32_t cluster = 0;
  T distance = 0;
};

/// Returns the centroid that is nearest to point number `point`. The k centroids are stored row by row, and the points
/// column by column. The loop over coordinates is unrolled by eight. So eight loads are in flight at the same time, and
/// the loop's overhead occurs only once per eight coordinates.
template <class T>
__device__ NearestInShared<T> nearest_unrolled(const T* points, std::int64_t n, std::int64_t point, int d,
                                               const T* centroids, int k) {
  NearestInShared<T> best{0, std::numeric_limits<T>::infinity()};
  const T* coordinates = points + point;
  for (int cluster = 0; cluster < k; ++cluster) {
    const T* centroid = centroids + cluster * d;
    T sum = 0;
    int dim = 0;
    for (; dim + 8 <= d; dim += 8) {
#pragma unroll
      for (int step = 0; step < 8; ++step) {
        const T difference = coordinates[(dim + step) * n] - centroid[dim + step];
        sum = fma(difference, difference, sum);
      }
    }
    for (; dim < d; ++dim) {
      const T difference = coordinates[dim * n] - centroid[dim];
      sum = fma(difference, difference, sum);
    }
    if (sum < best.distance) best = {cluster, sum};
  }
  return best;
}

/// Permits a kernel to use `bytes` of dynamic shared memory, and returns `bytes`.
template <class Kernel>
std::size_t allow_shared(Kernel* kernel, std::size_t bytes) {
  cuda::allow_shared_memory(reinterpret_cast<const void*>(kernel), bytes);
  return bytes;
}

}  // namespace gradus::kmeans_detail
