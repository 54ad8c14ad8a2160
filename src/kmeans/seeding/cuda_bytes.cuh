// An 8-bit copy of the points. For most pairs of a point x and a candidate y, the copy proves that y is no nearer to x
// than the nearest chosen row. The copy is four to eight times smaller than the points, and its products run on the
// tensor cores. Only undecided pairs need the canonical chain.
//
// Rows are shifted by a middle m and scaled by a power of two to magnitude at most 1. The copy of row x is s_x q_x with
// integers |q| <= 127. Let e_x be the length of the vector of rounding errors of this copy. Then
//
//     |x - y|  >=  |s_x q_x - s_y q_y| - e_x - e_y,
//     |s_x q_x - s_y q_y|^2 = s_x^2 q_x.q_x + s_y^2 q_y.q_y - 2 s_x s_y q_x.q_y,
//
// where the integer products are exact. Let r_x be e_x plus the distance from x to its nearest chosen row. If the
// square |s_x q_x - s_y q_y|^2 is at least (r_x + e_y)^2, then y is out of reach of x. Each rounding either goes in the
// safe direction or is smaller than one of these margins:
//   * The stored value of s^2 q.q is too small by a relative 2^-19. Because |2 a b| <= a^2 + b^2, the few float
//     roundings of the sum are below 2^-20 (s_x^2 q_x.q_x + s_y^2 q_y.q_y), even if its terms cancel.
//   * (r_x + e_y)^2 is enlarged by a relative 2^-19, and so is r_x. This also covers the relative errors of both
//     canonical chains, (d + 3) 2^-53.
//   * e includes the rounding of x - m, 2^-44 per column, or more for a row of another rank if its magnitude exceeds 1.
//     This keeps every bound above 2^-88. Underflow of float products loses far less, and so does underflow of squares
//     in a chain of doubles (least_magnitude).
// A bound that is infinite or NaN excludes no candidate. Exception: if only s_y^2 q_y.q_y is infinite, y is excluded,
// because it is at least 2^50 times farther from m than all points x and their chosen rows.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cuda/async_copy.cuh"
#include "cuda/rows.cuh"
#include "kmeans/means/cuda_exact_sums.hpp"

namespace gradus::kmeans_detail {

using cuda::DeviceRows;

constexpr int byte_columns = 4096;  ///< maximum number of columns with which eight candidates fit in shared memory
constexpr double byte_margin = 0x1p-19;

constexpr int tile_rows = 32;      ///< number of rows per tile; a warp processes one tile at a time
constexpr int chunk_columns = 64;  ///< number of columns per chunk; a lane reads 16 bytes of a row's chunk

/// Returns the number of bytes per row: one per column, rounded up to a multiple of 16, because a thread loads 16 bytes
/// at a time.
constexpr int byte_stride(std::int64_t columns) { return static_cast<int>((columns + 15) / 16 * 16); }

/// Returns the residue e of a row: the length of the row's vector of rounding errors. `squares` is the sum of the
/// squared rounding errors. `largest` is the magnitude of the row, which exceeds 1 only for rows of other ranks.
__device__ inline float residue_of(double squares, int columns, double largest) {
  return __double2float_ru(sqrt(squares) * (1 + byte_margin) +
                           sqrt(static_cast<double>(columns)) * (0x1p-44 * fmax(largest, 1.0)));
}

/// The copy of the points on the GPU, with the terms of the bound. ByteRows (byte_rows.hpp) is its counterpart on the
/// CPU. The copy consists of tiles of 32 rows. A tile consists of chunks of 64 columns; the last chunk may be narrower.
/// Because of this order, a warp reads 512 contiguous bytes at a time, and each lane reads the bytes that it
/// multiplies.
struct DeviceByteRows {
  signed char* bytes;
  float* lengths;  ///< in the order [tile][Length][row of the tile]
  int stride;      ///< bytes per row
  double unit;     ///< power of two that scales the points

  enum Length {
    of_scale,    ///< s
    of_square,   ///< s^2 q.q, stored slightly too small
    of_reach,    ///< r
    of_residue,  ///< e
    kinds
  };

  __host__ __device__ int chunks() const { return (stride + chunk_columns - 1) / chunk_columns; }
  /// Returns how many 16-byte units of a row are in a chunk.
  __device__ int units_of(int chunk) const { return min(4, stride / 16 - 4 * chunk); }
  __device__ const signed char* tile(std::int64_t number) const { return bytes + number * (tile_rows * stride); }
  /// Returns the address of one 16-byte unit of a row. The unit holds 16 columns, beginning with column 16 * unit.
  __device__ signed char* unit_of(std::int64_t row, int unit) const {
    const int chunk = unit / 4;
    return bytes + row / tile_rows * (tile_rows * stride) + chunk * (tile_rows * chunk_columns) +
           (static_cast<int>(row % tile_rows) * units_of(chunk) + unit % 4) * 16;
  }
  __device__ float& length(std::int64_t row, Length which) const {
    return lengths[row / tile_rows * (kinds * tile_rows) + which * tile_rows + row % tile_rows];
  }

