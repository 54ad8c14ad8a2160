// cuda_tensor on Hopper: a warp-specialised block finds the few clusters that may be nearest to each point.
//
// One thread starts the copies, some tiles before they are multiplied. Each of four warpgroups multiplies 64 points by
// the same 128 clusters. Two barriers per stage, `filled` and `emptied`, synchronise the copies and the products. There
// is no barrier of the whole block, so some warpgroups multiply while others scan their scores. A block stays on its
// multiprocessor and processes one tile of points after another.
//
// For up to 128 columns, the tile of points stays in shared memory while the clusters stream past. With more columns,
// the points stream too, and shared-memory traffic limits the products. In this case a tile has 256 clusters, and only
// two warpgroups multiply. Per score, the products then read one sixth fewer bytes than with 128 clusters.
//
// For most tiles, a thread only finds the minimum of its scores, with one addition and one comparison per score. It
// first finds the minimum over the eight scores of a group, then over the groups of the same point. If this minimum
// exceeds the point's best score so far by more than the error bounds, no cluster is recorded. Otherwise the thread
// scans the groups. The four lanes of a quad divide the clusters of a point among themselves, and then agree on its
// best score.
//
// Points are ordered by earlier labels, so that neighbours usually have the same label (see TensorEngine). Each tile of
// points is multiplied first by the tile of clusters that contains this label. So the best score is nearly minimal from
// the start, and all points of a warp record clusters at the same time.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "cuda/warpgroup.cuh"
#include "kmeans/assign/job.cuh"

namespace gradus::kmeans_detail::tensor {

inline constexpr int pipeline_stages = 4;
inline constexpr int pipeline_granule = 256;  ///< a multiple of the sizes of all tiles of points and of clusters

/// A cluster that may be nearest to a point, with its score.
struct Possible {
  float score;
  std::int32_t cluster;
};

/// The shape of a block. If a tile of points stays in shared memory while the clusters stream past, `Chunks` is the
/// number of chunks per row. If points stream too, `Chunks` is 0. `Clusters` is the number of clusters per tile, 128 or
/// 256.
template <int Chunks, int Clusters>
struct Pipeline {
  static constexpr int chunks = Chunks;
  static constexpr bool resident = Chunks > 0;
  static constexpr int clusters = Clusters;
  static constexpr int groups = Clusters == 256 ? 2 : 4;  ///< number of warpgroups that multiply; each has 64 points
  static constexpr int points = 64 * groups;
  static constexpr int threads = 128 * (groups + 1);  ///< one more warpgroup starts the copies
  static constexpr int registers = Clusters == 256 ? 224 : 112;
  static constexpr int room = Clusters == 256 ? 16 : 8;   ///< capacity of a point's list of possible clusters
  static constexpr int point_bytes = points * row_bytes;  ///< bytes of a chunk
  static constexpr int cluster_bytes = clusters * row_bytes;
  static constexpr int stage_bytes = cluster_bytes + (resident ? 0 : point_bytes);
  static constexpr int point_slots = 2;  ///< the next tile of points arrives while the current one is in use
  static constexpr int half_square_slots = pipeline_stages + 1;  ///< one slot per stage, and one for the tile in use

