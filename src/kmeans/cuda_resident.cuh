// What the exact variants for few columns share: the whole fit in one kernel that stays on the GPU for many iterations.
//
// An iteration is one walk over the points, in which every block notes what its points add to the sums, and one barrier
// across the grid; then every block computes all the new centroids for itself, which for few clusters and columns is
// cheaper than to wait for a block that does it for all. A variant provides the walk:
//
//   struct Walk { using Point; columns, exact, registers, threads;
//                 static work_bytes(job, warps);  // of shared memory
//                 static Tally assign(job, shared); };
//
// Three sets of differences take turns: the blocks add to one in iteration t, read it after the barrier, and meanwhile
// the next is in use; the third is cleared for the iteration after. A block that is an iteration ahead, and none can be
// more, never writes what another still reads.
//
// What an iteration is judged by, the inertia of the history and the squared movement, does not hold up the next one:
// sums and centroids of all iterations are kept, and a second kernel works the figures out, a block for each iteration.
//
// Source: persistent kernels: Gupta, Stuart and Owens, "A study of persistent threads style GPU programming" (2012).
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "kmeans/cuda_common.hpp"
#include "kmeans/cuda_exact_sums.hpp"
#include "kmeans/cuda_ordered.hpp"

namespace gradus::kmeans_detail {

/// What a step leaves in the history.
struct Record {
  double explained;
  std::int64_t changed;
  double shift;
  Word nanoseconds;  ///< when the iteration ended
};

/// What the kernel leaves behind.
struct LoopOutcome {
  int steps;
  bool pass_only;  ///< the last pass was not followed by an update
  bool same_centroids;
  Word changed;    ///< in the last pass
  Word rechecked;  ///< in all passes
  Word start_nanoseconds;
};

/// What is known of a tile's labels.
struct TileState {
  unsigned short label;  ///< of all its points; or one of the two below
  unsigned short hint;   ///< the cluster of a point in its middle
};
constexpr unsigned short mixed_tile = 0xffff;  ///< every point has its own label
constexpr unsigned short new_tile = 0xfffe;    ///< no point has a label yet

/// Where points are ordered so that neighbours in memory are neighbours in space (cuda_ordered): what is kept of every
/// tile of so many points. Null elsewhere.
struct Tiles {
  int points;
  unsigned int count;
  const float* boxes;  ///< middles, then half widths
  const Word* sums;    ///< what its points add to a cluster's sums, but for the count
  TileState* states;
  const unsigned int* order;  ///< where each point was before
};
template <class T>
struct SmallDimJob {
  const T* points;
  const T* weights;            ///< or null
  const float* filter_points;  ///< the points' copy in float, or null
  std::int64_t n;
  int d;
  int k;
  void* labels;  ///< unsigned char, or unsigned short where `wide_labels`
  bool wide_labels;
  T* centroids;       ///< k x d
  Word* sums;         ///< as ExactSums has them: k x 2 d raw limbs, 2 k weight limbs where there are weights, k counts
  Word* differences;  ///< three sets of: sums, and the number of labels that changed
  Record* records;
  Word* past_sums;    ///< of each step: one set of sums
  T* past_centroids;  ///< from before the first step on: k x d each
  double* parts;      ///< of each step: 2 k
  LoopOutcome* outcome;
  T middle[cuda_small_dim_columns];  ///< of the columns
  T scale;                           ///< a power of two
  float bound;
  core::Grid columns[cuda_small_dim_columns];
  core::Grid weight;
  double low[cuda_small_dim_columns];  ///< half the sum of lowest and highest, for the history's inertia
  int iterations;                      ///< at most; 0: one pass without an update
  double shift_limit;
  std::int64_t changed_limit;
  bool relocates;
  bool to_unit_length;
  int copies;  ///< of the sums in shared memory; a power of two
  Tiles tiles;
};

/// Words of one set of sums.
template <class T>
__host__ __device__ int sum_words(const SmallDimJob<T>& job) {
  return job.k * (2 * job.d + (job.weights ? 2 : 0) + 1);
}

/// Floats of a cluster's entry in the filter: |c|^2 / 2, then -c, to a multiple of four.
template <int Columns>
constexpr int entry_floats = (Columns + 1 + 3) / 4 * 4;

/// The parts of a block's shared memory.
template <class T, int Columns>
struct Shared {
  float* filter;        ///< an entry for each cluster
  unsigned char* work;  ///< of the walk
  double* parts;        ///< k, for sums over the clusters in ascending order
  Word* sums;           ///< all clusters' sums so far
  unsigned int* moved;  ///< copies of the differences of this pass: lower halves, then upper ones
  T* centroids;
  T* next;

