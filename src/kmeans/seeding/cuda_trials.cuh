// Greedy k-means++ in one kernel: all blocks stay on the GPU for many steps (a cooperative launch), and each step costs
// one reading of the points' copy in bytes (cuda_bytes.cuh) and two barriers.
//
// A step: every block finds the trials' rows by itself, from the sums of w D of all blocks; each warp then compares its
// rows with all trials, and puts the pairs that the bytes leave undecided into a queue; when 32 and more wait, each
// lane takes one through the canonical chain. What a trial gains are sums of integers. After the first barrier all
// blocks know the best trial, and lower the distances that the warps remember; after the second one the new sums are
// there.
//
// A block has a stretch of neighbouring rows, so that its sum is a level of the prefix sums by which rows are drawn.
//
// The floor is the reading of n bytes of a row and 12 of what belongs to it, 34 us of 1,048,576 x 128 on an NVIDIA
// H200; a step takes 80: looking 52, the last chains of a warp 3, drawing 11, waiting for the slowest block 6, and 5
// for the second barrier and what stands between both. Tried without gain: candidates in two bytes (fewer chains, but
// more products: 71 instead of 54 us), three blocks a multiprocessor (registers do not suffice).
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include "core/philox.hpp"
#include "kmeans/seeding/cuda_bytes.cuh"
#include "kmeans/seeding/cuda_cover.cuh"

namespace gradus::kmeans_detail {

constexpr int most_trials = 16;

/// What a launch leaves behind.
struct TrialOutcome {
  std::int64_t steps;
  Word total;
};

template <class T>
struct TrialJob {
  CoverJob<T> cover;
  DeviceByteRows bytes;
  core::Philox random{0};
  Word first_draw;
  int trials;
  int steps;         ///< at most
  Word total;        ///< before the first step
  Word least_total;  ///< below it the integers are to be made anew
  bool by_quads;     ///< points can be read by 16 bytes
  Word* part_sums;   ///< a sum for each block
  Word* gains;       ///< three sets of most_trials, of zeros
  std::int64_t* chosen;
  TrialOutcome* outcome;
};

namespace trials {

constexpr int warps = 8;
constexpr int threads = 32 * warps;
constexpr int warp_rows = 32;
constexpr int blocks_of_a_multiprocessor = 2;  ///< at most: two hide what memory takes, and fewer meet at barriers
constexpr int remembered = 128;  ///< pairs of a warp that came nearer, while it is not known which trial is the best
constexpr unsigned int everyone = 0xffffffffu;

static_assert(threads == block_rows);

/// Room for the pairs that one look at a warp's rows may leave, and for those of before that are not 32 yet.
constexpr int queue_room(int trials) { return warp_rows * (trials + 1); }

struct Remembered {
  double distance;
  unsigned int pair;
};

/// How a block lays out its shared memory.
struct Layout {
  int pitch;          ///< of the candidates' bytes
  int padded_trials;  ///< a multiple of the eight of a product
  int candidates;     ///< bytes: those of the candidates, and before them the sums of all blocks
  int queue;