  struct Memory {
    unsigned char points[point_slots][resident ? Chunks * point_bytes : 1024];
    unsigned char stages[pipeline_stages][stage_bytes];
    Possible possible[Pipeline::points][room];
    TensorLengths lengths[point_slots][Pipeline::points];
    float half_squares[half_square_slots][clusters];
    int counts[Pipeline::points];
    std::int32_t beginnings[point_slots];
  };
  /// The additional 1024 bytes are needed to align the memory to 1024 bytes.
  static constexpr std::size_t shared_bytes = sizeof(Memory) + 1024;
};

struct PipelineJob {
  CUtensorMap points;    ///< FP16, ordered by slots; each box contains some of a tile's rows
  CUtensorMap clusters;  ///< negated FP16
  const float* half_squares;
  const TensorLengths* lengths;    ///< lengths of the points, ordered by slots, padded to pipeline_granule
  const TensorLengths* largest;    ///< maximum of each length over all clusters
  const std::int32_t* beginnings;  ///< for each tile of points: the tile of clusters to start with
  std::int64_t n;
  std::int32_t first_tile;  ///< the first tile of points of this launch
  std::int32_t end_tile;
  int cluster_tiles;
  int stride;
  std::int32_t* counts;  ///< by slot: number of possible clusters; exceeds `room` if the list overflowed
  Possible* possible;    ///< the first possible cluster of each slot, then the second of each slot, and so on
};

#ifdef GRADUS_WARPGROUP_PRODUCT

/// The state of a warp's search for its 16 points. Lanes 4 q to 4 q + 3 hold points q and 8 + q. Shared memory holds
/// the lists of possible clusters.
template <class Shape>
class Search {
 public:
  using Scores = float[Shape::clusters / 8][4];

  __device__ Search(const TensorLengths* lengths, TensorLengths largest, int columns, int* counts,
                    Possible (*possible)[Shape::room])
      : counts_(counts), possible_(possible) {
#pragma unroll
    for (int row = 0; row < 2; ++row) reaches_[row] = 2 * tensor_bound(lengths[8 * row + lane() / 4], largest, columns);
    if (lane() < 16) counts_[lane()] = 0;
    __syncwarp();  // all counters are zero before some lane records a cluster
  }

