// Code that the CUDA rungs share: points, bins, histograms and tiles on the GPU, and the division of the work into
// launches.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "core/exact_sum.hpp"
#include "core/phases.hpp"
#include "cuda/launch.hpp"
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/gpu/gpu_points.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

using Word = unsigned long long;  // the type of CUDA's 64-bit atomic additions

/// A point, widened to double.
struct Place {
  double x;
  double y;
  double z;
};

/// Points on the GPU, one column per coordinate, for coalesced loads. Missing columns are zero.
template <class T>
struct DevicePoints {
  const T* x = nullptr;
  const T* y = nullptr;
  const T* z = nullptr;
  const std::int64_t* weights = nullptr;  ///< as encoded by WeightSums, or null
  std::int64_t count = 0;

  __device__ Place operator[](std::int64_t point) const {
    return {static_cast<double>(x[point]), static_cast<double>(y[point]), static_cast<double>(z[point])};
  }
  __device__ std::int64_t weight(std::int64_t point) const { return weights[point]; }
};

/// The bins on the GPU. slot() applies the canonical rule by division or by a search of the edges.
struct DeviceBins {
  const double* edges = nullptr;
  int count = 0;
  double width = 0;  ///< width of the bins; 0 if slot() searches the edges
  double reach = 0;

  __device__ int slots() const { return count + 2; }
  __device__ int slot(double squared) const {
    const double distance = sqrt(squared);
    if (!(distance < reach)) return count + 1;
    if (width > 0) return 1 + static_cast<int>(distance / width);
    int below = 0;  // number of edges at or below the distance
    for (int above = count; below < above;) {
      const int middle = (below + above) / 2;
      if (edges[middle] <= distance) below = middle + 1;
      else above = middle;
    }
    return below;
  }
};

/// Sums of weights. The first words of all slots come first, then all second words, and so on.
struct DeviceSums {
  Word* words = nullptr;
  int slots = 0;
  int words_of_a_sum = 0;

  /// Adds the words with atomic additions. The previous value of a word shows whether to carry into the next word.
  __device__ void add(int slot, const WeightProduct& weight) const {
    WeightSums::add_by(weight, words_of_a_sum, [&](int word, std::uint64_t value) {
      return static_cast<std::uint64_t>(atomicAdd(&words[std::int64_t{word} * slots + slot], Word{value}));
    });
  }
};

/// The result in global memory: 64-bit counts, and the sums of weights.
struct DeviceHistogram {
  Word* counts = nullptr;
  DeviceSums sums;

  template <bool weighted>
  __device__ void add(int slot, const WeightProduct& weight) const {
    atomicAdd(&counts[slot], Word{1});
    if constexpr (weighted) sums.add(slot, weight);
  }
};

/// A kernel's job: the pairs of all first points with the second points in [begin, end).
template <class T>
struct PairJob {
  DevicePoints<T> first;
  DevicePoints<T> second;  ///< the same as `first` unless `cross` is true
  bool cross = false;      ///< if false, each point is paired with later points only
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double box[dimension_limit] = {};
  Cell cell;
  DeviceBins bins;
  WeightSums sums;
  int copies = 1;  ///< number of copies of a block's histogram
  DeviceHistogram histogram;
  int part = 0;  ///< the part of the pairs that this GPU counts, if several GPUs share them
  int parts = 1;

  __device__ std::int64_t first_partner(std::int64_t point) const { return cross || point < begin ? begin : point + 1; }

  /// Returns the canonical squared distance.
  template <bool periodic>
  __device__ double squared_distance(const Place& a, const Place& b) const {
    const double x = separation<periodic>(a.x, b.x, box[0]);
    const double y = separation<periodic>(a.y, b.y, box[1]);
    const double z = separation<periodic>(a.z, b.z, box[2]);
    return (x * x + y * y) + z * z;
  }

  template <Space space>
  __device__ double squared_distance_in(const Place& a, const Place& b) const {
    if constexpr (space == Space::cell) return cell.squared_distance(a.x - b.x, a.y - b.y, a.z - b.z);
    else return squared_distance<space == Space::box>(a, b);
  }

