// cuda_ordered: points ordered along a space-filling curve; bounding boxes prune whole tiles. The oracle's bits.
//
// What changes from `cuda_small_dim`: an iteration no longer reads all points.
//
// * Order. Once per fit the points are ordered along a Hilbert curve (cuda_order.hpp). Neighbours in memory are then
//   neighbours in space, so a tile of 128 points fills a small box, which is stored with the tile.
// * Closed tiles. If all points of a tile have the same label and every position in the box is nearer to this label's
//   centroid than to any other centroid, the tile keeps its label. The difference of two scores s_c = |c|^2 / 2 - x.c
//   is least at a corner of the box, so a lower bound takes 3 d + 1 operations. The points and labels of such a tile
//   are not even read. With few columns and many points, most tiles are closed. Only tiles on a boundary between
//   clusters remain open.
// * Open tiles. A warp processes each open tile. The box rules out most clusters. The points are compared with the few
//   remaining clusters in float. If the scores of several clusters are within the bound of the best score, the
//   canonical chain in double decides.
// * Tile sums. The contribution of a whole tile to a sum is stored with the tile. Therefore a tile that changes cluster
//   as a whole, like every tile in the first iteration, costs as much as a single point.
//
// The bound. Let u = 2^-24 and coordinates be at most 1 in magnitude. Rounding the coordinates and |c|^2 / 2 to float
// gives the two scores errors of at most 7 d u in all (cuda_small_dim.cu). The difference over a box is a chain of 2 d
// fused operations on partial sums of at most 4.5 d, which adds errors of 9 d^2 u. The differences of centroids are
// rounded once, which adds 4 d u. With the differences of |c|^2 / 2, the total is below (9 d^2 + 13 d) u. The code uses
// twice the bound of cuda_small_dim, (12 d^2 + 32 d) u, which also covers the canonical chains. Boxes are computed from
// the float coordinates that the filter uses; their half widths are rounded up.
//
// Bytes per iteration: the boxes and states of the tiles (a fiftieth of the points' bytes), and the points and labels
// of open tiles. The number of points in open tiles is proportional to the length (area, volume) of the boundaries
// between clusters, times the width of a tile. Operations: n k (3 d + 1) / 128 for the boxes. Ordering costs about as
// much as thirty iterations that read all points, and needs a second copy of them.
// Limits: at most four columns; fewer than 65,534 clusters.
// Source: space-filling curves: J. Skilling, "Programming the Hilbert curve" (2004). Bounding boxes in k-means: Pelleg
// and Moore, "Accelerating exact k-means algorithms with geometric reasoning" (1999).
#include "kmeans/gpu/support.hpp"
#include "kmeans/persistent/ordered_limits.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA

#include <cuda_runtime.h>

#include <algorithm>

#include "kmeans/order/cuda_order.hpp"
#include "kmeans/persistent/fit.cuh"