  /// Processes the scores of a tile. `half_squares`, in shared memory, contains |c|^2 / 2 for each cluster of the tile.
  __device__ __forceinline__ void look(Scores& scores, const float* half_squares, int first_cluster) {
    float least[2][groups];
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      least[0][group] = least[1][group] = INFINITY;
#pragma unroll
      for (int column = 4 * group; column < 4 * group + 4; ++column) {
        const float2 halves = reinterpret_cast<const float2*>(half_squares)[4 * column + lane() % 4];
#pragma unroll
        for (int row = 0; row < 2; ++row) {
          scores[column][2 * row] += halves.x;
          scores[column][2 * row + 1] += halves.y;
          least[row][group] = fminf(least[row][group], fminf(scores[column][2 * row], scores[column][2 * row + 1]));
        }
      }
    }
    float best[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      best[row] = least[row][0];
#pragma unroll
      for (int group = 1; group < groups; ++group) best[row] = fminf(best[row], least[row][group]);
    }
    if (!__any_sync(everyone, best[0] <= limits_[0] || best[1] <= limits_[1])) return;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      best[row] = fminf(best[row], __shfl_xor_sync(everyone, best[row], 1));
      best[row] = fminf(best[row], __shfl_xor_sync(everyone, best[row], 2));
      if (best[row] < best_[row]) {
        // All recorded scores are at least the old best_. If the new limit is below the old best_, no recorded cluster
        // is possible any more.
        const float limit = __fadd_ru(best[row], reaches_[row]);
        if (limit < best_[row] && lane() % 4 == 0) counts_[8 * row + lane() / 4] = 0;
        best_[row] = best[row];
        limits_[row] = limit;
      }
      if (lane() % 4 == 0) make_room(8 * row + lane() / 4, limits_[row]);
    }
    __syncwarp();  // the old lists are empty before some lane adds to them
#pragma unroll
    for (int row = 0; row < 2; ++row)
#pragma unroll
      for (int group = 0; group < groups; ++group)
        if (least[row][group] <= limits_[row]) {
          unsigned int near = 0;
#pragma unroll
          for (int which = 0; which < 8; ++which)
            if (scores[4 * group + which / 2][2 * row + which % 2] <= limits_[row]) near |= 1u << which;
          note(scores, row, group, near, least[row][group], first_cluster);
        }
    __syncwarp();  // all lanes have added their clusters before some list is emptied again
  }

  /// Writes the lists to GPU memory, but omits each cluster whose score exceeds the final limit. `slot` is the slot of
  /// the warp's first point.
  __device__ void finish(const PipelineJob& job, std::int64_t slot) const {
    const float first = __shfl_sync(everyone, limits_[0], lane() % 8 * 4);
    const float second = __shfl_sync(everyone, limits_[1], lane() % 8 * 4);
    if (lane() >= 16 || slot + lane() >= job.n) return;
    const int noted = counts_[lane()];
    int kept = noted;
    if (noted <= Shape::room) {
      kept = 0;
      for (int index = 0; index < noted; ++index) {
        const Possible one = possible_[lane()][index];
        if (one.score <= (lane() < 8 ? first : second)) job.possible[kept++ * job.n + slot + lane()] = one;
      }
    }
    job.counts[slot + lane()] = kept;
  }

 private:
  static constexpr int groups = Shape::clusters / 32;  ///< number of groups per point; a group has eight scores
  /// Lists that are longer than this are pruned. The rest of a list usually has space for the clusters that a tile
  /// adds.
  static constexpr int long_list = Shape::room / 2;

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  // If the list is long, removes the clusters whose score exceeds the current limit.
  __device__ void make_room(int point, float limit) {
    const int noted = counts_[point];
    if (noted <= long_list || noted > Shape::room) return;
    int kept = 0;
    for (int index = 0; index < noted; ++index) {
      const Possible one = possible_[point][index];
      if (one.score <= limit) possible_[point][kept++] = one;
    }
    counts_[point] = kept;
  }

  // Adds the clusters in the bit mask `near` to the list of a point. The mask must not be zero.
  __device__ __forceinline__ void note(const Scores& scores, int row, int group, unsigned int near, float least,
                                       int first_cluster) {
    const int point = 8 * row + lane() / 4;
    const bool one = (near & (near - 1)) == 0;
    do {
      const int which = __ffs(static_cast<int>(near)) - 1;
      near &= near - 1;
      float score = least;
      if (!one) {
#pragma unroll
        // The loop is unrolled, because a variable cannot select a register.
        for (int other = 0; other < 8; ++other)
          if (other == which) score = scores[4 * group + other / 2][2 * row + other % 2];
      }
      const int place = atomicAdd(&counts_[point], 1);
      if (place < Shape::room)
        possible_[point][place] = {score, first_cluster + 32 * group + which / 2 * 8 + lane() % 4 * 2 + which % 2};
    } while (near != 0);
  }

  int* counts_;
  Possible (*possible_)[Shape::room];
  float reaches_[2];  ///< maximum difference between a possible cluster's score and the best score
  float best_[2] = {INFINITY, INFINITY};
  float limits_[2] = {INFINITY, INFINITY};  ///< maximum score of a possible cluster
};

/// A position in a ring of buffers. Its parity changes with each round.
template <int count>
struct RingPlace {
  int index = 0;
  unsigned int parity = 0;

  __device__ void advance() {
    if (++index == count) {
      index = 0;
      parity ^= 1;
    }
  }
};

/// The code of a block, with its shared memory and its position in each ring.
template <class Shape>
class PipelineBlock {
 public:
  using Memory = typename Shape::Memory;

  struct Barriers {
    cuda::Barrier filled[pipeline_stages];
    cuda::Barrier emptied[pipeline_stages];
    cuda::Barrier points_came[Shape::point_slots];  ///< the points and their lengths have arrived
    cuda::Barrier points_left[Shape::point_slots];

    __device__ void start() {
      // Each thread that reads from a stage arrives at the barrier itself, so that racecheck can track its reads. It
      // would not be faster if only one lane of each warp arrived.
      constexpr int readers = 128 * Shape::groups;
      for (int stage = 0; stage < pipeline_stages; ++stage) {
        filled[stage].start(1);
        emptied[stage].start(readers);
      }
      for (int slot = 0; slot < Shape::point_slots; ++slot) {
        points_came[slot].start(1);
        points_left[slot].start(readers);
      }
      cuda::make_barriers_known();
    }
  };

