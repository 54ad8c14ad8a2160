// Updates centroids exactly on the GPU, for any number of clusters. The kernels compute the sums from the labels, and
// then the new centroids and the statistics of the iteration.
//
// Two-limb integer sums (core/exact_sum.hpp) give the same bits for any order of additions, so the kernels choose the
// cheapest order. An entry is a point that joins or leaves a cluster. A counting sort orders the entries by cluster.
// Each warp then adds up a run of consecutive entries in registers. It adds each of these sums to memory by one atomic
// operation per column and limb. So it needs one such operation per cluster of the run, and not one per entry.
//
// A point that changes its cluster yields two entries. If more than half of the points change their clusters, the sums
// start again from zero, and every point yields one entry. Within a cluster, the order of entries depends on atomic
// counters, but integer sums do not depend on the order.
#pragma once

#include <cuda_runtime.h>

#include "core/exact_sum.hpp"
#include "core/run_sum.hpp"
#include "kmeans/gpu/cuda_common.hpp"
#include "kmeans/means/cuda_exact_sums.hpp"
#include "kmeans/points/unit_length.hpp"

namespace gradus::kmeans_detail {

/// The counters of a pass.
struct PassCounters {
  unsigned int changed;   ///< number of changed labels, and of elements in moved_points
  unsigned int doubtful;  ///< number of points that the filter left to the canonical chain
  unsigned int crowded;   ///< number of doubtful points that have more candidates than their list can hold
};

/// The results of an update that the host reads.
struct UpdateState {
  double shift;
  double explained;
  int empty;                     ///< number of clusters without weight, or with too little weight to show in the sums
  int doubtful;                  ///< nonzero if the sums do not determine some mean
  int different;                 ///< nonzero if a centroid moved
  unsigned int finished_blocks;  ///< number of blocks of update_centroids() that have finished
};

/// A point that leaves a cluster and becomes the centroid of an empty cluster.
struct MovedPoint {
  const void* row;  ///< its coordinates on the GPU
  double weight;
  std::int32_t from;
  std::int32_t to;
};

template <class T>
struct ExactUpdateJob {
  const T* points;
  const T* weights;  ///< null if there are no weights
  std::int64_t n;
  int d;
  int k;
  const std::int32_t* labels;
  const std::int32_t* moved_points;
  const std::int32_t* moved_from;
  const PassCounters* counters;
  const double* to_high;  ///< for each column: the factor that scales to the high limb of its grid
  const int* units;       ///< for each column: the unit of its grid
  const int* on_grid;     ///< for each column: Statistics::is_on_grid
  double to_low;          ///< scale to the low limb; the same for all columns
  int bits;
  core::Grid weight;
  bool weights_on_grid;
  double weight_scale;      ///< see Statistics
  double coordinate_scale;  ///< see Statistics
  const double* middle;     ///< for each column: the middle of its range, to which the history's inertia is relative
  Word* sums;               ///< k x 2 d raw limbs, 2 k limbs of weights if there are any, k counts
  unsigned int* sizes;      ///< for each cluster: its number of entries (k elements); zero between updates
  unsigned int* cursors;    ///< for each cluster: the position of its next entry (k elements)
  unsigned int* order;      ///< entries, ordered by cluster (n elements)
  const T* centroids;       ///< k x d
  T* next;
  double* parts;  ///< movements of all centroids, then explained inertias of all clusters (2 k elements)
  UpdateState* state;
  bool relocates;           ///< true if a cluster without weight must not keep its centroid
  const MovedPoint* moves;  ///< in ascending order of the empty clusters
  int move_count;           ///< nonzero only in the second update of an iteration
  bool to_unit_length;
  bool by_blocks;  ///< true if the points are a block of the job's points. The host has set the sums to zero if
                   ///< necessary
  bool joins_all;  ///< with `by_blocks`: true if the sums start at zero
};

template <class T>
__device__ bool is_from_scratch(const ExactUpdateJob<T>& job) {
  if (job.by_blocks) return job.joins_all;
  return 2 * static_cast<std::int64_t>(job.counters->changed) > job.n;
}

template <class T>
__device__ std::int64_t entry_count(const ExactUpdateJob<T>& job) {
  return is_from_scratch(job) ? job.n : 2 * static_cast<std::int64_t>(job.counters->changed);
}

/// A point that joins or leaves a cluster.
struct Entry {
  std::int32_t point;
  std::int32_t cluster;
  bool leaves;
};

template <class T>
__device__ Entry entry_at(const ExactUpdateJob<T>& job, bool from_scratch, unsigned int index) {
  if (from_scratch) return {static_cast<std::int32_t>(index), job.labels[index], false};
  const unsigned int changed = job.counters->changed;
  if (index < changed) return {job.moved_points[index], job.labels[job.moved_points[index]], false};
  return {job.moved_points[index - changed], job.moved_from[index - changed], true};
}

template <class T>
__host__ __device__ std::int64_t sum_words(const ExactUpdateJob<T>& job) {
  return static_cast<std::int64_t>(job.k) * (2 * job.d + (job.weights ? 2 : 0) + 1);
}

/// If there are more clusters than this, their counters do not fit in the shared memory of a block.
inline constexpr int counted_in_shared = 8192;
inline constexpr int order_threads = 512;
inline constexpr int entries_per_thread = 8;
/// Maximum number of entries in a run. If there are few entries, the runs are shorter, but have at least a quarter of
/// this number.
inline constexpr int run_entries = 128;
inline constexpr int add_threads = 256;
inline constexpr int lane_columns = 4;  ///< number of columns per lane; a warp adds up 128 columns at once

/// Counts the entries of each cluster. If the sums are computed from scratch, also sets them to zero. Launch: blocks of
/// `order_threads` threads, a grid-stride loop over the entries. Shared memory: k counters if k is at most
/// `counted_in_shared`, otherwise none.
template <class T>
__global__ void count_entries(const __grid_constant__ ExactUpdateJob<T> job) {
  extern __shared__ unsigned int near[];
  const bool in_shared = job.k <= counted_in_shared;
  const bool from_scratch = is_from_scratch(job);
  const std::int64_t entries = entry_count(job);
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (from_scratch && job.sums && !job.by_blocks)
    for (std::int64_t word = first; word < sum_words(job); word += stride) job.sums[word] = 0;
  if (in_shared)
    for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += static_cast<int>(blockDim.x))
      near[cluster] = 0;
  __syncthreads();  // the counters are zero before the counting starts
  for (std::int64_t index = first; index < entries; index += stride) {
    const Entry entry = entry_at(job, from_scratch, static_cast<unsigned int>(index));
    atomicAdd(in_shared ? &near[entry.cluster] : &job.sizes[entry.cluster], 1u);
  }
  __syncthreads();  // the block has counted all its entries
  if (in_shared)
    for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += static_cast<int>(blockDim.x))
      if (near[cluster] > 0) atomicAdd(&job.sizes[cluster], near[cluster]);
}