  static std::size_t bytes(const SmallDimJob<T>& job, int copies, int work_bytes) {
    const int padded = (job.k * job.d + 1) & ~1;
    return static_cast<std::size_t>(4 * job.k * entry_floats<Columns> + work_bytes + 8 * job.k +
                                    8 * sum_words(job) * (1 + copies) + 2 * static_cast<int>(sizeof(T)) * padded);
  }

  __device__ Shared(unsigned char* memory, const SmallDimJob<T>& job, int work_bytes) {
    const int words = sum_words(job);
    const int padded = (job.k * job.d + 1) & ~1;
    filter = reinterpret_cast<float*>(memory);
    work = memory + 4 * job.k * entry_floats<Columns>;
    parts = reinterpret_cast<double*>(work + work_bytes);
    sums = reinterpret_cast<Word*>(parts + job.k);
    moved = reinterpret_cast<unsigned int*>(sums + words);
    centroids = reinterpret_cast<T*>(moved + 2 * words * job.copies);
    next = centroids + padded;
  }
};

/// The number of columns: known to the compiler where the kernel is made for exactly as many.
template <class T, int Columns, bool Exact>
__device__ int columns_of(const SmallDimJob<T>& job) {
  if constexpr (Exact) return Columns;
  else return job.d;
}

/// Rows that are whole quads of 16 bytes. In a stage the quads are exchanged so that eight lanes that read the same
/// quad of eight rows meet eight different banks.
template <class T, int Columns>
struct RowQuads {
  static constexpr int bytes = Columns * static_cast<int>(sizeof(T));
  static constexpr int count = bytes % 16 == 0 ? bytes / 16 : 0;  // 1, 2, 4 or 8; 0: not whole quads
  static __device__ int place(int row, int quad) {
    if constexpr (count > 1) quad ^= row / (8 / count) & (count - 1);
    return row * count + quad;
  }
};

template <class T, int Columns, bool Exact>
__device__ void load_row(const SmallDimJob<T>& job, unsigned int point, T (&row)[Columns]) {
  using Quads = RowQuads<T, Columns>;
  if constexpr (Exact && Quads::count > 0) {
    const uint4* from = reinterpret_cast<const uint4*>(job.points) + std::size_t{point} * Quads::count;
    uint4 quads[Quads::count];
#pragma unroll
    for (int quad = 0; quad < Quads::count; ++quad) quads[quad] = from[quad];
    memcpy(row, quads, sizeof quads);
  } else {
    const int d = columns_of<T, Columns, Exact>(job);
#pragma unroll
    for (int dim = 0; dim < Columns; ++dim)
      row[dim] = dim < d ? job.points[std::size_t{point} * static_cast<std::size_t>(d) + dim] : T{0};
  }
}

/// Shifted and scaled: at most 1 in magnitude, rounded once to float.
template <class T, int Columns, bool Exact>
__device__ void to_filter(const SmallDimJob<T>& job, const T (&row)[Columns], float (&coordinates)[Columns]) {
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim)
    coordinates[dim] =
        dim < columns_of<T, Columns, Exact>(job) ? static_cast<float>((row[dim] - job.middle[dim]) * job.scale) : 0.0f;
}