  __device__ PipelineBlock(const PipelineJob& job, Memory& memory, Barriers& barriers)
      : job_(job), memory_(memory), barriers_(barriers),
        chunks_(resident ? Shape::chunks : (job.stride + tensor_chunk - 1) / tensor_chunk),
        first_tile_(job.first_tile + static_cast<int>(blockIdx.x)) {}

  /// Issues the copies of all tiles. Runs in one thread.
  __device__ __forceinline__ void copy_tiles() {
    for (int tile = first_tile_; tile < job_.end_tile; tile += static_cast<int>(gridDim.x)) {
      const int first_row = tile * Shape::points;
      barriers_.points_left[slot_.index].wait(slot_.parity ^ 1);  // returns at once in the first round
      const std::int32_t beginning = job_.beginnings[tile];
      memory_.beginnings[slot_.index] = beginning;
      cuda::Barrier& came = barriers_.points_came[slot_.index];
      came.arrive_for(sizeof memory_.lengths[0] + (resident ? chunks_ * Shape::point_bytes : 0));
      came.copy(memory_.lengths[slot_.index], job_.lengths + first_row, sizeof memory_.lengths[0]);
      if constexpr (resident)
        for (int chunk = 0; chunk < chunks_; ++chunk)
          came.copy_box(memory_.points[slot_.index] + chunk * Shape::point_bytes, job_.points, chunk * tensor_chunk,
                        first_row);
      slot_.advance();
      int cluster_tile = beginning;
      for (int step = 0; step < job_.cluster_tiles; ++step) {
        copy_clusters(cluster_tile, first_row);
        if (++cluster_tile == job_.cluster_tiles) cluster_tile = 0;
      }
    }
  }

  /// Computes the products and scans the scores. Runs in all warps of the multiplying warpgroups.
  __device__ __forceinline__ void find_possible() {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const unsigned int own_rows = static_cast<unsigned int>(warp / 4 * 64 * row_bytes);
    const TensorLengths largest = *job_.largest;
    Scores scores;
    for (int tile = first_tile_; tile < job_.end_tile; tile += static_cast<int>(gridDim.x)) {
      barriers_.points_came[slot_.index].wait(slot_.parity);
      int cluster_tile = memory_.beginnings[slot_.index];
      Search<Shape> search(memory_.lengths[slot_.index] + warp * 16, largest, job_.stride, memory_.counts + warp * 16,
                           memory_.possible + warp * 16);
      for (int step = 0; step < job_.cluster_tiles; ++step) {
        multiply_tile(scores, own_rows);
        search.look(scores, memory_.half_squares[halves_.index], cluster_tile * Shape::clusters);
        halves_.advance();
        if (++cluster_tile == job_.cluster_tiles) cluster_tile = 0;
      }
      search.finish(job_, static_cast<std::int64_t>(tile) * Shape::points + warp * 16);
      barriers_.points_left[slot_.index].arrive();
      slot_.advance();
    }
  }

 private:
  using Scores = typename Search<Shape>::Scores;
  static constexpr bool resident = Shape::resident;