  template <bool weighted>
  __device__ WeightProduct weight(std::int64_t first_weight, std::int64_t second_weight) const {
    if constexpr (!weighted) return {};
    else return sums.product(first_weight, second_weight);
  }

 private:
  template <bool periodic>
  __device__ static double separation(double a, double b, double length) {
    const double apart = fabs(a - b);
    if constexpr (periodic) return fmin(apart, length - apart);
    else return apart;
  }
};

/// The histogram of a block in shared memory, as in `cuda_privatized`, but with sums of weights and one or more copies.
/// The copies of a slot's counter are adjacent. 32-bit counters suffice, because a launch gives a block fewer than 2^32
/// pairs. Sums of more than `words_in_shared` words are added directly to the result in global memory.
template <bool weighted>
class BlockHistogram {
 public:
  /// Clears the histogram. All threads of the block must call the constructor, which ends with a barrier.
  __device__ BlockHistogram(unsigned char* memory, int slots, int copies, const DeviceHistogram& result)
      : sums_{reinterpret_cast<Word*>(memory), slots, result.sums.words_of_a_sum},
        counts_(reinterpret_cast<unsigned int*>(sums_.words + (weighted ? words_in_shared * slots : 0))), slots_(slots),
        copies_(copies) {
    if constexpr (weighted) {
      sums_are_shared_ = sums_.words_of_a_sum <= words_in_shared;
      for (int at = threadIdx.x; sums_are_shared_ && at < slots * sums_.words_of_a_sum; at += blockDim.x)
        sums_.words[at] = 0;
      if (!sums_are_shared_) sums_ = result.sums;
    }
    for (int at = threadIdx.x; at < slots * copies; at += blockDim.x) counts_[at] = 0;
    __syncthreads();  // everything is zero before the first addition
  }

  __device__ void add(int slot, int copy, const WeightProduct& weight) {
    atomicAdd(&counts_[slot * copies_ + copy], 1U);
    if constexpr (weighted) sums_.add(slot, weight);
  }

  /// Adds the counts and sums to the result. All threads of the block must call flush(), which begins with a barrier.
  __device__ void flush(const DeviceHistogram& result) {
    __syncthreads();  // the block has finished all its additions
    for (int slot = threadIdx.x; slot < slots_; slot += blockDim.x) {
      Word count = 0;
      for (int copy = 0; copy < copies_; ++copy) count += counts_[slot * copies_ + copy];
      if (count == 0) continue;
      atomicAdd(&result.counts[slot], count);
      if constexpr (weighted)
        if (sums_are_shared_) result.sums.add(slot, sum(slot));
    }
  }

 private:
  // Returns a slot's sum. The sum must have all words that it has in the result, because negative sums are not
  // sign-extended.
  __device__ WeightProduct sum(int slot) const {
    WeightProduct sum;
    sum.low = sums_.words[slot];
    sum.middle = sums_.words[slots_ + slot];
    if (sums_.words_of_a_sum > 2) sum.high = sums_.words[2 * slots_ + slot];
    return sum;
  }

  DeviceSums sums_;
  bool sums_are_shared_ = false;
  unsigned int* counts_;
  int slots_;
  int copies_;
};

/// Second points and their weights in shared memory, one point per thread of the block. `cuda_tiled` explains the
/// method.
template <class T>
class Tile {
 public:
  __device__ explicit Tile(unsigned char* memory)
      : x_(reinterpret_cast<T*>(memory)), y_(x_ + blockDim.x), z_(y_ + blockDim.x),
        weights_(reinterpret_cast<std::int64_t*>(z_ + blockDim.x)) {}