template <int Columns>
__device__ void load_entry(const float* filter, int cluster, float (&entry)[entry_floats<Columns>]) {
  const float4* quads = reinterpret_cast<const float4*>(filter) + cluster * (entry_floats<Columns> / 4);
#pragma unroll
  for (int quad = 0; quad < entry_floats<Columns> / 4; ++quad) {
    const float4 value = quads[quad];
    entry[4 * quad] = value.x;
    entry[4 * quad + 1] = value.y;
    entry[4 * quad + 2] = value.z;
    entry[4 * quad + 3] = value.w;
  }
}

template <int Columns>
__device__ float score(const float (&entry)[entry_floats<Columns>], const float (&coordinates)[Columns], float start) {
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim) start = __fmaf_rn(coordinates[dim], entry[1 + dim], start);
  return start;
}

template <class T>
__device__ int no_label(const SmallDimJob<T>& job) {
  return job.wide_labels ? 0xffff : 0xff;
}

template <class T>
__device__ int label_of(const SmallDimJob<T>& job, std::int64_t point) {
  return job.wide_labels ? __ldcg(static_cast<const unsigned short*>(job.labels) + point)
                         : __ldcg(static_cast<const unsigned char*>(job.labels) + point);
}

template <class T>
__device__ void set_label(const SmallDimJob<T>& job, std::int64_t point, int label) {
  if (job.wide_labels) static_cast<unsigned short*>(job.labels)[point] = static_cast<unsigned short>(label);
  else static_cast<unsigned char*>(job.labels)[point] = static_cast<unsigned char>(label);
}

/// The canonical squared distance.
template <class T, int Columns, bool Exact>
__device__ double canonical(const T (&row)[Columns], const T* centroid, int columns) {
  const int d = Exact ? Columns : columns;
  double sum = 0;
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim)
    if (dim < d) {
      const double difference = static_cast<double>(row[dim]) - static_cast<double>(centroid[dim]);
      sum = fma(difference, difference, sum);
    }
  return sum;
}

/// Adds to a word of the differences. Whoever makes the lower half overflow carries: in whatever order, the carries are
/// as many as in one long addition. `copy`: this lane's among the copies.
template <class T>
__device__ void add_to_word(const SmallDimJob<T>& job, unsigned int* moved, int copy, int word, Word addend) {
  unsigned int* const half = moved + word * job.copies + copy;
  const auto low = static_cast<unsigned int>(addend);
  const unsigned int carry = atomicAdd(half, low) > ~low ? 1 : 0;
  atomicAdd(half + sum_words(job) * job.copies, static_cast<unsigned int>(addend >> 32) + carry);
}

/// A coordinate on its column's grid, with the magic number's own bits.
struct RawLimbs {
  Word high;
  Word low;
};

template <class T>
__device__ RawLimbs raw_limbs(const SmallDimJob<T>& job, int dim, T coordinate, double weight) {
  const double value = job.weights ? weight * static_cast<double>(coordinate) : static_cast<double>(coordinate);
  const double scaled = value * job.columns[dim].to_high;
  const double rounded = scaled + core::integer_magic;
  const double rest = (scaled - (rounded - core::integer_magic)) * job.columns[dim].to_low + core::integer_magic;
  return {static_cast<Word>(__double_as_longlong(rounded)), static_cast<Word>(__double_as_longlong(rest))};
}

/// Moves a point in the sums from the cluster `before`, if it is one, to `now`. `copy`: this lane's among the copies.
template <class T, int Columns, bool Exact>
__device__ void move_in_sums(const SmallDimJob<T>& job, unsigned int* moved, int copy, int before, int now,
                             const T (&row)[Columns], double weight) {
  const int d = columns_of<T, Columns, Exact>(job);
  const bool leaves = before < job.k;
  const auto move = [&](int first, int stride, std::int64_t addend) {
    add_to_word(job, moved, copy, first + now * stride, static_cast<Word>(addend));
    if (leaves) add_to_word(job, moved, copy, first + before * stride, Word{0} - static_cast<Word>(addend));
  };
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim)
    if (dim < d) {
      const RawLimbs raw = raw_limbs(job, dim, row[dim], weight);
      move(dim, 2 * d, static_cast<std::int64_t>(raw.high));
      move(d + dim, 2 * d, static_cast<std::int64_t>(raw.low));
    }
  int word = job.k * 2 * d;
  if (job.weights) {
    const core::Limbs limbs = job.weight.split(weight);
    move(word, 2, limbs.high);
    move(word + 1, 2, limbs.low);
    word += 2 * job.k;
  }
  move(word, 1, 1);
}

