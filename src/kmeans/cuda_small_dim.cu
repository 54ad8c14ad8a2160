// cuda_small_dim: the whole fit in one kernel; a float filter with a proven bound; exact sums. The oracle's bits.
//
// What changes from `cuda_graph`: exactness, and with it speed.
//
// * One pass, one barrier. All blocks stay on the GPU for many iterations (a cooperative launch). An iteration is one
//   walk over the points and one barrier across the grid; then every block computes all the new centroids for itself,
//   which for few clusters and columns is cheaper than to wait for a block that does it for all.
// * Most points stay where they are. A point is compared with the centroid that it belonged to before: with the score
//   s_c = |c|^2 / 2 - x.c, all it takes to know that nothing changed is that every other score exceeds its own by the
//   bound. That needs no minimum and no runner-up, only a count of the scores below s_own + bound, which must be one:
//   its own. A fused operation with saturation, clamp(huge (s_own + bound - s_c), 0, 1), yields the one or zero to add,
//   so that a cluster costs d + 2 operations, all of them of the widest pipe. Scores are computed in float from
//   coordinates that are shifted by the columns' middles and scaled by a power of two to at most 1.
// * The points come to shared memory by asynchronous copies, each warp fetching its next points while it works on the
//   last ones: every request is of whole lines, whatever the number of columns, and no register holds a point in
//   waiting.
// * What is left, the points that moved or are within the bound, is collected by each warp until it has 32 of them:
//   then every lane has one. These get a float search for the best and the second best; where the two are within the
//   bound, the canonical chain in double decides among the clusters that are.
// * Sums are integers (core/exact_sum.hpp), so that only points that changed cluster touch them: they leave one sum and
//   join another, in shared memory, in as many copies as fit, lane l using copy l modulo their number. A 64-bit
//   addition is two of 32 bits, the first of which tells the carry. Integer addition does not care about order: the
//   result has the same bits on any grid.
//
// The bound. With u = 2^-24 and coordinates of at most 1 in magnitude, rounding the coordinates costs 3 d u, the float
// |c|^2 / 2 costs u d / 2, and the chain of d fused operations, on partial sums of at most 1.5 d, costs 1.5 d^2 u. Own
// score, threshold and the other score together stay below (3 d^2 + 9 d) u; the code takes (6 d^2 + 16 d) u, which
// leaves room for the rounding of the canonical chains themselves, some d^2 2^-51, and for differences that count less
// than one.
//
// Three sets of differences take turns: the blocks add to one in iteration t, read it after the barrier, and meanwhile
// the next is in use; the third is cleared for the iteration after. A block that is an iteration ahead, and none can be
// more, never writes what another still reads.
//
// Bytes of an iteration: the points once, and a label of one byte (two above 254 clusters); labels are written only
// where they change. Operations: n k (d + 2) in float. Limits: at most 16 columns; centroids and sums must fit the
// shared memory of a block. Source: certified filters: J. R. Shewchuk, "Adaptive precision floating-point arithmetic
// and fast robust geometric predicates" (1997). Persistent kernels: Gupta, Stuart and Owens, "A study of persistent
// threads style GPU programming" (2012).
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "kmeans/cuda_common.hpp"
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
};

/// Words of one set of sums.
template <class T>
__host__ __device__ int sum_words(const SmallDimJob<T>& job) {
  return job.k * (2 * job.d + (job.weights ? 2 : 0) + 1);
}

/// Floats of a cluster's entry in the filter: |c|^2 / 2, then -c, to a multiple of four.
template <int Columns>
constexpr int entry_floats = (Columns + 1 + 3) / 4 * 4;

/// Bytes of a warp's points, and of their labels behind them: what is fetched at once.
template <class T>
__host__ __device__ int stage_bytes(int d, bool wide_labels, int points_per_thread) {
  return 32 * points_per_thread * (d * static_cast<int>(sizeof(T)) + (wide_labels ? 2 : 1));
}