namespace gradus::kmeans_detail {

namespace {

constexpr unsigned int everyone = 0xffffffffu;

/// Returns the number of words in the sums of a tile.
template <class T>
__host__ __device__ int tile_words(const SmallDimJob<T>& job) {
  return 2 * job.d + (job.weights ? 2 : 0);
}

template <class T, int Columns>
__device__ Box<Columns> load_box(const SmallDimJob<T>& job, unsigned int tile) {
  Box<Columns> box;
  const float* from = job.tiles.boxes + std::size_t{tile} * (2 * Columns);
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim) {
    box.middle[dim] = from[dim];
    box.half[dim] = from[Columns + dim];
  }
  return box;
}

/// An open tile, and the clusters that may be nearest to some point of the tile, in ascending order.
struct alignas(16) OpenTile {
  static constexpr int room = 4;
  std::uint64_t candidates;  ///< clusters, 16 bits each
  unsigned int tile;
  unsigned int count;  ///< number of candidates; 0 if unknown or more than `room`
};

/// Returns false if no label in the tile can change, because its points share a label and each of them is nearer to
/// this label's centroid than to all others.
template <class T, int Columns>
__device__ bool is_open(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, unsigned int tile,
                        OpenTile& open) {
  const TileState state = job.tiles.states[tile];
  open = {0, tile, 0};
  if (state.label == new_tile) return true;
  const Box<Columns> box = load_box<T, Columns>(job, tile);
  float own[entry_floats<Columns>];
  load_entry<Columns>(shared.filter, state.hint, own);
  unsigned int count = 0;  // counts the cluster `hint` itself, too
#pragma unroll 4
  for (int cluster = 0; cluster < job.k; ++cluster) {
    float entry[entry_floats<Columns>];
    load_entry<Columns>(shared.filter, cluster, entry);
    if (least_gap(entry, own, box) > 2 * job.bound) continue;
    if (count < OpenTile::room) open.candidates |= static_cast<std::uint64_t>(cluster) << (16 * count);
    ++count;
  }
  if (count <= OpenTile::room) open.count = count;
  return count > 1 || state.label != state.hint;
}

/// Finds the clusters that may be nearest to some point of the box, in ascending order. All lanes of the warp work
/// together. Sets `nearest` to the cluster that is nearest to the middle of the box.
template <class T, int Columns>
__device__ int find_candidates(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, unsigned int tile,
                               unsigned short* candidates, int& nearest) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Box<Columns> box = load_box<T, Columns>(job, tile);
  float entry[entry_floats<Columns>];
  float least = INFINITY;
  nearest = job.k;
  for (int cluster = lane; cluster < job.k; cluster += 32) {
    load_entry<Columns>(shared.filter, cluster, entry);
    const float own = score<Columns>(entry, box.middle, entry[0]);
    if (own < least) {
      least = own;
      nearest = cluster;
    }
  }
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const float other = __shfl_xor_sync(everyone, least, lanes);
    const int cluster = __shfl_xor_sync(everyone, nearest, lanes);
    if (other < least || (other == least && cluster < nearest)) {
      least = other;
      nearest = cluster;
    }
  }
  float reference[entry_floats<Columns>];
  load_entry<Columns>(shared.filter, nearest, reference);
  int count = 0;
  for (int first = 0; first < job.k; first += 32) {
    const int cluster = first + lane;
    bool near = false;
    if (cluster < job.k) {
      load_entry<Columns>(shared.filter, cluster, entry);
      near = !(least_gap(entry, reference, box) > 2 * job.bound);
    }
    const unsigned int lanes = __ballot_sync(everyone, near);
    if (near) candidates[count + __popc(lanes & ((1u << lane) - 1))] = static_cast<unsigned short>(cluster);
    count += __popc(lanes);
  }
  __syncwarp();  // the list is complete
  return count;
}

/// Returns the canonical label of a point among the candidates whose score is at most `limit`.
template <class T, int Columns>
__device__ int nearest_by_chain(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, unsigned int point,
                                float limit, const unsigned short* candidates, int count) {
  T row[Columns];
  float coordinates[Columns];
  load_row<T, Columns, true>(job, point, row);
  to_filter<T, Columns, true>(job, row, coordinates);
  double least = INFINITY;
  int nearest = job.k;
  for (int index = 0; index < count; ++index) {
    const int cluster = candidates[index];
    float entry[entry_floats<Columns>];
    load_entry<Columns>(shared.filter, cluster, entry);
    if (score<Columns>(entry, coordinates, entry[0]) > limit) continue;
    const double distance = canonical<T, Columns, true>(row, shared.centroids + cluster * Columns, Columns);
    if (distance < least) {
      least = distance;
      nearest = cluster;
    }
  }
  return nearest;
}

/// Adds all points of a tile to the sums of cluster `now`. If the points had a cluster `before`, subtracts them from
/// its sums. All lanes must call this function.
template <class T>
__device__ void move_tile_in_sums(const SmallDimJob<T>& job, unsigned int* moved, unsigned int tile,
                                  unsigned int points, int before, int now) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int words = tile_words(job);
  if (lane > words) return;
  const int limbs = 2 * job.d;
  const auto word_of = [&](int cluster) {
    if (lane < limbs) return cluster * limbs + lane;
    return lane < words ? job.k * limbs + 2 * cluster + lane - limbs : sum_words(job) - job.k + cluster;
  };
  const Word addend =
      lane < words ? job.tiles.sums[std::size_t{tile} * static_cast<unsigned int>(words) + lane] : points;
  const int copy = static_cast<int>(threadIdx.x) & (job.copies - 1);
  add_to_word(job, moved, copy, word_of(now), addend);
  if (before < job.k) add_to_word(job, moved, copy, word_of(before), Word{0} - addend);
}

/// A point that changes its cluster.
struct Move {
  unsigned int point;
  unsigned short from;
  unsigned short to;
};