struct Tally {
  unsigned int changed = 0;
  unsigned int rechecked = 0;
};

/// Adds a count of each lane to a counter of the block: one addition a warp. All lanes take part.
__device__ inline void add_counts(unsigned int* counter, unsigned int count) {
  const unsigned int of_warp = __reduce_add_sync(0xffffffffu, count);
  if (threadIdx.x % 32 == 0 && of_warp > 0) atomicAdd(counter, of_warp);
}

/// A sum limb without the magic number's own bits, which every summand carries.
__device__ inline std::int64_t plain(Word raw, Word count) {
  return static_cast<std::int64_t>(raw - count * static_cast<Word>(core::integer_magic_bits));
}

/// The sums of one cluster as the update needs them.
template <class T>
struct ClusterSums {
  const SmallDimJob<T>& job;
  const Word* sums;

  __device__ Word count(int cluster) const { return sums[sum_words(job) - job.k + cluster]; }
  __device__ core::Int128 total_weight(int cluster) const {
    if (!job.weights) return static_cast<core::Int128>(count(cluster));
    const Word* limbs = sums + job.k * 2 * job.d + 2 * cluster;
    return job.weight.total({static_cast<std::int64_t>(limbs[0]), static_cast<std::int64_t>(limbs[1])});
  }
  __device__ double weight(int cluster) const {
    if (!job.weights) return static_cast<double>(static_cast<std::int64_t>(count(cluster)));
    return core::round_quotient<double>(total_weight(cluster), 1, job.weight.unit);
  }
  template <class Real>
  __device__ Real mean(int cluster, int dim) const {
    const core::Grid& grid = job.columns[dim];
    const Word* limbs = sums + cluster * 2 * job.d + dim;
    const core::Int128 sum = grid.total({plain(limbs[0], count(cluster)), plain(limbs[job.d], count(cluster))});
    return core::round_quotient<Real>(sum, static_cast<core::UInt128>(total_weight(cluster)),
                                      grid.unit - (job.weights ? job.weight.unit : 0));
  }
};

template <class T, int Columns>
__device__ void build_filter(const SmallDimJob<T>& job, const Shared<T, Columns>& shared) {
  for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += static_cast<int>(blockDim.x)) {
    float* entry = shared.filter + cluster * entry_floats<Columns>;
    double squares = 0;
    for (int dim = 0; dim < Columns; ++dim) {
      float coordinate = 0;
      if (dim < job.d)
        coordinate = static_cast<float>(
            (static_cast<double>(shared.centroids[cluster * job.d + dim]) - static_cast<double>(job.middle[dim])) *
            static_cast<double>(job.scale));
      entry[1 + dim] = -coordinate;
      squares += static_cast<double>(coordinate) * static_cast<double>(coordinate);
    }
    entry[0] = static_cast<float>(0.5 * squares);
  }
}

