// cuda_update_kernel: a separate kernel computes the sums of the update with atomic additions.
//
// What changes from `cuda_unrolled`: the labels stay on the GPU. A second kernel, again with one thread per point, adds
// the point's coordinates to the sums of its cluster in GPU memory. Thousands of threads add to the same few numbers,
// so each addition is atomic. The GPU performs atomic additions of doubles in its second-level cache, one after another
// if they have the same address. Only the sums travel to the CPU: k (d + 2) numbers replace n labels and a pass over
// all points. The CPU divides and sends the centroids back.
//
// Bytes per iteration: two reads of the points from GPU memory; 4 n written and 4 n read for the labels; 8 k (d + 2)
// over the bus. Operations: 3 n k d, and n (d + 2) atomic additions, which queue at k (d + 2) addresses if there are
// few clusters.
// Limits: as in `cuda_shared`; the order of additions, and with it the last bits of the sums, differs from run to run.
// Source: experiments/kmeans-simt.json; atomic functions: NVIDIA's CUDA C++ Programming Guide.
#include "kmeans/gpu/support.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "kmeans/assign/cuda_nearest.cuh"
#include "kmeans/gpu/cuda_common.hpp"
#include "kmeans/means/cuda_sums.hpp"

namespace gradus::kmeans_detail {

namespace {

// Launch: one thread per point; surplus threads of the last block only help to copy.
// Shared memory: k d elements.
template <class T>
__global__ void assign_and_compare(const T* points, std::int64_t n, std::int64_t stride, int d, const T* centroids,
                                   int k, std::int32_t* labels, unsigned long long* changed) {
  const T* near = copy_to_shared(centroids, k * d);
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  bool moves = false;
  if (point < n) {
    const std::int32_t cluster = nearest_unrolled(points, stride, point, d, near, k).cluster;
    moves = labels[point] != cluster;
    labels[point] = cluster;
  }
  const int moved = __syncthreads_count(moves);
  if (threadIdx.x == 0 && moved > 0) atomicAdd(changed, static_cast<unsigned long long>(moved));
}

// Launch: one thread per point.
template <class T>
__global__ void add_points(const T* points, const T* weights, std::int64_t n, std::int64_t stride, int d,
                           const std::int32_t* labels, DeviceSums sums) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= n) return;
  const std::int32_t cluster = labels[point];
  const double weight = weights ? static_cast<double>(weights[point]) : 1.0;
  for (int dim = 0; dim < d; ++dim)
    atomicAdd(&sums.sums[std::int64_t{cluster} * d + dim], weight * static_cast<double>(points[dim * stride + point]));
  atomicAdd(&sums.weights[cluster], weight);
  atomicAdd(&sums.counts[cluster], 1ULL);
}

template <class T>
class UpdateKernelEngine {
 public:
  UpdateKernelEngine(CudaFit<T>& job, int threads)
      : job_(job), threads_(threads), shared_(allow_shared(assign_and_compare<T>, centroid_bytes(job.problem()))),
        sums_(job), centroids_(job.problem().k() * job.problem().d()), labels_(job.problem().n()), changed_(1),
        assign_portions_(job.problem().stop, operations_of_the_first_launch),
        add_portions_(job.problem().stop, additions_of_the_first_launch) {
    labels_.fill_bytes(0xff, job.stream());  // every label is -1, because the points have no clusters yet
  }

  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels, std::vector<Phase>& phases) {
    const Problem<T>& problem = job_.problem();
    const cuda::Stream& stream = job_.stream();
    const int d = static_cast<int>(problem.d());
    const std::int64_t n = problem.n();
    unsigned long long changed = 0;
    job_.add_upload_phase(phases);
    {
      core::PhaseTimer timer(phases, "to_device");
      centroids_.copy_from_host(centroids.data(), centroids_.size(), stream);
      stream.wait();
    }
    {
      core::PhaseTimer timer(phases, "assign");
      changed_.clear(stream);
      assign_portions_.run(n, job_.point_operations(), 1024, stream, [&](std::int64_t first, std::int64_t count) {
        assign_and_compare<<<blocks_for(count, threads_), threads_, shared_, stream>>>(
            job_.points() + first, count, n, d, centroids_.data(), static_cast<int>(problem.k()),
            labels_.data() + first, changed_.data());
        cuda::check_launch("assign_and_compare");
      });
      stream.wait();
    }
    {
      core::PhaseTimer timer(phases, "update");
      sums_.clear();
      add_portions_.run(n, d + 2, 1024, stream, [&](std::int64_t first, std::int64_t count) {
        add_points<<<blocks_for(count, threads_), threads_, 0, stream>>>(
            job_.points() + first, job_.weights() ? job_.weights() + first : nullptr, count, n, d,
            labels_.data() + first, sums_.on_device());
        cuda::check_launch("add_points");
      });
      stream.wait();
    }
    core::PhaseTimer timer(phases, "to_host");
    changed_.copy_to_host(&changed, 1, stream);
    sums_.fetch();
    // The driver needs the labels only if it moves a point to an empty cluster.
    if (sums_.any_empty()) fetch_labels(labels);
    return {static_cast<std::int64_t>(changed)};
  }

  const FloatSums<T>& sums() const { return sums_.on_host(); }

  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool /*labels_are_current*/) {
    std::vector<Phase> uncounted;  // not reported, because a phase of the driver includes this time
    pass(centroids, labels, uncounted);
    fetch_labels(labels);
    return float_inertia(job_, centroids_.data(), labels_.data());
  }
  static double rechecked() { return 0; }

 private:
  // The number is small, because all additions may have the same few addresses.
  static constexpr double additions_of_the_first_launch = 0x1p28;

  void fetch_labels(std::int32_t* labels) {
    cuda::download(labels_, labels, labels_.size(), job_.staging(), job_.threads(), job_.stream());
  }

  CudaFit<T>& job_;
  int threads_;
  std::size_t shared_;
  CudaSums<T> sums_;
  cuda::DeviceBuffer<T> centroids_;
  cuda::DeviceBuffer<std::int32_t> labels_;
  cuda::DeviceBuffer<unsigned long long> changed_;
  cuda::Portions assign_portions_;
  cuda::Portions add_portions_;
};

}  // namespace

template <class T>
KMeansResult<T> cuda_update_kernel(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = block_threads(execution, 256);
  CudaFit<T> job(problem, execution, Layout::columns, centroid_bytes(problem) + CudaSums<T>::bytes(problem));
  UpdateKernelEngine<T> engine(job, threads);
  return lloyd(problem, execution, engine, phases);
}

}  // namespace gradus::kmeans_detail
#endif

namespace gradus::kmeans_detail {

extern constinit const Variant cuda_update_kernel_rung{
    .name = "cuda_update_kernel",
    .summary = "the sums of the update in a separate kernel, by atomic additions",
    .change = "the labels stay on the GPU; sums travel instead",
    .contract = textbook,
    .backend = core::Backend::cuda,
    .deterministic = false,
    .device_input = true,
    .supports = centroids_in_shared,
    .memory = gpu_float_sums,
    .run = GRADUS_CUDA_RUNS(cuda_update_kernel<float>, cuda_update_kernel<double>),
};

}  // namespace gradus::kmeans_detail