/// The lists of a warp in shared memory: the candidates of its tile, and the queued moves. When there is a queued move
/// for every lane, the warp executes these moves.
struct WarpLists {
  unsigned short* candidates;
  Move* moves;
  int waiting;  ///< number of queued moves; equal in all lanes
};

template <class T, int Columns, int PerThread>
struct TileWalk {
  static constexpr int columns = Columns;
  static constexpr int points_per_thread = PerThread;
  static constexpr int tile_points = 32 * PerThread;
  static constexpr int threads = Columns <= 2 ? 1024 : 768;
  static constexpr int registers = Columns <= 2 ? 64 : 80;
  static constexpr int move_room = tile_points + 32;

  /// Returns the size of the work memory in bytes. It holds one queue entry per thread, and the lists of each warp.
  static __host__ __device__ int work_bytes(const SmallDimJob<T>& job, int warps) {
    return (warps * (32 * static_cast<int>(sizeof(OpenTile)) + move_room * static_cast<int>(sizeof(Move)) + 2 * job.k) +
            7) &
           ~7;
  }

  /// Assigns the tiles of the block. The blocks receive runs of 32 tiles in turn. Open tiles are often neighbours, so
  /// this distributes them over many blocks.
  static __device__ Tally assign(const SmallDimJob<T>& job, const Shared<T, Columns>& shared) {
    __shared__ unsigned int waiting;
    __shared__ unsigned int taken;
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int warp = threadIdx.x / 32;
    auto* const queue = reinterpret_cast<OpenTile*>(shared.work);
    auto* const moves = reinterpret_cast<Move*>(queue + blockDim.x);
    auto* const candidates = reinterpret_cast<unsigned short*>(moves + blockDim.x / 32 * move_room);
    WarpLists lists{candidates + warp * static_cast<unsigned int>(job.k), moves + warp * move_room, 0};
    Tally tally{};
    for (unsigned int first = 0; first < job.tiles.count; first += gridDim.x * blockDim.x) {
      if (threadIdx.x == 0) waiting = taken = 0;
      __syncthreads();  // the queue is empty
      const unsigned int tile = first + (warp * gridDim.x + blockIdx.x) * 32 + lane;
      OpenTile open;
      const bool asks = tile < job.tiles.count && is_open<T, Columns>(job, shared, tile, open);
      const unsigned int asking = __ballot_sync(everyone, asks);
      unsigned int place = 0;
      if (lane == 0 && asking != 0) place = atomicAdd(&waiting, static_cast<unsigned int>(__popc(asking)));
      place = __shfl_sync(everyone, place, 0);
      if (asks) queue[place + static_cast<unsigned int>(__popc(asking & ((1u << lane) - 1)))] = open;
      __syncthreads();  // the queue is complete
      for (;;) {
        if (lane == 0) place = atomicAdd(&taken, 1u);
        place = __shfl_sync(everyone, place, 0);
        if (place >= waiting) break;
        settle_tile(job, shared, queue[place], lists, tally);
      }
      __syncthreads();  // the queue has been processed
    }
    if (static_cast<int>(lane) < lists.waiting) move_point(job, shared, lists.moves[lane]);
    return tally;
  }

