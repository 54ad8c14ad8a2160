// cuda_small_dim: the whole fit in one kernel, with a proven float filter and exact sums. The oracle's bits.
//
// What changes from `cuda_graph`: the result is exact, and the filter makes it faster.
//
// * Launch. All blocks stay on the GPU for many iterations (a cooperative launch). An iteration is one pass with one
//   barrier: persistent/kernel.cuh.
// * Filter. Most points keep their cluster, so each point is compared with its previous centroid. Let s_c = |c|^2 / 2 -
//   x.c be the score of cluster c, and s_own the score of the previous cluster. The point keeps its cluster if the
//   score of every other cluster exceeds s_own by more than the bound. So the kernel needs no minimum and no second
//   best. It only counts the scores below s_own + bound; the count must be 1, for s_own itself. A fused multiply-add
//   with saturation, clamp(huge (s_own + bound - s_c), 0, 1), yields the 0 or 1 to add. So a cluster costs d + 2
//   operations, all in the pipe with the highest throughput. Scores are computed in float from coordinates shifted by
//   the middle of each column and scaled by a power of two to at most 1.
// * Staging. Asynchronous copies bring the points to shared memory. Each warp fetches its next points while it works on
//   the current ones. Every request covers whole lines for any number of columns, and no registers hold waiting points.
// * Float copy. If GPU memory allows, rows of more than four doubles are stored a second time, shifted, scaled and
//   rounded to float. This halves the bytes and removes the conversion from the loop. The doubles are read only for
//   points that are doubtful or move.
// * Doubt. A point whose count is not 1 is doubtful, and its warp queues it. When the queue has 32 points, each lane
//   processes one point. A float search finds all clusters whose scores are within the bound of the best score. If
//   there are several such clusters, the canonical chain in double decides.
// * Sums. Sums are integers (core/exact_sum.hpp), so only points that change cluster touch them. Such a point is
//   subtracted from one sum and added to another. The sums are in shared memory, in as many copies as fit. Lane l uses
//   copy l modulo the number of copies. A 64-bit addition is two 32-bit additions, of which the first yields the carry.
//   Integer addition is independent of order, so the result has the same bits on any grid.
//
// The bound. Let u = 2^-24 and coordinates be at most 1 in magnitude. Rounding the coordinates costs 3 d u, and
// rounding |c|^2 / 2 to float costs u d / 2. The chain of d fused operations on partial sums of at most 1.5 d costs 1.5
// d^2 u. The errors of s_own, of the threshold and of the other score add up to less than (3 d^2 + 9 d) u. The code
// uses (6 d^2 + 16 d) u. The slack covers the rounding of the canonical chains, about d^2 2^-51, and differences so
// small that the saturated operation yields less than one.
//
// Bytes per iteration: one read of the points (half the bytes with a float copy), and a label of one byte (two above
// 254 clusters); only changed labels are written. Operations: n k (d + 2) in float.
// Limits: at most 16 columns; centroids and sums must fit in the shared memory of a block.
// Source: certified filters: J. R. Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric
// predicates" (1997).
#include "kmeans/gpu/support.hpp"
#include "kmeans/persistent/small_dim_limits.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "kmeans/persistent/fit.cuh"

namespace gradus::kmeans_detail {

namespace {

/// The walk of the warps over the points. If `Copied` is true, it reads the float copy of the rows.
template <class T, int Columns, bool Exact, int PerThread, bool Copied = false>
struct StagedWalk {
  using Staged = std::conditional_t<Copied, float, T>;
  static constexpr int columns = Columns;
  static constexpr int points_per_thread = PerThread;
  // For rows of one or two floats, more warps with fewer registers each hide the latency better (measured on an H200).
  static constexpr bool many_warps = sizeof(T) == 4 && Columns <= 2;
  static constexpr int threads = many_warps ? 512 : 256;
  static constexpr int registers = Columns > 4 ? 128 : many_warps ? 64 : 80;
  static constexpr int queue_length = 32 * PerThread + 32;

