// The kernel that stays on the GPU for many iterations of a fit.
//
// An iteration is one walk over the points, in which every block notes what its points add to the sums, and one barrier
// across the grid; then every block computes all the new centroids for itself, which for few clusters and columns is
// cheaper than to wait for a block that does it for all. A variant provides the walk:
//
//   struct Walk { columns, points_per_thread, threads, registers;
//                 static work_bytes(job, warps);  // of shared memory
//                 static Tally assign(job, shared); };
//
// Three sets of differences take turns: the blocks add to one in iteration t, read it after the barrier, and meanwhile
// the next is in use; the third is cleared for the iteration after. A block that is an iteration ahead, and none can be
// more, never writes what another still reads.
//
// Source: persistent kernels: Gupta, Stuart and Owens, "A study of persistent threads style GPU programming" (2012).
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "kmeans/persistent/filter.cuh"
#include "kmeans/persistent/sums.cuh"
#include "kmeans/points/unit_length.hpp"

namespace gradus::kmeans_detail {

struct Tally {
  unsigned int changed = 0;
  unsigned int rechecked = 0;
};

/// Adds a count of each lane to a counter of the block: one addition a warp. All lanes take part.
__device__ inline void add_counts(unsigned int* counter, unsigned int count) {
  const unsigned int of_warp = __reduce_add_sync(0xffffffffu, count);
  if (threadIdx.x % 32 == 0 && of_warp > 0) atomicAdd(counter, of_warp);
}

/// The squared movement of a centroid.
template <class T>
__device__ double movement(const T* before, const T* after, int d) {
  double squares = 0;
  for (int dim = 0; dim < d; ++dim) {
    const double moved = static_cast<double>(after[dim]) - static_cast<double>(before[dim]);
    squares += moved * moved;
  }
  return squares;
}

/// The sum of `parts`, in ascending order.
__device__ inline double ordered_sum(const double* parts, int count) {
  double total = 0;
#pragma unroll 8
  for (int index = 0; index < count; ++index) total += parts[index];
  return total;
}

/// The squared movements, summed as the frame does: dimensions, and then clusters, in ascending order. Every thread of
/// the block gets the sum.
template <class T, int Columns>
__device__ double shift_of(const SmallDimJob<T>& job, const Shared<T, Columns>& shared) {
  __shared__ double total;
  for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += static_cast<int>(blockDim.x))
    shared.parts[cluster] = movement(shared.centroids + cluster * job.d, shared.next + cluster * job.d, job.d);
  __syncthreads();  // every cluster's part is there
  if (threadIdx.x == 0) total = ordered_sum(shared.parts, job.k);
  __syncthreads();  // the total is there
  return total;
}

__device__ inline int bits_of(float value) { return __float_as_int(value); }
__device__ inline long long bits_of(double value) { return __double_as_longlong(value); }

