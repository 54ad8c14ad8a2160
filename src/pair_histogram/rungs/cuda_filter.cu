// cuda_filter: a float filter with a proven error bound decides nearly every pair; the canonical rule in double decides
// the rest. Two pairs share one increment. This is the production form on a GPU.
//
// What changes from the preceding rungs, which all compute the square root and the division in double:
//
// * Float, in units of bins. The points are scaled so that a bin is 1 wide, and shifted so that zero is their centre.
//   An offset of the points therefore costs no precision. A pair takes 3 differences, 3 multiply-adds, an approximate
//   reciprocal square root and one more multiply-add, s * rsqrt(s) + magic. The low bits of this float are the distance
//   as a fixed-point number: the bin and 16 bits of fraction. In a periodic box the separation is the minimum
//   of |x_i - x_j| and the box's edge minus |x_i - x_j|. In a triclinic cell the points are in its brick (cell.hpp),
//   and multiples of the brick's vectors are subtracted. A cell takes 12 operations more than open space, a box 6 more.
// * Certainty. All rounding errors so far have a proven bound E (FilterPlan::error_at derives it), and the magic number
//   includes E. A pair whose fraction is at least 2 E is certainly in its bin. A SIMD instruction for 16-bit halves
//   takes the minimum of the fractions of 8 pairs, and one comparison with 2 E tests all 8. Doubtful pairs are put into
//   a queue of the warp. With 80 bins of width 500 in a cube of edge 23,000 about 1 pair in 10,000 is doubtful. When
//   the queue holds one entry per lane, each lane settles one entry: it computes the canonical squared distance in
//   double and compares it with the one threshold (bins.hpp) that the float distance came near. This comparison takes
//   no root.
// * Two pairs share an increment. The bins of two pairs are two bytes of one number, which a single byte permutation
//   extracts from the two fixed-point numbers. The number indexes a table of bins x 256 counters in shared memory. This
//   halves the number of additions. At the end each counter is added to the bins of its two bytes.
// * Independent warps. A lane holds 4 first points in registers. The warp loads 64 second points at a time into shared
//   memory. All lanes read the same second point, so one broadcast serves 4 pairs per lane. There are barriers only at
//   the start and the end.
// * Balance. The groups of 128 points form a ring. Each group is paired with the groups after it, halfway around the
//   ring. Every group therefore has the same work. If each group were paired with all later groups, the first groups
//   would have the most work. One launch fills the GPU. The pairs of groups are dealt to the warps in turn, so that
//   each warp gets the same number. Several GPUs deal out the pairs of groups in the same way (column_of_step()).
// * Groups out of reach. If few pairs are in reach and there are at least 16,384 points, the points are sorted along a
//   space-filling curve (cuda_groups.hpp). Before the warp counts the pairs of two groups, a lane tests the bounding
//   boxes of the groups.
//
// If bins have different widths or are too many for the table, pairs are counted one at a time. For different widths, a
// table of narrower cells gives the bin of each cell, or marks a cell that is close to an edge, as in simd_filter. With
// weights, or if the bound would leave too many pairs doubtful, all pairs are counted in double.
//
// Work per pair: 7 operations of the float pipe, 1 of the unit for roots, 1 1/2 integer operations, 1/2 addition in
// shared memory. Bytes: 16 per second point for every 128 first points. Limits: only the GPU's memory.
// Source: filtered predicates (J. R. Shewchuk, 1997), applied to histograms; tiles in registers and privatised output:
// N. Pitaksirianan, Z. Nouri, Y.-C. Tu, "Efficient 2-body statistics computation on GPUs" (2016).
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include <cuda_pipeline.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "pair_histogram/gpu/cuda_common.hpp"
#include "pair_histogram/gpu/cuda_groups.hpp"
#include "pair_histogram/prepare.hpp"
#include "pair_histogram/simd/simd_pairs.hpp"

namespace gradus::pair_histogram_detail {

namespace {

constexpr unsigned int all_lanes = 0xffffffffU;
constexpr int warp_lanes = 32;
constexpr int points_of_a_lane = 4;
constexpr int group_points = warp_lanes * points_of_a_lane;
static_assert(group_points == filter_group_points);
constexpr int stage_points = 64;       // number of second points per warp in shared memory; a divisor of group_points
constexpr int points_of_a_packet = 8;  // number of second points whose pairs are rechecked together
constexpr int most_threads = 1024;
constexpr int queue_room = 64;  // number of packets in a warp's queue
constexpr int queue_full = 32;
constexpr int fraction_bits_joint = 16;
constexpr int table_stride = 256;  // 256, because the second pair's bin is a byte
constexpr std::int64_t most_joint_cells = 124;
// Number of pairs of groups per warp; a block then has at most 2^31 pairs of points.
constexpr std::int64_t groups_of_a_launch = 4096;

enum class Counting : std::uint8_t {
  joint,    ///< one increment for two pairs; the cells are the bins
  single,   ///< one increment per pair; the cells are the bins, which are too many for joint counting
  by_cell,  ///< cells narrower than the bins, and a table of their slots
};

// The shared memory of a block, in words. It starts with the counters. SharedLayout gives the offsets of the other
// parts:
// - per warp: a stage of second points, a queue of packets with doubtful pairs (as the numbers of the packets' first
//   points), and the length of the queue
// - per cell: the number of pairs that the canonical rule moves to the previous cell
// - the number of all rechecked pairs
// - the table of cells
extern __shared__ __align__(16) unsigned int shared_words[];

struct SharedLayout {
  int counters = 0;
  int stages = 0;  ///< this and the following members are offsets of the parts
  int queues = 0;
  int queued = 0;
  int moved = 0;
  int rechecked = 0;
  int by_cell = 0;
  int words = 0;

