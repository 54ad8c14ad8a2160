// What the rungs share whose whole iteration runs on the GPU: the kernels of an iteration, the state of the loop in the
// GPU's memory, and the engine around the one thing in which they differ, who starts the kernels.
#pragma once

#include <cuda_runtime.h>

#include "kmeans/cuda_common.hpp"
#include "kmeans/cuda_nearest.cuh"
#include "kmeans/cuda_sums.hpp"

namespace gradus::kmeans_detail {

/// The loop's state in the GPU's memory: the rules it runs under, and how far it came.
struct LoopState {
  double shift_limit;
  std::int64_t changed_limit;
  int iterations_left;
  bool relocates;  ///< an empty cluster ends the loop, for the frame to deal with
  bool to_unit_length;
  // What the iterations write:
  int steps;  ///< whole iterations done
  bool finished;
  bool needs_frame;
  bool same_centroids;
  unsigned long long changed;  ///< labels, in the pass under way
  double inertia;              ///< of the pass under way
};

struct LoopRecord {
  double inertia;
  std::int64_t changed;
  double shift;
};

inline constexpr int loop_records = 4096;  ///< iterations at most between two looks of the host

/// Bytes of shared memory of assign_and_sum: sums, weights and counts of a block, and the centroids.
template <class T>
std::size_t assign_and_sum_shared(std::int64_t k, std::int64_t d) {
  return static_cast<std::size_t>(k * (d + 2)) * 8 + static_cast<std::size_t>(k * d) * sizeof(T);
}

/// Labels, and sums in shared memory, which each block adds to the total at its end: of the atomic additions only k
/// (d + 2) for each block meet in the second-level cache. Of the n points those from `begin` to `end`.
/// Launch shape: some blocks for each multiprocessor, the grid's stride over the points.
template <class T>
__global__ void assign_and_sum(const T* points, const T* weights, std::int64_t begin, std::int64_t end, std::int64_t n,
                               int d, const T* centroids, int k, std::int32_t* labels, DeviceSums total,
                               LoopState* state) {
  if (state->finished) return;
  extern __shared__ __align__(16) unsigned char memory[];
  double* sums = reinterpret_cast<double*>(memory);
  double* cluster_weights = sums + k * d;
  auto* counts = reinterpret_cast<unsigned long long*>(cluster_weights + k);
  T* near = reinterpret_cast<T*>(counts + k);
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int index = thread; index < k * (d + 2); index += threads) sums[index] = 0;  // the counts' bits too
  for (int index = thread; index < k * d; index += threads) near[index] = centroids[index];
  __syncthreads();  // centroids and zeros are there before any thread uses them

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
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    changed += __shfl_down_sync(0xffffffffu, changed, lanes);
    inertia += __shfl_down_sync(0xffffffffu, inertia, lanes);
  }
  if (thread % 32 == 0) {
    atomicAdd(&state->changed, changed);
    atomicAdd(&state->inertia, inertia);
  }
  __syncthreads();  // every addition of the block is in shared memory
  for (int index = thread; index < k * d; index += threads)
    if (sums[index] != 0) atomicAdd(&total.sums[index], sums[index]);
  for (int cluster = thread; cluster < k; cluster += threads) {
    if (counts[cluster] == 0) continue;
    atomicAdd(&total.weights[cluster], cluster_weights[cluster]);
    atomicAdd(&total.counts[cluster], counts[cluster]);
  }
}

/// The sum of `value` over the block, in every thread. The block has whole warps.
__device__ inline double block_sum(double value) {
  __shared__ double parts[32];
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();  // every warp's part is there
  double sum = 0;
  for (unsigned int warp = 0; warp < blockDim.x / 32; ++warp) sum += parts[warp];
  __syncthreads();  // all have read before the next call writes
  return sum;
}

