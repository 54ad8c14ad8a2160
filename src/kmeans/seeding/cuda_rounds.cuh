// Adds many rows at a time, as the rounds of k-means|| do. For most pairs of a point and a new row, the 8-bit copy
// (cuda_bytes.cuh) proves that the new row is no nearer than the nearest chosen row.
//
// A warp multiplies its 32 points by a set of 64 new rows at a time. For a point x and a new row y, it computes the
// nearness 2 s_x s_y q_x.q_y - s_y^2 q_y.q_y. The nearness grows as the copies of x and y get nearer to each other. For
// most points, even the maximum of the nearness over all y of the set is so small that the whole set is excluded. For
// each other point, the copies give an upper bound of the distance to the nearest new row, and this bound excludes most
// rows of the set. The remaining pairs enter a queue. When 32 pairs wait in it, each lane computes the canonical chain
// of one pair.
//
// Each launch reads the bytes of all n rows, and 16 bytes of terms of the bound per row. With 64 new rows per launch
// and 128 columns, an NVIDIA H200 needs as much time for this as for the products. A warp whose points fit in its
// registers therefore multiplies them by several sets, up to most_added rows.
#pragma once

#include "kmeans/seeding/cuda_bytes.cuh"
#include "kmeans/seeding/cuda_cover_job.cuh"

namespace gradus::kmeans_detail::rounds {

/// In addition to the new rows, shared memory must have room for the data of at least this number of warps.
constexpr int fewest_warps = 6;
constexpr int most_added = 256;  ///< the largest number of new rows per launch
constexpr int set_eights = 8;    ///< groups of eight new rows whose products a warp computes at a time
constexpr int most_held = 2;     ///< if rows have at most this number of chunks, a warp holds its points in registers
/// Returns the largest number of warps per block. A warp that holds two chunks needs more registers than twelve warps
/// have.
__host__ __device__ constexpr int most_warps(int chunks) { return chunks == 2 ? 8 : 12; }
constexpr unsigned int everyone = 0xffffffffu;

/// The maximum number of pairs that enter a warp's queue at a time: 32 rows (one tile) times eight new rows.
constexpr int at_once = 8 * tile_rows;
/// Capacity of the queue. When new pairs enter, the queue may still contain up to 31 earlier pairs.
constexpr int queue_room = at_once + 32;

struct WarpRoom {
  ByteStage ring[ByteStream::stages];
  unsigned char chains[Chains::bytes];
  unsigned int queue[queue_room];
};

__host__ __device__ constexpr int eights_of(int added) { return (added + 7) / 8; }
/// Returns the size of a block's shared memory, in bytes. The memory holds the data of the block's warps, and the new
/// rows.
__host__ __device__ constexpr int bytes_of(int warps, int chunks, int added) {
  return warps * static_cast<int>(sizeof(WarpRoom)) + eights_of(added) * candidate_bytes(chunks);
}

template <class T>
struct RoundJob {
  CoverJob<T> cover;
  DeviceByteRows bytes;
  DeviceByteRows others;      ///< the copy of cover.others
  const std::int64_t* which;  ///< numbers of the new rows in cover.others
  int added;                  ///< number of new rows
  int before;                 ///< number of rows chosen earlier
  bool by_quads;              ///< true if points can be read in 16-byte units
  const StepState* state;     ///< if it is not null, the kernel adds rows only if adds_round is 1
  bool backwards;             ///< true: starts with the last row, because the rows read last are still in the cache
};

/// The work of one block. If `Held` is positive, rows have `Held` chunks, and each warp holds its points in registers
/// while it multiplies them by all new rows. Otherwise there is at most one set of new rows.
template <class T, int Held>
class Walker {
 public:
  __device__ Walker(const RoundJob<T>& job, unsigned char* memory)
      : job_(job), eights_(eights_of(job.added)), own_(own()), warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32), warps_(static_cast<int>(blockDim.x) / 32),
        room_(reinterpret_cast<WarpRoom*>(memory)[warp_]),
        added_(reinterpret_cast<uint4*>(memory + warps_ * sizeof(WarpRoom))), stream_(job.bytes, room_.ring) {
    const std::int64_t blocks = job.cover.end_block - job.cover.first_block;
    const auto grid = static_cast<std::int64_t>(gridDim.x);
    first_row_ = (job.cover.first_block + blocks * blockIdx.x / grid) * block_rows;
    const std::int64_t end_row = min(
        (job.cover.first_block + blocks * (std::int64_t{blockIdx.x} + 1) / grid) * block_rows, job.cover.rows.count);
    rows_ = static_cast<int>(end_row - first_row_);
    tiles_ = ((rows_ + tile_rows - 1) / tile_rows - warp_ + warps_ - 1) / warps_;
  }