  SharedLayout() = default;
  SharedLayout(Counting counting, int threads, int cells, int counter_count) : counters(counter_count) {
    const int warps = threads / warp_lanes;
    stages = (counters + 3) / 4 * 4;
    queues = stages + warps * stage_points * 4;
    queued = queues + warps * queue_room * 2;
    moved = queued + warps;
    rechecked = moved + (counting == Counting::by_cell ? 0 : cells);
    by_cell = rechecked + 1;
    words = by_cell + (counting == Counting::by_cell ? (cells + 1) / 2 : 0);
  }

  __device__ float4* stage(int warp) const {
    return reinterpret_cast<float4*>(shared_words + stages) + warp * stage_points;
  }
  __device__ int2* queue(int warp) const { return reinterpret_cast<int2*>(shared_words + queues) + warp * queue_room; }
  __device__ unsigned int* queue_length(int warp) const { return shared_words + queued + warp; }
  __device__ std::uint16_t* table() const { return reinterpret_cast<std::uint16_t*>(shared_words + by_cell); }
};

__device__ inline int warp_of_block() { return static_cast<int>(threadIdx.x) / warp_lanes; }
__device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x) % warp_lanes; }

// The vectors of a triclinic cell along the axes of its brick. The unit of length is a cell of the filter.
struct FloatBrick {
  float vectors[dimension_limit][dimension_limit] = {};
  float inverse[dimension_limit] = {};  ///< reciprocals of the edges

  /// Reduces a separation to the nearest image by subtracting the nearest multiples of the vectors, the last vector
  /// first. The result is correct for pairs within reach, because no edge is shorter than the cell's least height
  /// (FilterPlan::keeps_images_apart).
  __device__ void take_vectors_away(float& x, float& y, float& z) const {
    const float third = whole(z, 2);
    x = fmaf(-third, vectors[2][0], x);
    y = fmaf(-third, vectors[2][1], y);
    z = fmaf(-third, vectors[2][2], z);
    const float second = whole(y, 1);
    x = fmaf(-second, vectors[1][0], x);
    y = fmaf(-second, vectors[1][1], y);
    x = fmaf(-whole(x, 0), vectors[0][0], x);
  }

  /// Returns `length` divided by the edge along `axis`, rounded to the nearest integer.
  __device__ float whole(float length, int axis) const {
    constexpr float rounding = 0x1.8p23F;
    return __fadd_rn(__fmaf_rn(length, inverse[axis], rounding), -rounding);
  }
};

template <class T>
struct FilterJob {
  PairJob<T> pairs;      ///< the pairs, with the data that the canonical rule needs
  GroupedPoints first;   ///< coordinates are in units of cells
  GroupedPoints second;  ///< has boxes if `first` has them
  float reach = 0;       ///< distance beyond which two groups have no pair in a bin
  int first_groups = 0;
  int second_groups = 0;
  int columns = 0;  ///< number of groups that each group is paired with
  int steps = 0;    ///< greatest number of these groups in this GPU's part
  int steps_of_an_item = 1;
  std::int64_t begin = 0;  ///< first item of this launch
  std::int64_t end = 0;
  float box[dimension_limit] = {};
  FloatBrick brick;
  float magic = 0;
  float greatest_square = 0;
  unsigned int near = 0;  ///< a pair is doubtful if its fraction is below this number
  int fraction_bits = fraction_bits_joint;
  unsigned int ahead = 0;  ///< number that must be subtracted from the bits above the fraction to get the cell
  int cells = 0;           ///< number of cells; the last one is beyond all bins
  const std::uint16_t* by_cell = nullptr;
  unsigned int doubtful = 0;
  const double* thresholds = nullptr;
  int slots = 0;  ///< number of counters per copy
  int copies = 1;
  SharedLayout layout;
  Word* rechecked = nullptr;
};

// Launch shape: one thread per place, including the padding after the last point.
template <class T, bool in_brick>
__global__ void scale_points(DevicePoints<T> points, double3 origin, double cells_per_length, Brick brick,
                             std::int64_t places, float4* scaled) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= places) return;
  float4 result{};
  if (point < points.count) {
    const Place place = points[point];
    double from[dimension_limit] = {place.x - origin.x, place.y - origin.y, place.z - origin.z};
    if constexpr (in_brick) {
      double share[dimension_limit];
      brick.locate(from[0], from[1], from[2], share);
      for (int axis = 0; axis < dimension_limit; ++axis) from[axis] = (share[axis] - 0.5) * brick.edge(axis);
    }
    result.x = static_cast<float>(from[0] * cells_per_length);
    result.y = static_cast<float>(from[1] * cells_per_length);
    result.z = static_cast<float>(from[2] * cells_per_length);
  }
  scaled[point] = result;
}