/// Computes, for each cluster, the position of its first entry in the order. Sets the sizes to zero for the next order.
/// Launch: one block of 1024 threads.
template <class T>
__global__ void place_clusters(const __grid_constant__ ExactUpdateJob<T> job) {
  __shared__ unsigned int warp_totals[32];
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  unsigned int before = 0;  // number of entries of all clusters that earlier rounds have processed
  for (int first = 0; first < job.k; first += 1024) {
    const int cluster = first + thread;
    const unsigned int size = cluster < job.k ? job.sizes[cluster] : 0;
    unsigned int sum = size;
    for (int lanes = 1; lanes < 32; lanes *= 2) {
      const unsigned int other = __shfl_up_sync(0xffffffffu, sum, lanes);
      if (lane >= lanes) sum += other;
    }
    if (lane == 31) warp_totals[thread / 32] = sum;
    __syncthreads();  // every warp has written its total number
    unsigned int below = 0;
    unsigned int all = 0;
    for (int warp = 0; warp < 32; ++warp) {
      if (warp < thread / 32) below += warp_totals[warp];
      all += warp_totals[warp];
    }
    if (cluster < job.k) {
      job.cursors[cluster] = before + below + sum - size;
      job.sizes[cluster] = 0;
    }
    before += all;
    __syncthreads();  // the totals have been read before the next round overwrites them
  }
}