  __device__ __forceinline__ void copy_clusters(int cluster_tile, int first_row) {
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      barriers_.emptied[stage_.index].wait(stage_.parity ^ 1);  // returns at once in the first round
      cuda::Barrier& filled = barriers_.filled[stage_.index];
      unsigned char* const to = memory_.stages[stage_.index];
      const bool is_last = chunk + 1 == chunks_;
      filled.arrive_for(Shape::stage_bytes + (is_last ? sizeof memory_.half_squares[0] : 0));
      filled.copy_box(to, job_.clusters, chunk * tensor_chunk, cluster_tile * Shape::clusters);
      if constexpr (!resident) filled.copy_box(to + Shape::cluster_bytes, job_.points, chunk * tensor_chunk, first_row);
      if (is_last)
        filled.copy(memory_.half_squares[halves_.index], job_.half_squares + cluster_tile * Shape::clusters,
                    sizeof memory_.half_squares[0]);
      stage_.advance();
    }
    halves_.advance();
  }

  /// Computes the scores of the warpgroup's points with all clusters of a tile, without the term |c|^2 / 2.
  __device__ __forceinline__ void multiply_tile(Scores& scores, unsigned int own_rows) {
    int before = -1;  // stage of the previous chunk, whose products may still run
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      barriers_.filled[stage_.index].wait(stage_.parity);
      const unsigned int clusters = cuda::shared_address(memory_.stages[stage_.index]);
      const unsigned int points = resident ? cuda::shared_address(memory_.points[slot_.index]) +
                                                 static_cast<unsigned int>(chunk) * Shape::point_bytes
                                           : clusters + Shape::cluster_bytes;
      if (chunk == 0) cuda::pin(scores);
      multiply_chunk(scores, cuda::tile_descriptor(points + own_rows), cuda::tile_descriptor(clusters), chunk);
      if (before >= 0) {
        cuda::wait_for_products<1>();
        barriers_.emptied[before].arrive();
      }
      before = stage_.index;
      stage_.advance();
    }
    cuda::wait_for_products<0>();
    cuda::pin(scores);
    barriers_.emptied[before].arrive();
  }

  /// Starts the products of a chunk. One product covers sixteen columns.
  __device__ __forceinline__ void multiply_chunk(Scores& scores, std::uint64_t own, std::uint64_t all, int chunk) {
    const auto multiply = [&]<int Parts>(std::integral_constant<int, Parts>) {
      cuda::begin_products();
#pragma unroll
      for (int part = 0; part < Parts; ++part)
        cuda::multiply_by_warpgroup(scores, own + 2 * part, all + 2 * part, chunk + part);
      cuda::end_products();
    };
    constexpr int all_parts = tensor_chunk / tensor_columns;
    const int last_parts = (job_.stride - (chunks_ - 1) * tensor_chunk) / tensor_columns;
    // The code uses a switch and no loop, because the products must use the same registers on all paths.
    switch (chunk + 1 < chunks_ ? all_parts : last_parts) {
      case 1: multiply(std::integral_constant<int, 1>()); break;
      case 2: multiply(std::integral_constant<int, 2>()); break;
      case 3: multiply(std::integral_constant<int, 3>()); break;
      default: multiply(std::integral_constant<int, all_parts>());
    }
  }

  const PipelineJob& job_;
  Memory& memory_;
  Barriers& barriers_;
  const int chunks_;
  const int first_tile_;
  RingPlace<pipeline_stages> stage_;
  RingPlace<Shape::half_square_slots> halves_;
  RingPlace<Shape::point_slots> slot_;
};

#endif

// Finds the possible clusters of all points. Launch: Shape::threads threads per block, at most one block per
// multiprocessor, Shape::shared_bytes bytes of shared memory.
template <class Shape>
__global__ void __launch_bounds__(Shape::threads, 1) find_possible(const __grid_constant__ PipelineJob job) {
#ifdef GRADUS_WARPGROUP_PRODUCT
  using Block = PipelineBlock<Shape>;
  extern __shared__ unsigned char dynamic_shared[];
  auto& memory = *reinterpret_cast<typename Block::Memory*>(
      dynamic_shared + (1024 - cuda::shared_address(dynamic_shared) % 1024) % 1024);
  __shared__ typename Block::Barriers barriers;
  if (threadIdx.x == 0) barriers.start();
  __syncthreads();  // the barriers are initialised
  Block block(job, memory, barriers);
  if (threadIdx.x >= 128 * Shape::groups) {
    cuda::give_up_registers<24>();
    if (threadIdx.x == 128 * Shape::groups) block.copy_tiles();
    return;
  }
  cuda::take_registers<Shape::registers>();
  block.find_possible();
#else
  __trap();
#endif
}

