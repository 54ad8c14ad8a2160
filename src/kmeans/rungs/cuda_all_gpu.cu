// cuda_all_gpu: assignment, sums and new centroids on the GPU; only a few numbers travel per iteration.
//
// What changes from `cuda_update_kernel`:
// 1. Each block first accumulates its sums in shared memory, so the atomic additions of its 256 threads do not reach
//    the second-level cache.
// 2. One kernel does both search and sums, so the points are read once.
// 3. A one-block kernel divides, writes the new centroids where the next iteration reads them, and decides whether to
//    continue. The CPU starts the kernels and reads the decision, a single line of state.
//
// Bytes per iteration: one read of the points from GPU memory, 4 n for the labels read and written, a hundred bytes
// over the bus. Operations: 3 n k d, and n (d + 2) atomic additions in shared memory.
// Limits: sums and centroids, k (d + 2) doubles and k d elements, must fit in the shared memory of a block. Atomic
// additions of doubles in shared memory are compare-and-swap loops, which collide if there are few clusters.
// Source: experiments/kmeans-cuda-float.json; privatisation as in the textbook by Kirk and Hwu (PMPP).
#include "kmeans/gpu/support.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "kmeans/assign/cuda_nearest.cuh"
#include "kmeans/gpu/cuda_device_loop.hpp"

namespace gradus::kmeans_detail {

namespace {

// Labels the points in [begin, end) of n and adds them to sums in shared memory. At the end each block adds its sums to
// the total, so only k (d + 2) atomic additions per block reach the second-level cache.
// Launch: some blocks of whole warps per multiprocessor; a grid-stride loop over the points.
// Dynamic shared memory: k (d + 2) doubles and k d elements.
template <class T>
__global__ void assign_and_sum(const T* points, const T* weights, std::int64_t begin, std::int64_t end, std::int64_t n,
                               int d, const T* centroids, int k, std::int32_t* labels, DeviceSums total,
                               LoopState* state) {
  if (state->finished) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);

  // The block's sums and its copy of the centroids.
  extern __shared__ __align__(16) unsigned char memory[];
  double* const sums = reinterpret_cast<double*>(memory);
  double* const cluster_weights = sums + k * d;
  auto* const counts = reinterpret_cast<unsigned long long*>(cluster_weights + k);
  T* const near = reinterpret_cast<T*>(counts + k);
  // Clears the sums, the weights and the counts, which are adjacent.
  for (int index = thread; index < k * (d + 2); index += threads) sums[index] = 0;
  for (int index = thread; index < k * d; index += threads) near[index] = centroids[index];
  __syncthreads();  // centroids and zeros are complete before any thread uses them

  // Find the nearest centroid of each point and add the point to the block's sums.
  unsigned long long changed = 0;
  double inertia = 0;
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  for (std::int64_t point = begin + std::int64_t{blockIdx.x} * threads + thread; point < end; point += stride) {
    const NearestInShared<T> nearest = nearest_unrolled(points, n, point, d, near, k);
    const double weight = weights ? static_cast<double>(weights[point]) : 1.0;
    changed += labels[point] != nearest.cluster;
    labels[point] = nearest.cluster;
    inertia += weight * static_cast<double>(nearest.distance);
    for (int dim = 0; dim < d; ++dim)
      atomicAdd(&sums[nearest.cluster * d + dim], weight * static_cast<double>(points[dim * n + point]));
    atomicAdd(&cluster_weights[nearest.cluster], weight);
    atomicAdd(&counts[nearest.cluster], 1ULL);
  }

  // Add up, within each warp, the values that the threads hold in registers.
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    changed += __shfl_down_sync(0xffffffffu, changed, lanes);
    inertia += __shfl_down_sync(0xffffffffu, inertia, lanes);
  }
  if (thread % 32 == 0) {
    atomicAdd(&state->changed, changed);
    atomicAdd(&state->inertia, inertia);
  }