// Returns 1 / sqrt(value) for a positive normal number, with a relative error below 2^-22.9.
__device__ inline float reciprocal_root(float value) {
  float result;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

// Returns a word whose low half consists of the third bytes of the two numbers. The highest bit of `upper` must be
// zero.
__device__ inline unsigned int third_bytes(unsigned int upper, unsigned int lower) {
  unsigned int result;
  asm("prmt.b32 %0, %1, %2, 0xbb26;" : "=r"(result) : "r"(upper), "r"(lower));
  return result;
}

__device__ inline float nearest_around(float apart, float length) { return fminf(fabsf(apart), length - fabsf(apart)); }

// Returns the distance plus the margin (the error bound), as a fixed-point number.
template <Space space, bool clamped, class T>
__device__ unsigned int fixed_distance(const FilterJob<T>& job, const float4& first, const float4& second) {
  float x = first.x - second.x;
  float y = first.y - second.y;
  float z = first.z - second.z;
  if constexpr (space == Space::box) {
    x = nearest_around(x, job.box[0]);
    y = nearest_around(y, job.box[1]);
    z = nearest_around(z, job.box[2]);
  }
  if constexpr (space == Space::cell) job.brick.take_vectors_away(x, y, z);
  float square = fmaf(x, x, 0x1p-60F);  // the addend keeps the reciprocal root of 0 finite
  square = fmaf(y, y, square);
  square = fmaf(z, z, square);
  if constexpr (clamped) square = fminf(square, job.greatest_square);
  return __float_as_uint(fmaf(square, reciprocal_root(square), job.magic));
}

template <class T>
__device__ unsigned int cell_of(const FilterJob<T>& job, unsigned int fixed) {
  return (fixed >> job.fraction_bits) - job.ahead;
}

// Returns true if the pair is to be counted. Both points must exist. If both are in one group, the second point must be
// the later one.
template <class T>
__device__ bool is_wanted(const FilterJob<T>& job, int first, int second) {
  // & instead of && avoids branches.
  const bool exist = (first < job.pairs.first.count) & (second < job.pairs.second.count);
  return exist & (job.pairs.cross | (first / group_points != second / group_points) | (second > first));
}

template <Counting counting, class T>
__device__ bool is_doubtful(const FilterJob<T>& job, unsigned int fixed) {
  if constexpr (counting == Counting::by_cell) return job.layout.table()[cell_of(job, fixed)] == job.doubtful;
  else return (fixed & ((1U << job.fraction_bits) - 1)) < job.near;
}

// Decides a doubtful pair by the canonical rule.
template <Counting counting, Space space, class T>
__device__ __noinline__ void settle(const FilterJob<T>& job, int first, int second, unsigned int fixed) {
  const auto row = [](const GroupedPoints& points, int place) {
    return points.order == nullptr ? place : points.order[place];
  };
  const double squared = job.pairs.template squared_distance_in<space>(job.pairs.first[row(job.first, first)],
                                                                       job.pairs.second[row(job.second, second)]);
  if constexpr (counting == Counting::by_cell) {
    int below = 0;  // number of thresholds that are at or below the squared distance
    for (int above = job.pairs.bins.count + 1; below < above;) {
      const int middle = (below + above) / 2;
      if (job.thresholds[middle] <= squared) below = middle + 1;
      else above = middle;
    }
    atomicAdd(&shared_words[below * job.copies], 1U);
  } else if (const unsigned int cell = cell_of(job, fixed); squared < job.thresholds[cell]) {
    atomicAdd(&shared_words[job.layout.moved + cell], 1U);
  }
}

// Recomputes the pairs of a lane's first points with a packet of second points, and settles the doubtful pairs.
template <Counting counting, Space space, bool clamped, class T>
__device__ __noinline__ void settle_packet(const FilterJob<T>& job, int first, int second) {
  float4 points[points_of_a_lane];
#pragma unroll
  for (int own = 0; own < points_of_a_lane; ++own) points[own] = job.first.places[first + own * warp_lanes];
  unsigned int settled = 0;
#pragma unroll 1
  for (int other = second; other < second + points_of_a_packet; ++other) {
    const float4 point = job.second.places[other];
#pragma unroll
    for (int own = 0; own < points_of_a_lane; ++own) {
      const unsigned int fixed = fixed_distance<space, clamped>(job, points[own], point);
      if (!is_doubtful<counting>(job, fixed) || !is_wanted(job, first + own * warp_lanes, other)) continue;
      settle<counting, space>(job, first + own * warp_lanes, other, fixed);
      ++settled;
    }
  }
  atomicAdd(&shared_words[job.layout.rechecked], settled);
}

// Empties the warp's queue. Each lane settles one packet at a time. All lanes must call the function.
template <Counting counting, Space space, bool clamped, class T>
__device__ __noinline__ void settle_queue(const FilterJob<T>& job) {
  __syncwarp();  // all entries are written
  unsigned int* const queued = job.layout.queue_length(warp_of_block());
  const int2* const queue = job.layout.queue(warp_of_block());
  const unsigned int pushed = *queued;
  for (unsigned int entry = lane_of_warp(); entry < pushed && entry < queue_room; entry += warp_lanes)
    settle_packet<counting, space, clamped>(job, queue[entry].x, queue[entry].y);
  __syncwarp();  // all entries are read
  if (lane_of_warp() == 0) *queued = 0;
}

// Puts a packet with doubtful pairs into the warp's queue.
template <Counting counting, Space space, bool clamped, class T>
__device__ __forceinline__ void push(const FilterJob<T>& job, int first, int second) {
  const unsigned int at = atomicAdd(job.layout.queue_length(warp_of_block()), 1U);
  if (at < queue_room) job.layout.queue(warp_of_block())[at] = {first, second};
  // The queue is full if nearly all pairs are doubtful, as on a lattice.
  else settle_packet<counting, space, clamped>(job, first, second);
}

// Returns the start of the dynamic shared memory in the shared address space.
__device__ inline unsigned int shared_begin() {
  auto address = static_cast<unsigned int>(__cvta_generic_to_shared(shared_words));
  asm volatile("" : "+r"(address));  // keeps the address in a register, so that it is not recomputed for each addition
  return address;
}

// Increments a counter; `address` is in the shared address space.
__device__ inline void increment(unsigned int address) { asm volatile("red.shared.add.u32 [%0], 1;" : : "r"(address)); }

template <class T, Counting counting, Space space, bool clamped>
class WarpPairs {
 public:
  __device__ explicit WarpPairs(const FilterJob<T>& job)
      : job_(job), begin_(shared_begin()), copy_(lane_of_warp() & (job.copies - 1)) {}

  __device__ __forceinline__ void take_group(int group) {
    first_ = group * group_points + lane_of_warp();
#pragma unroll
    for (int own = 0; own < points_of_a_lane; ++own) points_[own] = job_.first.places[first_ + own * warp_lanes];
  }

  /// Counts the pairs of the lane's first points with a group of second points. If `masked` is true, some of these
  /// pairs are not to be counted.
  template <bool masked>
  __device__ __forceinline__ void count_group(int group) {
    float4* const points = job_.layout.stage(warp_of_block());
#pragma unroll 1
    for (int begin = group * group_points; begin < (group + 1) * group_points; begin += stage_points) {
      __syncwarp();  // the previous points are no longer in use
#pragma unroll
      for (int place = 0; place < stage_points; place += warp_lanes)
        __pipeline_memcpy_async(&points[place + lane_of_warp()], &job_.second.places[begin + place + lane_of_warp()],
                                sizeof(float4));
      __pipeline_commit();
      __pipeline_wait_prior(0);
      __syncwarp();  // the points have arrived
#pragma unroll 1
      for (int place = 0; place < stage_points; place += points_of_a_packet)
        if (count_packet<masked>(points + place, begin + place))
          push<counting, space, clamped>(job_, first_, begin + place);
      __syncwarp();  // queue entries are visible to all lanes
      if (*job_.layout.queue_length(warp_of_block()) >= queue_full) settle_queue<counting, space, clamped>(job_);
    }
  }

 private:
  // Counts the pairs of a packet of second points with all first points of the lane. Returns true if any pair is
  // doubtful.
  template <bool masked>
  __device__ __forceinline__ bool count_packet(const float4* points, int second) {
    unsigned int nearest = all_lanes;  // the low half holds the lowest fraction
    bool doubtful = false;
#pragma unroll masked ? 1 : points_of_a_packet / 2
    for (int place = 0; place < points_of_a_packet; place += 2) {
      const float4 one = points[place];
      const float4 other = points[place + 1];
#pragma unroll
      for (int own = 0; own < points_of_a_lane; ++own) {
        const unsigned int fixed[2] = {distance_of<masked>(own, one, second + place),
                                       distance_of<masked>(own, other, second + place + 1)};
        if constexpr (counting == Counting::joint) {
          increment(begin_ + 4 * third_bytes(fixed[0], fixed[1]));
          nearest = __vminu2(nearest, __vminu2(fixed[0], fixed[1]));
        } else {
          doubtful |= count_one(fixed[0]);
          doubtful |= count_one(fixed[1]);
        }
      }
    }
    if constexpr (counting == Counting::joint) return (nearest & 0xffffU) < job_.near;
    else return doubtful;
  }

  template <bool masked>
  __device__ __forceinline__ unsigned int distance_of(int own, const float4& point, int second) const {
    const unsigned int fixed = fixed_distance<space, clamped>(job_, points_[own], point);
    if constexpr (masked)
      if (!is_wanted(job_, first_ + own * warp_lanes, second)) return beyond();
    return fixed;
  }

  __device__ __forceinline__ bool count_one(unsigned int fixed) const {
    const unsigned int cell = cell_of(job_, fixed);
    const unsigned int slot = counting == Counting::by_cell ? job_.layout.table()[cell] : cell;
    increment(begin_ + 4 * (slot * job_.copies + copy_));
    return counting == Counting::by_cell ? slot == job_.doubtful : is_doubtful<counting>(job_, fixed);
  }

  // Returns the middle of the last cell, which is beyond all bins.
  __device__ __forceinline__ unsigned int beyond() const {
    return (job_.ahead + static_cast<unsigned int>(job_.cells - 1)) << job_.fraction_bits |
           1U << (job_.fraction_bits - 1);
  }

  const FilterJob<T>& job_;
  unsigned int begin_;
  int copy_;
  int first_ = 0;
  float4 points_[points_of_a_lane];
};

// Adds a block's joint counters to the result. A joint counter belongs to two bins and is added to both.
template <class T>
__device__ void flush_joint(const FilterJob<T>& job) {
  // A warp handles a row of the table in this number of parts, one counter per lane. Only half of a row is used.
  constexpr int parts = table_stride / 2 / warp_lanes;
  Word* const counts = job.pairs.histogram.counts + 1;  // slot 0 counts the pairs below the first edge
  Word of_column[parts] = {};
  for (int row = warp_of_block(); row < job.cells; row += static_cast<int>(blockDim.x) / warp_lanes) {
    Word of_row = 0;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      const int column = part * warp_lanes + lane_of_warp();
      const Word count = column < job.cells ? shared_words[row * table_stride + column] : 0;
      of_row += count;
      of_column[part] += count;
    }
    for (int half = warp_lanes / 2; half > 0; half /= 2) of_row += __shfl_xor_sync(all_lanes, of_row, half);
    if (lane_of_warp() == 0 && of_row > 0) atomicAdd(&counts[row], of_row);
  }
#pragma unroll
  for (int part = 0; part < parts; ++part)
    if (of_column[part] > 0) atomicAdd(&counts[part * warp_lanes + lane_of_warp()], of_column[part]);
}

