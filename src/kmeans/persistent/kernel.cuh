// A kernel that stays on the GPU for many iterations of a fit.
//
// An iteration starts with a walk over the points, in which every block records how its points change the sums. A
// barrier across the grid follows. Then every block computes all new centroids itself. With few clusters and columns,
// this is cheaper than waiting until one block has computed the centroids. A variant provides the walk:
//
//   struct Walk { columns, points_per_thread, threads, registers;
//                 static work_bytes(job, warps);  // of shared memory
//                 static Tally assign(job, shared); };
//
// Three sets of differences rotate. In iteration t, the blocks add to one set and read this set after the barrier. The
// first block concurrently clears the set of the next iteration, while slower blocks may still read the set of the
// previous iteration. A block can be at most one iteration ahead, so it never writes a set that another block still
// reads.
//
// Source: Gupta, Stuart and Owens, "A study of persistent threads style GPU programming" (2012).
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "kmeans/persistent/filter.cuh"
#include "kmeans/persistent/sums.cuh"
#include "kmeans/points/unit_length.hpp"

namespace gradus::kmeans_detail {

struct Tally {
  unsigned int changed;
  unsigned int rechecked;
};

/// Adds the counts of all lanes to a counter of the block, with one addition per warp. All lanes must take part.
__device__ inline void add_counts(unsigned int* counter, unsigned int count) {
  const unsigned int of_warp = __reduce_add_sync(0xffffffffu, count);
  if (threadIdx.x % 32 == 0 && of_warp > 0) atomicAdd(counter, of_warp);
}

template <class T>
__device__ double movement(const T* before, const T* after, int d) {
  double squares = 0;
  for (int dim = 0; dim < d; ++dim) {
    const double moved = static_cast<double>(after[dim]) - static_cast<double>(before[dim]);
    squares += moved * moved;
  }
  return squares;
}

/// Returns the sum of `parts`, added in ascending order.
__device__ inline double ordered_sum(const double* parts, int count) {
  double total = 0;
#pragma unroll 8
  for (int index = 0; index < count; ++index) total += parts[index];
  return total;
}

/// Returns the sum of the squared movements to all threads. Adds over dimensions first and then over clusters, like the
/// driver.
template <class T, int Columns>
__device__ double shift_of(const SmallDimJob<T>& job, const Shared<T, Columns>& shared) {
  __shared__ double total;
  for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += static_cast<int>(blockDim.x))
    shared.parts[cluster] = movement(shared.centroids + cluster * job.d, shared.next + cluster * job.d, job.d);
  __syncthreads();  // every cluster's part is stored
  if (threadIdx.x == 0) total = ordered_sum(shared.parts, job.k);
  __syncthreads();  // the total is stored
  return total;
}

__device__ inline int bits_of(float value) { return __float_as_int(value); }
__device__ inline long long bits_of(double value) { return __double_as_longlong(value); }