/// Orders the entries by cluster. A block first counts its entries. Then it reserves positions by one atomic addition
/// per cluster. If there are few entries, a block has fewer, so that more blocks have some. The launch and the shared
/// memory are the same as for count_entries.
template <class T>
__global__ void order_entries(const __grid_constant__ ExactUpdateJob<T> job) {
  extern __shared__ unsigned int near[];
  const bool in_shared = job.k <= counted_in_shared;
  const bool from_scratch = is_from_scratch(job);
  const std::int64_t entries = entry_count(job);
  const std::int64_t grid_threads = std::int64_t{gridDim.x} * order_threads;
  const int turns = entries >= entries_per_thread * grid_threads
                        ? entries_per_thread
                        : static_cast<int>((entries + grid_threads - 1) / grid_threads);
  const std::int64_t block_entries = order_threads * turns;
  for (std::int64_t first = blockIdx.x * block_entries; first < entries; first += gridDim.x * block_entries) {
    if (in_shared)
      for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += order_threads) near[cluster] = 0;
    __syncthreads();  // the counters are zero before counting starts
    std::int32_t cluster_of[entries_per_thread];
    unsigned int rank[entries_per_thread];
#pragma unroll
    for (int turn = 0; turn < entries_per_thread; ++turn) {
      const std::int64_t index = first + turn * order_threads + threadIdx.x;
      if (turn >= turns || index >= entries) continue;
      cluster_of[turn] = entry_at(job, from_scratch, static_cast<unsigned int>(index)).cluster;
      rank[turn] = atomicAdd(in_shared ? &near[cluster_of[turn]] : &job.cursors[cluster_of[turn]], 1u);
    }
    __syncthreads();  // the block's entries are counted
    if (in_shared)
      for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += order_threads)
        if (near[cluster] > 0) near[cluster] = atomicAdd(&job.cursors[cluster], near[cluster]);
    __syncthreads();  // the positions are reserved
#pragma unroll
    for (int turn = 0; turn < entries_per_thread; ++turn) {
      const std::int64_t index = first + turn * order_threads + threadIdx.x;
      if (turn < turns && index < entries)
        job.order[rank[turn] + (in_shared ? near[cluster_of[turn]] : 0)] = static_cast<unsigned int>(index);
    }
    __syncthreads();  // the positions have been read before the next round clears the counters
  }
}

/// Loads four adjacent coordinates of a point. Coordinates past the last column are zero.
template <class T>
__device__ void load_columns(const ExactUpdateJob<T>& job, std::int32_t point, int first_dim, T (&row)[lane_columns]) {
  const T* from = job.points + static_cast<std::int64_t>(point) * job.d + first_dim;
  if (job.d % lane_columns == 0) {  // each row starts at a multiple of 16 bytes
    struct alignas(16) Quad {
      T values[16 / sizeof(T)];
    };
    constexpr int quads = lane_columns * static_cast<int>(sizeof(T)) / 16;
    if (first_dim >= job.d) return;
#pragma unroll
    for (int quad = 0; quad < quads; ++quad) {
      const Quad part = reinterpret_cast<const Quad*>(from)[quad];
#pragma unroll
      for (int index = 0; index < lane_columns / quads; ++index)
        row[quad * (lane_columns / quads) + index] = part.values[index];
    }
  } else {
#pragma unroll
    for (int column = 0; column < lane_columns; ++column)
      if (first_dim + column < job.d) row[column] = from[column];
  }
}

/// The sums of one cluster. A warp holds these sums in registers, four columns per lane.
template <class T>
class RunSums {
 public:
  __device__ RunSums(const ExactUpdateJob<T>& job, int first_dim)
      : job_(job), first_dim_(first_dim + static_cast<int>(threadIdx.x) % 32 * lane_columns),
        with_counts_(first_dim == 0 && threadIdx.x % 32 == 0) {
#pragma unroll
    for (int column = 0; column < lane_columns; ++column)
      to_high_[column] = first_dim_ + column < job.d ? job.to_high[first_dim_ + column] : 0.0;
  }

  __device__ int first_dim() const { return first_dim_; }