  __device__ void bring() {
    stream_.start(tiles());
    stream_.ask_for_lengths(tiles());
    if (threadIdx.x == 0) own_.most_residue = own_.most_square = 0;
    for (int number = warp_; number < 8 * eights_; number += warps_)
      bring_candidate(job_.others, number < job_.added ? job_.which[number] : -1, number, added_);
    __syncthreads();  // the maxima are initialised
    for (int number = static_cast<int>(threadIdx.x); number < most_added; number += static_cast<int>(blockDim.x)) {
      // In the last set, places without a new row are filled with rows that are infinitely far away.
      const bool is_there = number < job_.added;
      const std::int64_t row = is_there ? job_.which[number] : 0;
      const float square = job_.others.length(row, DeviceByteRows::of_square);
      own_.candidates[number] = is_there ? Candidate{2 * job_.others.length(row, DeviceByteRows::of_scale), -square}
                                         : Candidate{0, -std::numeric_limits<float>::infinity()};
      // Non-negative floats have the same order as the integers with the same bits, so the integers are compared.
      if (is_there) {
        atomicMax(&own_.most_residue, __float_as_uint(job_.others.length(row, DeviceByteRows::of_residue)));
        atomicMax(&own_.most_square, __float_as_uint(square));
      }
    }
    __syncthreads();  // the new rows are complete
  }

  __device__ void compare() {
    stream_.begin();
    auto local = static_cast<int>(tiles().row(0) - first_row_);
    for (int number = 0; number < tiles_; ++number, local += tiles().step * tile_rows) compare_tile(local);
    while (waiting_ > 0) take_from_queue();
    ByteStream::finish();
  }

 private:
  /// One bit per pair, which is set if the pair is undecided. Bit 8 e + 2 i + j is for the lane's row i and the lane's
  /// new row j (0 or 1) of group e. `first` holds groups 0 to 3. `second` holds groups 4 to 7 in the same way.
  struct Undecided {
    unsigned int first;
    unsigned int second;
  };

  __device__ Tiles tiles() const {
    const std::int64_t first = first_row_ / tile_rows + warp_;
    if (!job_.backwards) return {first, warps_, tiles_};
    return {first + (tiles_ - 1) * warps_, -warps_, tiles_};
  }

  struct Candidate {
    float twice_scale;
    float minus_square;
  };

  struct Own {
    alignas(16) Candidate candidates[most_added];
    unsigned int most_residue;  ///< a float, stored as its bits for atomicMax()
    unsigned int most_square;
  };
  __device__ static Own& own() {
    __shared__ Own memory;
    return memory;
  }

  /// The nearness of a row x to two new rows y: 2 s_x s_y q_x.q_y - s_y^2 q_y.q_y, which is larger for a nearer y. The
  /// nearness is compared with a limit: s_x^2 q_x.q_x minus the squared distance from which on y is out of reach. The
  /// two sides of this comparison are computed with four roundings. The error of each rounding is at most 2^-24 times
  /// twice the sum of the squared lengths. In total, the errors are therefore at most 2^-21 times this sum.
  struct Two {
    float first;
    float second;
  };
  __device__ static Two nearness(const float4& candidates, float scale, const int (&sums)[2][4], int index) {
    const int place = index % 2 * 2;
    return {fmaf(scale * candidates.x, static_cast<float>(sums[index / 2][place]), candidates.y),
            fmaf(scale * candidates.z, static_cast<float>(sums[index / 2][place + 1]), candidates.w)};
  }
  /// Returns the values of the new rows 2 t and 2 t + 1 of a group of eight.
  __device__ float4 candidates_of(int eight) const {
    return *reinterpret_cast<const float4*>(&own_.candidates[8 * eight + 2 * (lane_ % 4)]);
  }

  /// Returns the next chunk of the warp's tiles. If the chunk is the first of its tile, reads the terms of the bound.
  __device__ void take_chunk(int chunk, BytePoint (&points)[4], uint4 (&parts)[4]) {
    const ByteStage& stage = stream_.next();
    if (chunk == 0) read_points(stage, points);
#pragma unroll
    for (int index = 0; index < 4; ++index) parts[index] = stage.parts[index][lane_];
  }
  /// Adds the products of a chunk and the set of new rows that begins with group `first` to `sums`.
  __device__ void multiply_set(int first, int chunk, int chunks, const uint4 (&parts)[4],
                               int (&sums)[set_eights][2][4]) const {
    const uint4* const added = added_ + (first * chunks + chunk) * 32 + lane_;
    if (first + set_eights <= eights_) {
#pragma unroll
      for (int eight = 0; eight < set_eights; ++eight) multiply_parts(sums[eight], parts, added[eight * chunks * 32]);
    } else {
#pragma unroll
      for (int eight = 0; eight < set_eights; ++eight)
        if (first + eight < eights_) multiply_parts(sums[eight], parts, added[eight * chunks * 32]);
    }
  }