// For each tile of points, finds the tile of clusters that contains the label of the middle point. Launch: one thread
// per tile.
static __global__ void find_beginnings(const std::int32_t* slots, const std::int32_t* labels, std::int64_t n,
                                       int points, int clusters, std::int32_t* beginnings) {
  const std::int64_t tile = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (tile * points >= n) return;
  const std::int64_t middle = tile * points + points / 2;
  beginnings[tile] = labels[slots[middle < n ? middle : n - 1]] / clusters;
}

/// Reserves list entries like append(), but uses one atomic addition per block. A block has settling_threads threads,
/// and all of them must call the function.
inline constexpr int settling_threads = 256;
inline __device__ unsigned int append_of_block(bool wanted, unsigned int* length) {
  __shared__ unsigned int firsts[settling_threads / 32];
  const unsigned int lanes = __ballot_sync(everyone, wanted);
  const unsigned int lane = threadIdx.x % 32;
  if (lane == 0) firsts[threadIdx.x / 32] = static_cast<unsigned int>(__popc(lanes));
  __syncthreads();  // all warps have written their numbers
  if (threadIdx.x == 0) {
    unsigned int total = 0;
    for (unsigned int& first : firsts) {
      const unsigned int own = first;
      first = total;
      total += own;
    }
    const unsigned int begin = total > 0 ? atomicAdd(length, total) : 0;
    for (unsigned int& first : firsts) first += begin;
  }
  __syncthreads();  // all positions are known
  const unsigned int place = firsts[threadIdx.x / 32] + static_cast<unsigned int>(__popc(lanes & ((1u << lane) - 1)));
  __syncthreads();  // all positions are read before the next call overwrites them
  return place;
}

// Excludes possible clusters by their individual error bounds. If one cluster remains for a point, sets the label of
// the point. Otherwise the point becomes doubtful, and the remaining clusters are its candidates. Launch:
// settling_threads threads per block, one thread per slot of [first_point, end). `room` is the capacity of the lists.
static __global__ void settle_points(const __grid_constant__ FilterJob job, const std::int32_t* point_of,
                                     const std::int32_t* counts, const Possible* possible, int room, std::int64_t end) {
  const std::int64_t slot = job.first_point + std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const bool exists = slot < end;
  const int count = exists ? counts[slot] : 1;
  const std::int32_t point = exists ? point_of[slot] : 0;
  const bool fits = count > 0 && count <= room;
  const auto own = [&](int index) { return possible[index * job.n + slot]; };
  std::int32_t label = exists && fits ? own(0).cluster : 0;
  unsigned int left = 1;  // one bit per cluster that is still possible
  if (exists && fits && count > 1) {
    const TensorLengths lengths = job.point_lengths[slot];
    const auto bound_of = [&](Possible one) {
      return tensor_bound(lengths, job.cluster_lengths[one.cluster], job.stride);
    };
    float limit = INFINITY;
    for (int index = 0; index < count; ++index) limit = fminf(limit, __fadd_ru(own(index).score, bound_of(own(index))));
    left = 0;
    for (int index = 0; index < count; ++index)
      if (__fsub_rd(own(index).score, bound_of(own(index))) <= limit) left |= 1u << index;
    label = own(__ffs(static_cast<int>(left)) - 1).cluster;
  }
  const bool certain = exists && fits && __popc(left) == 1;
  const bool doubtful = exists && !certain;
  const unsigned int place = append_of_block(doubtful, &job.counters->doubtful);
  if (doubtful) {
    job.doubtful[place] = point;
    const int noted = fits ? __popc(left) : candidate_room + 1;
    job.noted[place] = static_cast<unsigned int>(noted);
    if (noted <= candidate_room)
      for (std::int32_t* to = job.candidates + std::int64_t{place} * candidate_room; left != 0; left &= left - 1)
        *to++ = own(__ffs(static_cast<int>(left)) - 1).cluster;
  }
  const std::int32_t before = certain ? job.labels[point] : label;
  const bool moved = before != label;
  const unsigned int entry = append_of_block(moved, &job.counters->changed);
  if (moved) set_label(job, entry, point, before, label);
}

}  // namespace gradus::kmeans_detail::tensor
