// cuda_shared: the centroids in shared memory, where each block copies them once.
//
// What changes from `cuda_transpose`: every thread reads k d centroid elements. In `cuda_transpose`, these reads go
// through the caches, which also serve the points. Here, the threads of a block first copy all centroids to shared
// memory, a small memory on the multiprocessor. Unlike a cache, this memory is managed by the program. After a barrier,
// every read of a centroid is a shared-memory broadcast to all 32 threads of a warp, and the caches serve only the
// points.
//
// Bytes per iteration: as before, plus k d elements per block from the second-level cache. Larger blocks copy less
// often; smaller blocks fill a multiprocessor better.
// Limits: k d elements must fit in the shared memory of a block: 227 KiB on an H200, of which 48 KiB are available
// without opting in. If they do not fit, the variant reports the limit and does not run.
// Source: NVIDIA's CUDA C++ Programming Guide, "Shared Memory".
#include "kmeans/gpu/support.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "kmeans/gpu/cuda_common.hpp"

namespace gradus::kmeans_detail {

namespace {

// Launch: one thread per point; surplus threads of the last block only help to copy.
// Dynamic shared memory: k d elements.
template <class T>
__global__ void assign_shared(const T* points, std::int64_t n, std::int64_t stride, int d, const T* centroids, int k,
                              std::int32_t* labels) {
  extern __shared__ __align__(16) unsigned char memory[];
  T* const near = reinterpret_cast<T*>(memory);
  for (int index = static_cast<int>(threadIdx.x); index < k * d; index += static_cast<int>(blockDim.x))
    near[index] = centroids[index];
  __syncthreads();  // all elements are written before any thread reads them, so no thread may return earlier

  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= n) return;
  std::int32_t nearest = 0;
  T least = std::numeric_limits<T>::infinity();
  for (int cluster = 0; cluster < k; ++cluster) {
    T sum = 0;
    for (int dim = 0; dim < d; ++dim) {
      const T difference = points[dim * stride + point] - near[cluster * d + dim];
      sum = fma(difference, difference, sum);
    }
    if (sum < least) {
      least = sum;
      nearest = cluster;
    }
  }
  labels[point] = nearest;
}

}  // namespace

template <class T>
KMeansResult<T> cuda_shared(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = block_threads(execution, 256);
  CudaFit<T> job(problem, execution, Layout::columns, centroid_bytes(problem));
  const std::uint64_t shared = centroid_bytes(problem);
  cuda::allow_shared_memory(reinterpret_cast<const void*>(assign_shared<T>), shared);
  const auto assign = [&](const T* points, std::int64_t count, const T* centroids, std::int32_t* labels,
                          const cuda::Stream& stream) {
    assign_shared<<<blocks_for(count, threads), threads, shared, stream>>>(
        points, count, problem.n(), static_cast<int>(problem.d()), centroids, static_cast<int>(problem.k()), labels);
    cuda::check_launch("assign_shared");
  };
  CudaAssignEngine engine(job, Layout::rows, assign);
  return lloyd(problem, execution, engine, phases);
}

}  // namespace gradus::kmeans_detail
#endif

namespace gradus::kmeans_detail {

extern constinit const Variant cuda_shared_rung{
    .name = "cuda_shared",
    .summary = "the centroids in the shared memory of each block",
    .change = "the caches are left to the points",
    .contract = textbook,
    .backend = core::Backend::cuda,
    .supports = centroids_in_shared,
    .memory = gpu_labels_and_columns,
    .run = GRADUS_CUDA_RUNS(cuda_shared<float>, cuda_shared<double>),
};

}  // namespace gradus::kmeans_detail