  /// Compares the 32 rows of a tile with all new rows. `local`: the index of the tile's first row within the block's
  /// rows.
  __device__ void compare_tile(int local) {
    BytePoint points[4];
    if constexpr (Held > 0) {
      uint4 parts[Held][4];
#pragma unroll
      for (int chunk = 0; chunk < Held; ++chunk) take_chunk(chunk, points, parts[chunk]);
#pragma unroll 1
      for (int first = 0; first < eights_; first += set_eights) {
        int sums[set_eights][2][4] = {};
#pragma unroll
        for (int chunk = 0; chunk < Held; ++chunk) multiply_set(first, chunk, Held, parts[chunk], sums);
        compare_set(local, first, points, sums);
      }
    } else {
      const int chunks = job_.bytes.chunks();
      int sums[set_eights][2][4] = {};
#pragma unroll 1
      for (int chunk = 0; chunk < chunks; ++chunk) {
        uint4 parts[4];
        take_chunk(chunk, points, parts);
        multiply_set(0, chunk, chunks, parts, sums);
      }
      compare_set(local, 0, points, sums);
    }
  }

  /// Compares the rows of a tile with the set of new rows that begins with group `first`. `sums`: their products.
  __device__ void compare_set(int local, int first, BytePoint (&points)[4], const int (&sums)[set_eights][2][4]) {
    // Makes all comparisons before the first canonical chain, so that the chains can use the registers that held the
    // products.
    const float most_residue = __uint_as_float(own_.most_residue);
    float nearest[4];
    float enough[4];  // a new row is excluded if its nearness is at most this value
    bool is_open[4];
#pragma unroll
    for (int index = 0; index < 4; ++index) nearest[index] = -std::numeric_limits<float>::infinity();
#pragma unroll
    for (int eight = 0; eight < 8; ++eight) {
      const float4 candidates = candidates_of(first + eight);
#pragma unroll
      for (int index = 0; index < 4; ++index) {
        const Two near = nearness(candidates, points[index].scale, sums[eight], index);
        nearest[index] = fmaxf(nearest[index], fmaxf(near.first, near.second));
      }
    }
    bool is_any = false;
#pragma unroll
    for (int index = 0; index < 4; ++index) {
      enough[index] = points[index].square - points[index].reached(most_residue);
      const bool is_there = local + lane_ / 4 + 8 * index < rows_;
      is_open[index] = is_there && !(nearest[index] <= enough[index]);
      is_any |= is_open[index];
    }
    if (!__any_sync(everyone, is_any)) return;
    unsigned int halves[2] = {0, 0};
    const float most_square = __uint_as_float(own_.most_square);
#pragma unroll
    for (int index = 0; index < 4; ++index) {
      if (!__any_sync(everyone, is_open[index])) continue;
      // The nearest new row has an upper bound of its distance. If this bound is smaller than the point's reach, the
      // reach becomes the bound.
      float near = nearest[index];
      near = fmaxf(near, __shfl_xor_sync(everyone, near, 1));
      near = fmaxf(near, __shfl_xor_sync(everyone, near, 2));
      const float most = points[index].most(most_square, points[index].square - near);
      const std::int64_t row = first_row_ + local + lane_ / 4 + 8 * index;
      const float residue = job_.bytes.length(row, DeviceByteRows::of_residue);
      points[index].reach = fminf(points[index].reach, reach_within(most, residue, most_residue));
      enough[index] = points[index].square - points[index].reached(most_residue);
      unsigned int mine[2] = {0, 0};
#pragma unroll
      for (int eight = 0; eight < 8; ++eight) {
        const Two two = nearness(candidates_of(first + eight), points[index].scale, sums[eight], index);
        if (!(two.first <= enough[index])) mine[eight / 4] |= 1u << (8 * (eight % 4) + index * 2);
        if (!(two.second <= enough[index])) mine[eight / 4] |= 2u << (8 * (eight % 4) + index * 2);
      }
      if (is_open[index]) {
        halves[0] |= mine[0];
        halves[1] |= mine[1];
      }
    }
    const Undecided undecided{halves[0], halves[1]};
    const int mine = __popc(undecided.first) + __popc(undecided.second);
    if (__reduce_add_sync(everyone, mine) <= at_once) return queue_up(local, first, undecided);
#pragma unroll 1
    for (int eight = 0; eight < 8; ++eight) {
      const unsigned int mask = 0xffu << (8 * (eight % 4));
      queue_up(local, first, {eight < 4 ? undecided.first & mask : 0, eight < 4 ? 0 : undecided.second & mask});
    }
  }