  __host__ __device__ Layout(int stride, int trials, int grid)
      : pitch(byte_pitch(stride)), padded_trials((trials + 7) / 8 * 8),
        candidates(((padded_trials * pitch > 8 * grid ? padded_trials * pitch : 8 * grid) + 15) / 16 * 16),
        queue(queue_room(trials)) {}
  __host__ __device__ int bytes() const {
    return candidates + warps * (remembered * static_cast<int>(sizeof(Remembered)) + queue * 4);
  }
};

/// The first of `count` numbers at which their prefix sum passes `target`, which is lowered by what comes before. By a
/// warp; all lanes get the same answer. `number(index)`: less than 2^62 in all, and more than `target`.
template <class Number>
__device__ int passes_at(int count, Word& target, const Number& number) {
  constexpr int most = 16;  // numbers that a lane asks for at a time, so that it waits for memory once
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int begin = 0;; begin += 32 * most) {
    const int width = (min(count - begin, 32 * most) + 31) / 32;
    const int first = begin + lane * width;
    Word numbers[most];
#pragma unroll
    for (int index = 0; index < most; ++index)
      numbers[index] = index < width && first + index < count ? number(first + index) : 0;
    Word mine = 0;
#pragma unroll
    for (const Word one : numbers) mine += one;
    Word prefix = mine;
    for (int distance = 1; distance < 32; distance *= 2) {
      const Word other = __shfl_up_sync(everyone, prefix, distance);
      if (lane >= distance) prefix += other;
    }
    const unsigned int passed = __ballot_sync(everyone, prefix > target);
    if (passed == 0) {
      target -= __shfl_sync(everyone, prefix, 31);
      continue;
    }
    Word rest = target - (prefix - mine);  // of the lane in whose numbers it is
    int place = first;
    bool found = false;
#pragma unroll
    for (const Word one : numbers) {
      found |= rest < one;
      if (!found) {
        rest -= one;
        ++place;
      }
    }
    const int winner = __ffs(static_cast<int>(passed)) - 1;
    target = __shfl_sync(everyone, rest, winner);
    return __shfl_sync(everyone, place, winner);
  }
}

/// The part of a block that is its own: rows [first, last), and what the block's threads share.
template <class T>
class Walker {
 public:
  __device__ Walker(const TrialJob<T>& job, unsigned char* memory)
      : job_(job), layout_(job.bytes.stride, job.trials, static_cast<int>(gridDim.x)), own_(own()),
        warp_(static_cast<int>(threadIdx.x) / 32), lane_(static_cast<int>(threadIdx.x) % 32) {
    const std::int64_t blocks = job.cover.row_blocks();
    const auto grid = static_cast<std::int64_t>(gridDim.x);
    first_block_ = blocks * blockIdx.x / grid;
    end_block_ = blocks * (std::int64_t{blockIdx.x} + 1) / grid;
    first_row_ = first_block_ * block_rows;
    last_row_ = min(end_block_ * block_rows, job.cover.rows.count) - 1;
    remembered_ = reinterpret_cast<Remembered*>(memory) + warp_ * remembered;
    candidates_ = reinterpret_cast<signed char*>(memory + warps * remembered * sizeof(Remembered));
    queue_ = reinterpret_cast<unsigned int*>(candidates_ + layout_.candidates) + warp_ * layout_.queue;
  }

  /// The block's own sum of w D.
  __device__ void sum_up() {
    if (threadIdx.x == 0) own_.sum = 0;
    __syncthreads();  // it is 0
    Word sum = 0;
    for (std::int64_t block = first_block_ + threadIdx.x; block < end_block_; block += threads)
      sum += job_.cover.block_sums[block];
    if (sum > 0) atomicAdd(&own_.sum, sum);
  }
  /// To be called after a barrier of the block.
  __device__ void publish() const {
    if (threadIdx.x == 0) job_.part_sums[blockIdx.x] = own_.sum;
  }

