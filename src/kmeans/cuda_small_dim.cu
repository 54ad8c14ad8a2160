// cuda_small_dim: the whole fit in one kernel; a float filter with a proven bound; exact sums. The oracle's bits.
//
// What changes from `cuda_graph`: exactness, and with it speed.
//
// * One pass, one barrier. All blocks stay on the GPU for many iterations (a cooperative launch). An iteration is one
//   walk over the points and one barrier across the grid; then every block computes all the new centroids for itself,
//   which for few clusters and columns is cheaper than to wait for a block that does it for all.
// * Most points stay where they are. A point is compared with the centroid that it belonged to before: with the score
//   s_c = |c|^2 / 2 - x.c, all it takes to know that nothing changed is that every other score exceeds its own by the
//   bound. That needs no minimum and no runner-up, only the signs of s_c - (s_own + bound), which are gathered by three
//   logical operations for two clusters. Scores are computed in float from coordinates that are shifted by the columns'
//   middles and scaled by a power of two to at most 1.
// * What is left, the points that moved or are within the bound, is collected by each warp until it has 32 of them:
//   then every lane has one. These get a float search for the best and the second best, and where the two are within
//   the bound, the canonical chain in double over all clusters.
// * Sums are integers (core/exact_sum.hpp), so that only points that changed cluster touch them: they leave one sum and
//   join another, in shared memory, in as many copies as fit, lane l using copy l modulo their number. Integer addition
//   does not care about order: the result has the same bits on any grid.
//
// The bound. With u = 2^-24 and coordinates of at most 1 in magnitude, rounding a coordinate costs u, the float |c|^2 /
// 2 costs u d / 2, and the chain of d fused operations from a start of at most 2 d + 1 costs (d + 1) u times 3 d. Own
// score, threshold and the other score together stay below (4.5 d^2 + 12 d) u; the code takes (6 d^2 + 16 d) u, which
// leaves room for the rounding of the canonical chains themselves, some d^2 2^-51.
//
// Three sets of differences take turns: the blocks add to one in iteration t, read it after the barrier, and meanwhile
// the next is in use; the third is cleared for the iteration after. A block that is an iteration ahead, and none can be
// more, never writes what another still reads.
//
// Bytes of an iteration: the points once, a label of one byte (two above 254 clusters) read; labels are written only
// where they change. Operations: n k (d + 1) in float. Limits: at most 16 columns; centroids, sums and their copies
// must fit the shared memory of a block. Source: certified filters: J. R. Shewchuk, "Adaptive precision floating-point
// arithmetic and fast robust geometric predicates" (1997). Persistent kernels: Gupta, Stuart and Owens, "A study of
// persistent threads style GPU programming" (2012).
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "kmeans/cuda_common.hpp"
#include "kmeans/cuda_nearest.cuh"
#include "kmeans/cuda_small_dim.hpp"
#include "kmeans/exact_sums.hpp"
#include "kmeans/variants.hpp"

namespace gradus::kmeans_detail {

namespace {

using Word = unsigned long long;  // of an exact sum; wraps

struct Record {
  double explained;
  std::int64_t changed;
  double shift;
  Word nanoseconds;  ///< when the iteration ended
};

constexpr int record_limit = 4096;  // iterations at most between two looks of the host

/// What the kernel leaves behind.
struct LoopOutcome {
  int steps;
  bool pass_only;  ///< the last pass was not followed by an update
  bool same_centroids;
  Word changed;    ///< in the last pass
  Word rechecked;  ///< in all passes
  Word start_nanoseconds;
};

template <class T>
struct SmallDimJob {
  const T* points;
  const T* weights;  ///< or null
  std::int64_t n;
  int d;
  int k;
  void* labels;  ///< unsigned char, or unsigned short where `wide_labels`
  bool wide_labels;
  T* centroids;       ///< k x d
  Word* sums;         ///< as ExactSums has them: k x 2 d raw limbs, 2 k weight limbs where there are weights, k counts
  Word* differences;  ///< three sets of: sums, and the number of labels that changed
  Record* records;
  LoopOutcome* outcome;
  T middle[small_dim_columns];  ///< of the columns
  T scale;                      ///< a power of two
  float bound;
  core::Grid columns[small_dim_columns];
  core::Grid weight;
  double low[small_dim_columns];  ///< half the sum of lowest and highest, for the history's inertia
  int iterations;                 ///< at most; 0: one pass without an update
  double shift_limit;
  std::int64_t changed_limit;
  bool relocates;
  bool to_unit_length;
  int copies;  ///< of the sums in shared memory; a power of two
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
  double* parts;  ///< 2 k, for sums over the clusters in ascending order
  Word* sums;     ///< all clusters' sums so far
  Word* moved;    ///< copies of the differences of this pass
  T* centroids;
  T* next;
  float* filter;
  int* queue;  ///< of each warp