  /// Adds sign * row. `sign` is 1 if the point joins, -1 if it leaves, and 0 if `row` stands for no point.
  __device__ void add(const T (&row)[lane_columns], T sign) {
#pragma unroll
    for (int column = 0; column < lane_columns; ++column)
      sums_[column].add(core::raw_limbs(static_cast<double>(sign * row[column]) * to_high_[column], job_.to_low));
  }
  /// Adds sign * weight * row. `weight` must be scaled.
  __device__ void add_weighted(const T (&row)[lane_columns], T sign, double weight) {
#pragma unroll
    for (int column = 0; column < lane_columns; ++column)
      sums_[column].add(
          core::raw_limbs(weight, static_cast<double>(sign * row[column]) * to_high_[column], job_.to_low));
    const core::Limbs limbs = job_.weight.split(weight);
    weight_high_ += static_cast<Word>(static_cast<std::int64_t>(sign) * limbs.high);
    weight_low_ += static_cast<Word>(static_cast<std::int64_t>(sign) * limbs.low);
  }

  /// Adds these sums to the cluster's sums in memory and then sets them to zero. Of the added rows, `joined` belong to
  /// points that joined the cluster, `left` belong to points that left it, and `empty` stand for no point.
  __device__ void flush(std::int32_t cluster, Word joined, Word left, Word empty) {
    Word* limbs = job_.sums + static_cast<std::int64_t>(cluster) * 2 * job_.d + first_dim_;
    const Word excess = core::RunSum::excess(empty, left);
#pragma unroll
    for (int column = 0; column < lane_columns; ++column) {
      if (first_dim_ + column < job_.d) {
        atomicAdd(&limbs[column], static_cast<Word>(sums_[column].high - excess));
        atomicAdd(&limbs[job_.d + column], static_cast<Word>(sums_[column].low - excess));
      }
      sums_[column] = {};
    }
    if (with_counts_) {
      Word* rest = job_.sums + static_cast<std::int64_t>(job_.k) * 2 * job_.d;
      if (job_.weights) {
        atomicAdd(&rest[2 * static_cast<std::int64_t>(cluster)], weight_high_);
        atomicAdd(&rest[2 * static_cast<std::int64_t>(cluster) + 1], weight_low_);
        rest += 2 * static_cast<std::int64_t>(job_.k);
      }
      atomicAdd(&rest[cluster], joined - left);
    }
    weight_high_ = weight_low_ = 0;
  }

 private:
  const ExactUpdateJob<T>& job_;
  int first_dim_;
  bool with_counts_;
  double to_high_[lane_columns];
  core::RunSum sums_[lane_columns];
  Word weight_high_ = 0;
  Word weight_low_ = 0;
};