template <Counting counting, class T>
__device__ void flush(const FilterJob<T>& job) {
  Word* const counts = job.pairs.histogram.counts + (counting == Counting::by_cell ? 0 : 1);
  if constexpr (counting == Counting::joint) flush_joint(job);
  else
    for (int slot = threadIdx.x; slot < job.pairs.bins.slots(); slot += blockDim.x) {
      Word count = 0;
      for (int copy = 0; copy < job.copies && slot < job.slots; ++copy) count += shared_words[slot * job.copies + copy];
      if (count > 0) atomicAdd(&counts[slot], count);
    }
  if constexpr (counting != Counting::by_cell)
    for (int cell = threadIdx.x; cell < job.cells; cell += blockDim.x)
      if (const Word moved = shared_words[job.layout.moved + cell]; moved > 0) {
        atomicAdd(&counts[cell], Word{0} - moved);
        atomicAdd(&counts[cell - 1], moved);
      }
  if (threadIdx.x == 0) atomicAdd(job.rechecked, Word{shared_words[job.layout.rechecked]});
}

__device__ inline float gap(float apart, float extents) { return fmaxf(fabsf(apart) - extents, 0.0F); }

// Returns a lower bound for the squared distance between two boxes or, if space is periodic, between their nearest
// images.
template <Space space, class T>
__device__ float square_between(const FilterJob<T>& job, const GroupBox& first, const GroupBox& second) {
  const float x = first.middle.x - second.middle.x;
  const float y = first.middle.y - second.middle.y;
  const float z = first.middle.z - second.middle.z;
  const float wide[3] = {first.half.x + second.half.x, first.half.y + second.half.y, first.half.z + second.half.z};
  const auto square = [&](float along_x, float along_y, float along_z) {
    const float gaps[3] = {gap(along_x, wide[0]), gap(along_y, wide[1]), gap(along_z, wide[2])};
    return fmaf(gaps[2], gaps[2], fmaf(gaps[1], gaps[1], gaps[0] * gaps[0]));
  };
  if constexpr (space == Space::open) {
    return square(x, y, z);
  } else if constexpr (space == Space::box) {
    return square(nearest_around(x, job.box[0]), nearest_around(y, job.box[1]), nearest_around(z, job.box[2]));
  } else {
    // A box spans at most the brick, so an image that is more than one period away from the nearest image cannot be in
    // reach.
    const FloatBrick& brick = job.brick;
    float least = INFINITY;
    const float third = brick.whole(z, 2);
    for (float turn = third - 1; turn <= third + 1; turn += 1) {
      const float turned_y = fmaf(-turn, brick.vectors[2][1], y);
      const float second_turn = brick.whole(turned_y, 1);
      for (float other = second_turn - 1; other <= second_turn + 1; other += 1) {
        const float turned_x = fmaf(-other, brick.vectors[1][0], fmaf(-turn, brick.vectors[2][0], x));
        least = fminf(least, square(fmaf(-brick.whole(turned_x, 0), brick.vectors[0][0], turned_x),
                                    fmaf(-other, brick.vectors[1][1], turned_y), fmaf(-turn, brick.vectors[2][2], z)));
      }
    }
    return least;
  }
}