  /// Finds the labels of a tile's points and queues the points that move.
  static __device__ void settle_tile(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, const OpenTile& open,
                                     WarpLists& lists, Tally& tally) {
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int tile = open.tile;
    const auto n = static_cast<unsigned int>(job.n);
    const unsigned int first = tile * tile_points + lane;
    const unsigned int points = min(n - tile * tile_points, static_cast<unsigned int>(tile_points));
    const int label = job.tiles.states[tile].label;
    float coordinates[PerThread][Columns];
    int before[PerThread];
#pragma unroll
    for (int index = 0; index < PerThread; ++index) {
      const unsigned int point = min(first + 32 * index, n - 1);
      T row[Columns];
      load_row<T, Columns, true>(job, point, row);
      to_filter<T, Columns, true>(job, row, coordinates[index]);
      before[index] = label == mixed_tile ? label_of(job, point) : label;
    }
    int nearest = 0;  // the nearest candidate; set only if a search was necessary, which is the case for every new tile
    auto count = static_cast<int>(open.count);
    if (count > 0) {
      if (static_cast<int>(lane) < count)
        lists.candidates[lane] = static_cast<unsigned short>(open.candidates >> (16 * lane));
      __syncwarp();  // the list is complete
    } else {
      count = find_candidates<T, Columns>(job, shared, tile, lists.candidates, nearest);
    }
    int now[PerThread];
    search(job, shared, first, coordinates, lists.candidates, count, now, tally);

    // In the last tile, places past the end of the points repeat the last point. Its label does not change `alike`.
    bool alike = true;
    const int common = __shfl_sync(everyone, now[0], 0);
#pragma unroll
    for (int index = 0; index < PerThread; ++index) alike &= now[index] == common;
    alike = __all_sync(everyone, alike);
    const bool was_alike = label != mixed_tile;
    if (label == new_tile || (was_alike && alike && label != common)) {
      const int to = alike ? common : nearest;
      move_tile_in_sums(job, shared.moved, tile, points, label, to);
      if (lane == 0) tally.changed += points;
#pragma unroll
      for (int index = 0; index < PerThread; ++index) before[index] = to;
    }
#pragma unroll
    for (int index = 0; index < PerThread; ++index) {
      const unsigned int point = first + 32 * index;
      const bool moves = point < n && now[index] != before[index];
      if (point < n && !alike && (was_alike || moves)) set_label(job, point, now[index]);
      const unsigned int moving = __ballot_sync(everyone, moves);
      if (moves) {
        lists.moves[lists.waiting + __popc(moving & ((1u << lane) - 1))] = {
            point, static_cast<unsigned short>(before[index]), static_cast<unsigned short>(now[index])};
        tally.changed += label != new_tile;  // the points of a new tile have been counted above
      }
      lists.waiting += __popc(moving);
    }
    const int in_middle = __shfl_sync(everyone, now[PerThread / 2], PerThread > 1 ? 0 : 16);
    if (lane == 0)
      job.tiles.states[tile] = {alike ? static_cast<unsigned short>(common) : mixed_tile,
                                static_cast<unsigned short>(in_middle)};
    __syncwarp();  // all moves are queued, and all lanes have read the candidates before the next tile overwrites them
    while (lists.waiting >= 32) {
      lists.waiting -= 32;
      move_point(job, shared, lists.moves[lists.waiting + static_cast<int>(lane)]);
      __syncwarp();  // each lane has read its move before the move is overwritten
    }
  }

  /// Finds the canonical labels of a lane's points among the candidates.
  static __device__ void search(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, unsigned int first,
                                const float (&coordinates)[PerThread][Columns], const unsigned short* candidates,
                                int count, int (&now)[PerThread], Tally& tally) {
    float best[PerThread];
    float second[PerThread];
#pragma unroll
    for (int index = 0; index < PerThread; ++index) {
      best[index] = second[index] = INFINITY;
      now[index] = candidates[0];
    }
    if (count == 1) return;
    for (int candidate = 0; candidate < count; ++candidate) {
      const int cluster = candidates[candidate];
      float entry[entry_floats<Columns>];
      load_entry<Columns>(shared.filter, cluster, entry);
#pragma unroll
      for (int index = 0; index < PerThread; ++index) {
        const float own = score<Columns>(entry, coordinates[index], entry[0]);
        second[index] = fminf(second[index], fmaxf(best[index], own));
        if (own < best[index]) now[index] = cluster;
        best[index] = fminf(best[index], own);
      }
    }
    unsigned int doubtful = 0;
#pragma unroll
    for (int index = 0; index < PerThread; ++index)
      if (!(second[index] - best[index] > job.bound)) doubtful |= 1u << index;
    for (; doubtful != 0; doubtful &= doubtful - 1) {
      const int which = __ffs(static_cast<int>(doubtful)) - 1;
      float least = best[0];
      // The loop has constant indices, because a variable cannot select a register.
#pragma unroll
      for (int index = 1; index < PerThread; ++index)
        if (index == which) least = best[index];
      const unsigned int point = first + 32 * static_cast<unsigned int>(which);
      const unsigned int existing = min(point, static_cast<unsigned int>(job.n) - 1);
      const int label =
          nearest_by_chain<T, Columns>(job, shared, existing, __fadd_ru(least, job.bound), candidates, count);
#pragma unroll
      for (int index = 0; index < PerThread; ++index)
        if (index == which) now[index] = label;
      tally.rechecked += existing == point;
    }
  }