  __host__ __device__ static int queue_length(int points_per_thread) { return 32 * points_per_thread + 32; }

  static std::size_t bytes(int k, int d, int words, int copies, int warps, int points_per_thread) {
    return static_cast<std::size_t>(16 * k + 8 * words * (1 + copies) + 4 * (k + 1) * entry_floats<Columns> +
                                    2 * static_cast<int>(sizeof(T)) * ((k * d + 1) & ~1) +
                                    4 * warps * queue_length(points_per_thread));
  }

  __device__ Shared(unsigned char* memory, const SmallDimJob<T>& job, int warps, int points_per_thread) {
    const int words = sum_words(job);
    filter = reinterpret_cast<float*>(memory);  // first: it is read 16 bytes at a time
    parts = reinterpret_cast<double*>(filter + (job.k + 1) * entry_floats<Columns>);
    sums = reinterpret_cast<Word*>(parts + 2 * job.k);
    moved = sums + words;
    centroids = reinterpret_cast<T*>(moved + words * job.copies);
    next = centroids + ((job.k * job.d + 1) & ~1);
    queue = reinterpret_cast<int*>(next + ((job.k * job.d + 1) & ~1)) +
            static_cast<int>(threadIdx.x) / 32 * queue_length(points_per_thread);
    (void)warps;
  }
};

template <class T, int Columns>
__device__ void load_row(const SmallDimJob<T>& job, std::int64_t point, T (&row)[Columns]) {
  constexpr int bytes = Columns * static_cast<int>(sizeof(T));
  if (job.d == Columns && bytes % 16 == 0) {
    const uint4* from = reinterpret_cast<const uint4*>(job.points + point * Columns);
    uint4 quads[(bytes + 15) / 16];
#pragma unroll
    for (int quad = 0; quad < bytes / 16; ++quad) quads[quad] = from[quad];
    memcpy(row, quads, bytes);
  } else if (job.d == Columns && bytes == 8) {
    const uint2 pair = reinterpret_cast<const uint2*>(job.points)[point];
    memcpy(row, &pair, bytes);
  } else {
#pragma unroll
    for (int dim = 0; dim < Columns; ++dim) row[dim] = dim < job.d ? job.points[point * job.d + dim] : T{0};
  }
}

/// Shifted and scaled: at most 1 in magnitude, rounded once to float.
template <class T, int Columns>
__device__ void to_filter(const SmallDimJob<T>& job, const T (&row)[Columns], float (&coordinates)[Columns]) {
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim)
    coordinates[dim] = dim < job.d ? static_cast<float>((row[dim] - job.middle[dim]) * job.scale) : 0.0f;
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
  return job.wide_labels ? static_cast<const unsigned short*>(job.labels)[point]
                         : static_cast<const unsigned char*>(job.labels)[point];
}

template <class T>
__device__ void set_label(const SmallDimJob<T>& job, std::int64_t point, int label) {
  if (job.wide_labels) static_cast<unsigned short*>(job.labels)[point] = static_cast<unsigned short>(label);
  else static_cast<unsigned char*>(job.labels)[point] = static_cast<unsigned char>(label);
}

/// The canonical squared distance.
template <class T, int Columns>
__device__ double canonical(const T (&row)[Columns], const T* centroid, int d) {
  double sum = 0;
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim)
    if (dim < d) {
      const double difference = static_cast<double>(row[dim]) - static_cast<double>(centroid[dim]);
      sum = fma(difference, difference, sum);
    }
  return sum;
}