  /// Returns the reach r of a point. `closest` is the canonical squared distance from the point to its chosen row.
  __device__ float reach_of(double closest, float residue) const {
    return __fadd_ru(__double2float_ru(sqrt(closest) * unit * (1 + byte_margin)), residue);
  }
};

/// The terms of the bound for a candidate.
struct ByteCandidate {
  float twice_scale;
  float square;
  float residue;
};

struct BytePoint {
  float scale;
  float square;
  float reach;

  /// Returns a lower bound of the squared distance between the copies of a point and a candidate. `product` is the dot
  /// product of their bytes.
  __device__ float least(const ByteCandidate& candidate, int product) const {
    return fmaf(-(scale * candidate.twice_scale), static_cast<float>(product), square + candidate.square);
  }
  /// Returns an upper bound of the squared distance between the copies. Adds two margins: the stored squares are too
  /// small by a relative 2^-19, and the roundings are below a relative 2^-20 of these squares.
  __device__ float most(float square_of_candidate, float least) const {
    return fmaf(square + square_of_candidate, static_cast<float>(2 * byte_margin), least);
  }
  /// Returns a threshold for the squared distance between the copies of the point and a candidate. If the distance is
  /// at least the threshold, the candidate is provably no nearer than the chosen row.
  __device__ float reached(float residue_of_candidate) const {
    const float sum = reach + residue_of_candidate;
    return sum * (sum * static_cast<float>(1 + byte_margin));
  }
  __device__ bool is_out_of_reach(const ByteCandidate& candidate, int product) const {
    return least(candidate, product) >= reached(candidate.residue);
  }
};

/// Returns a new reach r for a point, given a row to which the point may move. `most` is an upper bound of the squared
/// distance between the copies of the point and this row. The margin of r exceeds the roundings of both distances, so
/// every row that r excludes is strictly farther than this row.
__device__ inline float reach_within(float most, float residue, float other_residue) {
  return (sqrtf(fmaxf(most, 0.0f)) + 2 * residue + other_residue) * static_cast<float>(1 + 4 * byte_margin);
}

/// Multiplies 32 bytes of each of 16 rows by 32 bytes of each of 8 candidates. Adds the dot products to `sums`.
__device__ inline void multiply_bytes(int (&sums)[4], unsigned int a0, unsigned int a1, unsigned int a2,
                                      unsigned int a3, unsigned int b0, unsigned int b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/// Returns the bytes of shared memory for eight candidates. Their layout is [group of eight][chunk][lane], with 16
/// bytes per lane. This is the order in which lanes multiply: lane 4 g + t holds bytes of candidate g.
__host__ __device__ constexpr int candidate_bytes(int chunks) { return 8 * chunk_columns * chunks; }

/// Copies a row to the place of candidate `number`. If `row` is negative, writes zeros there. A whole warp must call
/// this function.
__device__ inline void bring_candidate(const DeviceByteRows& rows, std::int64_t row, int number, uint4* candidates) {
  const int chunks = rows.chunks();
  for (int unit = static_cast<int>(threadIdx.x % 32); unit < 4 * chunks; unit += 32) {
    uint4 value = make_uint4(0, 0, 0, 0);
    if (row >= 0 && 16 * unit < rows.stride) value = __ldg(reinterpret_cast<const uint4*>(rows.unit_of(row, unit)));
    candidates[(number / 8 * chunks + unit / 4) * 32 + number % 8 * 4 + unit % 4] = value;
  }
}

/// A chunk of a tile in shared memory. Each lane copies the bytes that it multiplies: 16 bytes of each of the rows g, g
/// + 8, g + 16 and g + 24.
struct ByteStage {
  uint4 parts[4][32];
  float lengths[DeviceByteRows::kinds][tile_rows];  ///< filled only for the first chunk of a tile
};

/// Starts copying the part of `tile` that is in a chunk to `stage`, without the lengths. Called by a whole warp.
__device__ inline void copy_chunk(const DeviceByteRows& rows, const signed char* tile, int chunk, ByteStage& stage) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int units = rows.units_of(chunk);
  const bool is_there = lane % 4 < units;
  const signed char* const from =
      tile + chunk * (tile_rows * chunk_columns) + (is_there ? (lane / 4 * units + lane % 4) * 16 : 0);
  const int distance = is_there ? 8 * 16 * units : 0;
#pragma unroll
  for (int index = 0; index < 4; ++index)
    cuda::copy_or_zero<16>(&stage.parts[index][lane], from + index * distance, is_there ? 16 : 0);
}

/// A sequence of `count` tiles. The number of tile i is first + i * step.
struct Tiles {
  std::int64_t first;
  int step;
  int count;

