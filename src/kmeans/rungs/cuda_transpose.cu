// cuda_transpose: points and centroids stored by columns, so that neighbouring threads read neighbouring elements.
//
// What changes from `cuda_naive`: the layout. The GPU transposes the points once, before the first iteration, so that
// coordinate j of points 0, 1, 2, ... is contiguous. When the 32 threads of a warp read coordinate j of their points,
// the request covers 128 adjacent bytes (256 in double), and the instruction uses every byte it loads: the access is
// coalesced. No cache has to keep a line from one coordinate to the next. The centroids are transposed too, as in the
// published experiment, although their layout hardly matters because all threads of a warp read the same element.
//
// Bytes per iteration: the points are read from GPU memory k times unless the caches help, because the outer loop runs
// over clusters and the inner loop over coordinates; 4 n for the labels; 4 n over the bus. Operations: as before.
// Limits: GPU memory holds the points twice during the transposition.
// Source: NVIDIA's CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory".
#include "kmeans/gpu/support.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "kmeans/gpu/cuda_common.hpp"

namespace gradus::kmeans_detail {

namespace {

// Launch: one thread per point; surplus threads of the last block return.
template <class T>
__global__ void assign_transposed(const T* points, std::int64_t n, std::int64_t stride, int d, const T* centroids,
                                  int k, std::int32_t* labels) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= n) return;
  std::int32_t nearest = 0;
  T least = std::numeric_limits<T>::infinity();
  for (int cluster = 0; cluster < k; ++cluster) {
    T sum = 0;
    for (int dim = 0; dim < d; ++dim) {
      const T difference = points[dim * stride + point] - centroids[std::int64_t{dim} * k + cluster];
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
KMeansResult<T> cuda_transpose(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = block_threads(execution, 256);
  CudaFit<T> job(problem, execution, Layout::columns, centroid_bytes(problem));
  const auto assign = [&](const T* points, std::int64_t count, const T* centroids, std::int32_t* labels,
                          const cuda::Stream& stream) {
    assign_transposed<<<blocks_for(count, threads), threads, 0, stream>>>(
        points, count, problem.n(), static_cast<int>(problem.d()), centroids, static_cast<int>(problem.k()), labels);
    cuda::check_launch("assign_transposed");
  };
  CudaAssignEngine engine(job, Layout::columns, assign);
  return lloyd(problem, execution, engine, phases);
}

}  // namespace gradus::kmeans_detail
#endif

namespace gradus::kmeans_detail {

extern constinit const Variant cuda_transpose_rung{
    .name = "cuda_transpose",
    .summary = "points and centroids column by column, so that neighbouring threads read neighbours",
    .change = "neighbouring threads read neighbouring elements: every byte that travels is used",
    .contract = textbook,
    .backend = core::Backend::cuda,
    .supports = on_gpu,
    .memory = gpu_labels_and_columns,
    .run = GRADUS_CUDA_RUNS(cuda_transpose<float>, cuda_transpose<double>),
};

}  // namespace gradus::kmeans_detail