/// Adds a point to a cluster's sums, or with `sign` -1 takes it away. `copy`: this lane's among the copies.
template <class T, int Columns>
__device__ void add_to_sums(const SmallDimJob<T>& job, Word* moved, int copy, int cluster, const T (&row)[Columns],
                            double weight, int sign) {
  const auto put = [&](int word, std::int64_t bits) {
    atomicAdd(&moved[word * job.copies + copy], static_cast<Word>(sign > 0 ? bits : -bits));
  };
  const int first = cluster * 2 * job.d;
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim)
    if (dim < job.d) {
      const double value = job.weights ? weight * static_cast<double>(row[dim]) : static_cast<double>(row[dim]);
      const double scaled = value * job.columns[dim].to_high;
      const double rounded = scaled + core::integer_magic;
      const double rest = (scaled - (rounded - core::integer_magic)) * job.columns[dim].to_low + core::integer_magic;
      put(first + dim, __double_as_longlong(rounded));
      put(first + job.d + dim, __double_as_longlong(rest));
    }
  int word = job.k * 2 * job.d;
  if (job.weights) {
    const core::Limbs limbs = job.weight.split(weight);
    put(word + 2 * cluster, limbs.high);
    put(word + 2 * cluster + 1, limbs.low);
    word += 2 * job.k;
  }
  put(word + cluster, 1);
}

struct Tally {
  Word changed = 0;
  Word rechecked = 0;
};

/// The canonical label of a point that the first filter could not settle; moves it where it changed.
template <class T, int Columns>
__device__ void settle(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, std::int64_t point, Tally& tally) {
  T row[Columns];
  float coordinates[Columns];
  load_row<T, Columns>(job, point, row);
  to_filter<T, Columns>(job, row, coordinates);
  float best = INFINITY;
  float second = INFINITY;
  int nearest = 0;
  for (int cluster = 0; cluster < job.k; ++cluster) {
    float entry[entry_floats<Columns>];
    load_entry<Columns>(shared.filter, cluster, entry);
    const float own = score<Columns>(entry, coordinates, entry[0]);
    second = fminf(second, fmaxf(best, own));
    if (own < best) {
      best = own;
      nearest = cluster;
    }
  }
  if (!(second - best > job.bound)) {
    double least = INFINITY;
    for (int cluster = 0; cluster < job.k; ++cluster) {
      const double distance = canonical<T, Columns>(row, shared.centroids + cluster * job.d, job.d);
      if (distance < least) {
        least = distance;
        nearest = cluster;
      }
    }
    ++tally.rechecked;
  }
  const int before = label_of(job, point);
  if (nearest == before) return;
  set_label(job, point, nearest);
  ++tally.changed;
  const double weight = job.weights ? static_cast<double>(job.weights[point]) : 1.0;
  const int copy = static_cast<int>(threadIdx.x) & (job.copies - 1);
  add_to_sums<T, Columns>(job, shared.moved, copy, nearest, row, weight, 1);
  if (before != no_label(job)) add_to_sums<T, Columns>(job, shared.moved, copy, before, row, weight, -1);
}