  __device__ std::int64_t row(int number) const { return (first + std::int64_t{number} * step) * tile_rows; }
};

/// Copies the chunks of a warp's tiles to shared memory in a pipeline: while the warp multiplies one chunk, the next
/// chunks are loading.
class ByteStream {
 public:
  static constexpr int stages = 4;

  __device__ ByteStream(const DeviceByteRows& rows, ByteStage* ring) : rows_(rows), ring_(ring) {}

  /// Starts the copies of the first chunks, without their lengths. Call it when the warp no longer needs any earlier
  /// chunk.
  __device__ void start(const Tiles& tiles) {
    bytes_ = rows_.tile(tiles.first);
    lengths_ = lengths_of(tiles.first);
    step_ = tiles.step;
    left_ = tiles.count;
    chunk_ = 0;
    fill_ = 0;
    taken_ = 0;
    __syncwarp();  // all lanes have read the previous lengths
    for (int ahead = 0; ahead < stages - 1; ++ahead) issue(false);
  }
  /// Starts the copies of the lengths that start() leaves out.
  __device__ void ask_for_lengths(const Tiles& tiles) {
    const int chunks = rows_.chunks();
    int number = 0;
    for (int ahead = 0; ahead < stages - 1 && number < tiles.count; ahead += chunks, ++number)
      bring_lengths(ring_[ahead], lengths_of(tiles.first + std::int64_t{number} * tiles.step));
    cuda::end_group();
  }
  /// Waits until the copies of start() and ask_for_lengths() are complete. Call it before the first next().
  __device__ void begin() {
    cuda::wait_for_copies<0>();
    __syncwarp();  // all lanes can see the lengths
  }
  /// Returns the next chunk and releases the previous one.
  __device__ const ByteStage& next() {
    cuda::wait_for_copies<stages - 2>();
    __syncwarp();  // all lanes can see the lengths, and have read the previous chunk
    issue(true);
    const ByteStage& stage = ring_[taken_];
    taken_ = taken_ + 1 == stages ? 0 : taken_ + 1;
    return stage;
  }
  /// Waits for all copies. Call it before the warp exits.
  __device__ static void finish() { cuda::wait_for_copies<0>(); }

 private:
  static constexpr int floats_of_a_tile = DeviceByteRows::kinds * tile_rows;
  static_assert(sizeof(ByteStage::lengths) == 32 * 16 && floats_of_a_tile == 32 * 4);

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ const float* lengths_of(std::int64_t tile) const {
    return rows_.lengths + tile * floats_of_a_tile + 4 * lane();
  }
  __device__ static void bring_lengths(ByteStage& stage, const float* from) {
    cuda::copy_16_bytes(&stage.lengths[0][0] + 4 * lane(), from);
  }
  __device__ void issue(bool with_lengths) {
    if (left_ > 0) {
      ByteStage& stage = ring_[fill_];
      copy_chunk(rows_, bytes_, chunk_, stage);
      if (with_lengths && chunk_ == 0) bring_lengths(stage, lengths_);
      if (++chunk_ == rows_.chunks()) {
        chunk_ = 0;
        bytes_ += step_ * (tile_rows * rows_.stride);
        lengths_ += step_ * floats_of_a_tile;
        --left_;
      }
    }
    cuda::end_group();
    fill_ = fill_ + 1 == stages ? 0 : fill_ + 1;
  }

  const DeviceByteRows& rows_;
  ByteStage* ring_;
  const signed char* bytes_ = nullptr;
  const float* lengths_ = nullptr;
  int step_ = 0;
  int left_ = 0;
  int chunk_ = 0;
  int fill_ = 0;
  int taken_ = 0;
};

/// Copies chunks like ByteStream. But the warps of a block share its tiles: each warp takes the next tile when it needs
/// one. So no warp waits long for a warp that computes many distances.
class SharedByteStream {
 public:
  static constexpr int stages = ByteStream::stages;
  /// The shared memory of a warp, in addition to the stages.
  struct Numbers {
    int tile[stages];  ///< for each stage: the number of its tile among the tiles of the block, or -1 without a tile
  };

  __device__ SharedByteStream(const DeviceByteRows& rows, ByteStage* ring, Numbers& numbers)
      : rows_(rows), ring_(ring), numbers_(numbers) {}