template <class T>
__device__ void scale_to_unit_length(T* row, int d) {
  double squares = 0;
  for (int dim = 0; dim < d; ++dim) {
    const double value = static_cast<double>(row[dim]);
    squares = fma(value, value, squares);
  }
  if (!(squares > 0)) return;
  const double length = sqrt(squares);
  for (int dim = 0; dim < d; ++dim) row[dim] = static_cast<T>(static_cast<double>(row[dim]) / length);
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
  const ClusterSums<T> sums{job, shared.sums};
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

    bool empty = false;
    for (int cluster = thread; cluster < job.k; cluster += threads) empty |= !(sums.weight(cluster) > 0);
    pass_only = (__syncthreads_or(empty) && job.relocates) || job.iterations == 0;
    if (pass_only) break;
    for (int index = thread; index < area; index += threads) {
      const int cluster = index / job.d;
      const int dim = index - cluster * job.d;
      shared.next[index] = sums.weight(cluster) > 0 ? sums.template mean<T>(cluster, dim) : shared.centroids[index];
    }
    if (first_block)
      for (int word = thread; word < words; word += threads)
        job.past_sums[std::int64_t{step} * words + word] = shared.sums[word];
    __syncthreads();  // the rows are complete
    if (job.to_unit_length) {
      for (int cluster = thread; cluster < job.k; cluster += threads)
        scale_to_unit_length(shared.next + cluster * job.d, job.d);
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

// The figures of the steps that were made. Launch shape: a block for each step.
template <class T>
__global__ void judge_steps(const __grid_constant__ SmallDimJob<T> job) {
  const auto step = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t area = std::int64_t{job.k} * job.d;
  const ClusterSums<T> sums{job, job.past_sums + step * sum_words(job)};
  const T* const before = job.past_centroids + step * area;
  double* const parts = job.parts + step * 2 * job.k;
  for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += static_cast<int>(blockDim.x)) {
    const T* const row = before + std::int64_t{cluster} * job.d;
    const double weight = sums.weight(cluster);
    double sum = 0;
    if (weight > 0)
      for (int dim = 0; dim < job.d; ++dim) {
        const double centroid = static_cast<double>(row[dim]) - job.low[dim];
        sum += centroid * (2 * (sums.template mean<double>(cluster, dim) - job.low[dim]) - centroid);
      }
    parts[cluster] = movement(row, row + area, job.d);
    parts[job.k + cluster] = weight > 0 ? weight * sum : 0.0;
  }
  __syncthreads();  // every cluster's part is there
  if (threadIdx.x == 0) job.records[step].shift = ordered_sum(parts, job.k);
  if (threadIdx.x == 32) job.records[step].explained = ordered_sum(parts + job.k, job.k);
}

/// A point's label after the last pass.
template <class T>
__device__ int settled_label_of(const SmallDimJob<T>& job, std::int64_t point) {
  if (job.tiles.points > 0) {
    const unsigned short label = job.tiles.states[static_cast<unsigned int>(point) / job.tiles.points].label;
    if (label != mixed_tile) return label;
  }
  return label_of(job, point);
}

// Launch shape: one thread for each point.
template <class T>
__global__ void widen_labels(const SmallDimJob<T> job, std::int32_t* labels) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point < job.n) labels[job.tiles.points > 0 ? job.tiles.order[point] : point] = settled_label_of(job, point);
}

// The inertia on its grid. Launch shape: the grid's stride over the points; blocks of whole warps.
template <class T>
__global__ void exact_inertia(const SmallDimJob<T> job, core::Grid grid, Word* total) {
  Word high = 0;
  Word low = 0;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; point < job.n; point += stride) {
    const T* row = job.points + point * job.d;
    const T* centroid = job.centroids + settled_label_of(job, point) * job.d;
    double distance = 0;
    for (int dim = 0; dim < job.d; ++dim) {
      const double difference = static_cast<double>(row[dim]) - static_cast<double>(centroid[dim]);
      distance = fma(difference, difference, distance);
    }
    if (job.weights) distance = static_cast<double>(job.weights[point]) * distance;
    const core::Limbs limbs = grid.split(distance);
    high += static_cast<Word>(limbs.high);
    low += static_cast<Word>(limbs.low);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    high += __shfl_down_sync(0xffffffffu, high, lanes);
    low += __shfl_down_sync(0xffffffffu, low, lanes);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&total[0], high);
    atomicAdd(&total[1], low);
  }
}

/// The kernel of a walk, and what it takes.
template <class T>
struct WalkKernel {
  const void* function = nullptr;
  int points_per_thread = 1;
  int threads = 256;  ///< of a block, where the caller does not say
  int (*work_bytes)(const SmallDimJob<T>& job, int warps) = nullptr;
  std::size_t (*shared_bytes)(const SmallDimJob<T>& job, int copies, int work_bytes) = nullptr;
};