  /// Draws the trials of a step, and brings their bytes here.
  __device__ void draw(Word first_draw, Word total) {
    const CoverJob<T>& cover = job_.cover;
    const auto grid = static_cast<std::int64_t>(gridDim.x);
    Word* const parts = reinterpret_cast<Word*>(candidates_);  // not needed yet
    for (int part = static_cast<int>(threadIdx.x); part < static_cast<int>(grid); part += threads)
      parts[part] = __ldcg(job_.part_sums + part);
    __syncthreads();  // the sums of all blocks are here
    for (int trial = warp_; trial < job_.trials; trial += warps) {
      Word target = job_.random.below(first_draw + static_cast<Word>(trial), total);
      const int part = passes_at(static_cast<int>(grid), target, [&](int index) { return parts[index]; });
      const std::int64_t begin = cover.row_blocks() * part / grid;
      const std::int64_t end = cover.row_blocks() * (std::int64_t{part} + 1) / grid;
      const std::int64_t block = begin + passes_at(static_cast<int>(end - begin), target,
                                                   [&](int index) { return __ldcg(cover.block_sums + begin + index); });
      const std::int64_t first = block * block_rows;
      const auto rows = static_cast<int>(min(std::int64_t{block_rows}, cover.rows.count - first));
      const std::int64_t row =
          first + passes_at(rows, target, [&](int index) {
            return cover.quantize(cover.weighed(first + index, __ldcg(cover.closest + first + index)));
          });
      if (lane_ == 0) {
        own_.rows[trial] = row;
        own_.gains[trial] = 0;
        own_.candidates[trial] = {2 * job_.bytes.scale[row], job_.bytes.square[row], job_.bytes.residue[row]};
      }
    }
    if (threadIdx.x < warps) own_.forgot[threadIdx.x] = false;
    __syncthreads();  // the rows are known
    bring_bytes(job_.bytes, own_.rows, job_.trials, layout_.padded_trials, candidates_);
    waiting_ = 0;
    kept_ = 0;
    __syncthreads();  // the candidates are complete
  }

  /// Compares all rows of the block with the trials.
  __device__ void look(bool is_even) {
    // To and fro: what was read last is still in the cache.
    const auto place = [&](std::int64_t number) { return is_even ? first_block_ + number : end_block_ - 1 - number; };
    const std::int64_t count = end_block_ - first_block_;
    for (std::int64_t number = 0; number < count; ++number) {
      const std::int64_t first = place(number) * block_rows + warp_ * warp_rows;
      if (number + 1 < count) {
        const std::int64_t next = place(number + 1) * block_rows + warp_ * warp_rows;
        fetch_bytes(job_.bytes, next, min(std::int64_t{warp_rows}, last_row_ + 1 - next));
      }
      for (int eight = 0; eight < layout_.padded_trials; eight += 8) look_at(first, eight);
      while (waiting_ >= 32) take_from_queue();
    }
    while (waiting_ > 0) take_from_queue();
    __syncthreads();  // all gains are there
    if (static_cast<int>(threadIdx.x) < job_.trials && own_.gains[threadIdx.x] > 0)
      atomicAdd(&gains_[threadIdx.x], own_.gains[threadIdx.x]);
  }

  /// Lowers the distances of the points that the best trial comes nearer to.
  __device__ void add(int best) {
    __syncwarp();
    if (own_.forgot[warp_]) {
      for (std::int64_t block = first_block_; block < end_block_; ++block) {
        const std::int64_t row = block * block_rows + warp_ * warp_rows + lane_;
        if (row > last_row_) continue;
        const double distance = distance_to(row, best);
        if (distance < job_.cover.closest[row]) lower(row, distance);
      }
      return;
    }
    for (int index = lane_; index < kept_; index += 32) {
      const Remembered kept = remembered_[index];
      if (static_cast<int>(kept.pair % most_trials) == best) lower(first_row_ + kept.pair / most_trials, kept.distance);
    }
  }

  __device__ void use_gains(Word* gains) { gains_ = gains; }
  __device__ std::int64_t trial_row(int trial) const { return own_.rows[trial]; }

 private:
  struct Own {
    Word sum;
    Word gains[most_trials];
    std::int64_t rows[most_trials];
    ByteCandidate candidates[most_trials];
    bool forgot[warps];  ///< whether a warp had no room for all pairs that came nearer
  };
  __device__ static Own& own() {
    __shared__ Own memory;
    return memory;
  }

  __device__ double distance_to(std::int64_t row, int trial) const {
    const DeviceRows<T>& rows = job_.cover.rows;
    return distance_between(rows.data + row * rows.stride, rows.data + own_.rows[trial] * rows.stride, rows.columns,
                            job_.by_quads);
  }

  /// Asks for a row of the points, which will be needed soon.
  __device__ void fetch(std::int64_t row) const {
    const DeviceRows<T>& rows = job_.cover.rows;
    const T* const begin = rows.data + row * rows.stride;
    for (int column = 0; column < rows.columns; column += 128 / static_cast<int>(sizeof(T)))
      asm volatile("prefetch.global.L2 [%0];" ::"l"(begin + column));
  }