  /// Starts the copies of the first chunks, without their lengths. `tiles` are all tiles of the block. `taken` is the
  /// number of tiles that warps have taken, in shared memory; it must be 0 before the first warp calls this function.
  __device__ void start(const Tiles& tiles, int* taken) {
    tiles_ = tiles;
    counter_ = taken;
    chunk_ = 0;
    fill_ = 0;
    taken_ = 0;
    __syncwarp();  // all lanes have read the previous lengths
    tile_ = 0;
    for (int ahead = 0; ahead < stages - 1; ++ahead) issue(false);
  }
  /// Starts the copies of the lengths that start() leaves out.
  __device__ void ask_for_lengths() {
    __syncwarp();  // all lanes can see the numbers
    for (int ahead = 0; ahead < stages - 1; ahead += rows_.chunks())
      if (numbers_.tile[ahead] >= 0) bring_lengths(ring_[ahead], numbers_.tile[ahead]);
    cuda::end_group();
  }
  /// Waits until the copies of start() and ask_for_lengths() are complete. Call it before the first next().
  __device__ void begin() {
    cuda::wait_for_copies<0>();
    __syncwarp();  // all lanes can see the lengths
  }
  /// Returns the number of the tile whose first chunk next() will return, or -1 after the last tile.
  __device__ int next_tile() const { return numbers_.tile[taken_]; }
  /// Returns the next chunk and releases the previous one.
  __device__ const ByteStage& next() {
    cuda::wait_for_copies<stages - 2>();
    __syncwarp();  // all lanes can see the lengths, and have read the previous chunk and its number
    issue(true);
    const ByteStage& stage = ring_[taken_];
    taken_ = taken_ + 1 == stages ? 0 : taken_ + 1;
    return stage;
  }
  /// Waits for all copies. Call it before the warp exits.
  __device__ static void finish() { cuda::wait_for_copies<0>(); }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ std::int64_t number_of(int tile) const { return tiles_.first + std::int64_t{tile} * tiles_.step; }
  __device__ void bring_lengths(ByteStage& stage, int tile) const {
    cuda::copy_16_bytes(&stage.lengths[0][0] + 4 * lane(),
                        rows_.lengths + number_of(tile) * (DeviceByteRows::kinds * tile_rows) + 4 * lane());
  }
  __device__ void issue(bool with_lengths) {
    if (chunk_ == 0 && tile_ >= 0) {
      int tile = 0;
      if (lane() == 0) tile = atomicAdd(counter_, 1);
      tile = __shfl_sync(0xffffffffu, tile, 0);
      tile_ = tile < tiles_.count ? tile : -1;
    }
    if (lane() == 0) numbers_.tile[fill_] = tile_;
    if (tile_ >= 0) {
      ByteStage& stage = ring_[fill_];
      copy_chunk(rows_, rows_.tile(number_of(tile_)), chunk_, stage);
      if (with_lengths && chunk_ == 0) bring_lengths(stage, tile_);
      if (++chunk_ == rows_.chunks()) chunk_ = 0;
    }
    cuda::end_group();
    fill_ = fill_ + 1 == stages ? 0 : fill_ + 1;
  }

  const DeviceByteRows& rows_;
  ByteStage* ring_;
  Numbers& numbers_;
  Tiles tiles_{};
  int* counter_ = nullptr;
  int tile_ = 0;
  int chunk_ = 0;
  int fill_ = 0;
  int taken_ = 0;
};

/// The tiles of a block, which stay in shared memory. Has the functions of ByteStream. Each warp uses only the tiles
/// that it has loaded.
class ResidentBytes {
 public:
  /// `stages`: room for all chunks of the block's tiles. `first`: the number of the block's first tile.
  __device__ ResidentBytes(const DeviceByteRows& rows, ByteStage* stages, std::int64_t first)
      : rows_(rows), stages_(stages), first_(first) {}

  __device__ void load(const Tiles& tiles) {
    for (int number = 0; number < tiles.count; ++number) {
      const std::int64_t tile = tiles.first + std::int64_t{number} * tiles.step;
      ByteStage* const stages = stages_ + (tile - first_) * rows_.chunks();
      for (int chunk = 0; chunk < rows_.chunks(); ++chunk) copy_chunk(rows_, rows_.tile(tile), chunk, stages[chunk]);
      const int lane = static_cast<int>(threadIdx.x) % 32;
      cuda::copy_16_bytes(&stages->lengths[0][0] + 4 * lane,
                          rows_.lengths + tile * (DeviceByteRows::kinds * tile_rows) + 4 * lane);
    }
    cuda::end_group();
    cuda::wait_for_copies<0>();
    __syncwarp();  // all lanes see the tiles
  }
  __device__ void start(const Tiles& tiles) {
    tile_ = static_cast<int>(tiles.first - first_);
    step_ = tiles.step;
    chunk_ = 0;
  }
  __device__ void ask_for_lengths(const Tiles& /*tiles*/) {}
  __device__ void begin() {}
  __device__ const ByteStage& next() {
    const ByteStage& stage = stages_[tile_ * rows_.chunks() + chunk_];
    if (++chunk_ == rows_.chunks()) {
      chunk_ = 0;
      tile_ += step_;
    }
    return stage;
  }
  __device__ static void finish() {}

  /// Stores the new reach of a row of this warp's tiles.
  __device__ void set_reach(std::int64_t row, float reach) {
    stages_[(row / tile_rows - first_) * rows_.chunks()].lengths[DeviceByteRows::of_reach][row % tile_rows] = reach;
  }