/// Adds the ordered entries to the sums. Launch: blocks of `add_threads`, and a grid-stride loop over runs and blocks
/// of columns. A warp adds one run of at most `run_entries` entries in 128 columns at a time.
template <class T, bool Weighted>
__global__ __launch_bounds__(add_threads) void add_entries(const __grid_constant__ ExactUpdateJob<T> job) {
  constexpr unsigned int everyone = 0xffffffffu;
  constexpr int ahead = sizeof(T) == 4 ? 8 : 4;  // number of rows whose loads are in flight at the same time
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool from_scratch = is_from_scratch(job);
  const std::int64_t entries = entry_count(job);
  const int blocks_of_columns = (job.d + 32 * lane_columns - 1) / (32 * lane_columns);
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / 32;
  // If there are few entries, shorter runs keep more warps busy.
  int run = run_entries;
  while (run > run_entries / 4 && (entries + run - 1) / run * blocks_of_columns < warps) run /= 2;
  const std::int64_t tasks = (entries + run - 1) / run * blocks_of_columns;
  for (std::int64_t task = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; task < tasks; task += warps) {
    RunSums<T> sums(job, static_cast<int>(task % blocks_of_columns) * 32 * lane_columns);
    const std::int64_t first = task / blocks_of_columns * run;
    const std::int64_t last = first + run < entries ? first + run : entries;
    std::int32_t cluster = -1;
    Word joined = 0;
    Word left = 0;
    Word empty = 0;
    for (std::int64_t batch = first; batch < last; batch += 32) {
      const int count = last - batch < 32 ? static_cast<int>(last - batch) : 32;
      Entry own{0, -1, false};
      if (lane < count) own = entry_at(job, from_scratch, job.order[batch + lane]);
      const unsigned int leaving = __ballot_sync(everyone, own.leaves);
      // One bit per lane. It is set if the entries of the lane and of the previous lane belong to different clusters.
      const std::int32_t before = __shfl_up_sync(everyone, own.cluster, 1);
      const unsigned int starts = __ballot_sync(everyone, lane == 0 || own.cluster != before);
      for (int begin = 0; begin < count;) {
        const unsigned int later = begin == 31 ? 0 : starts >> (begin + 1);
        const int end_of_run = later == 0 ? 32 : begin + __ffs(static_cast<int>(later));
        const int end = end_of_run < count ? end_of_run : count;
        const std::int32_t next = __shfl_sync(everyone, own.cluster, begin);
        if (next != cluster && cluster >= 0) {
          sums.flush(cluster, joined, left, empty);
          joined = left = empty = 0;
        }
        cluster = next;
        const unsigned int of_run = (0xffffffffu << begin) & (0xffffffffu >> (32 - end));
        left += static_cast<Word>(__popc(leaving & of_run));
        joined += static_cast<Word>(__popc(~leaving & of_run));
        for (int index = begin; index < end; index += ahead) {
          T rows[ahead][lane_columns] = {};
          T signs[ahead];
          double weights[Weighted ? ahead : 1];
#pragma unroll
          for (int row = 0; row < ahead; ++row) {
            const int place = index + row < end ? index + row : index;
            const std::int32_t point = __shfl_sync(everyone, own.point, place);
            load_columns(job, point, sums.first_dim(), rows[row]);
            signs[row] = index + row >= end ? T{0} : leaving >> place & 1 ? T{-1} : T{1};
            if constexpr (Weighted) weights[row] = static_cast<double>(job.weights[point]) * job.weight_scale;
          }
#pragma unroll
          for (int row = 0; row < ahead; ++row) {
            if constexpr (Weighted) sums.add_weighted(rows[row], signs[row], weights[row]);
            else sums.add(rows[row], signs[row]);
          }
          empty += static_cast<Word>(index + ahead > end ? index + ahead - end : 0);
        }
        begin = end;
      }
    }
    if (cluster >= 0) sums.flush(cluster, joined, left, empty);
  }
}

/// Gives access to the exact sums of clusters.
template <class T>
struct ExactSumsView {
  const ExactUpdateJob<T>& job;

  __device__ Word count(int cluster) const { return job.sums[sum_words(job) - job.k + cluster]; }
  __device__ core::Int128 total_weight(int cluster) const {
    if (!job.weights) return static_cast<core::Int128>(count(cluster));
    const Word* limbs =
        job.sums + static_cast<std::int64_t>(job.k) * 2 * job.d + 2 * static_cast<std::int64_t>(cluster);
    return job.weight.total({static_cast<std::int64_t>(limbs[0]), static_cast<std::int64_t>(limbs[1])});
  }
  /// Returns the scaled weight of a cluster, for the history.
  __device__ double weight(int cluster) const {
    if (!job.weights) return static_cast<double>(static_cast<std::int64_t>(count(cluster)));
    return core::round_quotient<double>(total_weight(cluster), 1, job.weight.unit);
  }
  __device__ core::TwoDoubles weight_parts(int cluster) const {
    if (!job.weights) return {static_cast<double>(static_cast<std::int64_t>(count(cluster))), 0};
    const Word* limbs =
        job.sums + static_cast<std::int64_t>(job.k) * 2 * job.d + 2 * static_cast<std::int64_t>(cluster);
    return core::two_doubles(job.weight, {static_cast<std::int64_t>(limbs[0]), static_cast<std::int64_t>(limbs[1])});
  }
  __device__ std::int64_t weight_slack(int cluster) const {
    return !job.weights || job.weights_on_grid ? 0 : static_cast<std::int64_t>(count(cluster));
  }
  /// Returns the presence as ExactSums::presence() defines it.
  __device__ Presence presence(int cluster) const {
    if (count(cluster) == 0) return Presence::none;
    return total_weight(cluster) > weight_slack(cluster) ? Presence::some : Presence::unknown;
  }
  /// Returns the limbs without the bits of the magic number, which every addend includes.
  __device__ core::Limbs limbs(int cluster, int dim) const {
    const Word* raw = job.sums + static_cast<std::int64_t>(cluster) * 2 * job.d + dim;
    const Word magic = count(cluster) * static_cast<Word>(core::integer_magic_bits);
    return {static_cast<std::int64_t>(raw[0] - magic), static_cast<std::int64_t>(raw[job.d] - magic)};
  }
  __device__ core::Int128 total(int cluster, int dim) const {
    const core::Limbs sum = limbs(cluster, dim);
    return (static_cast<core::Int128>(sum.high) << job.bits) + sum.low;
  }
  __device__ int unit_of_mean(int dim) const { return job.units[dim] - (job.weights ? job.weight.unit : 0); }
  __device__ core::Certified<T> mean(int cluster, int dim) const {
    const std::int64_t slack = job.on_grid[dim] != 0 ? 0 : static_cast<std::int64_t>(count(cluster));
    return core::certified_quotient<T>(total(cluster, dim), slack, total_weight(cluster), weight_slack(cluster),
                                       unit_of_mean(dim));
  }
  /// Returns the mean minus the middle of the column, accurate to a few rounding errors. The history needs this
  /// difference.
  __device__ double mean_from_middle(int cluster, int dim) const {
    core::Grid grid;  // to_low is left out, because it is the same for all columns
    grid.to_low = job.to_low;
    return core::quotient_less(core::two_doubles(grid, limbs(cluster, dim)), weight_parts(cluster), unit_of_mean(dim),
                               job.middle[dim]);
  }
};