  // Add the block's sums to the total.
  __syncthreads();  // every addition of the block is in shared memory
  for (int index = thread; index < k * d; index += threads)
    if (sums[index] != 0) atomicAdd(&total.sums[index], sums[index]);
  for (int cluster = thread; cluster < k; cluster += threads) {
    if (counts[cluster] == 0) continue;
    atomicAdd(&total.weights[cluster], cluster_weights[cluster]);
    atomicAdd(&total.counts[cluster], counts[cluster]);
  }
}

// Returns the sum of `value` over the block to every thread. The block must consist of whole warps.
__device__ double block_sum(double value) {
  __shared__ double parts[32];
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();  // every warp has written its part
  double sum = 0;
  for (unsigned int warp = 0; warp < blockDim.x / 32; ++warp) sum += parts[warp];
  __syncthreads();  // all threads have read the parts before the next call overwrites them
  return sum;
}

// Computes the new centroids, records the iteration, and decides whether the loop continues.
// Launch: one block of 1024 threads. `next` is a buffer of k d elements in GPU memory.
template <class T>
__global__ void update_centroids(int k, int d, DeviceSums sums, T* centroids, T* next, LoopState* state,
                                 LoopRecord* records) {
  __shared__ bool continues;
  if (state->finished) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  bool empty = false;
  for (int cluster = thread; cluster < k; cluster += threads)
    empty |= sums.counts[cluster] == 0 || !(sums.weights[cluster] > 0);
  if (__syncthreads_or(empty) && state->relocates) {
    __syncthreads();  // all threads have read `relocates` and the sums before they change
    if (thread == 0) state->needs_frame = state->finished = true;
    return;
  }
  for (int index = thread; index < k * d; index += threads) {
    const double weight = sums.counts[index / d] > 0 ? sums.weights[index / d] : 0.0;
    next[index] = weight > 0 ? static_cast<T>(sums.sums[index] / weight) : centroids[index];
  }
  __syncthreads();  // the means are complete
  if (state->to_unit_length)
    for (int cluster = thread; cluster < k; cluster += threads) {
      double squares = 0;
      for (int dim = 0; dim < d; ++dim) {
        const double value = static_cast<double>(next[cluster * d + dim]);
        squares = fma(value, value, squares);
      }
      const double length = squares > 0 ? sqrt(squares) : 1.0;
      for (int dim = 0; dim < d; ++dim)
        next[cluster * d + dim] = static_cast<T>(static_cast<double>(next[cluster * d + dim]) / length);
    }
  __syncthreads();  // all rows have unit length
  double shift = 0;
  bool same = true;
  for (int index = thread; index < k * d; index += threads) {
    const double moved = static_cast<double>(next[index]) - static_cast<double>(centroids[index]);
    shift += moved * moved;
    same &= next[index] == centroids[index];
    centroids[index] = next[index];
  }
  shift = block_sum(shift);
  same = __syncthreads_and(same) != 0;
  if (thread == 0) {
    const auto changed = static_cast<std::int64_t>(state->changed);
    records[state->steps] = {state->inertia, changed, shift};
    state->same_centroids = same;
    ++state->steps;
    const bool few = state->changed_limit > 0 && changed <= state->changed_limit;
    const bool settled = state->shift_limit > 0 && shift <= state->shift_limit;
    state->finished = changed == 0 || few || settled || --state->iterations_left == 0;
    state->changed = 0;
    state->inertia = 0;
    continues = !state->finished;
  }
  __syncthreads();  // thread 0 has decided
  if (!continues) return;
  for (int index = thread; index < k * d; index += threads) sums.sums[index] = 0;
  for (int cluster = thread; cluster < k; cluster += threads) {
    sums.weights[cluster] = 0;
    sums.counts[cluster] = 0;
  }
}