// Returns the index of the group that is paired with `group` in this column. Columns are counted around the ring and
// begin at `group` itself or, if `cross` is true, at group 0.
template <class T>
__device__ int group_of_column(const FilterJob<T>& job, int group, int column) {
  if (job.pairs.cross) return column;
  const int second = group + column;
  return second >= job.second_groups ? second - job.second_groups : second;
}

// Returns the column of a step. Several GPUs deal out the pairs of groups: a pair belongs to the part
// (group + column) % parts, so all parts get almost the same number of pairs, near or far. The rule must not depend on
// the GPU, because the GPUs may differ.
template <class T>
__device__ int column_of_step(const FilterJob<T>& job, int group, int step) {
  const int parts = job.pairs.parts;
  return (job.pairs.part + parts - group % parts) % parts + step * parts;
}

// Returns a bit mask with a bit for each of the next steps, beginning with step `begin`. The bit is set if the step's
// groups exist and may be in reach. All lanes must call the function.
template <Space space, class T>
__device__ __noinline__ unsigned int steps_in_reach(const FilterJob<T>& job, int group, int begin, int end) {
  const int column = column_of_step(job, group, begin + lane_of_warp());
  bool near = begin + lane_of_warp() < end && column < job.columns;
  if (near && job.first.boxes != nullptr)
    near = square_between<space>(job, job.first.boxes[group], job.second.boxes[group_of_column(job, group, column)]) <=
           job.reach * job.reach;
  return __ballot_sync(all_lanes, near);
}