  /// Loads the points in [begin, end), at most one per thread. All threads of the block must call load().
  __device__ void load(const DevicePoints<T>& points, std::int64_t begin, std::int64_t end) {
    __syncthreads();  // no thread reads the previous points any more
    const std::int64_t mine = begin + threadIdx.x;
    if (mine < end) {
      x_[threadIdx.x] = points.x[mine];
      y_[threadIdx.x] = points.y[mine];
      z_[threadIdx.x] = points.z[mine];
      if (points.weights != nullptr) weights_[threadIdx.x] = points.weights[mine];
    }
    count_ = static_cast<int>(end - begin < blockDim.x ? end - begin : blockDim.x);
    __syncthreads();
  }

  __device__ int count() const { return count_; }
  __device__ Place operator[](int place) const {
    return {static_cast<double>(x_[place]), static_cast<double>(y_[place]), static_cast<double>(z_[place])};
  }
  __device__ std::int64_t weight(int place) const { return weights_[place]; }

 private:
  T* x_;
  T* y_;
  T* z_;
  std::int64_t* weights_;
  int count_ = 0;
};

/// The first point of a thread. Surplus threads of the last block have no first point.
template <class T, bool weighted>
struct FirstPoint {
  std::int64_t number = 0;
  bool exists = false;
  Place place{};
  std::int64_t weight = 0;

  __device__ explicit FirstPoint(const PairJob<T>& job)
      : FirstPoint(job, std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) {}
  __device__ FirstPoint(const PairJob<T>& job, std::int64_t point) : number(point), exists(number < job.first.count) {
    if (!exists) return;
    place = job.first[number];
    if constexpr (weighted) weight = job.first.weight(number);
  }
};

/// The data of a problem on the GPU: the points as columns, the bins and the histogram.
template <class T>
class CudaPairs {
 public:
  using Kernel = void (*)(PairJob<T>);

  /// Sets up the job (phase to_device). The problem must already be on the GPU (see bring_to_gpu()).
  CudaPairs(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases);

  PairJob<T>& job() { return job_; }
  const cuda::Stream& stream() const { return gpu_job_.stream(); }
  const execution::Gpu& gpu() const { return gpu_; }
  cuda::Arena& memory() { return gpu_job_.memory(); }

  /// Counts all pairs of this GPU's part (phase count). Launches the kernel once for each range of second points, with
  /// one thread per first point of the part. Between launches, responds to stop requests and reports progress.
  void count(const char* name, Kernel kernel, int threads, std::uint64_t shared_bytes);
  /// Copies the result to the host (phase to_host).
  Histogram histogram();

 private:
  DevicePoints<T> columns(MatrixView<const T> rows, VectorView<const T> weights, bool second);
  std::int64_t end_of_portion(double pairs) const;

  const Problem<T>& problem_;
  const Execution& execution_;
  std::vector<Phase>& phases_;
  cuda::Job& gpu_job_;
  const execution::Gpu& gpu_;
  PairJob<T> job_;
  cuda::DeviceBuffer<Word> long_sums_;  ///< for sums of more than words_in_shared words; not part of the arena
};

void honour_stop(const Execution& execution, std::int64_t done, std::int64_t total);

/// Calls run(periodic, weighted) with compile-time constants that describe the problem.
template <class T, class Run>
void with_constants(const Problem<T>& problem, const Run& run) {
  const auto with_weights = [&](auto periodic) {
    if (problem.weighted()) run(periodic, std::true_type());
    else run(periodic, std::false_type());
  };
  if (problem.periodic) with_weights(std::true_type());
  else with_weights(std::false_type());
}

/// Calls run(space, weighted) with compile-time constants. Kernels that support triclinic cells need this function.
template <class T, class Run>
void with_space(const Problem<T>& problem, const Run& run) {
  const auto with_weights = [&](auto space) {
    if (problem.weighted()) run(space, std::true_type());
    else run(space, std::false_type());
  };
  switch (problem.space()) {
    case Space::open: return with_weights(std::integral_constant<Space, Space::open>());
    case Space::box: return with_weights(std::integral_constant<Space, Space::box>());
    case Space::cell: return with_weights(std::integral_constant<Space, Space::cell>());
  }
}

}  // namespace gradus::pair_histogram_detail