  static __device__ void move_point(const SmallDimJob<T>& job, const Shared<T, Columns>& shared, const Move& move) {
    T row[Columns];
    load_row<T, Columns, true>(job, move.point, row);
    const double weight = scaled_weight(job, move.point);
    const int copy = static_cast<int>(threadIdx.x) & (job.copies - 1);
    move_in_sums<T, Columns, true>(job, shared.moved, copy, move.from, move.to, row, weight);
  }
};

// ------------------------------------------------------------------------------------------------ the tiles

// Copies the points in their new order. Launch: one thread per point.
template <class T, int Columns>
__global__ void gather_rows(const T* rows, const T* weights, const unsigned int* order, std::int64_t n, T* ordered,
                            T* ordered_weights) {
  const std::int64_t place = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (place >= n) return;
  const std::int64_t point = order[place];
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim) ordered[place * Columns + dim] = rows[point * Columns + dim];
  if (weights) ordered_weights[place] = weights[point];
}

// Computes the boxes, sums and states of the tiles. Launch: one warp per tile.
template <class T, int Columns>
__global__ void describe_tiles(const __grid_constant__ SmallDimJob<T> job, float* boxes, Word* sums) {
  const unsigned int lane = threadIdx.x % 32;
  const unsigned int tile = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (tile >= job.tiles.count) return;
  if (lane == 0) job.tiles.states[tile] = {new_tile, 0};
  const int words = tile_words(job);
  float lowest[Columns];
  float highest[Columns];
  Word limbs[2 * Columns + 2] = {};
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim) {
    lowest[dim] = INFINITY;
    highest[dim] = -INFINITY;
  }
  for (int index = 0; index < job.tiles.points / 32; ++index) {
    const unsigned int point = (tile * static_cast<unsigned int>(job.tiles.points / 32) + index) * 32 + lane;
    if (point >= static_cast<unsigned int>(job.n)) break;
    T row[Columns];
    float coordinates[Columns];
    load_row<T, Columns, true>(job, point, row);
    to_filter<T, Columns, true>(job, row, coordinates);
    const double weight = scaled_weight(job, point);
#pragma unroll
    for (int dim = 0; dim < Columns; ++dim) {
      lowest[dim] = fminf(lowest[dim], coordinates[dim]);
      highest[dim] = fmaxf(highest[dim], coordinates[dim]);
      const core::RawLimbs raw = raw_limbs(job, dim, row[dim], weight);
      limbs[dim] += raw.high;
      limbs[Columns + dim] += raw.low;
    }
    if (job.weights) {
      const core::Limbs of_weight = job.weight.split(weight);
      limbs[2 * Columns] += static_cast<Word>(of_weight.high);
      limbs[2 * Columns + 1] += static_cast<Word>(of_weight.low);
    }
  }
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      lowest[dim] = fminf(lowest[dim], __shfl_xor_sync(everyone, lowest[dim], lanes));
      highest[dim] = fmaxf(highest[dim], __shfl_xor_sync(everyone, highest[dim], lanes));
    }
    if (lane != 0) continue;
    const float middle = 0.5f * lowest[dim] + 0.5f * highest[dim];
    boxes[std::size_t{tile} * (2 * Columns) + dim] = middle;
    boxes[std::size_t{tile} * (2 * Columns) + Columns + dim] =
        fmaxf(__fsub_ru(highest[dim], middle), __fsub_ru(middle, lowest[dim]));
  }
#pragma unroll
  for (int word = 0; word < 2 * Columns + 2; ++word) {
    for (int lanes = 16; lanes > 0; lanes /= 2) limbs[word] += __shfl_xor_sync(everyone, limbs[word], lanes);
    if (lane == 0 && word < words) sums[std::size_t{tile} * static_cast<unsigned int>(words) + word] = limbs[word];
  }
}

/// The ordered points and the data of their tiles.
template <class T>
class OrderedPoints {
 public:
  OrderedPoints(const CudaFit<T>& job, SmallDimJob<T>& device, int tile_points)
      : rows_(device.n * device.d), weights_(device.weights ? device.n : 0),
        states_((device.n + tile_points - 1) / tile_points), boxes_(states_.size() * 2 * device.d),
        sums_(states_.size() * tile_words(device)) {
    UnitCube<T> cube{};
    for (int dim = 0; dim < device.d; ++dim) cube.middle[dim] = device.middle[dim];
    cube.scale = device.scale;
    order_ = order_along_curve(device.points, device.n, device.d, cube, job.stream());
    device.tiles = {tile_points,    static_cast<unsigned int>(states_.size()),
                    boxes_.data(),  sums_.data(),
                    states_.data(), order_.data()};
    if (device.d == 1) fill<1>(device, job.stream());
    else if (device.d == 2) fill<2>(device, job.stream());
    else if (device.d == 3) fill<3>(device, job.stream());
    else fill<4>(device, job.stream());
    job.stream().wait();
  }