// Launch shape: as many blocks as are resident at once, with any number of warps. An item consists of a group of first
// points and some groups of second points. Each group of second points is a step. Neighbouring items go to different
// multiprocessors.
template <class T, Counting counting, Space space, bool clamped>
__global__ void __launch_bounds__(most_threads, 1) count_filtered(const __grid_constant__ FilterJob<T> job) {
  for (int at = threadIdx.x; at < job.layout.by_cell; at += blockDim.x) shared_words[at] = 0;
  if constexpr (counting == Counting::by_cell)
    for (int cell = threadIdx.x; cell < job.cells; cell += blockDim.x) job.layout.table()[cell] = job.by_cell[cell];
  __syncthreads();  // everything is zero before the first addition

  const int warps = static_cast<int>(blockDim.x) / warp_lanes;
  const std::int64_t all_warps = std::int64_t{gridDim.x} * warps;
  const bool cross = job.pairs.cross;
  const bool first_partial = job.pairs.first.count % group_points != 0;
  const bool second_partial = job.pairs.second.count % group_points != 0;
  WarpPairs<T, counting, space, clamped> pairs(job);
  for (std::int64_t item = job.begin + std::int64_t{warp_of_block()} * gridDim.x + blockIdx.x; item < job.end;
       item += all_warps) {
    const int group = static_cast<int>(item % job.first_groups);
    const int begin = static_cast<int>(item / job.first_groups) * job.steps_of_an_item;
    const int end = min(begin + job.steps_of_an_item, job.steps);
    pairs.take_group(group);
    unsigned int near = 0;
    for (int step = begin; step < end; ++step) {
      const int bit = (step - begin) % warp_lanes;
      if (bit == 0) near = steps_in_reach<space>(job, group, step, end);
      if ((near >> bit & 1U) == 0) continue;
      const int column = column_of_step(job, group, step);
      const int second = group_of_column(job, group, column);
      // If the number of groups is even, two groups half a ring apart meet twice. One of the two meetings is skipped.
      if (!cross && 2 * column == job.second_groups && group >= column) continue;
      const bool diagonal = !cross && column == 0;
      if (diagonal || (first_partial && group == job.first_groups - 1) ||
          (second_partial && second == job.second_groups - 1))
        pairs.template count_group<true>(second);
      else pairs.template count_group<false>(second);
    }
  }
  settle_queue<counting, space, clamped>(job);
  __syncthreads();  // the block has finished all its additions
  flush<counting>(job);
}

