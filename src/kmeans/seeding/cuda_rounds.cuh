// Many rows added at a time, as the rounds of k-means|| do: the copy in bytes (cuda_bytes.cuh) proves for most pairs of
// a point and a new row that the row is no nearer than the point's own.
//
// A warp multiplies its 32 points by all new rows. Where the bytes leave many pairs undecided, the nearest by the bytes
// bounds how far the nearest can be, which rules out most of the others. What is left waits in a queue, and when 32
// pairs wait, each lane takes one through the canonical chain.
//
// The floor is the reading of n bytes of a row and 12 of what belongs to it, for 64 new rows at a time.
#pragma once

#include "kmeans/seeding/cuda_bytes.cuh"
#include "kmeans/seeding/cuda_cover.cuh"

namespace gradus::kmeans_detail::rounds {

constexpr int warps = 8;
constexpr int threads = 32 * warps;
constexpr int warp_rows = 32;
constexpr int most_added = 64;  ///< rows of a launch: eight products side by side
constexpr unsigned int everyone = 0xffffffffu;
static_assert(threads == block_rows);

/// Undecided pairs of a lane's four rows and 16 new ones above which it pays to ask how near the nearest can be.
constexpr int worth_narrowing = 4;

/// Pairs that are put into a warp's queue at a time: those of all rows and eight new ones.
constexpr int at_once = 8 * warp_rows;
/// Room for them, and for those of before that are not 32 yet.
constexpr int queue_room = at_once + 32;

/// New rows that are multiplied: whole products of eight.
__host__ __device__ constexpr int padded(int added) { return (added + 7) / 8 * 8; }

template <class T>
struct RoundJob {
  CoverJob<T> cover;
  DeviceByteRows bytes;
  const std::int64_t* which;  ///< the new rows
  int added;                  ///< how many
  int before;                 ///< how many others were chosen
  bool by_quads;              ///< points can be read by 16 bytes
};

template <class T>
class Walker {
 public:
  __device__ Walker(const RoundJob<T>& job, signed char* memory)
      : job_(job), padded_(padded(job.added)), pitch_(byte_pitch(job.bytes.stride)), added_(memory), own_(own()),
        warp_(static_cast<int>(threadIdx.x) / 32), lane_(static_cast<int>(threadIdx.x) % 32), group_(lane_ / 4),
        quarter_(lane_ % 4) {}

  /// Brings the new rows' bytes here.
  __device__ void bring() {
    bring_bytes(job_.bytes, job_.which, job_.added, padded_, added_);
    if (threadIdx.x == 0) own_.most_residue = 0;
    __syncthreads();  // the largest residue can be lowered to
    if (threadIdx.x < most_added) {
      // What is not there is infinitely far away.
      const bool is_there = static_cast<int>(threadIdx.x) < job_.added;
      const std::int64_t row = is_there ? job_.which[threadIdx.x] : 0;
      own_.candidates[threadIdx.x] =
          is_there ? ByteCandidate{2 * job_.bytes.scale[row], job_.bytes.square[row], job_.bytes.residue[row]}
                   : ByteCandidate{0, std::numeric_limits<float>::infinity(), 0};
      // Floats that are not negative are ordered as their bits are.
      if (is_there) atomicMax(&own_.most_residue, __float_as_uint(job_.bytes.residue[row]));
    }
    __syncthreads();  // the new rows are complete
  }

  __device__ void look(std::int64_t block) {
    const std::int64_t first = block * block_rows + warp_ * warp_rows;
    if (first >= job_.cover.rows.count) return;
    int sums[8][2][4] = {};
    multiply(first, sums);
    BytePoint points[4];
#pragma unroll
    for (int index = 0; index < 4; ++index) {
      const std::int64_t row = first + group_ + 8 * index;  // there is room for all rows of the last block
      const bool is_there = row < job_.cover.rows.count;    // what is not is infinitely far away
      points[index] = {__ldg(job_.bytes.scale + row),
                       is_there ? __ldg(job_.bytes.square + row) : std::numeric_limits<float>::infinity(),
                       __ldcg(job_.bytes.reach + row)};
    }
    float least[8][2][4];
    find_least(points, sums, least);
    __syncwarp();  // what was read of the new rows is read again: registers are few
    // All pairs are decided before the first chain is taken: the products' registers are free for it.
    Undecided undecided = undecided_of(points, least);
    const bool are_many = __popc(undecided.first) + __popc(undecided.second) > worth_narrowing;
    if (__any_sync(everyone, are_many)) {
      narrow(first, points, least);
      undecided = undecided_of(points, least);
    }
    if (!__any_sync(everyone, (undecided.first | undecided.second) != 0)) return;
    const int mine = __popc(undecided.first) + __popc(undecided.second);
    if (__reduce_add_sync(everyone, mine) <= at_once) return queue_up(first, undecided);
#pragma unroll 1
    for (int eight = 0; eight < 8; ++eight) {
      const unsigned int mask = 0xffu << (8 * (eight % 4));
      queue_up(first, {eight < 4 ? undecided.first & mask : 0, eight < 4 ? 0 : undecided.second & mask});
    }
  }