 private:
  template <int Columns>
  void fill(SmallDimJob<T>& device, const cuda::Stream& stream) {
    gather_rows<T, Columns><<<blocks_for(device.n, 256), 256, 0, stream>>>(device.points, device.weights, order_.data(),
                                                                           device.n, rows_.data(), weights_.data());
    cuda::check_launch("gather_rows");
    device.points = rows_.data();
    if (device.weights) device.weights = weights_.data();
    describe_tiles<T, Columns>
        <<<blocks_for(32 * states_.size(), 256), 256, 0, stream>>>(device, boxes_.data(), sums_.data());
    cuda::check_launch("describe_tiles");
  }

  cuda::DeviceBuffer<T> rows_;
  cuda::DeviceBuffer<T> weights_;
  cuda::DeviceBuffer<TileState> states_;
  cuda::DeviceBuffer<float> boxes_;
  cuda::DeviceBuffer<Word> sums_;
  cuda::DeviceBuffer<unsigned int> order_;
};

/// Chooses a kernel. If there are few points, the tiles are smaller, so that there are more of them.
template <class T>
WalkKernel<T> pick_kernel(std::int64_t d, bool many_points) {
  if (d == 1) return many_points ? walk_kernel<T, TileWalk<T, 1, 4>>() : walk_kernel<T, TileWalk<T, 1, 1>>();
  if (d == 2) return many_points ? walk_kernel<T, TileWalk<T, 2, 4>>() : walk_kernel<T, TileWalk<T, 2, 1>>();
  if (d == 3) return many_points ? walk_kernel<T, TileWalk<T, 3, 4>>() : walk_kernel<T, TileWalk<T, 3, 1>>();
  return many_points ? walk_kernel<T, TileWalk<T, 4, 4>>() : walk_kernel<T, TileWalk<T, 4, 1>>();
}

template <class T>
struct OrderedFit {
  OrderedFit(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases)
      : job(problem, execution, Layout::rows, cuda_ordered_bytes(shape_of(problem))), engine(job),
        kernel(pick_kernel<T>(problem.d(), problem.n() >= std::int64_t{2048} * job.gpu().multiprocessors)),
        ordered(job, engine.device(), 32 * kernel.points_per_thread) {
    engine.use(kernel, execution, "cuda_ordered");
    core::add_phase(phases, "prepare", core::seconds_since(start));
  }

  CudaFit<T> job;
  core::Clock::time_point start = core::Clock::now();
  PersistentEngine<T> engine;
  WalkKernel<T> kernel;
  OrderedPoints<T> ordered;
};

}  // namespace

template <class T>
KMeansResult<T> cuda_ordered(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  return whole_fit<OrderedFit<T>>(problem, execution, phases);
}

}  // namespace gradus::kmeans_detail
#endif

namespace gradus::kmeans_detail {

namespace {

core::Support ordered_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  if (core::Support few = at_most(cuda_ordered_columns, "columns", shape.dimensions); !few) return few;
  if (core::Support few = at_most(cuda_ordered_clusters, "clusters", shape.clusters); !few) return few;
  return execution::fits_shared(cuda_ordered_shared(shape), "centroids, sums and the queues of a block", machine);
}

}  // namespace

extern constinit const Variant cuda_ordered_rung{
    .name = "cuda_ordered",
    .summary = "points ordered along a curve; whole tiles pruned by bounding boxes; exact sums",
    .change =
        "at most four columns: whole tiles are pruned by bounding boxes, so that most points are not read; the "
        "oracle's bits",
    .contract = exact,
    .backend = core::Backend::cuda,
    .device_input = true,
    .on_ranks = true,
    .supports = ordered_on_gpu,
    .memory = gpu_exact_sums<cuda_ordered_bytes>,
    .run = GRADUS_CUDA_RUNS(cuda_ordered<float>, cuda_ordered<double>),
};

}  // namespace gradus::kmeans_detail