/// Launches each kernel from the host. Waits for the decision after each iteration.
template <class T>
class HostLoop {
 public:
  HostLoop(LoopMemory<T>& memory, const Execution&) : memory_(memory), state_(1) {}

  void run(int /*iterations*/, std::vector<Phase>& phases) {
    const cuda::Stream& stream = memory_.job.stream();
    do {
      before_.record(stream);
      memory_.assign_and_sum();
      between_.record(stream);
      launch_update(memory_);
      after_.record(stream);
      memory_.state.copy_to_host(state_.data(), 1, stream);
      stream.wait();
      core::add_phase(phases, "assign", seconds(before_, between_));
      core::add_phase(phases, "update", seconds(between_, after_));
    } while (!state_[0].finished);
  }

 private:
  static double seconds(const cuda::Event& from, const cuda::Event& to) {
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  LoopMemory<T>& memory_;
  cuda::PinnedBuffer<LoopState> state_;
  cuda::Event before_;
  cuda::Event between_;
  cuda::Event after_;
};

}  // namespace

template <class T>
std::size_t allow_assign_and_sum(std::int64_t k, std::int64_t d) {
  const std::size_t bytes = static_cast<std::size_t>(k * (d + 2)) * 8 + static_cast<std::size_t>(k * d) * sizeof(T);
  return allow_shared(assign_and_sum<T>, bytes);
}

template <class T>
void launch_assign_and_sum(LoopMemory<T>& memory, std::int64_t begin, std::int64_t end) {
  const CudaFit<T>& job = memory.job;
  const Problem<T>& problem = job.problem();
  const auto blocks = static_cast<unsigned int>(8 * job.gpu().multiprocessors);
  assign_and_sum<<<blocks, memory.threads, memory.shared, job.stream()>>>(
      job.points(), job.weights(), begin, end, problem.n(), static_cast<int>(problem.d()), memory.centroids.data(),
      static_cast<int>(problem.k()), memory.labels.data(), memory.sums.on_device(), memory.state.data());
  cuda::check_launch("assign_and_sum");
}

template <class T>
void launch_update(LoopMemory<T>& memory) {
  const Problem<T>& problem = memory.job.problem();
  update_centroids<<<1, 1024, 0, memory.job.stream()>>>(static_cast<int>(problem.k()), static_cast<int>(problem.d()),
                                                        memory.sums.on_device(), memory.centroids.data(),
                                                        memory.next.data(), memory.state.data(), memory.records.data());
  cuda::check_launch("update_centroids");
}

// Instantiates the functions that this variant and cuda_graph use.
#define GRADUS_INSTANTIATE(T)                                                         \
  template std::size_t allow_assign_and_sum<T>(std::int64_t, std::int64_t);           \
  template void launch_assign_and_sum<T>(LoopMemory<T>&, std::int64_t, std::int64_t); \
  template void launch_update<T>(LoopMemory<T>&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

template <class T>
KMeansResult<T> cuda_all_gpu(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Engine = CudaLoopEngine<T, HostLoop<T>>;
  const int threads = block_threads(execution, 256);
  CudaFit<T> job(problem, execution, Layout::columns, Engine::bytes(problem));
  Engine engine(job, execution, threads);
  return lloyd(problem, execution, engine, phases);
}

}  // namespace gradus::kmeans_detail
#endif

namespace gradus::kmeans_detail {

extern constinit const Variant cuda_all_gpu_rung{
    .name = "cuda_all_gpu",
    .summary = "assignment, sums and new centroids on the GPU",
    .change = "sums in each block's shared memory first; points are read once; only a line of state travels",
    .contract = textbook,
    .backend = core::Backend::cuda,
    .deterministic = false,
    .device_input = true,
    .supports = sums_in_shared,
    .memory = gpu_float_sums,
    .run = GRADUS_CUDA_RUNS(cuda_all_gpu<float>, cuda_all_gpu<double>),
};

}  // namespace gradus::kmeans_detail