/// The parts of a block's shared memory.
template <class T, int Columns>
struct Shared {
  float* filter;         ///< an entry for each cluster
  unsigned char* stage;  ///< of this warp: two, in turn
  double* parts;         ///< 2 k, for sums over the clusters in ascending order
  Word* sums;            ///< all clusters' sums so far
  unsigned int* moved;   ///< copies of the differences of this pass: lower halves, then upper ones
  T* centroids;
  T* next;
  int* queue;  ///< of this warp

  __host__ __device__ static int queue_length(int points_per_thread) { return 32 * points_per_thread + 32; }

  static std::size_t bytes(const SmallDimJob<T>& job, int copies, int warps, int points_per_thread) {
    const int padded = (job.k * job.d + 1) & ~1;
    return static_cast<std::size_t>(4 * job.k * entry_floats<Columns> +
                                    2 * warps * stage_bytes<T>(job.d, job.wide_labels, points_per_thread) + 16 * job.k +
                                    8 * sum_words(job) * (1 + copies) + 2 * static_cast<int>(sizeof(T)) * padded +
                                    4 * warps * queue_length(points_per_thread));
  }

  __device__ Shared(unsigned char* memory, const SmallDimJob<T>& job, int points_per_thread) {
    const int warps = static_cast<int>(blockDim.x) / 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int words = sum_words(job);
    const int one_stage = stage_bytes<T>(job.d, job.wide_labels, points_per_thread);
    const int padded = (job.k * job.d + 1) & ~1;
    filter = reinterpret_cast<float*>(memory);
    unsigned char* stages = memory + 4 * job.k * entry_floats<Columns>;
    stage = stages + 2 * warp * one_stage;
    parts = reinterpret_cast<double*>(stages + 2 * warps * one_stage);
    sums = reinterpret_cast<Word*>(parts + 2 * job.k);
    moved = reinterpret_cast<unsigned int*>(sums + words);
    centroids = reinterpret_cast<T*>(moved + 2 * words * job.copies);
    next = centroids + padded;
    queue = reinterpret_cast<int*>(next + padded) + warp * queue_length(points_per_thread);
  }
};

/// The number of columns: known to the compiler where the kernel is made for exactly as many.
template <class T, int Columns, bool Exact>
__device__ int columns_of(const SmallDimJob<T>& job) {
  if constexpr (Exact) return Columns;
  else return job.d;
}

/// How a row lies in a stage. Rows that are whole quads of 16 bytes have their quads exchanged so that eight lanes that
/// read the same quad of eight rows meet eight different banks.
template <class T, int Columns>
struct RowQuads {
  static constexpr int bytes = Columns * static_cast<int>(sizeof(T));
  static constexpr int count = bytes % 16 == 0 ? bytes / 16 : 0;  // 1, 2, 4 or 8; 0: not whole quads
  static __device__ int place(int row, int quad) {
    if constexpr (count > 1) quad ^= row / (8 / count) & (count - 1);
    return row * count + quad;
  }
};

/// Where a lane's part of the warp's next points and labels begins, and how far it is to those after them.
struct Walk {
  const unsigned char* rows;
  const unsigned char* labels;
  unsigned int rows_step;
  unsigned int labels_step;
};