/// The centroids' new values, the record of the iteration, and whether the loop goes on; if so, the sums are zero again
/// for the next iteration, otherwise they stay. Nothing once the loop has finished.
/// Launch shape: one block of 1024 threads. `next`: k d elements of the GPU's memory.
template <class T>
__global__ void update_centroids(int k, int d, DeviceSums sums, T* centroids, T* next, LoopState* state,
                                 LoopRecord* records) {
  __shared__ bool goes_on;
  if (state->finished) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  bool empty = false;
  for (int cluster = thread; cluster < k; cluster += threads)
    empty |= sums.counts[cluster] == 0 || !(sums.weights[cluster] > 0);
  if (__syncthreads_or(empty) && state->relocates) {
    __syncthreads();  // all have read `relocates` and the sums
    if (thread == 0) state->needs_frame = state->finished = true;
    return;
  }
  for (int index = thread; index < k * d; index += threads) {
    const double weight = sums.counts[index / d] > 0 ? sums.weights[index / d] : 0.0;
    next[index] = weight > 0 ? static_cast<T>(sums.sums[index] / weight) : centroids[index];
  }
  __syncthreads();  // the rows are complete
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
  __syncthreads();  // the rows have their length
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
    goes_on = !state->finished;
  }
  __syncthreads();  // it is decided
  if (!goes_on) return;
  for (int index = thread; index < k * d; index += threads) sums.sums[index] = 0;
  for (int cluster = thread; cluster < k; cluster += threads) {
    sums.weights[cluster] = 0;
    sums.counts[cluster] = 0;
  }
}

/// An engine for Lloyd's frame that runs whole iterations. `Loop` is made from this engine's Memory and runs
/// iterations, so many at most, until state->finished: run(iterations, phases).
template <class T, class Loop>
class CudaLoopEngine {
 public:
  /// What the loop's kernels work on.
  struct Memory {
    Memory(CudaJob<T>& the_job, int block)
        : job(the_job), threads(block), blocks(static_cast<unsigned int>(8 * the_job.gpu().multiprocessors)),
          shared(
              allow_shared(assign_and_sum<T>, assign_and_sum_shared<T>(the_job.problem().k(), the_job.problem().d()))),
          sums(the_job), centroids(the_job.problem().k() * the_job.problem().d()), next(centroids.size()),
          labels(the_job.problem().n()), state(1), records(loop_records),
          portions(the_job.problem().stop, operations_of_the_first_launch) {
      labels.fill_bytes(0xff, job.stream());  // -1: no cluster yet
    }

    /// The sums must be zero. It may wait between portions of the points.
    void launch_assign_and_sum() {
      portions.run(job.problem().n(), job.point_operations(), 1024, job.stream(),
                   [&](std::int64_t first, std::int64_t count) { launch_assign_and_sum(first, first + count); });
    }
    bool is_one_launch() const { return portions.is_one_launch(job.problem().n(), job.point_operations()); }

    /// For some points.
    void launch_assign_and_sum(std::int64_t begin, std::int64_t end) {
      const Problem<T>& problem = job.problem();
      assign_and_sum<<<blocks, threads, shared, job.stream()>>>(
          job.points(), job.weights(), begin, end, problem.n(), static_cast<int>(problem.d()), centroids.data(),
          static_cast<int>(problem.k()), labels.data(), sums.on_device(), state.data());
      cuda::check_launch("assign_and_sum");
    }

    void launch_update() {
      const Problem<T>& problem = job.problem();
      update_centroids<<<1, 1024, 0, job.stream()>>>(static_cast<int>(problem.k()), static_cast<int>(problem.d()),
                                                     sums.on_device(), centroids.data(), next.data(), state.data(),
                                                     records.data());
      cuda::check_launch("update_centroids");
    }