// Counts all pairs in double. The histogram is in shared memory, or in global memory if there are too many bins. Launch
// shape: one thread per first point of this GPU's part. No thread returns early, because all must reach the barriers.
template <class T, Space space, bool weighted, bool in_shared>
__global__ void count_in_double(PairJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  BlockHistogram<weighted> histogram(memory, in_shared ? job.bins.slots() : 0, job.copies, job.histogram);
  const int copy = static_cast<int>(threadIdx.x) & (job.copies - 1);
  // One of every `parts` consecutive first points belongs to the part of this GPU.
  const FirstPoint<T, weighted> first(job,
                                      (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * job.parts + job.part);
  const std::int64_t end = first.exists ? job.end : 0;
  for (std::int64_t second = job.first_partner(first.number); second < end; ++second) {
    const int slot = job.bins.slot(job.template squared_distance_in<space>(first.place, job.second[second]));
    const WeightProduct weight = job.template weight<weighted>(first.weight, weighted ? job.second.weight(second) : 0);
    if constexpr (in_shared) histogram.add(slot, copy, weight);
    else job.histogram.template add<weighted>(slot, weight);
  }
  if constexpr (in_shared) histogram.flush(job.histogram);
}

template <class T>
void count_all_in_double(CudaPairs<T>& pairs, const Problem<T>& problem, int threads) {
  const std::int64_t slots = problem.bins.slots();
  pairs.job().copies = histogram_copies(slots, problem.weighted());
  const std::uint64_t bytes = block_histogram_bytes(slots, problem.weighted(), pairs.job().copies);
  with_space(problem, [&](auto space, auto weighted) {
    if (bytes <= pairs.gpu().shared_bytes)
      pairs.count("count_in_double", count_in_double<T, space, weighted, true>, threads, bytes);
    else pairs.count("count_in_double", count_in_double<T, space, weighted, false>, threads, 0);
  });
}

/// A filtered job's data on the GPU, in addition to the points.
template <class T>
class FilteredCount {
 public:
  /// Halves the number of threads per block, from `threads` down to `least_threads`, while shared memory is too small.
  FilteredCount(CudaPairs<T>& pairs, const Problem<T>& problem, const FilterPlan& plan, int threads, int least_threads,
                std::vector<Phase>& phases)
      : pairs_(pairs), problem_(problem), threads_(threads) {
    const core::PhaseTimer timer(phases, "to_device");
    for (set_up_counters(plan); !fits() && threads_ / 2 >= least_threads; set_up_counters(plan)) threads_ /= 2;
    if (!fits()) return;
    const bool grouped = groups_pay(plan);
    job_.first = scaled(pairs.job().first, plan, grouped);
    job_.second = problem.cross ? scaled(pairs.job().second, plan, grouped) : job_.first;
    if (job_.first.boxes == nullptr || job_.second.boxes == nullptr) job_.first.boxes = nullptr;
    job_.thresholds = cuda::copy_part(pairs.memory(), problem.bins.thresholds(), pairs.stream());
    job_.by_cell = cuda::copy_part(pairs.memory(), std::span<const std::uint16_t>(plan.by_cell), pairs.stream());
    job_.rechecked = cuda::zero_part<Word>(pairs.memory(), 1, pairs.stream());
    fill_job(plan);
    pairs.stream().wait();
  }

  bool fits() const { return shared_bytes_ <= pairs_.gpu().shared_bytes; }

  void count(const Execution& execution, std::vector<Phase>& phases) {
    const core::PhaseTimer timer(phases, "count");
    switch (problem_.space()) {
      case Space::open: return count_in<Space::open>(execution);
      case Space::box: return count_in<Space::box>(execution);
      case Space::cell: return count_in<Space::cell>(execution);
    }
  }

  std::uint64_t rechecked() const {
    Word pairs = 0;
    cuda::fetch_part<Word>(job_.rechecked, {&pairs, 1}, pairs_.stream());
    return pairs;
  }

 private:
  void set_up_counters(const FilterPlan& plan) {
    counting_ = !plan.joint ? Counting::by_cell : plan.cells <= most_joint_cells ? Counting::joint : Counting::single;
    job_.cells = static_cast<int>(plan.cells);
    // The last slot is for doubtful pairs.
    job_.slots = static_cast<int>(plan.joint ? plan.cells : problem_.bins.slots() + 1);
    job_.copies = histogram_copies(job_.slots, false);
    const std::int64_t counters =
        counting_ == Counting::joint ? plan.cells * table_stride : std::int64_t{job_.slots} * job_.copies;
    if (4 * counters > static_cast<std::int64_t>(pairs_.gpu().shared_bytes)) return;
    job_.layout = SharedLayout(counting_, threads_, job_.cells, static_cast<int>(counters));
    shared_bytes_ = 4 * static_cast<std::uint64_t>(job_.layout.words);
  }

  static std::int64_t groups(std::int64_t points) { return filter_places(points) / group_points; }

  /// Returns the greatest absolute coordinate of a column, in units of cells.
  double greatest_coordinate(const FilterPlan& plan, int dim) const {
    const auto column = static_cast<std::size_t>(dim);
    const double half = problem_.triclinic ? plan.brick.edge(dim) / 2
                                           : std::max(problem_.highest[column] - plan.origin[column],
                                                      plan.origin[column] - problem_.lowest[column]);
    return half * plan.cells_per_length;
  }

  /// Returns true if few pairs of groups are in reach. The estimate assumes a cube around each point.
  bool groups_pay(const FilterPlan& plan) const {
    constexpr double most = 0.3;
    double share = 1;
    for (int dim = 0; dim < static_cast<int>(problem_.d()); ++dim)
      share *= std::min(1.0, problem_.bins.reach() * plan.cells_per_length /
                                 std::max(greatest_coordinate(plan, dim), std::numeric_limits<double>::min()));
    return share < most && std::max(problem_.n(), problem_.m()) >= fewest_grouped;
  }

  GroupedPoints scaled(const DevicePoints<T>& points, const FilterPlan& plan, bool grouped) {
    const std::int64_t places = filter_places(points.count);
    float4* const result = pairs_.memory().template take<float4>(places);
    if (places == 0) return {result};
    const double3 origin{plan.origin[0], plan.origin[1], plan.origin[2]};
    const auto kernel = problem_.triclinic ? scale_points<T, true> : scale_points<T, false>;
    kernel<<<cuda::blocks_for(places, 256), 256, 0, pairs_.stream()>>>(points, origin, plan.cells_per_length,
                                                                       plan.brick, places, result);
    cuda::check_launch("scale_points");
    if (!grouped) return {result};
    double half = 0;
    for (int dim = 0; dim < static_cast<int>(problem_.d()); ++dim)
      half = std::max(half, greatest_coordinate(plan, dim));
    return group_places(result, points.count, static_cast<float>(half), pairs_.memory(), pairs_.stream());
  }

  void fill_job(const FilterPlan& plan) {
    job_.pairs = pairs_.job();
    job_.first_groups = static_cast<int>(groups(problem_.n()));
    job_.second_groups = static_cast<int>(groups(problem_.m()));
    job_.columns = problem_.cross ? job_.second_groups : job_.second_groups / 2 + 1;
    job_.steps = (job_.columns + job_.pairs.parts - 1) / job_.pairs.parts;
    for (int dim = 0; dim < dimension_limit; ++dim)
      job_.box[dim] = static_cast<float>(problem_.box[static_cast<std::size_t>(dim)] * plan.cells_per_length);
    for (int vector = 0; problem_.triclinic && vector < dimension_limit; ++vector) {
      job_.brick.inverse[vector] = static_cast<float>(1 / (plan.brick.edge(vector) * plan.cells_per_length));
      for (int axis = 0; axis < dimension_limit; ++axis)
        job_.brick.vectors[vector][axis] = static_cast<float>(plan.brick.vectors[vector][axis] * plan.cells_per_length);
    }
    // Rounding changes the distance of two boxes no more than it changes the distance of two points.
    job_.reach = static_cast<float>((problem_.bins.reach() * plan.cells_per_length + 4 * plan.error) * 1.001);
    const double greatest = static_cast<double>(plan.cells) - 0.5;
    job_.greatest_square = static_cast<float>(greatest * greatest);
    constexpr int float_bits = 23;
    const int whole = counting_ == Counting::joint ? float_bits - fraction_bits_joint
                                                   : std::bit_width(static_cast<std::uint64_t>(plan.cells + 1));
    job_.fraction_bits = float_bits - whole;
    const double unit = std::ldexp(1.0, -job_.fraction_bits);
    // The error is computed in units of the last bit of the fixed-point number. The number is rounded with an error of
    // half a unit. The margin is added to every distance. With the margin, no pair of a bin falls below the bin's
    // start. A pair of the previous bin exceeds the bin's start by at most `near`.
    const double error = plan.error / unit;
    const double margin = plan.joint ? std::floor(error - 0.5) + 1 : 0;
    job_.near = static_cast<unsigned int>(std::ceil(margin + 0.5 + error));
    job_.magic = static_cast<float>(std::ldexp(1.0, whole) + margin * unit);
    job_.ahead = std::bit_cast<std::uint32_t>(job_.magic) >> job_.fraction_bits;
    job_.doubtful = plan.doubtful;
    // No pair is farther apart than the corners of the extent. If the corners are within the cells, no distance needs
    // clamping.
    double squares = 0;
    for (int dim = 0; dim < dimension_limit; ++dim) {
      const auto column = static_cast<std::size_t>(dim);
      const double extent = (problem_.highest[column] - problem_.lowest[column]) * plan.cells_per_length;
      squares += extent * extent;
    }
    clamped_ = !(std::sqrt(squares) + plan.error < static_cast<double>(plan.cells) - 0.1);
  }

  template <Space space>
  void count_in(const Execution& execution) {
    switch (counting_) {
      case Counting::joint:
        if (space == Space::cell || clamped_) return launch<Counting::joint, space, true>(execution);
        return launch<Counting::joint, space, space == Space::cell>(execution);
      case Counting::single: return launch<Counting::single, space, true>(execution);
      case Counting::by_cell: return launch<Counting::by_cell, space, true>(execution);
    }
  }

  template <Counting counting, Space space, bool clamped>
  void launch(const Execution& execution) {
    const auto kernel = count_filtered<T, counting, space, clamped>;
    const std::int64_t total = pair_count(problem_.n(), problem_.m(), problem_.cross);
    if (total == 0) return;
    cuda::allow_shared_memory(reinterpret_cast<const void*>(kernel), shared_bytes_);
    int blocks = 0;
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads_, shared_bytes_),
                "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    blocks = std::max(blocks, 1) * pairs_.gpu().multiprocessors;
    const std::int64_t warps = std::int64_t{blocks} * (threads_ / warp_lanes);
    constexpr std::int64_t items_of_a_warp = 128;  // large enough that all warps finish at almost the same time
    const std::int64_t all_groups = std::int64_t{job_.first_groups} * job_.steps;
    const std::int64_t most_steps = job_.first.boxes == nullptr ? 64 : warp_lanes;
    job_.steps_of_an_item =
        static_cast<int>(std::clamp<std::int64_t>(all_groups / (warps * items_of_a_warp), 1, most_steps));
    const std::int64_t items_of_a_group = (job_.steps + job_.steps_of_an_item - 1) / job_.steps_of_an_item;
    const std::int64_t items = std::int64_t{job_.first_groups} * items_of_a_group;
    const std::int64_t items_of_a_launch = warps * (groups_of_a_launch / job_.steps_of_an_item);
    for (job_.begin = 0; job_.begin < items; job_.begin = job_.end) {
      const auto done = static_cast<std::int64_t>(static_cast<double>(total) *
                                                  (static_cast<double>(job_.begin) / static_cast<double>(items)));
      honour_stop(execution, done, total);
      if (execution.progress && done > 0) execution.progress({"pairs", done, total, {}});
      job_.end = std::min(items, job_.begin + items_of_a_launch);
      kernel<<<static_cast<unsigned int>(blocks), threads_, shared_bytes_, pairs_.stream()>>>(job_);
      cuda::check_launch("count_filtered");
      pairs_.stream().wait();
    }
    if (execution.progress) execution.progress({"pairs", total, total, {}});
  }

  CudaPairs<T>& pairs_;
  const Problem<T>& problem_;
  int threads_;
  Counting counting_ = Counting::joint;
  bool clamped_ = true;
  /// The initial value exceeds every limit. It is replaced as soon as the layout is known.
  std::uint64_t shared_bytes_ = std::numeric_limits<std::uint64_t>::max();
  FilterJob<T> job_;
};

}  // namespace