template <class T, class Walk>
WalkKernel<T> walk_kernel() {
  return {reinterpret_cast<const void*>(fit_on_gpu<T, Walk>), Walk::points_per_thread, Walk::threads, Walk::work_bytes,
          Shared<T, Walk::columns>::bytes};
}

/// The engine for lloyd(), around the kernel of a walk.
template <class T>
class ResidentEngine {
 public:
  using LeavesLabelsOnGpu = void;

  explicit ResidentEngine(CudaJob<T>& job)
      : job_(job), past_steps_(past_steps(job.problem())), sums_(job.problem()),
        centroids_(job.problem().k() * job.problem().d()), labels_(label_bytes(job.problem())), records_(past_steps_),
        past_sums_(past_steps_ * words_of(job.problem())), past_centroids_((past_steps_ + 1) * centroids_.size()),
        parts_(past_steps_ * 2 * job.problem().k()), outcome_(1), inertia_(2), host_records_(past_steps_),
        host_outcome_(1) {
    const Problem<T>& problem = job.problem();
    describe(problem);
    const int words = sum_words(device_);
    device_sums_ = cuda::DeviceBuffer<Word>(words);
    differences_ = cuda::DeviceBuffer<Word>(3 * (words + 1));
    device_.labels = labels_.data();
    device_.centroids = centroids_.data();
    device_.sums = device_sums_.data();
    device_.differences = differences_.data();
    device_.records = records_.data();
    device_.past_sums = past_sums_.data();
    device_.past_centroids = past_centroids_.data();
    device_.parts = parts_.data();
    device_.outcome = outcome_.data();
    labels_.fill_bytes(0xff, job.stream());  // no cluster yet
    device_sums_.clear(job.stream());
  }

  /// What the kernels are given; a variant adds what it needs.
  SmallDimJob<T>& device() { return device_; }

  /// Threads, blocks and shared memory. A block size that does not fit is halved until it does: the result is the same.
  void use(const WalkKernel<T>& kernel, const Execution& execution, std::string_view variant) {
    const std::int64_t n = job_.problem().n();
    const int multiprocessors = job_.gpu().multiprocessors;
    kernel_ = kernel;
    cudaFuncAttributes attributes{};
    cuda::check(cudaFuncGetAttributes(&attributes, kernel_.function), "cudaFuncGetAttributes");
    const std::size_t most = job_.gpu().shared_bytes - attributes.sharedSizeBytes;
    const auto needed = [&](int copies) {
      return kernel_.shared_bytes(device_, copies, kernel_.work_bytes(device_, threads_ / 32));
    };
    threads_ = block_threads(execution, kernel_.threads);
    while (threads_ > 32 && (threads_ > attributes.maxThreadsPerBlock || needed(1) > most))
      threads_ = std::max(32, threads_ / 64 * 32);
    // As many copies of the sums as leave the blocks of a multiprocessor as many as they would be with one copy.
    device_.copies = 1;
    const int resident = resident_blocks(needed(1));
    if (resident < 1) throw UnsupportedError(std::string(variant) + ": a block does not fit this GPU");
    while (device_.copies < 32 && needed(2 * device_.copies) <= most &&
           resident_blocks(needed(2 * device_.copies)) == resident)
      device_.copies *= 2;
    shared_ = needed(device_.copies);
    const std::int64_t tile = std::int64_t{threads_} * kernel_.points_per_thread;
    const std::int64_t working = std::max<std::int64_t>(1, (n + tile - 1) / tile);
    blocks_ = static_cast<unsigned int>(std::min(std::int64_t{resident} * multiprocessors, working));
  }