  /// Asks for the bytes of the warp's rows in a block.
  __device__ void fetch(std::int64_t block) const {
    if (block >= job_.cover.end_block) return;
    // There is room for all rows of the last block.
    fetch_bytes(job_.bytes, block * block_rows + warp_ * warp_rows, warp_rows);
  }

  __device__ void finish() {
    while (waiting_ > 0) take_from_queue();
  }

 private:
  /// Bit 8 e + 2 i + next: the lane's row i and new row `next` of the e-th eight; four eights, and four.
  struct Undecided {
    unsigned int first;
    unsigned int second;
  };

  struct Own {
    ByteCandidate candidates[most_added];
    unsigned int most_residue;  ///< the bits of a float
    unsigned long long queue[warps][queue_room];
  };
  __device__ static Own& own() {
    __shared__ Own memory;
    return memory;
  }

  /// 32 rows and all new ones by a warp. Lane 4 g + t has bytes 16 t to 16 t + 15 of each 64 of rows g, g + 8, ...;
  /// which of the product's columns they are is the same for the new rows, and so does not matter. Sums 0 and 1 are
  /// those of row g and the new rows 2 t and 2 t + 1 of eight, sums 2 and 3 those of row g + 8.
  __device__ void multiply(std::int64_t first, int (&sums)[8][2][4]) const {
    const int stride = job_.bytes.stride;
    const signed char* rows = job_.bytes.bytes + (first + group_) * stride + 16 * quarter_;
    const signed char* added = added_ + group_ * pitch_ + 16 * quarter_;
#pragma unroll 1
    for (int column = 0; column < stride; column += 64) {
      uint4 part[4];
      const bool is_there = column + 16 * quarter_ < stride;
#pragma unroll
      for (int index = 0; index < 4; ++index)
        part[index] = is_there ? read_once(rows + 8 * index * stride + column) : make_uint4(0, 0, 0, 0);
#pragma unroll
      for (int eight = 0; eight < 8; ++eight) {
        if (8 * eight >= padded_) break;
        const uint4 other = *reinterpret_cast<const uint4*>(added + 8 * eight * pitch_ + column);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const uint4 upper = part[2 * half];
          const uint4 lower = part[2 * half + 1];
          multiply_bytes(sums[eight][half], upper.x, lower.x, upper.y, lower.y, other.x, other.y);
          multiply_bytes(sums[eight][half], upper.z, lower.z, upper.w, lower.w, other.z, other.w);
        }
      }
    }
  }

  /// What the squares of lengths are at least.
  __device__ void find_least(const BytePoint (&points)[4], const int (&sums)[8][2][4], float (&least)[8][2][4]) const {
#pragma unroll
    for (int eight = 0; eight < 8; ++eight) {
#pragma unroll
      for (int next = 0; next < 2; ++next) {
        const ByteCandidate candidate = own_.candidates[8 * eight + 2 * quarter_ + next];
#pragma unroll
        for (int index = 0; index < 4; ++index) {
          const int place = index % 2 * 2 + next;
          least[eight][index / 2][place] = points[index].least(candidate, sums[eight][index / 2][place]);
        }
      }
    }
  }

  /// Lowers the reaches to what the nearest of the new rows is proved to be within.
  __device__ void narrow(std::int64_t first, BytePoint (&points)[4], const float (&least)[8][2][4]) const {
    float most[4];
#pragma unroll
    for (int index = 0; index < 4; ++index) most[index] = std::numeric_limits<float>::infinity();
#pragma unroll
    for (int eight = 0; eight < 8; ++eight) {
#pragma unroll
      for (int next = 0; next < 2; ++next) {
        const float square = own_.candidates[8 * eight + 2 * quarter_ + next].square;
#pragma unroll
        for (int index = 0; index < 4; ++index)
          most[index] = fminf(most[index], points[index].most(square, least[eight][index / 2][index % 2 * 2 + next]));
      }
    }
#pragma unroll
    for (int index = 0; index < 4; ++index) {
      most[index] = fminf(most[index], __shfl_xor_sync(everyone, most[index], 1));
      most[index] = fminf(most[index], __shfl_xor_sync(everyone, most[index], 2));
      const float residue = __ldg(job_.bytes.residue + first + group_ + 8 * index);
      points[index].reach =
          fminf(points[index].reach, reach_within(most[index], residue, __uint_as_float(own_.most_residue)));
    }
  }