template <class T>
Histogram cuda_filter(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cuda::block_threads(execution, most_threads);
  const int least_threads = execution.block_size > 0 ? threads : 128;
  CudaPairs<T> pairs(problem, execution, phases);
  const FilterPlan plan(problem, FilterCoordinates::wrapped);
  if (plan.usable && !problem.weighted()) {
    FilteredCount<T> filtered(pairs, problem, plan, threads, least_threads, phases);
    if (filtered.fits()) {
      filtered.count(execution, phases);
      Histogram histogram = pairs.histogram();
      histogram.rechecked = filtered.rechecked();
      return histogram;
    }
  }
  count_all_in_double(pairs, problem, threads);
  return pairs.histogram();
}

}  // namespace gradus::pair_histogram_detail
#endif

namespace gradus::pair_histogram_detail {

namespace {

core::Support filter_on_gpu(const Shape& shape, const execution::Machine& machine) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (std::max(shape.points, shape.others) > most)
    return core::Support::no("it supports at most 2^30 points; cuda_tiled_privatized supports more");
  return execution::supported_on_gpu(machine);
}

core::Memory gpu_filter_memory(const Shape& shape, int threads) {
  core::Memory memory = gpu_memory(shape, threads);
  memory.device += gpu_filter_bytes(shape);
  return memory;
}

}  // namespace

extern constinit const Variant cuda_filter_rung{
    .name = "cuda_filter",
    .summary = "a float filter, doubtful pairs in double; two pairs share one increment in shared memory",
    .change =
        "float, no root or division in double; a byte permutation forms one counter index from two bins; balanced "
        "around a ring",
    .backend = core::Backend::cuda,
    .device_input = true,
    .on_ranks = true,
    .supports = filter_on_gpu,
    .memory = gpu_filter_memory,
    .run = GRADUS_CUDA_RUNS(cuda_filter<float>, cuda_filter<double>),
};

}  // namespace gradus::pair_histogram_detail