  /// Returns the number of bytes that a warp fetches at once. They are some points, followed by the labels of these
  /// points.
  static __host__ __device__ int stage_bytes(const SmallDimJob<T>& job) {
    return 32 * PerThread * (job.d * static_cast<int>(sizeof(Staged)) + (job.wide_labels ? 2 : 1));
  }
  static __host__ __device__ int work_bytes(const SmallDimJob<T>& job, int warps) {
    return warps * (2 * stage_bytes(job) + 4 * queue_length);
  }
  static __device__ Tally assign(const SmallDimJob<T>& job, const Shared<T, Columns>& shared);
};

/// The addresses from which a lane copies its part of the warp's next points and labels, and the steps to the addresses
/// of the copy after that.
struct Walk {
  const unsigned char* rows;
  const unsigned char* labels;
  unsigned int rows_step;
  unsigned int labels_step;
};

/// Starts the copy of at most 32 PerThread points and their labels to a stage of the warp, and advances `walk`.
template <class T, class Staged, int Columns, bool Exact, int PerThread>
__device__ void fetch_stage(const SmallDimJob<T>& job, unsigned char* stage, Walk& walk, unsigned int points,
                            int lane) {
  using Quads = RowQuads<Staged, Columns>;
  constexpr bool whole_quads = Exact && Quads::count > 1;
  const int row_bytes = columns_of<T, Columns, Exact>(job) * static_cast<int>(sizeof(Staged));
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
  // A full stage has a constant number of quads, so the compiler can unroll its copy. In other stages, the last quad
  // may be incomplete, and the buffers have space for the rest of it.
  if (points >= 32 * PerThread) copy(2 * PerThread * row_bytes, 2 * PerThread * label_bytes);
  else copy((static_cast<int>(points) * row_bytes + 15) / 16, (static_cast<int>(points) * label_bytes + 15) / 16);
  walk.rows += walk.rows_step;
  walk.labels += walk.labels_step;
}

template <class T, class Staged, int Columns, bool Exact>
__device__ void staged_row(const SmallDimJob<T>& job, const unsigned char* stage, int index, Staged (&row)[Columns]) {
  using Quads = RowQuads<Staged, Columns>;
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
      row[dim] = dim < d ? reinterpret_cast<const Staged*>(stage)[index * d + dim] : Staged{0};
  }
}

/// Returns the canonical label of a point. Sets `rechecked` if the float search was not certain, so that the double
/// chain decided.
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

/// Finds the label of a doubtful point, and moves the point if the label changed.
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
  const double weight = scaled_weight(job, point);
  const int copy = static_cast<int>(threadIdx.x) & (job.copies - 1);
  move_in_sums<T, Columns, Exact>(job, shared.moved, copy, before, nearest, row, weight);
}

/// Returns clamp(huge (threshold - score), 0, 1), rounded once. The result is 1 if the score is below the threshold,
/// and 0 if it is above. It is a fraction only if score and threshold are almost equal.
__device__ inline float counts_below(float score, float threshold_times_huge) {
  float result = 0;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(score), "f"(-0x1p40f), "f"(threshold_times_huge));
  return result;
}