/// Starts the copy of `points` of at most 32 PerThread points and their labels into a stage of the warp, and walks on.
template <class T, int Columns, bool Exact, int PerThread>
__device__ void fetch_stage(const SmallDimJob<T>& job, unsigned char* stage, Walk& walk, unsigned int points,
                            int lane) {
  using Quads = RowQuads<T, Columns>;
  constexpr bool whole_quads = Exact && Quads::count > 1;
  const int row_bytes = columns_of<T, Columns, Exact>(job) * static_cast<int>(sizeof(T));
  const int label_bytes = job.wide_labels ? 2 : 1;
  unsigned char* const staged_labels = stage + 32 * PerThread * row_bytes + 16 * lane;
  const auto copy = [&](int quads, int label_quads) {
#pragma unroll
    for (int first_quad = 0; first_quad < quads; first_quad += 32) {
      const int quad = first_quad + lane;
      if (quad >= quads) break;
      int place = quad;
      if constexpr (whole_quads) place = Quads::place(quad / Quads::count, quad % Quads::count);
      __pipeline_memcpy_async(stage + 16 * place, walk.rows + 16 * first_quad, 16);
    }
    if (lane < label_quads) __pipeline_memcpy_async(staged_labels, walk.labels, 16);
  };
  // Full stages have a number of quads that the compiler knows. The buffers end with room for the last quad.
  if (points >= 32 * PerThread) copy(2 * PerThread * row_bytes, 2 * PerThread * label_bytes);
  else copy((static_cast<int>(points) * row_bytes + 15) / 16, (static_cast<int>(points) * label_bytes + 15) / 16);
  walk.rows += walk.rows_step;
  walk.labels += walk.labels_step;
}

template <class T, int Columns, bool Exact>
__device__ void staged_row(const SmallDimJob<T>& job, const unsigned char* stage, int index, T (&row)[Columns]) {
  using Quads = RowQuads<T, Columns>;
  if constexpr (Exact && Quads::count > 0) {
    uint4 quads[Quads::count];
#pragma unroll
    for (int quad = 0; quad < Quads::count; ++quad)
      quads[quad] = reinterpret_cast<const uint4*>(stage)[Quads::place(index, quad)];
    memcpy(row, quads, sizeof quads);
  } else if constexpr (Exact && Quads::bytes == 8) {
    const uint2 pair = reinterpret_cast<const uint2*>(stage)[index];
    memcpy(row, &pair, sizeof pair);
  } else {
    const int d = columns_of<T, Columns, Exact>(job);
#pragma unroll
    for (int dim = 0; dim < Columns; ++dim)
      row[dim] = dim < d ? reinterpret_cast<const T*>(stage)[index * d + dim] : T{0};
  }
}

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

/// Moves a point in the sums from the cluster `before`, if it is one, to `now`. `copy`: this lane's among the copies.
template <class T, int Columns, bool Exact>
__device__ void move_in_sums(const SmallDimJob<T>& job, unsigned int* moved, int copy, int before, int now,
                             const T (&row)[Columns], double weight) {
  const int d = columns_of<T, Columns, Exact>(job);
  unsigned int* const lower = moved + copy;
  const int upper = sum_words(job) * job.copies;  // from a lower half to its upper one
  const bool leaves = before < job.k;
  // Whoever makes the lower half overflow carries: in whatever order, the carries are as many as in one long addition.
  const auto add = [&](int word, Word addend) {
    unsigned int* const half = lower + word * job.copies;
    const auto low = static_cast<unsigned int>(addend);
    const unsigned int carry = atomicAdd(half, low) > ~low ? 1 : 0;
    atomicAdd(half + upper, static_cast<unsigned int>(addend >> 32) + carry);
  };
  const auto move = [&](int first, int stride, std::int64_t addend) {
    add(first + now * stride, static_cast<Word>(addend));
    if (leaves) add(first + before * stride, Word{0} - static_cast<Word>(addend));
  };
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim)
    if (dim < d) {
      const double value = job.weights ? weight * static_cast<double>(row[dim]) : static_cast<double>(row[dim]);
      const double scaled = value * job.columns[dim].to_high;
      const double rounded = scaled + core::integer_magic;
      const double rest = (scaled - (rounded - core::integer_magic)) * job.columns[dim].to_low + core::integer_magic;
      move(dim, 2 * d, __double_as_longlong(rounded));
      move(d + dim, 2 * d, __double_as_longlong(rest));
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
  Word changed = 0;
  Word rechecked = 0;
};