  /// 32 rows and 8 trials by a warp: two products of 16 rows. Lane 4 g + t has bytes 16 t to 16 t + 15 of each 64 of
  /// rows g, g + 8, ...; which of the product's columns they are is the same for trials, and so does not matter.
  __device__ void look_at(std::int64_t first, int eight) {
    const int stride = job_.bytes.stride;
    const int group = lane_ / 4;
    const int quarter = lane_ % 4;
    // There is room for all rows of the last block.
    const signed char* rows = job_.bytes.bytes + (first + group) * stride + 16 * quarter;
    BytePoint points[4];
#pragma unroll
    for (int index = 0; index < 4; ++index) {
      const std::int64_t row = first + group + 8 * index;
      points[index] = {__ldg(job_.bytes.scale + row), __ldg(job_.bytes.square + row), __ldcg(job_.bytes.reach + row)};
    }
    const signed char* trial = candidates_ + (eight + group) * layout_.pitch + 16 * quarter;
    int sums[2][4] = {};
#pragma unroll 2
    for (int column = 0; column < stride; column += 64) {
      uint4 part[4];
      const bool is_there = column + 16 * quarter < stride;
#pragma unroll
      for (int index = 0; index < 4; ++index)
        part[index] = is_there ? read_once(rows + 8 * index * stride + column) : make_uint4(0, 0, 0, 0);
      const uint4 other = *reinterpret_cast<const uint4*>(trial + column);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint4 upper = part[2 * half];
        const uint4 lower = part[2 * half + 1];
        multiply_bytes(sums[half], upper.x, lower.x, upper.y, lower.y, other.x, other.y);
        multiply_bytes(sums[half], upper.z, lower.z, upper.w, lower.w, other.z, other.w);
      }
    }
    // Sums 0 and 1 are those of row g and trials 2 t and 2 t + 1, sums 2 and 3 those of row g + 8.
    unsigned int undecided = 0;
#pragma unroll
    for (int next = 0; next < 2; ++next) {
      const int number = eight + 2 * quarter + next;
      if (number >= job_.trials) continue;
      const ByteCandidate candidate = own_.candidates[number];
#pragma unroll
      for (int index = 0; index < 4; ++index)
        if (first + group + 8 * index <= last_row_ &&
            !points[index].is_out_of_reach(candidate, sums[index / 2][index % 2 * 2 + next]))
          undecided |= 1u << (index * 2 + next);
    }
    if (!__any_sync(everyone, undecided != 0)) return;
    int place = __popc(undecided);
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(everyone, place, distance);
      if (lane_ >= distance) place += other;
    }
    const int found = __shfl_sync(everyone, place, 31);
    place += waiting_ - __popc(undecided);
    const auto local = static_cast<unsigned int>(first - first_row_) + static_cast<unsigned int>(group);
    for (; undecided != 0; undecided &= undecided - 1) {
      const int bit = __ffs(static_cast<int>(undecided)) - 1;
      fetch(first + group + 8 * (bit / 2));
      queue_[place++] = (local + 8u * static_cast<unsigned int>(bit / 2)) * most_trials +
                        static_cast<unsigned int>(eight + 2 * quarter + bit % 2);
    }
    waiting_ += found;
    __syncwarp();  // the queue is written
  }

  /// The canonical distance of the last pairs that wait, up to 32.
  __device__ void take_from_queue() {
    const int count = min(waiting_, 32);
    waiting_ -= count;
    const unsigned int pair = lane_ < count ? queue_[waiting_ + lane_] : 0;
    __syncwarp();  // it is read
    double distance = 0;
    bool is_nearer = false;
    if (lane_ < count) {
      const std::int64_t row = first_row_ + pair / most_trials;
      const int trial = static_cast<int>(pair % most_trials);
      distance = distance_to(row, trial);
      const double before = job_.cover.closest[row];
      is_nearer = distance < before;
      if (is_nearer) {
        const CoverJob<T>& cover = job_.cover;
        const Word gain = cover.quantize(cover.weighed(row, before)) - cover.quantize(cover.weighed(row, distance));
        if (gain > 0) atomicAdd(&own_.gains[trial], gain);
      }
    }
    const unsigned int nearer = __ballot_sync(everyone, is_nearer);
    const int place = kept_ + __popc(nearer & ((1u << lane_) - 1));
    kept_ += __popc(nearer);
    if (is_nearer && place < remembered) remembered_[place] = {distance, pair};
    if (kept_ > remembered) {
      kept_ = remembered;
      if (lane_ == 0) own_.forgot[warp_] = true;
    }
  }

  __device__ void lower(std::int64_t row, double distance) {
    const CoverJob<T>& cover = job_.cover;
    const Word less =
        cover.quantize(cover.weighed(row, cover.closest[row])) - cover.quantize(cover.weighed(row, distance));
    cover.closest[row] = distance;
    job_.bytes.reach[row] = job_.bytes.reach_of(row, distance);
    if (less == 0) return;
    atomicAdd(&cover.block_sums[row / block_rows], Word{0} - less);
    atomicAdd(&own_.sum, Word{0} - less);
  }

  const TrialJob<T>& job_;
  Layout layout_;
  Own& own_;
  int warp_;
  int lane_;
  std::int64_t first_block_;
  std::int64_t end_block_;
  std::int64_t first_row_;
  std::int64_t last_row_;
  Remembered* remembered_;
  signed char* candidates_;
  unsigned int* queue_;
  Word* gains_ = nullptr;
  int waiting_ = 0;  ///< pairs in the warp's queue
  int kept_ = 0;     ///< pairs that the warp remembers
};