/// One walk of the block over its points.
template <class T, int Columns, int PerThread>
__device__ Tally assign_points(const SmallDimJob<T>& job, const Shared<T, Columns>& shared) {
  constexpr unsigned int everyone = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int threads = static_cast<int>(blockDim.x);
  const int none = no_label(job);
  Tally tally;
  int waiting = 0;  // in the warp's queue; the same in every lane
  const std::int64_t tile = std::int64_t{PerThread} * threads;
  for (std::int64_t first = blockIdx.x * tile; first < job.n; first += gridDim.x * tile) {
    float coordinates[PerThread][Columns];
    float threshold[PerThread];
    unsigned int once[PerThread];   // sign bit: some score lies below the threshold
    unsigned int twice[PerThread];  // sign bit: at least two do
#pragma unroll
    for (int index = 0; index < PerThread; ++index) {
      const std::int64_t point = first + index * threads + static_cast<int>(threadIdx.x);
      once[index] = twice[index] = 0;
      threshold[index] = -INFINITY;
#pragma unroll
      for (int dim = 0; dim < Columns; ++dim) coordinates[index][dim] = 0;
      if (point >= job.n) continue;
      T row[Columns];
      load_row<T, Columns>(job, point, row);
      const int own = label_of(job, point);
      to_filter<T, Columns>(job, row, coordinates[index]);
      if (own == none) continue;
      float entry[entry_floats<Columns>];
      load_entry<Columns>(shared.filter, own, entry);
      threshold[index] = __fadd_ru(score<Columns>(entry, coordinates[index], entry[0]), job.bound);
    }
    for (int cluster = 0; cluster < job.k; cluster += 2) {  // the entry behind the last one is infinitely far
      float even[entry_floats<Columns>];
      float odd[entry_floats<Columns>];
      load_entry<Columns>(shared.filter, cluster, even);
      load_entry<Columns>(shared.filter, cluster + 1, odd);
#pragma unroll
      for (int index = 0; index < PerThread; ++index) {
        const unsigned int a = __float_as_uint(score<Columns>(even, coordinates[index], even[0] - threshold[index]));
        const unsigned int b = __float_as_uint(score<Columns>(odd, coordinates[index], odd[0] - threshold[index]));
        twice[index] |= (once[index] & (a | b)) | (a & b);
        once[index] |= a | b;
      }
    }
#pragma unroll
    for (int index = 0; index < PerThread; ++index) {
      const std::int64_t point = first + index * threads + static_cast<int>(threadIdx.x);
      const bool certain = (once[index] & ~twice[index]) >> 31;  // only its own score lies below the threshold
      const unsigned int asking = __ballot_sync(everyone, point < job.n && !certain);
      if (asking & (1u << lane)) shared.queue[waiting + __popc(asking & ((1u << lane) - 1))] = static_cast<int>(point);
      waiting += __popc(asking);
    }
    __syncwarp();  // the queue is written before other lanes read it
    while (waiting >= 32) {
      waiting -= 32;
      settle<T, Columns>(job, shared, shared.queue[waiting + lane], tally);
      __syncwarp();  // read before the next tile's points overwrite it
    }
  }
  if (lane < waiting) settle<T, Columns>(job, shared, shared.queue[lane], tally);
  __syncwarp();
  return tally;
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
  for (int cluster = static_cast<int>(threadIdx.x); cluster <= job.k; cluster += static_cast<int>(blockDim.x)) {
    float* entry = shared.filter + cluster * entry_floats<Columns>;
    double squares = 0;
    for (int dim = 0; dim < Columns; ++dim) {
      float coordinate = 0;
      if (dim < job.d && cluster < job.k)
        coordinate = static_cast<float>(
            (static_cast<double>(shared.centroids[cluster * job.d + dim]) - static_cast<double>(job.middle[dim])) *
            static_cast<double>(job.scale));
      entry[1 + dim] = -coordinate;
      squares += static_cast<double>(coordinate) * static_cast<double>(coordinate);
    }
    entry[0] = cluster < job.k ? static_cast<float>(0.5 * squares) : INFINITY;
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

/// The squared movements and, for the history, what the clusters explain: summed as the frame does, dimensions and then
/// clusters in ascending order. Every thread of the block gets the shift.
template <class T, int Columns>
__device__ double shift_and_explained(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, bool explain,
                                      double& explained) {
  const ClusterSums<T> sums{job, shared.sums};
  __shared__ double totals[2];
  for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += static_cast<int>(blockDim.x)) {
    double moved_squares = 0;
    double sum = 0;
    const double weight = sums.weight(cluster);
    for (int dim = 0; dim < job.d; ++dim) {
      const double before = static_cast<double>(shared.centroids[cluster * job.d + dim]);
      const double moved = static_cast<double>(shared.next[cluster * job.d + dim]) - before;
      moved_squares += moved * moved;
      if (!explain || !(weight > 0)) continue;
      const double centroid = before - job.low[dim];
      sum += centroid * (2 * (sums.template mean<double>(cluster, dim) - job.low[dim]) - centroid);
    }
    shared.parts[cluster] = moved_squares;
    shared.parts[job.k + cluster] = weight > 0 ? weight * sum : 0.0;
  }
  __syncthreads();  // every cluster's part is there
  if (threadIdx.x == 0 || (threadIdx.x == 32 % blockDim.x && explain)) {
    // With one warp, thread 0 does both.
    if (threadIdx.x == 0) {
      double total = 0;
      for (int cluster = 0; cluster < job.k; ++cluster) total += shared.parts[cluster];
      totals[0] = total;
    }
    if (threadIdx.x == 32 % blockDim.x && explain) {
      double total = 0;
      for (int cluster = 0; cluster < job.k; ++cluster) total += shared.parts[job.k + cluster];
      totals[1] = total;
    }
  }
  __syncthreads();  // the totals are there
  explained = explain ? totals[1] : 0.0;
  return totals[0];
}

__device__ inline int bits_of(float value) { return __float_as_int(value); }
__device__ inline long long bits_of(double value) { return __double_as_longlong(value); }

__device__ inline Word nanoseconds() {
  Word now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Launch shape: cooperative, as many blocks as the GPU holds at once or the points need.
template <class T, int Columns, int PerThread>
__global__ void fit_small_dim(const __grid_constant__ SmallDimJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ Word block_changed;
  __shared__ Word block_rechecked;
  const Shared<T, Columns> shared(memory, job, static_cast<int>(blockDim.x) / 32, PerThread);
  const ClusterSums<T> sums{job, shared.sums};
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int words = sum_words(job);
  const int area = job.k * job.d;
  const bool first_block = blockIdx.x == 0;
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();

  for (int word = thread; word < words; word += threads) shared.sums[word] = job.sums[word];
  for (int word = thread; word < words * job.copies; word += threads) shared.moved[word] = 0;
  for (int index = thread; index < area; index += threads) shared.centroids[index] = job.centroids[index];
  if (thread == 0) block_changed = block_rechecked = 0;
  if (first_block && thread == 0) job.outcome->start_nanoseconds = nanoseconds();
  __syncthreads();  // the centroids are there
  build_filter<T, Columns>(job, shared);
  __syncthreads();  // and the filter

  int step = 0;
  bool pass_only = false;
  bool same = false;
  Word changed = 0;
  for (;; ++step) {
    Word* difference = job.differences + step % 3 * (words + 1);
    const Tally tally = assign_points<T, Columns, PerThread>(job, shared);
    if (tally.changed > 0) atomicAdd(&block_changed, tally.changed);
    if (tally.rechecked > 0) atomicAdd(&block_rechecked, tally.rechecked);
    __syncthreads();  // all of the block's points are settled and in `moved`
    if (block_changed > 0)
      for (int word = thread; word < words; word += threads) {
        Word sum = 0;
        for (int copy = 0; copy < job.copies; ++copy) {
          sum += shared.moved[word * job.copies + copy];
          shared.moved[word * job.copies + copy] = 0;
        }
        if (sum != 0) atomicAdd(&difference[word], sum);
      }
    if (first_block) {
      // Cleared for the iteration after the next: all blocks are past the barrier behind which they read it.
      Word* later = job.differences + (step + 1) % 3 * (words + 1);
      for (int word = thread; word <= words; word += threads) later[word] = 0;
    }
    if (thread == 0 && block_changed > 0) atomicAdd(&difference[words], block_changed);
    grid.sync();  // every block's differences are in memory
    if (thread == 0) block_changed = 0;
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
    __syncthreads();  // the rows are complete
    if (job.to_unit_length) {
      for (int cluster = thread; cluster < job.k; cluster += threads)
        scale_to_unit_length(shared.next + cluster * job.d, job.d);
      __syncthreads();  // the rows have their length
    }
    // The shift decides whether to go on only where there is a limit; the history needs it once.
    double shift = 0;
    double explained = 0;
    if (first_block || job.shift_limit > 0)
      shift = shift_and_explained<T, Columns>(job, shared, first_block, explained);
    bool equal = true;
    for (int index = thread; index < area; index += threads) {
      equal &= bits_of(shared.next[index]) == bits_of(shared.centroids[index]);
      shared.centroids[index] = shared.next[index];
    }
    same = __syncthreads_and(equal) != 0;  // and the centroids are complete
    build_filter<T, Columns>(job, shared);
    if (first_block && thread == 0)
      job.records[step] = {explained, static_cast<std::int64_t>(changed), shift, nanoseconds()};
    const auto moved = static_cast<std::int64_t>(changed);
    if (moved == 0 || (job.shift_limit > 0 && shift <= job.shift_limit) ||
        (job.changed_limit > 0 && moved <= job.changed_limit) || step + 1 == job.iterations) {
      ++step;
      break;
    }
    __syncthreads();  // the filter is complete
  }
  __syncthreads();  // `block_rechecked` and the centroids are complete
  if (thread == 0 && block_rechecked > 0) atomicAdd(&job.outcome->rechecked, block_rechecked);
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

// Launch shape: one thread for each point.
template <class T>
__global__ void widen_labels(const SmallDimJob<T> job, std::int32_t* labels) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point < job.n) labels[point] = label_of(job, point);
}

// The inertia on its grid. Launch shape: the grid's stride over the points; blocks of whole warps.
template <class T>
__global__ void exact_inertia(const SmallDimJob<T> job, core::Grid grid, Word* total) {
  Word high = 0;
  Word low = 0;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; point < job.n; point += stride) {
    const T* row = job.points + point * job.d;
    const T* centroid = job.centroids + label_of(job, point) * job.d;
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

/// The kernel for a number of columns and points per thread, and the shared memory that it takes.
template <class T>
struct Kernel {
  const void* function = nullptr;
  int points_per_thread = 1;
  std::size_t (*shared_bytes)(int k, int d, int words, int copies, int warps, int points_per_thread) = nullptr;
};

template <class T, int Columns, int PerThread>
Kernel<T> kernel_of() {
  return {reinterpret_cast<const void*>(fit_small_dim<T, Columns, PerThread>), PerThread, Shared<T, Columns>::bytes};
}

template <class T>
Kernel<T> pick_kernel(std::int64_t d, bool many_points) {
  if (d == 1) return many_points ? kernel_of<T, 1, 4>() : kernel_of<T, 1, 1>();
  if (d == 2) return many_points ? kernel_of<T, 2, 4>() : kernel_of<T, 2, 1>();
  if (d == 3) return many_points ? kernel_of<T, 3, 4>() : kernel_of<T, 3, 1>();
  if (d == 4) return many_points ? kernel_of<T, 4, 4>() : kernel_of<T, 4, 1>();
  if (d <= 8) return many_points ? kernel_of<T, 8, 2>() : kernel_of<T, 8, 1>();
  return many_points ? kernel_of<T, 16, 2>() : kernel_of<T, 16, 1>();
}

template <class T>
class SmallDimEngine {
 public:
  SmallDimEngine(CudaJob<T>& job, const Execution& execution)
      : job_(job), sums_(job.problem()), centroids_(job.problem().k() * job.problem().d()),
        labels_(label_bytes(job.problem())), records_(record_limit), outcome_(1), inertia_(2),
        host_records_(record_limit), host_outcome_(1) {
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
    device_.outcome = outcome_.data();
    labels_.fill_bytes(0xff, job.stream());  // no cluster yet
    device_sums_.clear(job.stream());
    shape_launch(execution);
  }

  static std::uint64_t bytes(const Problem<T>& problem) {
    const auto words = static_cast<std::uint64_t>(problem.k() * (2 * problem.d() + 3));
    return centroid_bytes(problem) + 8 * 4 * words + sizeof(Record) * record_limit +
           2 * static_cast<std::uint64_t>(problem.n());
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
    if (core::seconds_since(start) < 0.01) batch_ = std::min(2 * batch_, record_limit);
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
    Word limbs[2];
    inertia_.copy_to_host(limbs, 2, stream);
    stream.wait();
    const core::Limbs total{static_cast<std::int64_t>(limbs[0]), static_cast<std::int64_t>(limbs[1])};
    return core::round_quotient<double>(grid.total(total), 1, grid.unit);
  }

  double rechecked() const {
    return assignments_ > 0 ? static_cast<double>(rechecked_) / static_cast<double>(assignments_) : 0.0;
  }

 private:
  static std::int64_t label_bytes(const Problem<T>& problem) {
    return problem.n() * (problem.k() > small_dim_narrow_clusters ? 2 : 1);
  }

  void describe(const Problem<T>& problem) {
    const Statistics& statistics = problem.statistics;
    device_.points = job_.points();
    device_.weights = job_.weights();
    device_.n = problem.n();
    device_.d = static_cast<int>(problem.d());
    device_.k = static_cast<int>(problem.k());
    device_.wide_labels = problem.k() > small_dim_narrow_clusters;
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
    const auto d = static_cast<float>(device_.d);
    device_.bound = (6 * d * d + 16 * d) * 0x1p-24f;
    device_.weight = statistics.weight;
    device_.relocates = problem.empty != EmptyCluster::keep;
    device_.to_unit_length = problem.metric == Metric::cosine;
  }

  // Threads, blocks and shared memory: as many copies of the sums as leave room for two blocks on a multiprocessor.
  void shape_launch(const Execution& execution) {
    const std::int64_t n = job_.problem().n();
    const bool many_points = n >= std::int64_t{2048} * job_.gpu().multiprocessors;
    kernel_ = pick_kernel<T>(device_.d, many_points);
    threads_ = block_threads(execution, 512);
    const int words = sum_words(device_);
    const std::size_t budget = job_.gpu().shared_bytes / 2 - 2048;
    const auto needed = [&](int copies) {
      return kernel_.shared_bytes(device_.k, device_.d, words, copies, threads_ / 32, kernel_.points_per_thread);
    };
    device_.copies = 32;
    while (device_.copies > 1 && needed(device_.copies) > budget) device_.copies /= 2;
    shared_ = needed(device_.copies);
    cuda::check(
        cudaFuncSetAttribute(kernel_.function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_)),
        "cudaFuncSetAttribute");
    int resident = 0;
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel_.function, threads_, shared_),
                "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    if (resident < 1)
      throw UnsupportedError("a block of " + std::to_string(threads_) +
                             " threads does not fit this GPU; a smaller --block-size may");
    const std::int64_t tile = std::int64_t{threads_} * kernel_.points_per_thread;
    const std::int64_t most = std::int64_t{resident} * job_.gpu().multiprocessors;
    blocks_ = static_cast<unsigned int>(std::min(most, (n + tile - 1) / tile));
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
    rechecked_ += host_outcome_[0].rechecked;
    assignments_ += job_.problem().n() * (host_outcome_[0].steps + (host_outcome_[0].pass_only ? 1 : 0));
  }

  void run_pass(MatrixView<const T> centroids) {
    device_.iterations = 0;
    centroids_.copy_from_host(centroids.data(), centroids_.size(), job_.stream());
    launch();
  }

  // The sums and the labels for the frame.
  void fetch(std::int32_t* labels) {
    const cuda::Stream& stream = job_.stream();
    const std::int64_t n = job_.problem().n();
    Buffer<Word> words(device_sums_.size());
    device_sums_.copy_to_host(words.data(), words.size(), stream);
    cuda::DeviceBuffer<std::int32_t> wide(n);
    widen_labels<<<blocks_for(n, 256), 256, 0, stream>>>(device_, wide.data());
    cuda::check_launch("widen_labels");
    stream.wait();
    sums_.set(reinterpret_cast<const std::int64_t*>(words.data()));
    cuda::download(wide, labels, n, job_.threads(), stream);
  }

  CudaJob<T>& job_;
  SmallDimJob<T> device_{};
  ExactSums<T> sums_;
  cuda::DeviceBuffer<T> centroids_;
  cuda::DeviceBuffer<unsigned char> labels_;
  cuda::DeviceBuffer<Word> device_sums_;
  cuda::DeviceBuffer<Word> differences_;
  cuda::DeviceBuffer<Record> records_;
  cuda::DeviceBuffer<LoopOutcome> outcome_;
  cuda::DeviceBuffer<Word> inertia_;
  cuda::PinnedBuffer<Record> host_records_;
  cuda::PinnedBuffer<LoopOutcome> host_outcome_;
  Kernel<T> kernel_;
  int threads_ = 0;
  unsigned int blocks_ = 0;
  std::size_t shared_ = 0;
  int batch_ = 1;
  bool pass_is_pending_ = false;
  std::int64_t assignments_ = 0;
  Word rechecked_ = 0;
};

}  // namespace

template <class T>
KMeansResult<T> cuda_small_dim(const Problem<T>& problem, const Execution& execution) {
  CudaJob<T> job(problem, execution, Layout::rows, SmallDimEngine<T>::bytes(problem));
  SmallDimEngine<T> engine(job, execution);
  return lloyd(problem, execution, engine);
}

template KMeansResult<float> cuda_small_dim(const Problem<float>&, const Execution&);
template KMeansResult<double> cuda_small_dim(const Problem<double>&, const Execution&);

}  // namespace gradus::kmeans_detail
