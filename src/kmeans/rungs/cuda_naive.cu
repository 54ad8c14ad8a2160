// cuda_naive: the assignment on the GPU, a thread for each point, the data as they come; the update on the processor.
//
// What changes from the rungs on the processor: the search for the nearest centroid is the same loop, but each point
// has a thread of its own, and a GPU keeps some hundred thousand of them in flight: while some wait for memory, others
// compute. Centroids travel to the GPU and labels back in every iteration; the processor adds up the points by their
// labels and divides.
//
// A warp is 32 threads that execute one instruction together. Here its 32 points lie one after the other in memory, so
// that when each thread reads coordinate j of its own point, the addresses are d elements apart: a request touches up
// to 32 lines of 128 bytes to use one element of each. The lines stay in the first-level cache for the next coordinate
// if it is large enough, which for many columns it is not. The centroids' element is the same for all 32 threads, one
// broadcast, and comes from the cache.
//
// Bytes of an iteration: the points once from the GPU's memory at best, 4 n for the labels written, 4 n over the bus to
// the processor, the points once more from the processor's memory. Operations: 3 n k d on the GPU, n d additions on the
// processor.
// Limits: none beyond the GPU's memory. Source: the first exercise of every CUDA course.
#include "kmeans/gpu/support.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "kmeans/gpu/cuda_common.hpp"

namespace gradus::kmeans_detail {

namespace {

// Launch shape: one thread for each point; the last block's surplus threads have none.
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
    .summary = "a GPU thread for each point; the update on the processor",
    .change = "the search is the GPU's; labels come back in every iteration",
    .contract = textbook,
    .backend = core::Backend::cuda,
    .supports = execution::on_gpu,
    .memory = gpu_labels,
    .run = GRADUS_CUDA_RUNS(cuda_naive<float>, cuda_naive<double>),
};

}  // namespace gradus::kmeans_detail
