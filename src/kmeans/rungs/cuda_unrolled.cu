// cuda_unrolled: the loop over the coordinates, unrolled by eight.
//
// What changes from `cuda_shared`: there, the innermost loop compares, counts and jumps after every coordinate. The
// unrolled loop has this overhead once per eight coordinates, and eight independent loads are in flight before the
// first result is needed. With many points the gain is small, because a GPU already hides latency by switching warps;
// a published experiment measured 3 %. With fewer than eight columns, nothing is unrolled.
//
// Bytes and operations: as before. Limits: as in `cuda_shared`.
// Source: that experiment (experiments/kmeans-simt.json); loop unrolling is older than caches.
#include "kmeans/gpu/support.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "kmeans/assign/cuda_nearest.cuh"
#include "kmeans/gpu/cuda_common.hpp"

namespace gradus::kmeans_detail {

namespace {

// Launch: one thread per point; surplus threads of the last block only help to copy.
// Shared memory: k d elements.
template <class T>
__global__ void assign_unrolled(const T* points, std::int64_t n, std::int64_t stride, int d, const T* centroids, int k,
                                std::int32_t* labels) {
  const T* near = copy_to_shared(centroids, k * d);
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point < n) labels[point] = nearest_unrolled(points, stride, point, d, near, k).cluster;
}

}  // namespace

template <class T>
KMeansResult<T> cuda_unrolled(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = block_threads(execution, 256);
  CudaFit<T> job(problem, execution, Layout::columns, centroid_bytes(problem));
  const std::size_t shared =
      allow_shared(assign_unrolled<T>, static_cast<std::size_t>(problem.k() * problem.d()) * sizeof(T));
  const auto assign = [&](const T* points, std::int64_t count, const T* centroids, std::int32_t* labels,
                          const cuda::Stream& stream) {
    assign_unrolled<<<blocks_for(count, threads), threads, shared, stream>>>(
        points, count, problem.n(), static_cast<int>(problem.d()), centroids, static_cast<int>(problem.k()), labels);
    cuda::check_launch("assign_unrolled");
  };
  CudaAssignEngine engine(job, Layout::rows, assign);
  return lloyd(problem, execution, engine, phases);
}

}  // namespace gradus::kmeans_detail
#endif

namespace gradus::kmeans_detail {

extern constinit const Variant cuda_unrolled_rung{
    .name = "cuda_unrolled",
    .summary = "the loop over the coordinates in steps of eight",
    .change = "eight loads in flight, one comparison and jump per eight",
    .contract = textbook,
    .backend = core::Backend::cuda,
    .supports = centroids_in_shared,
    .memory = gpu_labels_and_columns,
    .run = GRADUS_CUDA_RUNS(cuda_unrolled<float>, cuda_unrolled<double>),
};

}  // namespace gradus::kmeans_detail