struct Best {
  int trial;
  Word gain;
};

/// The first of the trials that gain most, for each warp.
__device__ inline Best best_of(const Word* gains, int trials) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Best best{lane, lane < trials ? __ldcg(gains + lane) : 0};
  for (int distance = 16; distance > 0; distance /= 2) {
    const Best other{__shfl_down_sync(everyone, best.trial, distance), __shfl_down_sync(everyone, best.gain, distance)};
    if (other.gain > best.gain || (other.gain == best.gain && other.trial < best.trial)) best = other;
  }
  return {__shfl_sync(everyone, best.trial, 0), __shfl_sync(everyone, best.gain, 0)};
}

// Launch shape: cooperative, blocks of `threads`, as many as the GPU holds at once or there are blocks of rows.
template <class T>
__global__ void __launch_bounds__(threads, blocks_of_a_multiprocessor)
    take_steps(const __grid_constant__ TrialJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  Walker<T> walker(job, memory);
  walker.sum_up();
  __syncthreads();  // the sum is there
  walker.publish();
  grid.sync();  // all blocks' sums are there
  Word total = job.total;
  int step = 0;
  while (step < job.steps && total > 0 && total >= job.least_total) {
    Word* const gains = job.gains + step % 3 * most_trials;
    if (blockIdx.x == 0 && threadIdx.x < most_trials)  // all are past the barrier behind which they read them
      job.gains[(step + 1) % 3 * most_trials + threadIdx.x] = 0;
    walker.use_gains(gains);
    walker.draw(job.first_draw + static_cast<Word>(step) * static_cast<Word>(job.trials), total);
    walker.look(step % 2 == 0);
    grid.sync();  // all blocks' gains are there
    const auto [best, most] = best_of(gains, job.trials);
    total -= most;
    if (blockIdx.x == 0 && threadIdx.x == 0) job.chosen[step] = walker.trial_row(best);
    walker.add(best);
    __syncthreads();  // the block's sum is complete
    walker.publish();
    grid.sync();  // all blocks' sums are there
    ++step;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *job.outcome = {std::int64_t{step}, total};
}

}  // namespace trials

}  // namespace gradus::kmeans_detail