 private:
  const DeviceByteRows& rows_;
  ByteStage* stages_;
  std::int64_t first_;
  int tile_ = 0;
  int step_ = 0;
  int chunk_ = 0;
};

/// Reads the terms of the bound for the four rows of a lane. `stage`: the first chunk of the rows' tile.
__device__ inline void read_points(const ByteStage& stage, BytePoint (&points)[4]) {
  const int group = static_cast<int>(threadIdx.x) % 32 / 4;
#pragma unroll
  for (int index = 0; index < 4; ++index) {
    const int row = group + 8 * index;
    points[index] = {stage.lengths[DeviceByteRows::of_scale][row], stage.lengths[DeviceByteRows::of_square][row],
                     stage.lengths[DeviceByteRows::of_reach][row]};
  }
}

/// Multiplies a lane's parts of a chunk by eight candidates, and adds the products to `sums`. In sums[0], elements 0
/// and 1 belong to row g, and elements 2 and 3 to row g + 8. In sums[1], they belong to rows g + 16 and g + 24. The two
/// elements of a row belong to candidates 2 t and 2 t + 1. Rows and candidates store their columns in the same order,
/// so this order does not affect the products.
__device__ inline void multiply_parts(int (&sums)[2][4], const uint4 (&parts)[4], const uint4& other) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint4& upper = parts[2 * half];
    const uint4& lower = parts[2 * half + 1];
    multiply_bytes(sums[half], upper.x, lower.x, upper.y, lower.y, other.x, other.y);
    multiply_bytes(sums[half], upper.z, lower.z, upper.w, lower.w, other.z, other.w);
  }
}

namespace byte_rows {

/// Four consecutive values of a row. Values past the end of the row are zero.
template <class T>
struct Quad {
  T values[4];

  Quad() = default;
  /// `by_quads`: true if the rows can be read in 16-byte units.
  __device__ Quad(const DeviceRows<T>& rows, std::int64_t row, int column, bool by_quads) {
    if (rows.are_stored() && rows.columns % 4 == 0 && column < rows.columns) {
      read_stored(rows, row * rows.stride + column);
    } else if (by_quads && column + 4 <= rows.columns) {
      const T* const from = rows.data + row * rows.stride + column;
      constexpr int loads = static_cast<int>(sizeof(T)) / 4;  // number of 16-byte loads
      union {
        uint4 all[loads];
        T each[4];
      } read;
#pragma unroll
      for (int load = 0; load < loads; ++load) read.all[load] = __ldg(reinterpret_cast<const uint4*>(from) + load);
#pragma unroll
      for (int index = 0; index < 4; ++index) values[index] = read.each[index];
    } else {
#pragma unroll
      for (int index = 0; index < 4; ++index)
        values[index] = column + index < rows.columns ? value_at(rows, row, column + index) : T{0};
    }
  }

 private:
  /// Reads four elements at once. `first` must be a multiple of four.
  __device__ void read_stored(const DeviceRows<T>& rows, std::int64_t first) {
    union {
      unsigned int halves[2];
      unsigned char each[8];
    } read;
    const auto* const from = reinterpret_cast<const unsigned int*>(rows.stored + first * bytes_of(rows.type));
    read.halves[0] = __ldg(from);
    read.halves[1] = bytes_of(rows.type) == 2 ? __ldg(from + 1) : 0;
#pragma unroll
    for (int index = 0; index < 4; ++index) values[index] = static_cast<T>(cuda::widened(read.each, rows.type, index));
  }
};

}  // namespace byte_rows

/// Computes canonical distances with a warp. The lanes load the rows x together, so that neighbouring lanes read
/// neighbouring bytes. Rows are loaded in pieces. At any time, three pieces of each row are being loaded or used. The
/// functions are not inlined, because the caller would then need more registers.
class Chains {
 public:
  static constexpr int piece_bytes = 2048;  ///< size of a piece in bytes, for all rows together
  static constexpr int pieces_at_once = 3;
  static constexpr int bytes = pieces_at_once * piece_bytes;  ///< shared memory per warp, a multiple of 16
  static constexpr int most_side_by_side = 8;                 ///< maximum number of rows y in distances_to_all()
  static constexpr int bytes_of_others = 1024;                ///< additional shared memory of distances_to_all()
  static constexpr unsigned int everyone = 0xffffffffu;

  /// Returns true if rows are loaded in pieces. Very short rows are loaded whole: a lane that reads such a row already
  /// uses whole cache lines.
  template <class T>
  __device__ static bool by_pieces(int columns, bool by_quads) {
    return by_quads && columns / quad<T> > few_units;
  }