/// Assigns the warp's points to clusters.
template <class T, int Columns, bool Exact, int PerThread, bool Copied>
__device__ Tally StagedWalk<T, Columns, Exact, PerThread, Copied>::assign(const SmallDimJob<T>& job,
                                                                          const Shared<T, Columns>& shared) {
  constexpr unsigned int everyone = 0xffffffffu;
  constexpr unsigned int tile = 32 * PerThread;
  Tally tally{};
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto n = static_cast<unsigned int>(job.n);  // below 2^31, so n plus one increment does not overflow
  const unsigned int row_bytes = columns_of<T, Columns, Exact>(job) * static_cast<unsigned int>(sizeof(Staged));
  const int one_stage = static_cast<int>(tile * (row_bytes + (job.wide_labels ? 2 : 1)));
  const unsigned int warps_of_block = blockDim.x / 32;
  const unsigned int warp = threadIdx.x / 32;
  const unsigned int step = tile * warps_of_block * gridDim.x;
  unsigned int first = tile * (blockIdx.x * warps_of_block + warp);
  unsigned char* const stages = shared.work + 2 * warp * one_stage;
  int* const queue = reinterpret_cast<int*>(shared.work + 2 * warps_of_block * one_stage) + warp * queue_length;
  int waiting = 0;  // length of the warp's queue; equal in all lanes
  int turn = 0;
  const unsigned int label_bytes = job.wide_labels ? 2 : 1;
  const auto* const rows = Copied ? static_cast<const void*>(job.filter_points) : static_cast<const void*>(job.points);
  Walk walk{static_cast<const unsigned char*>(rows) + std::size_t{first} * row_bytes + 16 * lane,
            static_cast<const unsigned char*>(job.labels) + std::size_t{first} * label_bytes + 16 * lane,
            step * row_bytes, step * label_bytes};
  if (first < n) fetch_stage<T, Staged, Columns, Exact, PerThread>(job, stages, walk, n - first, lane);
  __pipeline_commit();
  for (; first < n; first += step, turn ^= 1) {
    if (first + step < n)
      fetch_stage<T, Staged, Columns, Exact, PerThread>(job, stages + (turn ^ 1) * one_stage, walk, n - first - step,
                                                        lane);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncwarp();  // the parts of this stage that the lanes copy have all arrived
    const unsigned char* stage = stages + turn * one_stage;
    const unsigned char* labels = stage + tile * row_bytes;
    float coordinates[PerThread][Columns];
    int own[PerThread];
    float threshold[PerThread];
    float below[PerThread];  // for each point of the lane: number of scores below the threshold
    if (job.wide_labels) {
#pragma unroll
      for (int index = 0; index < PerThread; ++index)
        own[index] = reinterpret_cast<const unsigned short*>(labels)[32 * index + lane];
    } else {
#pragma unroll
      for (int index = 0; index < PerThread; ++index) own[index] = labels[32 * index + lane];
    }
    // Past the last point, the stage holds old data. The code computes results for them, but ignores these results.
#pragma unroll
    for (int index = 0; index < PerThread; ++index) {
      if constexpr (Copied) {
        staged_row<T, Staged, Columns, Exact>(job, stage, 32 * index + lane, coordinates[index]);
      } else {
        T row[Columns];
        staged_row<T, Staged, Columns, Exact>(job, stage, 32 * index + lane, row);
        to_filter<T, Columns, Exact>(job, row, coordinates[index]);
      }
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
      // A point is certain if only the score of its previous cluster is below the threshold.
      const unsigned int asking = __ballot_sync(everyone, point < n && below[index] != 1.0f);
      if (asking == 0) continue;
      if (asking & (1u << lane)) queue[waiting + __popc(asking & ((1u << lane) - 1))] = static_cast<int>(point);
      waiting += __popc(asking);
    }
    __syncwarp();  // the queue is written before other lanes read it, and all lanes have read the stage
    while (waiting >= 32) {
      waiting -= 32;
      settle<T, Columns, Exact>(job, shared, static_cast<unsigned int>(queue[waiting + lane]), tally);
      __syncwarp();  // each lane has read its entry before the next points overwrite it
    }
  }
  if (lane < waiting) settle<T, Columns, Exact>(job, shared, static_cast<unsigned int>(queue[lane]), tally);
  __syncwarp();
  return tally;
}

/// Chooses a kernel. If there are many points, a thread compares several points with each centroid that it reads. If
/// there are few points, more threads have fewer points each.
template <class T>
WalkKernel<T> pick_kernel(std::int64_t d, bool many_points) {
  constexpr int some = sizeof(T) == 4 ? 2 : 1;  // points per thread for long rows, limited by shared memory
  if (d == 1)
    return many_points ? walk_kernel<T, StagedWalk<T, 1, true, 4>>() : walk_kernel<T, StagedWalk<T, 1, true, 1>>();
  if (d == 2)
    return many_points ? walk_kernel<T, StagedWalk<T, 2, true, 4>>() : walk_kernel<T, StagedWalk<T, 2, true, 1>>();
  if (d == 3)
    return many_points ? walk_kernel<T, StagedWalk<T, 3, true, 4>>() : walk_kernel<T, StagedWalk<T, 3, true, 1>>();
  if (d == 4)
    return many_points ? walk_kernel<T, StagedWalk<T, 4, true, 4>>() : walk_kernel<T, StagedWalk<T, 4, true, 1>>();
  if (d == 8) return walk_kernel<T, StagedWalk<T, 8, true, some>>();
  if (d < 8) return walk_kernel<T, StagedWalk<T, 8, false, some>>();
  if (d == 16) return walk_kernel<T, StagedWalk<T, 16, true, some>>();
  return walk_kernel<T, StagedWalk<T, 16, false, some>>();
}

