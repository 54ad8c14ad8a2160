// cuda_naive: the assignment on the GPU with one thread per point, the update on the CPU, and the data in rows.
//
// What changes from the CPU rungs: the search for the nearest centroid is the same loop, but each point has a separate
// GPU thread. A GPU keeps some hundred thousand threads in flight; while some wait for memory, others compute. In every
// iteration, the centroids travel to the GPU and the labels travel back. The CPU then adds up the points by label and
// divides.
//
// A warp is 32 threads that execute one instruction together. The 32 points of a warp are adjacent rows in memory, so
// when each thread reads coordinate j of its point, the addresses are d elements apart. One request therefore touches
// up to 32 lines of 128 bytes and uses one element of each. The lines serve the next coordinates only if the
// first-level cache still holds them, which it cannot if there are many columns. All 32 threads read the same element
// of a centroid, which is one broadcast from the cache.
//
// Bytes per iteration: at best one read of the points from GPU memory; 4 n to write the labels; 4 n over the bus to the
// CPU; one read of the points from CPU memory. Operations: 3 n k d on the GPU, n d additions on the CPU.
// Limits: only the size of GPU memory.
// Source: the first exercise of every CUDA course.
#include "kmeans/gpu/support.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "kmeans/gpu/cuda_common.hpp"

namespace gradus::kmeans_detail {

namespace {

// Launch: one thread per point; surplus threads of the last block return.
template <class T>
__global__ void assign_naive(const T* points, std::int64_t n, int d, const T* centroids, int k, std::int32_t* labels) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= n) return;
  std::int32_t nearest = 0;
  T least = std::numeric_limits<T>::infinity();
  for (int cluster = 0; cluster < k; ++cluster) {
    T sum = 0;
    for (int dim = 0; dim < d; ++dim) {
      const T difference = points[point * d + dim] - centroids[std::int64_t{cluster} * d + dim];
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
KMeansResult<T> cuda_naive(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = block_threads(execution, 256);
  CudaFit<T> job(problem, execution, Layout::rows, centroid_bytes(problem));
  const auto assign = [&](const T* points, std::int64_t count, const T* centroids, std::int32_t* labels,
                          const cuda::Stream& stream) {
    assign_naive<<<blocks_for(count, threads), threads, 0, stream>>>(points, count, static_cast<int>(problem.d()),
                                                                     centroids, static_cast<int>(problem.k()), labels);
    cuda::check_launch("assign_naive");
  };
  CudaAssignEngine engine(job, Layout::rows, assign);
  return lloyd(problem, execution, engine, phases);
}

}  // namespace gradus::kmeans_detail
#endif

namespace gradus::kmeans_detail {

extern constinit const Variant cuda_naive_rung{
    .name = "cuda_naive",
    .summary = "a GPU thread for each point; the update on the CPU",
    .change = "the GPU searches; labels return to the CPU every iteration",
    .contract = textbook,
    .backend = core::Backend::cuda,
    .supports = on_gpu,
    .memory = gpu_labels,
    .run = GRADUS_CUDA_RUNS(cuda_naive<float>, cuda_naive<double>),
};

}  // namespace gradus::kmeans_detail