  /// Returns the distance between a row of `rows` and a row of `others` in each lane below `count`.
  template <class T>
  __device__ __noinline__ static double distance(const DeviceRows<T>& rows, std::int64_t row,
                                                 const DeviceRows<T>& others, std::int64_t other, bool by_quads,
                                                 int count, unsigned char* room) {
    if (rows.are_stored()) return distance_of_stored(rows, row, others, other, count);
    const T* const x = rows.data + row * rows.stride;
    const T* const y = others.data + other * others.stride;
    const int columns = rows.columns;
    __builtin_assume(__isShared(room));
    const int lane = static_cast<int>(threadIdx.x) % 32;
    double sum = 0;
    int column = 0;
    if (by_pieces<T>(columns, by_quads)) {
      const int units = columns / quad<T>;
      // A piece has 128 units for all rows together. So if there are fewer pairs, it holds more units of each row. Unit
      // `number` of a piece belongs to the row with the index `number >> log_width`.
      const int log_rows = count > 1 ? 32 - __clz(count - 1) : 0;
      const int log_width = 7 - log_rows;
      const int width = 1 << log_width;
      const unsigned char* from[4];
      int place[4];
      bool is_there[4];
#pragma unroll
      for (int index = 0; index < 4; ++index) {
        const int number = lane + 32 * index;
        const int row = number >> log_width;
        const int unit = number & (width - 1);
        from[index] = reinterpret_cast<const unsigned char*>(__shfl_sync(
                          everyone, static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(x)), row)) +
                      16 * unit;
        place[index] = (row * width + (unit ^ permutation(row, width))) * 16;
        is_there[index] = row < count;
      }
      int fill = 0;
      const auto bring = [&](int piece) {
#pragma unroll
        for (int index = 0; index < 4; ++index) {
          const int unit = (piece << log_width) + ((lane + 32 * index) & (width - 1));
          if (is_there[index] && unit < units)
            cuda::copy_16_bytes(room + fill + place[index],
                                from[index] + (static_cast<std::int64_t>(piece) << (log_width + 4)));
        }
        cuda::end_group();
        fill = fill + piece_bytes == bytes ? 0 : fill + piece_bytes;
      };
      const bool is_mine = lane < count;
      uint4 others[few_units];  // units of y, loaded before the step that uses them
      const auto ask = [&](int first) {
#pragma unroll
        for (int index = 0; index < few_units; ++index)
          if (is_mine && first + index < units)
            others[index] = __ldg(reinterpret_cast<const uint4*>(y) + first + index);
      };
      const int own = permutation(lane, width);
      const unsigned char* const mine = room + lane * width * 16;
      for (int piece = 0; piece < pieces_at_once - 1; ++piece) bring(piece);
      ask(0);
      int used = -piece_bytes;
      for (int first = 0; first < units; first += few_units) {
        if ((first & (width - 1)) == 0) {
          __syncwarp();  // all lanes have read the previous piece
          bring((first >> log_width) + pieces_at_once - 1);
          cuda::wait_for_copies<pieces_at_once - 1>();
          __syncwarp();  // all lanes can see the piece
          used = used + piece_bytes == bytes ? 0 : used + piece_bytes;
        }
        Quads<T> left[few_units];
        Quads<T> right[few_units];
#pragma unroll
        for (int index = 0; index < few_units; ++index) {
          right[index].all = others[index];
          left[index].all =
              *reinterpret_cast<const uint4*>(mine + used + ((((first + index) & (width - 1)) ^ own) << 4));
        }
        ask(first + few_units);
        if (!is_mine) continue;
#pragma unroll
        for (int index = 0; index < few_units; ++index) {
          if (first + index >= units) break;
#pragma unroll
          for (int element = 0; element < quad<T>; ++element)
            extend(sum, static_cast<double>(left[index].values[element]),
                   static_cast<double>(right[index].values[element]));
        }
      }
      __syncwarp();  // all lanes have read the last piece
      column = units * quad<T>;
    }
    if (lane < count) {
#pragma unroll 4
      for (; column < columns; ++column)
        extend(sum, static_cast<double>(__ldg(x + column)), static_cast<double>(__ldg(y + column)));
    }
    return sum;
  }

  /// Computes the distances between each lane's x (up to 32 rows) and those rows y of `ys` that have the numbers
  /// `which`. Use it if most of these distances are needed. by_pieces() must be true. `room_of_others` must have
  /// bytes_of_others bytes of shared memory.
  template <class T>
  __device__ __noinline__ static void distances_to_all(const DeviceRows<T>& rows, std::int64_t first, int count,
                                                       const DeviceRows<T>& ys, const std::int64_t* which, int others,
                                                       unsigned char* room, unsigned char* room_of_others,
                                                       double (&distances)[most_side_by_side]) {
    __builtin_assume(__isShared(room));
    __builtin_assume(__isShared(room_of_others));
    constexpr int width = few_units;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int units = rows.columns / quad<T>;
    const int pieces = (units + width - 1) / width;
    const auto bring = [&](int piece) {
      if (piece < pieces) {
        const int unit = piece * width + lane % width;
#pragma unroll
        for (int index = 0; index < 4; ++index) {
          const int row = lane / width + 8 * index;
          const bool is_there = row < count && unit < units;
          const T* const from =
              rows.data + (first + (row < count ? row : 0)) * rows.stride + (is_there ? unit : 0) * quad<T>;
          cuda::copy_or_zero<16>(
              room + piece % 2 * piece_bytes + (row * width + (lane % width ^ permutation(row, width))) * 16, from,
              is_there ? 16 : 0);
        }
      }
      cuda::end_group();
    };
    // Lane 4 g + t loads unit t of each piece of the row y with the number g.
    const int number = lane / width;
    const T* const other = ys.data + which[number < others ? number : 0] * ys.stride;
    const auto ask = [&](int piece) {
      const int unit = piece * width + lane % width;
      return number < others && unit < units ? __ldg(reinterpret_cast<const uint4*>(other) + unit)
                                             : make_uint4(0, 0, 0, 0);
    };
    double sums[most_side_by_side] = {};
    double* const wide = reinterpret_cast<double*>(room_of_others);
    constexpr int pitch = width * quad<T>;  // distance between consecutive rows y in shared memory, in doubles
    bring(0);
    uint4 next = ask(0);
    for (int piece = 0; piece < pieces; ++piece) {
      Quads<T> part;
      part.all = next;
      __syncwarp();  // all lanes have read the previous piece
#pragma unroll
      for (int element = 0; element < quad<T>; element += 2)
        *reinterpret_cast<double2*>(wide + number * pitch + lane % width * quad<T> + element) =
            make_double2(static_cast<double>(part.values[element]), static_cast<double>(part.values[element + 1]));
      bring(piece + 1);
      next = ask(piece + 1);
      cuda::wait_for_copies<1>();
      __syncwarp();  // all lanes can see the piece
#pragma unroll
      for (int unit = 0; unit < width; ++unit) {
        Quads<T> left;
        left.all = *reinterpret_cast<const uint4*>(room + piece % 2 * piece_bytes +
                                                   (lane * width + (unit ^ permutation(lane, width))) * 16);
        double values[quad<T>];
#pragma unroll
        for (int element = 0; element < quad<T>; ++element) values[element] = static_cast<double>(left.values[element]);
          // Both rows end with zeros as padding, which add nothing to the sums.
#pragma unroll
        for (int y = 0; y < most_side_by_side; ++y) {
          if (y >= others) break;
#pragma unroll
          for (int element = 0; element < quad<T>; element += 2) {
            const double2 right = *reinterpret_cast<const double2*>(wide + y * pitch + unit * quad<T> + element);
            extend(sums[y], values[element], right.x);
            extend(sums[y], values[element + 1], right.y);
          }
        }
      }
    }
    __syncwarp();  // all lanes have read the last piece
    const T* const x = rows.data + (first + (lane < count ? lane : 0)) * rows.stride;
#pragma unroll
    for (int y = 0; y < most_side_by_side; ++y) {
      if (y < others)
        for (int column = units * quad<T>; column < rows.columns; ++column)
          extend(sums[y], static_cast<double>(__ldg(x + column)),
                 static_cast<double>(__ldg(ys.data + which[y] * ys.stride + column)));
      distances[y] = sums[y];
    }
  }

 private:
  template <class T>
  __device__ __noinline__ static double distance_of_stored(const DeviceRows<T>& rows, std::int64_t row,
                                                           const DeviceRows<T>& others, std::int64_t other, int count) {
    double sum = 0;
    if (static_cast<int>(threadIdx.x) % 32 < count)
      for (int column = 0; column < rows.columns; column += 4) {
        const byte_rows::Quad<T> left(rows, row, column, false);
        const byte_rows::Quad<T> right(others, other, column, false);
        // Both rows end with zeros as padding, which add nothing to the sum.
#pragma unroll
        for (int index = 0; index < 4; ++index)
          extend(sum, static_cast<double>(left.values[index]), static_cast<double>(right.values[index]));
      }
    return sum;
  }

  static constexpr int few_units = 4;
  template <class T>
  static constexpr int quad = 16 / static_cast<int>(sizeof(T));
  template <class T>
  union Quads {
    uint4 all;
    T values[quad<T>];
  };

  /// Returns a number that permutes the units of a row. Because of the permutation, eight rows that are read together
  /// are read from different banks of shared memory.
  __device__ static int permutation(int row, int width) { return width >= 8 ? row & 7 : row >> 1 & 3; }
  __device__ static void extend(double& sum, double left, double right) {
    const double difference = left - right;
    sum = fma(difference, difference, sum);
  }
};