    CudaJob<T>& job;
    int threads;
    unsigned int blocks;
    std::size_t shared;
    CudaSums<T> sums;
    cuda::DeviceBuffer<T> centroids;
    cuda::DeviceBuffer<T> next;
    cuda::DeviceBuffer<std::int32_t> labels;
    cuda::DeviceBuffer<LoopState> state;
    cuda::DeviceBuffer<LoopRecord> records;
    cuda::Portions portions;
  };

  CudaLoopEngine(CudaJob<T>& job, const Execution& execution, int threads)
      : memory_(job, threads), loop_(memory_, execution), state_(1), records_(loop_records) {}

  static std::uint64_t bytes(const Problem<T>& problem) {
    return CudaSums<T>::bytes(problem) + 2 * centroid_bytes(problem) + sizeof(LoopRecord) * loop_records;
  }

  Steps advance(MatrixView<T> centroids, StopRules rules, std::vector<Phase>& phases) {
    const cuda::Stream& stream = memory_.job.stream();
    memory_.job.add_upload_phase(phases);
    const auto start = core::Clock::now();
    {
      core::PhaseTimer timer(phases, "to_device");
      rules.iterations = std::min(rules.iterations, batch_);
      reset(centroids, rules);
      stream.wait();
    }
    loop_.run(rules.iterations, phases);
    core::PhaseTimer timer(phases, "to_host");
    memory_.state.copy_to_host(state_.data(), 1, stream);
    stream.wait();
    Steps steps;
    steps.same_centroids = state_[0].same_centroids;
    steps.needs_frame = pass_is_pending_ = state_[0].needs_frame;
    const int count = state_[0].steps;
    memory_.records.copy_to_host(records_.data(), count, stream);
    memory_.centroids.copy_to_host(centroids.data(), memory_.centroids.size(), stream);
    stream.wait();
    const double seconds = core::seconds_since(start);
    for (int step = 0; step < count; ++step)
      steps.records.push_back({records_[step].inertia, records_[step].changed, records_[step].shift, seconds / count});
    // The host looks again after about ten milliseconds: for the progress, and for a stop request.
    if (seconds < 0.01) batch_ = std::min(2 * batch_, loop_records);
    return steps;
  }

  /// The pass that advance() has made already, or one of its own.
  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels) {
    const cuda::Stream& stream = memory_.job.stream();
    if (!pass_is_pending_) {
      reset(centroids, {});
      memory_.launch_assign_and_sum();
      memory_.state.copy_to_host(state_.data(), 1, stream);
    }
    pass_is_pending_ = false;
    memory_.sums.fetch();
    cuda::download(memory_.labels, labels, memory_.labels.size(), memory_.job.staging(), memory_.job.threads(), stream);
    stream.wait();
    return {static_cast<std::int64_t>(state_[0].changed), state_[0].inertia};
  }

  const FloatSums<T>& sums() const { return memory_.sums.on_host(); }
  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool /*labels_are_current*/) {
    pass(centroids, labels);
    return float_inertia(memory_.job, memory_.centroids.data(), memory_.labels.data());
  }
  static double rechecked() { return 0; }

 private:
  void reset(MatrixView<const T> centroids, StopRules rules) {
    const Problem<T>& problem = memory_.job.problem();
    state_[0] = {};
    state_[0].shift_limit = rules.shift_limit;
    state_[0].changed_limit = rules.changed_limit;
    state_[0].iterations_left = rules.iterations;
    state_[0].relocates = problem.empty != EmptyCluster::keep;
    state_[0].to_unit_length = problem.metric == Metric::cosine;
    memory_.state.copy_from_host(state_.data(), 1, memory_.job.stream());
    memory_.sums.clear();
    memory_.centroids.copy_from_host(centroids.data(), memory_.centroids.size(), memory_.job.stream());
  }

  Memory memory_;
  Loop loop_;
  cuda::PinnedBuffer<LoopState> state_;
  cuda::PinnedBuffer<LoopRecord> records_;
  int batch_ = 1;
  bool pass_is_pending_ = false;
};

}  // namespace gradus::kmeans_detail