/// Returns true if the means cannot be computed without reading the points. In this case the driver updates the
/// centroids, and the kernels do not.
__host__ __device__ inline bool is_for_the_frame(const UpdateState& state) {
  return state.empty != 0 || state.doubtful != 0;
}

__device__ inline int bits_of(float value) { return __float_as_int(value); }
__device__ inline long long bits_of(double value) { return __double_as_longlong(value); }

inline constexpr int update_threads = 128;
inline constexpr int added_at_once = 1024;  ///< a multiple of update_threads

/// Adds up values in ascending order, like the driver on the host. The threads of a block compute the values and store
/// them in shared memory. The first thread of warp i adds up sum i.
template <int Sums>
class OrderedSums {
 public:
  /// `near` has Sums x added_at_once elements in shared memory.
  __device__ explicit OrderedSums(double* near) : near_(near) {}

  /// Calls terms(index, values) for each index below `count`, which stores a value for each sum. Calls take(value) for
  /// each value of a sum, in the thread that adds up this sum. All threads of the block must call this function.
  /// The same thread handles the same indices in every call.
  template <class Terms, class Take>
  __device__ void add(std::int64_t count, const Terms& terms, const Take& take) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    for (std::int64_t first = 0; first < count; first += added_at_once) {
      const int width = count - first < added_at_once ? static_cast<int>(count - first) : added_at_once;
      for (int index = static_cast<int>(threadIdx.x); index < width; index += update_threads) {
        double values[Sums] = {};
        terms(first + index, values);
#pragma unroll
        for (int sum = 0; sum < Sums; ++sum) near_[sum * added_at_once + index] = values[sum];
      }
      __syncthreads();  // these values are stored
      if (threadIdx.x % 32 == 0 && warp < Sums) {
        const double* const values = near_ + warp * added_at_once;
#pragma unroll 16
        for (int index = 0; index < width; ++index) take(values[index]);
      }
      __syncthreads();  // these values have been added before the next ones replace them
    }
  }

 private:
  double* near_;
};

/// Scales the new centroid of a cluster to unit length. If the mean has no direction, the cluster keeps its old
/// centroid. The threads of a block call this function together.
template <class T>
__device__ void scale_centroid(const ExactUpdateJob<T>& job, std::int64_t begin, double* near) {
  __shared__ double largest;
  __shared__ double length;
  double own = 0;
  for (int dim = static_cast<int>(threadIdx.x); dim < job.d; dim += update_threads)
    own = fmax(own, fabs(static_cast<double>(job.next[begin + dim])));
  near[threadIdx.x] = own;
  __syncthreads();  // the largest coordinate of each thread is stored
  if (threadIdx.x == 0) {
    for (int index = 1; index < update_threads; ++index) own = fmax(own, near[index]);
    largest = own;
  }
  __syncthreads();  // `largest` is known, and `near` may be replaced
  const NearOne scale(largest);
  double squares = 0;
  OrderedSums<1>(near).add(
      job.d, [&](std::int64_t dim, double* value) { *value = scale(static_cast<double>(job.next[begin + dim])); },
      [&](double value) { squares = fma(value, value, squares); });
  if (threadIdx.x == 0) length = sqrt(squares);
  __syncthreads();  // `length` is known
  for (int dim = static_cast<int>(threadIdx.x); dim < job.d; dim += update_threads)
    job.next[begin + dim] = largest > 0 ? static_cast<T>(scale(static_cast<double>(job.next[begin + dim])) / length)
                                        : job.centroids[begin + dim];
}