/// The canonical label of a point; `rechecked` where the float search left it to the double chain.
template <class T, int Columns, bool Exact>
__device__ int nearest_exactly(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, const T (&row)[Columns],
                               bool& rechecked) {
  float coordinates[Columns];
  to_filter<T, Columns, Exact>(job, row, coordinates);
  float best = INFINITY;
  float second = INFINITY;
  int nearest = 0;
#pragma unroll 4
  for (int cluster = 0; cluster < job.k; ++cluster) {
    float entry[entry_floats<Columns>];
    load_entry<Columns>(shared.filter, cluster, entry);
    const float own = score<Columns>(entry, coordinates, entry[0]);
    second = fminf(second, fmaxf(best, own));
    if (own < best) nearest = cluster;
    best = fminf(best, own);
  }
  rechecked = !(second - best > job.bound);
  if (!rechecked) return nearest;
  const float limit = __fadd_ru(best, job.bound);
  double least = INFINITY;
  for (int cluster = 0; cluster < job.k; ++cluster) {
    float entry[entry_floats<Columns>];
    load_entry<Columns>(shared.filter, cluster, entry);
    if (score<Columns>(entry, coordinates, entry[0]) > limit) continue;
    const double distance = canonical<T, Columns, Exact>(row, shared.centroids + cluster * job.d, job.d);
    if (distance < least) {
      least = distance;
      nearest = cluster;
    }
  }
  return nearest;
}

/// Finds the label of a point that the first filter could not settle; moves it where it changed.
template <class T, int Columns, bool Exact>
__device__ void settle(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, unsigned int point, Tally& tally) {
  T row[Columns];
  load_row<T, Columns, Exact>(job, point, row);
  const int before = label_of(job, point);
  bool rechecked = false;
  const int nearest = nearest_exactly<T, Columns, Exact>(job, shared, row, rechecked);
  tally.rechecked += rechecked;
  if (nearest == before) return;
  set_label(job, point, nearest);
  ++tally.changed;
  const double weight = job.weights ? static_cast<double>(job.weights[point]) : 1.0;
  const int copy = static_cast<int>(threadIdx.x) & (job.copies - 1);
  move_in_sums<T, Columns, Exact>(job, shared.moved, copy, before, nearest, row, weight);
}

/// clamp(huge (threshold - score), 0, 1), rounded once.
__device__ inline float counts_below(float score, float threshold_times_huge) {
  float result = 0;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(score), "f"(-0x1p40f), "f"(threshold_times_huge));
  return result;
}