  Steps advance(MatrixView<T> centroids, StopRules rules, std::vector<Phase>& phases) {
    const cuda::Stream& stream = job_.stream();
    job_.add_upload_phase(phases);
    device_.iterations = std::min(rules.iterations, batch_);
    device_.shift_limit = rules.shift_limit;
    device_.changed_limit = rules.changed_limit;
    const auto start = core::Clock::now();
    {
      core::PhaseTimer timer(phases, "iterate");
      centroids_.copy_from_host(centroids.data(), centroids_.size(), stream);
      launch();
      centroids_.copy_to_host(centroids.data(), centroids_.size(), stream);
      stream.wait();
    }
    // The host looks again after about ten milliseconds: for the progress, and for a stop request.
    if (core::seconds_since(start) < 0.01) batch_ = static_cast<int>(std::min<std::int64_t>(2 * batch_, past_steps_));
    const LoopOutcome& outcome = host_outcome_[0];
    records_.copy_to_host(host_records_.data(), outcome.steps, stream);
    stream.wait();
    Steps steps;
    steps.same_centroids = outcome.same_centroids;
    steps.inertia_is_explained = true;
    steps.needs_frame = pass_is_pending_ = outcome.pass_only;
    Word before = outcome.start_nanoseconds;
    for (int step = 0; step < outcome.steps; ++step) {
      const Record& record = host_records_[step];
      steps.records.push_back(
          {record.explained, record.changed, record.shift, 1e-9 * static_cast<double>(record.nanoseconds - before)});
      before = record.nanoseconds;
    }
    return steps;
  }

  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels) {
    if (!pass_is_pending_) run_pass(centroids);
    pass_is_pending_ = false;
    fetch(labels);
    return {static_cast<std::int64_t>(host_outcome_[0].changed)};
  }

  const ExactSums<T>& sums() const { return sums_; }

  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool labels_are_current) {
    const cuda::Stream& stream = job_.stream();
    if (!labels_are_current) run_pass(centroids);
    fetch(labels);
    inertia_.clear(stream);
    const core::Grid& grid = job_.problem().statistics.inertia;
    exact_inertia<<<static_cast<unsigned int>(8 * job_.gpu().multiprocessors), 256, 0, stream>>>(device_, grid,
                                                                                                 inertia_.data());
    cuda::check_launch("exact_inertia");
    return fetch_value(inertia_, grid, stream);
  }

  double rechecked() const {
    return assignments_ > 0 ? static_cast<double>(rechecked_) / static_cast<double>(assignments_) : 0.0;
  }

 private:
  static std::int64_t words_of(const Problem<T>& problem) {
    return problem.k() * (2 * problem.d() + (problem.weights.empty() ? 0 : 2) + 1);
  }

  static std::uint64_t past_bytes(const Problem<T>& problem) {
    return sizeof(Record) + centroid_bytes(problem) +
           8 * static_cast<std::uint64_t>(words_of(problem) + 2 * problem.k());
  }

  // Iterations at most between two looks of the host.
  static std::int64_t past_steps(const Problem<T>& problem) {
    const auto fitting = static_cast<std::int64_t>(cuda_history_bytes / past_bytes(problem));
    return std::max<std::int64_t>(1, std::min<std::int64_t>({fitting, cuda_history_limit, problem.max_iterations}));
  }

  static std::int64_t label_bytes(const Problem<T>& problem) {
    return problem.n() * (problem.k() > cuda_narrow_clusters ? 2 : 1) + 16;  // copied by quads of 16 bytes
  }

  void describe(const Problem<T>& problem) {
    const Statistics& statistics = problem.statistics;
    device_.points = job_.points();
    device_.weights = job_.weights();
    device_.n = problem.n();
    device_.d = static_cast<int>(problem.d());
    device_.k = static_cast<int>(problem.k());
    device_.wide_labels = problem.k() > cuda_narrow_clusters;
    double half = 0;
    for (int dim = 0; dim < device_.d; ++dim) {
      const auto column = static_cast<std::size_t>(dim);
      device_.low[dim] = 0.5 * (statistics.lowest[column] + statistics.highest[column]);
      device_.middle[dim] = static_cast<T>(device_.low[dim]);
      device_.columns[dim] = statistics.columns[column];
      const double middle = static_cast<double>(device_.middle[dim]);
      half = std::max({half, statistics.highest[column] - middle, middle - statistics.lowest[column]});
      // Rows of unit length: a centroid may lie outside the points' own range, but not beyond 1.
      if (problem.metric == Metric::cosine) half = std::max(half, 1 + std::abs(middle));
    }
    // Far from the least normal number; smaller data get a coarse filter and more canonical chains.
    constexpr int least_exponent = sizeof(T) == 4 ? -100 : -900;
    device_.scale = static_cast<T>(std::ldexp(1.0, -std::max(core::exponent_above(half), least_exponent)));
    device_.bound = filter_bound(device_.d);
    device_.weight = statistics.weight;
    device_.relocates = problem.empty != EmptyCluster::keep;
    device_.to_unit_length = problem.metric == Metric::cosine;
  }

  int resident_blocks(std::size_t shared) const {
    int blocks = 0;
    cuda::allow_shared_memory(kernel_.function, shared);
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_.function, threads_, shared),
                "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return blocks;
  }

  void launch() {
    const cuda::Stream& stream = job_.stream();
    differences_.clear(stream);
    outcome_.clear(stream);
    void* arguments[] = {&device_};
    cuda::check(cudaLaunchCooperativeKernel(kernel_.function, blocks_, static_cast<unsigned int>(threads_), arguments,
                                            shared_, stream),
                "cudaLaunchCooperativeKernel");
    outcome_.copy_to_host(host_outcome_.data(), 1, stream);
    stream.wait();
    if (const int steps = host_outcome_[0].steps; steps > 0) {
      judge_steps<<<static_cast<unsigned int>(steps), 256, 0, stream>>>(device_);
      cuda::check_launch("judge_steps");
    }
    rechecked_ += host_outcome_[0].rechecked;
    assignments_ += job_.problem().n() * (host_outcome_[0].steps + (host_outcome_[0].pass_only ? 1 : 0));
  }

  void run_pass(MatrixView<const T> centroids) {
    device_.iterations = 0;
    centroids_.copy_from_host(centroids.data(), centroids_.size(), job_.stream());
    launch();
  }

  // The sums and the labels for the frame; null: the labels stay on the GPU.
  void fetch(std::int32_t* labels) {
    const cuda::Stream& stream = job_.stream();
    const std::int64_t n = job_.problem().n();
    cuda::DeviceBuffer<std::int32_t> wide(labels ? n : 0);
    widen_labels<<<blocks_for(n, 256), 256, 0, stream>>>(device_, labels ? wide.data() : job_.problem().labels_on_gpu);
    cuda::check_launch("widen_labels");
    fetch_sums(device_sums_, sums_, stream);
    if (labels) cuda::download(wide, labels, n, job_.staging(), job_.threads(), stream);
  }

  CudaJob<T>& job_;
  std::int64_t past_steps_;  // kept on the GPU
  SmallDimJob<T> device_{};
  ExactSums<T> sums_;
  cuda::DeviceBuffer<T> centroids_;
  cuda::DeviceBuffer<unsigned char> labels_;
  cuda::DeviceBuffer<Word> device_sums_;
  cuda::DeviceBuffer<Word> differences_;
  cuda::DeviceBuffer<Record> records_;
  cuda::DeviceBuffer<Word> past_sums_;
  cuda::DeviceBuffer<T> past_centroids_;
  cuda::DeviceBuffer<double> parts_;
  cuda::DeviceBuffer<LoopOutcome> outcome_;
  cuda::DeviceBuffer<Word> inertia_;
  cuda::PinnedBuffer<Record> host_records_;
  cuda::PinnedBuffer<LoopOutcome> host_outcome_;
  WalkKernel<T> kernel_;
  int threads_ = 0;
  unsigned int blocks_ = 0;
  std::size_t shared_ = 0;
  int batch_ = 1;
  bool pass_is_pending_ = false;
  std::int64_t assignments_ = 0;
  Word rechecked_ = 0;
};

}  // namespace gradus::kmeans_detail