/// Returns the row of the point that becomes the centroid of the cluster, or null.
template <class T>
__device__ const T* row_moved_to(const ExactUpdateJob<T>& job, int cluster) {
  int first = 0;
  for (int count = job.move_count; count > 0;) {
    const int half = count / 2;
    const bool is_later = job.moves[first + half].to < cluster;
    first += is_later ? half + 1 : 0;
    count = is_later ? count - half - 1 : half;
  }
  return first < job.move_count && job.moves[first].to == cluster ? static_cast<const T*>(job.moves[first].row)
                                                                  : nullptr;
}

/// Computes the new centroid of a cluster, its movement, and the explained inertia of the cluster. Stores in
/// job.state what concerns all clusters. The threads of a block call this function together.
///
/// If clusters are empty, the centroids are updated twice: the second time without the points that moved to empty
/// clusters. The explained inertia includes these points in their old clusters, so the first update computes it.
template <class T>
__device__ void update_cluster(const ExactUpdateJob<T>& job, int cluster, double* near) {
  const ExactSumsView<T> sums{job};
  const std::int64_t begin = static_cast<std::int64_t>(cluster) * job.d;
  const T* const moved_here = row_moved_to(job, cluster);
  const Presence presence = moved_here ? Presence::none : sums.presence(cluster);
  if (!moved_here && (presence == Presence::unknown || (presence == Presence::none && job.relocates))) {
    if (threadIdx.x == 0) {
      atomicAdd(&job.state->empty, 1);
      job.parts[job.k + cluster] = 0;
    }
    return;
  }
  for (int dim = static_cast<int>(threadIdx.x); dim < job.d; dim += update_threads) {
    if (moved_here) {
      job.next[begin + dim] = moved_here[dim];
      continue;
    }
    if (presence == Presence::none) {
      job.next[begin + dim] = job.centroids[begin + dim];
      continue;
    }
    const core::Certified<T> mean = sums.mean(cluster, dim);
    job.next[begin + dim] = mean.value;
    if (!mean.certain) job.state->doubtful = 1;
  }
  if (job.to_unit_length && presence != Presence::none) scale_centroid(job, begin, near);
  const double weight = job.move_count > 0 ? 0.0 : sums.weight(cluster);
  bool is_different = false;
  double total = 0;  // in one thread the shift, in another one the explained inertia
  OrderedSums<2>(near).add(
      job.d,
      [&](std::int64_t dim, double* values) {
        const T before = job.centroids[begin + dim];
        const T after = job.next[begin + dim];
        is_different |= bits_of(before) != bits_of(after);
        const double moved = static_cast<double>(after) - static_cast<double>(before);
        values[0] = moved * moved;
        if (!(weight > 0)) return;
        const double centroid = (static_cast<double>(before) - job.middle[dim]) * job.coordinate_scale;
        values[1] =
            centroid * (2 * (sums.mean_from_middle(cluster, static_cast<int>(dim)) * job.coordinate_scale) - centroid);
      },
      [&](double value) { total += value; });
  if (is_different) job.state->different = 1;
  if (threadIdx.x == 0) job.parts[cluster] = total;
  if (threadIdx.x == 32 && job.move_count == 0) job.parts[job.k + cluster] = weight > 0 ? weight * total : 0.0;
}