__device__ inline Word nanoseconds() {
  Word now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// One block of the kernel. The functions are the steps of an iteration, in this order. All threads of the block must
/// call each function together.
template <class T, class Walk>
class FitBlock {
 public:
  /// `memory` is the dynamic shared memory. `tally` must be in shared memory.
  __device__ FitBlock(const SmallDimJob<T>& job, unsigned char* memory, Tally& tally)
      : job_(job),
        shared_(memory, job, Walk::work_bytes(job, static_cast<int>(blockDim.x) / 32)), sums_{job, shared_.sums},
        tally_(tally), words_(sum_words(job)), area_(job.k * job.d) {}

  __device__ __forceinline__ void start() {
    for (int word = thread(); word < words_; word += threads()) shared_.sums[word] = job_.sums[word];
    for (int half = thread(); half < 2 * words_ * job_.copies; half += threads()) shared_.moved[half] = 0;
    for (int index = thread(); index < area_; index += threads()) {
      shared_.centroids[index] = job_.centroids[index];
      if (is_first()) job_.past_centroids[index] = job_.centroids[index];
    }
    if (thread() == 0) tally_ = {};
    if (is_first() && thread() == 0) job_.outcome->start_nanoseconds = nanoseconds();
    __syncthreads();  // the centroids are stored
    build_filter<T, Columns>(job_, shared_);
    __syncthreads();  // the filter is stored
  }

  /// Labels the block's points, and adds the resulting changes of the sums to the step's differences in global memory.
  __device__ __forceinline__ void assign(int step) {
    const Tally tally = Walk::assign(job_, shared_);
    add_counts(&tally_.changed, tally.changed);
    add_counts(&tally_.rechecked, tally.rechecked);
    __syncthreads();  // all of the block's points are labelled, and the changes are in `moved`
    Word* const difference = differences_of(step);
    if (tally_.changed > 0) add_moved(difference);
    if (is_first()) {
      // Clears the set of differences that the next iteration will use. All blocks have read this set before they
      // reached the last barrier.
      Word* const later = differences_of(step + 1);
      for (int word = thread(); word <= words_; word += threads()) later[word] = 0;
    }
    if (thread() == 0 && tally_.changed > 0) atomicAdd(&difference[words_], Word{tally_.changed});
  }

  /// Adds the differences of all blocks to the sums. Returns the number of changed labels.
  __device__ __forceinline__ Word take_differences(int step) {
    const Word* const difference = differences_of(step);
    if (thread() == 0) {
      rechecked_ += tally_.rechecked;
      tally_ = {};
    }
    for (int word = thread(); word < words_; word += threads()) shared_.sums[word] += __ldcg(&difference[word]);
    const Word changed = __ldcg(&difference[words_]);
    __syncthreads();  // the sums are complete
    return changed;
  }

  /// Returns true if the driver must make the update, because the job is a single pass, or because a cluster is (or may
  /// be) empty.
  __device__ __forceinline__ bool needs_driver() const {
    bool found = job_.iterations == 0;
    for (int cluster = thread(); cluster < job_.k; cluster += threads()) {
      const Presence presence = sums_.presence(cluster);
      found |= presence == Presence::unknown || (presence == Presence::none && job_.relocates);
    }
    return __syncthreads_or(found) != 0;
  }

  /// Computes the next centroids. Returns true if at least one centroid may be rounded incorrectly.
  __device__ __forceinline__ bool make_means(int step) {
    bool doubtful = false;
    for (int index = thread(); index < area_; index += threads()) {
      const int cluster = index / job_.d;
      const int dim = index - cluster * job_.d;
      shared_.next[index] = shared_.centroids[index];
      if (sums_.count(cluster) == 0) continue;
      const core::Certified<T> mean = sums_.mean(cluster, dim);
      shared_.next[index] = mean.value;
      doubtful |= !mean.certain;
    }
    if (is_first())
      for (int word = thread(); word < words_; word += threads())
        job_.past_sums[std::int64_t{step} * words_ + word] = shared_.sums[word];
    return __syncthreads_or(doubtful) != 0;  // __syncthreads_or() is also a barrier; after it, the rows are complete
  }

  __device__ __forceinline__ void scale_means() {
    for (int cluster = thread(); cluster < job_.k; cluster += threads())
      if (sums_.count(cluster) > 0 && !scale_to_unit_length(shared_.next + cluster * job_.d, job_.d))
        for (int dim = 0; dim < job_.d; ++dim)  // a mean of zeros has no direction, so the cluster keeps its centroid
          shared_.next[cluster * job_.d + dim] = shared_.centroids[cluster * job_.d + dim];
    __syncthreads();  // the rows have unit length
  }

  /// Replaces the current centroids by the next ones. Returns true if no centroid has changed.
  __device__ __forceinline__ bool replace_centroids(int step) {
    bool equal = true;
    for (int index = thread(); index < area_; index += threads()) {
      equal &= bits_of(shared_.next[index]) == bits_of(shared_.centroids[index]);
      shared_.centroids[index] = shared_.next[index];
      if (is_first()) job_.past_centroids[(std::int64_t{step} + 1) * area_ + index] = shared_.next[index];
    }
    // __syncthreads_and() is also a barrier. After it, the centroids are complete.
    const bool same = __syncthreads_and(equal) != 0;
    build_filter<T, Columns>(job_, shared_);
    return same;
  }

  __device__ __forceinline__ double shift() const { return shift_of<T, Columns>(job_, shared_); }

  __device__ __forceinline__ void record(int step, Word changed) const {
    if (is_first() && thread() == 0) job_.records[step] = {0, static_cast<std::int64_t>(changed), 0, nanoseconds()};
  }

  /// Writes the results to global memory. Every block adds the number of its rechecked points to the outcome.
  __device__ __forceinline__ void finish(int steps, bool pass_only, bool same, Word changed) {
    __syncthreads();  // the centroids are complete
    if (thread() == 0 && rechecked_ > 0) atomicAdd(&job_.outcome->rechecked, rechecked_);
    if (!is_first()) return;
    for (int word = thread(); word < words_; word += threads()) job_.sums[word] = shared_.sums[word];
    for (int index = thread(); index < area_; index += threads()) job_.centroids[index] = shared_.centroids[index];
    if (thread() != 0) return;
    job_.outcome->steps = steps;
    job_.outcome->pass_only = pass_only;
    job_.outcome->same_centroids = same;
    job_.outcome->changed = changed;
  }

 private:
  static constexpr int Columns = Walk::columns;

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
  __device__ static bool is_first() { return blockIdx.x == 0; }

  __device__ Word* differences_of(int step) const { return job_.differences + step % 3 * (words_ + 1); }

  /// Adds the block's recorded changes to the differences, and clears the record.
  __device__ __forceinline__ void add_moved(Word* difference) {
    // Each block starts at a different word, to avoid contention.
    const int first_word = static_cast<int>(std::int64_t{words_} * blockIdx.x / gridDim.x);
    for (int index = thread(); index < words_; index += threads()) {
      const int word = index + first_word < words_ ? index + first_word : index + first_word - words_;
      Word lower = 0;
      Word upper = 0;
      for (int step_of_copies = 0; step_of_copies < job_.copies; ++step_of_copies) {
        // Adjacent threads start at different copies, which are in different banks.
        const int at = word * job_.copies + ((step_of_copies + thread()) & (job_.copies - 1));
        lower += shared_.moved[at];
        upper += shared_.moved[at + words_ * job_.copies];
        shared_.moved[at] = shared_.moved[at + words_ * job_.copies] = 0;
      }
      const Word sum = lower + (upper << 32);
      if (sum != 0) atomicAdd(&difference[word], sum);
    }
  }

  const SmallDimJob<T>& job_;
  const Shared<T, Columns> shared_;
  const JobSums<T> sums_;
  Tally& tally_;
  const int words_;
  const int area_;
  Word rechecked_ = 0;  ///< number of points of the block that were rechecked, in all passes; only in the first thread
};

// Launch shape: cooperative. The number of blocks is the number that the GPU can run at once, or less if there are few
// points.
template <class T, class Walk>
__global__ void __maxnreg__(Walk::registers) fit_on_gpu(const __grid_constant__ SmallDimJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ Tally tally;
  FitBlock<T, Walk> block(job, memory, tally);
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  block.start();
  int step = 0;
  bool pass_only = false;
  bool same = false;
  Word changed = 0;
  for (;; ++step) {
    block.assign(step);
    grid.sync();  // every block's differences are in memory
    changed = block.take_differences(step);
    pass_only = block.needs_driver() || block.make_means(step);
    if (pass_only) break;
    if (job.to_unit_length) block.scale_means();
    const double shift = job.shift_limit > 0 ? block.shift() : 0;
    same = block.replace_centroids(step);
    block.record(step, changed);
    const auto moved = static_cast<std::int64_t>(changed);
    if (moved == 0 || (job.shift_limit > 0 && shift <= job.shift_limit) ||
        (job.changed_limit > 0 && moved <= job.changed_limit) || step + 1 == job.iterations) {
      ++step;
      break;
    }
    __syncthreads();  // the filter is complete
  }
  block.finish(step, pass_only, same, changed);
}

}  // namespace gradus::kmeans_detail