__device__ inline Word nanoseconds() {
  Word now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Launch shape: cooperative, as many blocks as the GPU holds at once or the points need.
template <class T, class Walk>
__global__ void __maxnreg__(Walk::registers) fit_on_gpu(const __grid_constant__ SmallDimJob<T> job) {
  constexpr int Columns = Walk::columns;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ unsigned int block_changed;  // in this pass
  __shared__ unsigned int block_rechecked;
  const Shared<T, Columns> shared(memory, job, Walk::work_bytes(job, static_cast<int>(blockDim.x) / 32));
  const JobSums<T> sums{job, shared.sums};
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int words = sum_words(job);
  const int area = job.k * job.d;
  const bool first_block = blockIdx.x == 0;
  const int first_word = static_cast<int>(std::int64_t{words} * blockIdx.x / gridDim.x);
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();

  for (int word = thread; word < words; word += threads) shared.sums[word] = job.sums[word];
  for (int half = thread; half < 2 * words * job.copies; half += threads) shared.moved[half] = 0;
  for (int index = thread; index < area; index += threads) {
    shared.centroids[index] = job.centroids[index];
    if (first_block) job.past_centroids[index] = job.centroids[index];
  }
  if (thread == 0) block_changed = block_rechecked = 0;
  if (first_block && thread == 0) job.outcome->start_nanoseconds = nanoseconds();
  __syncthreads();  // the centroids are there
  build_filter<T, Columns>(job, shared);
  __syncthreads();  // and the filter

  int step = 0;
  bool pass_only = false;
  bool same = false;
  Word changed = 0;
  Word rechecked = 0;  // of the block, in all passes; the first thread's
  for (;; ++step) {
    Word* difference = job.differences + step % 3 * (words + 1);
    const Tally tally = Walk::assign(job, shared);
    add_counts(&block_changed, tally.changed);
    add_counts(&block_rechecked, tally.rechecked);
    __syncthreads();  // all of the block's points are settled and in `moved`
    if (block_changed > 0)
      for (int index = thread; index < words; index += threads) {
        // Every block begins with other words: additions to the same one would queue up.
        const int word = index + first_word < words ? index + first_word : index + first_word - words;
        Word lower = 0;
        Word upper = 0;
        for (int step_of_copies = 0; step_of_copies < job.copies; ++step_of_copies) {
          // Neighbouring threads begin with different copies, which lie in different banks.
          const int at = word * job.copies + ((step_of_copies + thread) & (job.copies - 1));
          lower += shared.moved[at];
          upper += shared.moved[at + words * job.copies];
          shared.moved[at] = shared.moved[at + words * job.copies] = 0;
        }
        const Word sum = lower + (upper << 32);
        if (sum != 0) atomicAdd(&difference[word], sum);
      }
    if (first_block) {
      // Cleared for the iteration after the next: all blocks are past the barrier behind which they read it.
      Word* later = job.differences + (step + 1) % 3 * (words + 1);
      for (int word = thread; word <= words; word += threads) later[word] = 0;
    }
    if (thread == 0 && block_changed > 0) atomicAdd(&difference[words], Word{block_changed});
    grid.sync();  // every block's differences are in memory
    if (thread == 0) {
      rechecked += block_rechecked;
      block_changed = block_rechecked = 0;
    }
    for (int word = thread; word < words; word += threads) shared.sums[word] += __ldcg(&difference[word]);
    changed = __ldcg(&difference[words]);
    __syncthreads();  // the sums are complete

    bool for_the_frame = job.iterations == 0;
    for (int cluster = thread; cluster < job.k; cluster += threads) {
      const Presence presence = sums.presence(cluster);
      for_the_frame |= presence == Presence::unknown || (presence == Presence::none && job.relocates);
    }
    pass_only = __syncthreads_or(for_the_frame) != 0;
    if (pass_only) break;
    bool doubtful = false;
    for (int index = thread; index < area; index += threads) {
      const int cluster = index / job.d;
      const int dim = index - cluster * job.d;
      shared.next[index] = shared.centroids[index];
      if (sums.count(cluster) == 0) continue;
      const core::Certified<T> mean = sums.mean(cluster, dim);
      shared.next[index] = mean.value;
      doubtful |= !mean.certain;
    }
    if (first_block)
      for (int word = thread; word < words; word += threads)
        job.past_sums[std::int64_t{step} * words + word] = shared.sums[word];
    pass_only = __syncthreads_or(doubtful) != 0;  // and the rows are complete
    if (pass_only) break;
    if (job.to_unit_length) {
      for (int cluster = thread; cluster < job.k; cluster += threads)
        if (sums.count(cluster) > 0 && !scale_to_unit_length(shared.next + cluster * job.d, job.d))
          for (int dim = 0; dim < job.d; ++dim)  // no direction: it stays
            shared.next[cluster * job.d + dim] = shared.centroids[cluster * job.d + dim];
      __syncthreads();  // the rows have their length
    }
    const double shift = job.shift_limit > 0 ? shift_of<T, Columns>(job, shared) : 0;
    bool equal = true;
    for (int index = thread; index < area; index += threads) {
      equal &= bits_of(shared.next[index]) == bits_of(shared.centroids[index]);
      shared.centroids[index] = shared.next[index];
      if (first_block) job.past_centroids[(std::int64_t{step} + 1) * area + index] = shared.next[index];
    }
    same = __syncthreads_and(equal) != 0;  // and the centroids are complete
    build_filter<T, Columns>(job, shared);
    if (first_block && thread == 0) job.records[step] = {0, static_cast<std::int64_t>(changed), 0, nanoseconds()};
    const auto moved = static_cast<std::int64_t>(changed);
    if (moved == 0 || (job.shift_limit > 0 && shift <= job.shift_limit) ||
        (job.changed_limit > 0 && moved <= job.changed_limit) || step + 1 == job.iterations) {
      ++step;
      break;
    }
    __syncthreads();  // the filter is complete
  }
  __syncthreads();  // the centroids are complete
  if (thread == 0 && rechecked > 0) atomicAdd(&job.outcome->rechecked, rechecked);
  if (!first_block) return;
  for (int word = thread; word < words; word += threads) job.sums[word] = shared.sums[word];
  for (int index = thread; index < area; index += threads) job.centroids[index] = shared.centroids[index];
  if (thread == 0) {
    job.outcome->steps = step;
    job.outcome->pass_only = pass_only;
    job.outcome->same_centroids = same;
    job.outcome->changed = changed;
  }
}

}  // namespace gradus::kmeans_detail