/// One walk of the warp over its points. The first block has none where there are others: it keeps the history.
template <class T, int Columns, bool Exact, int PerThread>
__device__ Tally assign_points(const SmallDimJob<T>& job, const Shared<T, Columns>& shared) {
  constexpr unsigned int everyone = 0xffffffffu;
  constexpr unsigned int tile = 32 * PerThread;
  Tally tally;
  if (blockIdx.x == 0 && gridDim.x > 1) return tally;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto n = static_cast<unsigned int>(job.n);  // below 2^31, so that a step beyond it does not wrap
  const int one_stage = stage_bytes<T>(columns_of<T, Columns, Exact>(job), job.wide_labels, PerThread);
  const unsigned int row_bytes = columns_of<T, Columns, Exact>(job) * static_cast<unsigned int>(sizeof(T));
  const unsigned int warps_of_block = blockDim.x / 32;
  const unsigned int without = gridDim.x > 1 ? 1 : 0;
  const unsigned int step = tile * warps_of_block * (gridDim.x - without);
  unsigned int first = tile * ((blockIdx.x - without) * warps_of_block + threadIdx.x / 32);
  int waiting = 0;  // in the warp's queue; the same in every lane
  int turn = 0;
  const unsigned int label_bytes = job.wide_labels ? 2 : 1;
  Walk walk{reinterpret_cast<const unsigned char*>(job.points) + std::size_t{first} * row_bytes + 16 * lane,
            static_cast<const unsigned char*>(job.labels) + std::size_t{first} * label_bytes + 16 * lane,
            step * row_bytes, step * label_bytes};
  if (first < n) fetch_stage<T, Columns, Exact, PerThread>(job, shared.stage, walk, n - first, lane);
  __pipeline_commit();
  for (; first < n; first += step, turn ^= 1) {
    if (first + step < n)
      fetch_stage<T, Columns, Exact, PerThread>(job, shared.stage + (turn ^ 1) * one_stage, walk, n - first - step,
                                                lane);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncwarp();  // every lane's part of this stage has arrived
    const unsigned char* stage = shared.stage + turn * one_stage;
    const unsigned char* labels = stage + tile * row_bytes;
    float coordinates[PerThread][Columns];
    int own[PerThread];
    float threshold[PerThread];
    float below[PerThread];  // scores below the threshold
    if (job.wide_labels) {
#pragma unroll
      for (int index = 0; index < PerThread; ++index)
        own[index] = reinterpret_cast<const unsigned short*>(labels)[32 * index + lane];
    } else {
#pragma unroll
      for (int index = 0; index < PerThread; ++index) own[index] = labels[32 * index + lane];
    }
    // Behind the last point the stage holds what it held before; that is computed with and not looked at.
#pragma unroll
    for (int index = 0; index < PerThread; ++index) {
      T row[Columns];
      staged_row<T, Columns, Exact>(job, stage, 32 * index + lane, row);
      to_filter<T, Columns, Exact>(job, row, coordinates[index]);
      const bool has_label = own[index] < job.k;
      float entry[entry_floats<Columns>];
      load_entry<Columns>(shared.filter, has_label ? own[index] : 0, entry);
      const float limit = __fadd_ru(score<Columns>(entry, coordinates[index], entry[0]), job.bound);
      threshold[index] = has_label ? limit * 0x1p40f : -INFINITY;
      below[index] = 0;
    }
#pragma unroll(Columns <= 4 ? 4 : 1)
    for (int cluster = 0; cluster < job.k; ++cluster) {
      float entry[entry_floats<Columns>];
      load_entry<Columns>(shared.filter, cluster, entry);
#pragma unroll
      for (int index = 0; index < PerThread; ++index)
        below[index] += counts_below(score<Columns>(entry, coordinates[index], entry[0]), threshold[index]);
    }
#pragma unroll
    for (int index = 0; index < PerThread; ++index) {
      const unsigned int point = first + 32 * index + lane;
      // Certain where only its own score lies below the threshold.
      const unsigned int asking = __ballot_sync(everyone, point < n && below[index] != 1.0f);
      if (asking == 0) continue;
      if (asking & (1u << lane)) shared.queue[waiting + __popc(asking & ((1u << lane) - 1))] = static_cast<int>(point);
      waiting += __popc(asking);
    }
    __syncwarp();  // the queue is written before other lanes read it; all have read this stage
    while (waiting >= 32) {
      waiting -= 32;
      settle<T, Columns, Exact>(job, shared, static_cast<unsigned int>(shared.queue[waiting + lane]), tally);
      __syncwarp();  // read before the next points overwrite it
    }
  }
  if (lane < waiting) settle<T, Columns, Exact>(job, shared, static_cast<unsigned int>(shared.queue[lane]), tally);
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

/// The sum of `parts`, in ascending order.
__device__ inline double ordered_sum(const double* parts, int count) {
  double total = 0;
#pragma unroll 8
  for (int index = 0; index < count; ++index) total += parts[index];
  return total;
}

/// The squared movements and, for the history, what the clusters explain: summed as the frame does, dimensions and then
/// clusters in ascending order. Every thread of the block gets the shift. `moved` must hold zeros, and does afterwards.
template <class T, int Columns>
__device__ double shift_and_explained(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, bool explain,
                                      double& explained) {
  const ClusterSums<T> sums{job, shared.sums};
  __shared__ double totals[2];
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  double* const means = reinterpret_cast<double*>(shared.moved);  // there is room for more than k d of them
  if (explain) {
    for (int index = thread; index < job.k * job.d; index += threads) {
      const int cluster = index / job.d;
      if (sums.weight(cluster) > 0) means[index] = sums.template mean<double>(cluster, index - cluster * job.d);
    }
    __syncthreads();  // the means are there
  }
  for (int cluster = thread; cluster < job.k; cluster += threads) {
    double moved_squares = 0;
    double sum = 0;
    const double weight = sums.weight(cluster);
    for (int dim = 0; dim < job.d; ++dim) {
      const int index = cluster * job.d + dim;
      const double before = static_cast<double>(shared.centroids[index]);
      const double moved = static_cast<double>(shared.next[index]) - before;
      moved_squares += moved * moved;
      if (!explain || !(weight > 0)) continue;
      const double centroid = before - job.low[dim];
      sum += centroid * (2 * (means[index] - job.low[dim]) - centroid);
      means[index] = 0;
    }
    shared.parts[cluster] = moved_squares;
    shared.parts[job.k + cluster] = weight > 0 ? weight * sum : 0.0;
  }
  __syncthreads();  // every cluster's part is there
  if (thread == 0) totals[0] = ordered_sum(shared.parts, job.k);
  if (thread == 32 % threads && explain) totals[1] = ordered_sum(shared.parts + job.k, job.k);
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

// Measured on an H200: where a row is one or two floats, more warps hide more latency than more registers would.
template <class T, int Columns>
constexpr bool many_warps = sizeof(T) == 4 && Columns <= 2;

template <class T, int Columns>
constexpr int registers = Columns > 4              ? 128
                          : many_warps<T, Columns> ? 64
                                                   : 80;

// Launch shape: cooperative, as many blocks as the GPU holds at once or the points need.
template <class T, int Columns, bool Exact, int PerThread>
__global__ void __maxnreg__((registers<T, Columns>)) fit_small_dim(const __grid_constant__ SmallDimJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ Word block_changed;
  __shared__ Word block_rechecked;
  const Shared<T, Columns> shared(memory, job, PerThread);
  const ClusterSums<T> sums{job, shared.sums};
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int words = sum_words(job);
  const int area = job.k * job.d;
  const bool first_block = blockIdx.x == 0;
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();

  for (int word = thread; word < words; word += threads) shared.sums[word] = job.sums[word];
  for (int half = thread; half < 2 * words * job.copies; half += threads) shared.moved[half] = 0;
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
    const Tally tally = assign_points<T, Columns, Exact, PerThread>(job, shared);
    if (tally.changed > 0) atomicAdd(&block_changed, tally.changed);
    if (tally.rechecked > 0) atomicAdd(&block_rechecked, tally.rechecked);
    __syncthreads();  // all of the block's points are settled and in `moved`
    if (block_changed > 0)
      for (int word = thread; word < words; word += threads) {
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

/// The kernel for a number of columns, and what it takes.
template <class T>
struct Kernel {
  const void* function = nullptr;
  int points_per_thread = 1;
  int threads = 256;  ///< of a block, where the caller does not say
  std::size_t (*shared_bytes)(const SmallDimJob<T>& job, int copies, int warps, int points_per_thread) = nullptr;
};

template <class T, int Columns, int PerThread, bool Exact = true>
Kernel<T> kernel_of() {
  return {reinterpret_cast<const void*>(fit_small_dim<T, Columns, Exact, PerThread>), PerThread,
          many_warps<T, Columns> ? 512 : 256, Shared<T, Columns>::bytes};
}

/// Several points for each thread share the reading of a centroid; few points are rather spread over more threads.
template <class T>
Kernel<T> pick_kernel(std::int64_t d, bool many_points) {
  constexpr int some = sizeof(T) == 4 ? 2 : 1;  // of long rows, for which there must be shared memory
  if (d == 1) return many_points ? kernel_of<T, 1, 4>() : kernel_of<T, 1, 1>();
  if (d == 2) return many_points ? kernel_of<T, 2, 4>() : kernel_of<T, 2, 1>();
  if (d == 3) return many_points ? kernel_of<T, 3, 4>() : kernel_of<T, 3, 1>();
  if (d == 4) return many_points ? kernel_of<T, 4, 4>() : kernel_of<T, 4, 1>();
  if (d == 8) return kernel_of<T, 8, some>();
  if (d < 8) return kernel_of<T, 8, some, false>();
  if (d == 16) return kernel_of<T, 16, some>();
  return kernel_of<T, 16, some, false>();
}

template <class T>
class SmallDimEngine {
 public:
  static constexpr bool leaves_labels_on_gpu = true;

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
    return cuda_small_dim_bytes(shape_of(problem)) + sizeof(Record) * record_limit;
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
    const auto d = static_cast<float>(device_.d);
    device_.bound = (6 * d * d + 16 * d) * 0x1p-24f;
    device_.weight = statistics.weight;
    device_.relocates = problem.empty != EmptyCluster::keep;
    device_.to_unit_length = problem.metric == Metric::cosine;
  }

  // Threads, blocks and shared memory. A block size that does not fit is halved until it does: the result is the same.
  void shape_launch(const Execution& execution) {
    const std::int64_t n = job_.problem().n();
    const int multiprocessors = job_.gpu().multiprocessors;
    const bool many_points = n >= std::int64_t{2048} * multiprocessors;
    kernel_ = pick_kernel<T>(device_.d, many_points);
    cudaFuncAttributes attributes{};
    cuda::check(cudaFuncGetAttributes(&attributes, kernel_.function), "cudaFuncGetAttributes");
    const std::size_t most = job_.gpu().shared_bytes - attributes.sharedSizeBytes;
    const auto needed = [&](int copies) {
      return kernel_.shared_bytes(device_, copies, threads_ / 32, kernel_.points_per_thread);
    };
    threads_ = block_threads(execution, kernel_.threads);
    while (threads_ > 32 && (threads_ > attributes.maxThreadsPerBlock || needed(1) > most))
      threads_ = std::max(32, threads_ / 64 * 32);
    // As many copies of the sums as leave the blocks of a multiprocessor as many as they would be with one copy.
    device_.copies = 1;
    const int resident = resident_blocks(needed(1));
    if (resident < 1) throw UnsupportedError("cuda_small_dim: a block does not fit this GPU");
    while (device_.copies < 32 && needed(2 * device_.copies) <= most &&
           resident_blocks(needed(2 * device_.copies)) == resident)
      device_.copies *= 2;
    shared_ = needed(device_.copies);
    const std::int64_t tile = std::int64_t{threads_} * kernel_.points_per_thread;
    // One more than have points, for the history, where there is more than one.
    const std::int64_t working = (n + tile - 1) / tile;
    blocks_ =
        static_cast<unsigned int>(std::min(std::int64_t{resident} * multiprocessors, working > 1 ? working + 1 : 1));
  }

  int resident_blocks(std::size_t shared) const {
    int blocks = 0;
    cuda::check(
        cudaFuncSetAttribute(kernel_.function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
        "cudaFuncSetAttribute");
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
    Buffer<Word> words(device_sums_.size());
    device_sums_.copy_to_host(words.data(), words.size(), stream);
    cuda::DeviceBuffer<std::int32_t> wide(labels ? n : 0);
    widen_labels<<<blocks_for(n, 256), 256, 0, stream>>>(device_, labels ? wide.data() : job_.problem().labels_on_gpu);
    cuda::check_launch("widen_labels");
    stream.wait();
    sums_.set(reinterpret_cast<const std::int64_t*>(words.data()));
    if (labels) cuda::download(wide, labels, n, job_.staging(), job_.threads(), stream);
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