  /// Appends at most `at_once` pairs to the queue. While the queue holds at least 32 pairs, computes their chains.
  __device__ void queue_up(int local, int first, const Undecided& undecided) {
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
      room_.queue[place++] = static_cast<unsigned int>(local + lane_ / 4 + 8 * (bit % 8 / 2)) * most_added +
                             static_cast<unsigned int>(8 * (first + bit / 8) + 2 * (lane_ % 4) + bit % 2);
    }
    waiting_ += found;
    __syncwarp();  // all lanes have written the queue
    while (waiting_ >= 32) take_from_queue();
  }

  /// Removes the last pairs from the queue, up to 32, and computes their distances.
  __device__ void take_from_queue() {
    const int count = min(waiting_, 32);
    waiting_ -= count;
    const bool is_mine = lane_ < count;
    const unsigned int pair = is_mine ? room_.queue[waiting_ + lane_] : 0;
    __syncwarp();  // all lanes have read the queue
    const std::int64_t row = first_row_ + pair / most_added;
    const auto number = static_cast<int>(pair % most_added);
    const DeviceRows<T>& rows = job_.cover.rows;
    const DeviceRows<T>& others = job_.cover.others;
    const double distance =
        Chains::distance<T>(rows, row, others, job_.which[number], job_.by_quads, count, room_.chains);
    // Several pairs may have the same point. The lanes of these pairs update it one after another, because the first
    // row wins on ties.
    const unsigned int same = __match_any_sync(everyone, is_mine ? row : std::int64_t{-1} - lane_);
    const int turn = __popc(same & ((1u << lane_) - 1));
    for (int now = 0; __any_sync(everyone, turn >= now); ++now) {
      if (is_mine && turn == now) offer(row, number, distance);
      __syncwarp();  // the next lane sees the new distance
    }
  }

  __device__ void offer(std::int64_t row, int number, double distance) {
    const CoverJob<T>& cover = job_.cover;
    const double closest = cover.closest[row];
    const int owner = job_.before + number;
    if (distance == closest && cover.owners && cover.owners[row] > owner) cover.owners[row] = owner;
    if (!(distance < closest)) return;
    const Word less = cover.quantize(cover.weighed(row, closest)) - cover.quantize(cover.weighed(row, distance));
    cover.closest[row] = distance;
    if (cover.owners) cover.owners[row] = owner;
    job_.bytes.length(row, DeviceByteRows::of_reach) =
        job_.bytes.reach_of(distance, job_.bytes.length(row, DeviceByteRows::of_residue));
    if (less > 0) atomicAdd(&cover.block_sums[row / block_rows], Word{0} - less);
  }

  const RoundJob<T>& job_;
  int eights_;
  Own& own_;
  int warp_;
  int lane_;
  int warps_;
  WarpRoom& room_;
  uint4* added_;
  ByteStream stream_;
  std::int64_t first_row_;
  int rows_;
  int tiles_;        ///< number of tiles of the warp, which gets every warps_-th tile of the block
  int waiting_ = 0;  ///< number of pairs in the warp's queue
};

// Launch shape: blocks of up to most_warps() warps. The grid has as many blocks as the GPU runs at once, but at most
// one per block of rows.
template <class T, int Held>
__global__ void __launch_bounds__(32 * most_warps(Held), 1) add_many(const __grid_constant__ RoundJob<T> job) {
  if (job.state && !job.state->adds_round) return;
  extern __shared__ __align__(16) unsigned char memory[];
  Walker<T, Held> walker(job, memory);
  walker.bring();
  walker.compare();
}

/// Returns the largest number of new rows per launch for rows with this number of chunks.
constexpr int most_added_of(int chunks) { return chunks <= most_held ? most_added : 8 * set_eights; }
/// Returns add_many() for rows with this number of chunks.
template <class T>
auto kernel(int chunks) {
  static_assert(most_held == 2);
  return chunks == 1 ? &add_many<T, 1> : chunks == 2 ? &add_many<T, 2> : &add_many<T, 0>;
}

}  // namespace gradus::kmeans_detail::rounds