/// Chooses a kernel for rows of doubles that have a float copy.
WalkKernel<double> pick_kernel_of_copy(std::int64_t d) {
  if (d == 8) return walk_kernel<double, StagedWalk<double, 8, true, 2, true>>();
  if (d < 8) return walk_kernel<double, StagedWalk<double, 8, false, 2, true>>();
  if (d == 16) return walk_kernel<double, StagedWalk<double, 16, true, 2, true>>();
  return walk_kernel<double, StagedWalk<double, 16, false, 2, true>>();
}

constexpr std::int64_t room_behind = 4;  // number of additional coordinates, because rows are read in 16-byte units

// Copies the coordinates as floats, and adds zeros at the end. Launch: a grid-stride loop over the coordinates and the
// padding.
__global__ void copy_for_filter(const __grid_constant__ SmallDimJob<double> job, float* copy) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t size = job.n * job.d;
  for (std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; index < size + room_behind;
       index += stride) {
    const auto dim = static_cast<int>(index % job.d);
    copy[index] = index < size ? static_cast<float>((job.points[index] - job.middle[dim]) * job.scale) : 0.0F;
  }
}

/// Returns a copy of the points in float if the copy is worthwhile and fits in GPU memory. Otherwise returns an empty
/// buffer.
template <class T>
cuda::DeviceBuffer<float> copy_in_float(const CudaFit<T>& job, SmallDimJob<T>& device) {
  cuda::DeviceBuffer<float> copy;
  if constexpr (sizeof(T) == 8) {
    if (device.d <= 4) return copy;
    const std::int64_t size = device.n * device.d + room_behind;
    std::size_t free = 0;
    std::size_t total = 0;
    cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    if (static_cast<std::uint64_t>(size) * 4 > free - free / 8) return copy;
    copy = cuda::DeviceBuffer<float>(size);
    device.filter_points = copy.data();
    copy_for_filter<<<static_cast<unsigned int>(8 * job.gpu().multiprocessors), 256, 0, job.stream()>>>(device,
                                                                                                        copy.data());
    cuda::check_launch("copy_for_filter");
  }
  return copy;
}

template <class T>
WalkKernel<T> kernel_for(const SmallDimJob<T>& device, bool many_points) {
  if constexpr (sizeof(T) == 8)
    if (device.filter_points) return pick_kernel_of_copy(device.d);
  return pick_kernel<T>(device.d, many_points);
}

template <class T>
struct SmallDimFit {
  SmallDimFit(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases)
      : job(problem, execution, Layout::rows, cuda_small_dim_bytes(shape_of(problem))), engine(job),
        copy(copy_in_float(job, engine.device())) {
    const bool many_points = problem.n() >= std::int64_t{2048} * job.gpu().multiprocessors;
    engine.use(kernel_for(engine.device(), many_points), execution, "cuda_small_dim");
    core::add_phase(phases, "prepare", core::seconds_since(start));
  }

  CudaFit<T> job;
  core::Clock::time_point start = core::Clock::now();
  PersistentEngine<T> engine;
  cuda::DeviceBuffer<float> copy;
};

}  // namespace

template <class T>
KMeansResult<T> cuda_small_dim(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  return whole_fit<SmallDimFit<T>>(problem, execution, phases);
}

}  // namespace gradus::kmeans_detail
#endif

namespace gradus::kmeans_detail {

namespace {

core::Support few_columns_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  constexpr std::int64_t most_clusters = (1 << 16) - 1;  // one of the 2^16 label values means that a point has no label
  if (core::Support few = at_most(cuda_small_dim_columns, "columns", shape.dimensions); !few) return few;
  if (core::Support few = at_most(most_clusters, "clusters", shape.clusters); !few) return few;
  return execution::fits_shared(cuda_small_dim_shared(shape), "centroids, sums and the queues of a block", machine);
}

}  // namespace

extern constinit const Variant cuda_small_dim_rung{
    .name = "cuda_small_dim",
    .summary = "the whole fit in one kernel: a float filter, doubtful points in double; exact sums",
    .change =
        "a count of close centroids instead of a search; only points that changed cluster touch the sums; the oracle's "
        "bits",
    .contract = exact,
    .backend = core::Backend::cuda,
    .device_input = true,
    .on_ranks = true,
    .supports = few_columns_on_gpu,
    .memory = gpu_exact_sums<cuda_small_dim_bytes>,
    .run = GRADUS_CUDA_RUNS(cuda_small_dim<float>, cuda_small_dim<double>),
};

}  // namespace gradus::kmeans_detail