/// Computes the new centroids and the outcome of the iteration. The last block to finish adds up the movements and the
/// explained inertias of all clusters in ascending order, and then calls finish() in one thread. Launch: blocks of
/// `update_threads` threads, a grid-stride loop over the clusters.
template <class T, class Finish>
__global__ __launch_bounds__(update_threads) void update_centroids(const __grid_constant__ ExactUpdateJob<T> job,
                                                                   const Finish finish) {
  __shared__ double near[2 * added_at_once];
  __shared__ bool is_last;
  for (int cluster = static_cast<int>(blockIdx.x); cluster < job.k; cluster += static_cast<int>(gridDim.x))
    update_cluster(job, cluster, near);
  __threadfence();  // the parts and the state of this block are visible before it counts itself as finished
  __syncthreads();  // the whole block has written its parts
  if (threadIdx.x == 0) is_last = atomicAdd(&job.state->finished_blocks, 1u) + 1 == gridDim.x;
  __syncthreads();  // `is_last` is known
  if (!is_last) return;
  __threadfence();   // the parts of the other blocks are read after their counts
  double total = 0;  // in one thread the shift, in another one the explained inertia
  OrderedSums<2> sums(near);
  sums.add(
      job.k,
      [&](std::int64_t cluster, double* values) {
        values[0] = __ldcg(&job.parts[cluster]);
        values[1] = __ldcg(&job.parts[job.k + cluster]);
      },
      [&](double value) { total += value; });
  if (threadIdx.x == 0) job.state->shift = total;
  if (threadIdx.x == 32) job.state->explained = total;
  __syncthreads();  // the outcome is complete
  if (threadIdx.x == 0) finish();
}

/// Computes the canonical squared distances of 32 points to their centroids. The warp reads the rows of the points and
/// of their centroids with coalesced loads, and stores the differences in shared memory. Each lane then computes the
/// chain of one point from these differences. `label` is the label of the point first + lane. Returns the distance of
/// this point in the lanes below `count`.
template <class T>
__device__ __noinline__ double own_distance(const ExactUpdateJob<T>& job, std::int64_t first, int count,
                                            std::int32_t label, double (&tile)[32][33]) {
  constexpr unsigned int everyone = 0xffffffffu;
  constexpr int ahead = 8;  // number of rows whose loads are in flight at the same time
  const int lane = static_cast<int>(threadIdx.x) % 32;
  double distance = 0;
  for (int begin = 0; begin < job.d; begin += 32) {
    const int dim = begin + lane < job.d ? begin + lane : job.d - 1;
    const int width = job.d - begin < 32 ? job.d - begin : 32;
    for (int row = 0; row < count; row += ahead) {
      T points[ahead];
      T centroids[ahead];
#pragma unroll
      for (int next = 0; next < ahead; ++next) {
        const int place = row + next < count ? row + next : count - 1;
        const std::int64_t cluster = __shfl_sync(everyone, label, place);
        points[next] = job.points[(first + place) * job.d + dim];
        centroids[next] = job.centroids[cluster * job.d + dim];
      }
#pragma unroll
      for (int next = 0; next < ahead; ++next)
        tile[row + next][lane] = static_cast<double>(points[next]) - static_cast<double>(centroids[next]);
    }
    __syncwarp();  // the differences are complete
    if (lane < count)
      for (int index = 0; index < width; ++index) distance = fma(tile[lane][index], tile[lane][index], distance);
    __syncwarp();  // the differences have been read before the next columns overwrite them
  }
  return distance;
}

/// Computes the inertia. Launch: blocks of four warps, a grid-stride loop over the points.
template <class T>
__global__ void exact_inertia_by_rows(const __grid_constant__ ExactUpdateJob<T> job, core::TotalGrid grid,
                                      SharedTotal* total) {
  __shared__ double near[4][32][33];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  core::TotalLimbs limbs;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t first = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32 * 32; first < job.n;
       first += stride) {
    const int count = job.n - first < 32 ? static_cast<int>(job.n - first) : 32;
    const std::int32_t label = lane < count ? job.labels[first + lane] : 0;
    const double distance = own_distance(job, first, count, label, near[threadIdx.x / 32]);
    if (lane >= count) continue;
    if (job.weights)
      add_weighted(grid, static_cast<double>(job.weights[first + lane]), job.weight_scale, distance, limbs, *total);
    else add_value(grid, distance, limbs, *total);
  }
  add_limbs_of_warp(*total, limbs);
}

}  // namespace gradus::kmeans_detail