  /// The pairs that the bytes leave undecided, as if all new rows had the largest residue.
  __device__ Undecided undecided_of(const BytePoint (&points)[4], const float (&least)[8][2][4]) const {
    float reached[4];
#pragma unroll
    for (int index = 0; index < 4; ++index) reached[index] = points[index].reached(__uint_as_float(own_.most_residue));
    unsigned int halves[2] = {0, 0};
#pragma unroll
    for (int eight = 0; eight < 8; ++eight) {
#pragma unroll
      for (int next = 0; next < 2; ++next) {
#pragma unroll
        for (int index = 0; index < 4; ++index)
          if (!(least[eight][index / 2][index % 2 * 2 + next] >= reached[index]))
            halves[eight / 4] |= 1u << (8 * (eight % 4) + index * 2 + next);
      }
    }
    return {halves[0], halves[1]};
  }

  /// Puts up to `at_once` pairs into the queue, and takes from it while a warp has enough to do.
  __device__ void queue_up(std::int64_t first, const Undecided& undecided) {
    Word pairs = Word{undecided.second} << 32 | undecided.first;
    const int mine = __popcll(pairs);
    int place = mine;
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(everyone, place, distance);
      if (lane_ >= distance) place += other;
    }
    const int found = __shfl_sync(everyone, place, 31);
    place += waiting_ - mine;
    for (; pairs != 0; pairs &= pairs - 1) {
      const int bit = __ffsll(static_cast<long long>(pairs)) - 1;
      own_.queue[warp_][place++] = static_cast<Word>(first + group_ + 8 * (bit % 8 / 2)) * most_added +
                                   static_cast<Word>(bit / 8 * 8 + 2 * quarter_ + bit % 2);
    }
    waiting_ += found;
    __syncwarp();  // the queue is written
    while (waiting_ >= 32) take_from_queue();
  }

  /// The canonical distance of the last pairs that wait, up to 32.
  __device__ void take_from_queue() {
    const int count = min(waiting_, 32);
    waiting_ -= count;
    const bool is_mine = lane_ < count;
    const Word pair = is_mine ? own_.queue[warp_][waiting_ + lane_] : 0;
    __syncwarp();  // it is read
    const auto row = static_cast<std::int64_t>(pair / most_added);
    const auto number = static_cast<int>(pair % most_added);
    double distance = 0;
    if (is_mine) {
      const DeviceRows<T>& rows = job_.cover.rows;
      distance = distance_between(rows.data + row * rows.stride, rows.data + job_.which[number] * rows.stride,
                                  rows.columns, job_.by_quads);
    }
    // Several may be of one point, whose nearest is the first of those at the least distance: one after the other.
    const unsigned int same = __match_any_sync(everyone, is_mine ? row : std::int64_t{-1} - lane_);
    const int turn = __popc(same & ((1u << lane_) - 1));
    for (int now = 0; __any_sync(everyone, turn >= now); ++now) {
      if (is_mine && turn == now) offer(row, number, distance);
      __syncwarp();  // the distance is there for the next one
    }
  }

  __device__ void offer(std::int64_t row, int number, double distance) const {
    const CoverJob<T>& cover = job_.cover;
    const double closest = cover.closest[row];
    const int owner = job_.before + number;
    if (distance == closest && cover.owners && cover.owners[row] > owner) cover.owners[row] = owner;
    if (!(distance < closest)) return;
    const Word less = cover.quantize(cover.weighed(row, closest)) - cover.quantize(cover.weighed(row, distance));
    cover.closest[row] = distance;
    if (cover.owners) cover.owners[row] = owner;
    job_.bytes.reach[row] = job_.bytes.reach_of(row, distance);
    if (less > 0) atomicAdd(&cover.block_sums[row / block_rows], Word{0} - less);
  }

  const RoundJob<T>& job_;
  int padded_;
  int pitch_;
  signed char* added_;
  Own& own_;
  int warp_;
  int lane_;
  int group_;
  int quarter_;
  int waiting_ = 0;  ///< pairs in the warp's queue
};

// Launch shape: blocks of `threads`, the grid's stride over the blocks of rows.
template <class T>
__global__ void __launch_bounds__(threads, 2) add_many(const __grid_constant__ RoundJob<T> job) {
  extern __shared__ __align__(16) signed char memory[];
  Walker<T> walker(job, memory);
  walker.bring();
  for (std::int64_t block = job.cover.first_block + blockIdx.x; block < job.cover.end_block; block += gridDim.x) {
    walker.fetch(block + gridDim.x);
    walker.look(block);
  }
  walker.finish();
}

}  // namespace gradus::kmeans_detail::rounds