namespace byte_rows {

constexpr int sample_rows = 256;

/// Computes the mean of each column over a sample of the rows. Also computes the largest |y - mean| over all
/// coordinates of row y, and stores it in `largest` as the bits of a non-negative double. Launch shape: one block of
/// sample_rows threads per column.
template <class T>
__global__ void find_middle(const DeviceRows<T> rows, std::int64_t y, double* middle, Word* largest) {
  __shared__ double sums[sample_rows];
  const int column = static_cast<int>(blockIdx.x);
  const std::int64_t count = min(std::int64_t{sample_rows}, rows.count);
  const std::int64_t number = threadIdx.x;
  sums[threadIdx.x] = number < count ? static_cast<double>(value_at(rows, number * rows.count / count, column)) : 0.0;
  for (int half = sample_rows / 2; half > 0; half /= 2) {
    __syncthreads();  // the sums of the previous step have been stored
    if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  const double mean = sums[0] / static_cast<double>(count);
  middle[column] = mean;
  const double magnitude = fabs(static_cast<double>(value_at(rows, y, column)) - mean);
  // NaN is treated like infinity.
  atomicMax(largest, static_cast<Word>(
                         __double_as_longlong(magnitude >= 0 ? magnitude : std::numeric_limits<double>::infinity())));
}

/// The terms of the bound that the conversion of a row yields.
struct RowTerms {
  float scale;
  float square;
  float residue;
};

/// Converts a row to 8 bits. read(column) returns the four values of the row that begin with this column, and
/// store(column, bytes) stores their bytes. Each is called for multiples of four below the byte stride. `lanes`
/// consecutive threads (a power of two up to 32) convert a row together, and all threads of a warp must call this
/// function. If `is_row` is false, nothing is read or stored.
template <class T, class Read, class Store>
__device__ RowTerms convert_row(int columns, const DeviceByteRows& out, const double* middle, int lanes, bool is_row,
                                const Read& read, const Store& store) {
  constexpr unsigned int everyone = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  // For each group of four columns of the lane, calls visit(first column, the row's four values).
  const auto walk = [&](const auto& visit) {
    if (!is_row) return;
    for (int column = 4 * lane; column < out.stride; column += 4 * lanes) {
      const Quad<T> quad = read(column);
      double moved[4];
#pragma unroll
      for (int index = 0; index < 4; ++index)
        moved[index] = column + index < columns
                           ? (static_cast<double>(quad.values[index]) - __ldg(middle + column + index)) * out.unit
                           : 0.0;
      visit(column, moved);
    }
  };
  double largest = 0;
  walk([&](int, const double(&moved)[4]) {
    for (const double value : moved) largest = fmax(largest, fabs(value));
  });
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    largest = fmax(largest, __shfl_xor_sync(everyone, largest, distance));
  const float scale = __double2float_ru(largest / 127);
  const double per_unit = scale > 0 ? 1 / static_cast<double>(scale) : 0.0;
  double rests = 0;
  long long squares = 0;
  walk([&](int column, const double(&moved)[4]) {
    int rounded[4];
#pragma unroll
    for (int index = 0; index < 4; ++index) {
      rounded[index] = max(-127, min(127, __double2int_rn(moved[index] * per_unit)));
      const double rest = moved[index] - static_cast<double>(scale) * rounded[index];
      rests += rest * rest;
      squares += rounded[index] * rounded[index];
    }
    store(column, make_char4(static_cast<signed char>(rounded[0]), static_cast<signed char>(rounded[1]),
                             static_cast<signed char>(rounded[2]), static_cast<signed char>(rounded[3])));
  });
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    rests += __shfl_xor_sync(everyone, rests, distance);
    squares += __shfl_xor_sync(everyone, squares, distance);
  }
  const double wide = static_cast<double>(scale);
  return {scale, __double2float_rd(wide * wide * static_cast<double>(squares) * (1 - byte_margin)),
          residue_of(rests, columns, largest)};
}

/// Makes the 8-bit copy of rows. `closest` contains the squared distances to the chosen rows, or is null if the rows
/// need no reach. Launch shape: `lanes` threads per row (a power of two up to 32), and a grid-stride loop over the
/// rows.
template <class T>
__global__ void convert(const DeviceRows<T> rows, bool by_quads, const double* middle, int lanes, const double* closest,
                        const DeviceByteRows out) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // All lanes of a warp make the same number of rounds, because they exchange results in every round.
  const std::int64_t rounds = (rows.count * lanes + threads - 1) / threads;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t row = (round * threads + thread) / lanes;
    const bool is_row = row < rows.count;
    const RowTerms terms = convert_row<T>(
        rows.columns, out, middle, lanes, is_row, [&](int column) { return Quad<T>(rows, row, column, by_quads); },
        [&](int column, char4 bytes) {
          *reinterpret_cast<char4*>(out.unit_of(row, column / 16) + column % 16) = bytes;
        });
    if (!is_row || thread % lanes != 0) continue;
    out.length(row, DeviceByteRows::of_scale) = terms.scale;
    out.length(row, DeviceByteRows::of_square) = terms.square;
    out.length(row, DeviceByteRows::of_residue) = terms.residue;
    if (closest) out.length(row, DeviceByteRows::of_reach) = out.reach_of(closest[row], terms.residue);
  }
}

}  // namespace byte_rows

}  // namespace gradus::kmeans_detail
