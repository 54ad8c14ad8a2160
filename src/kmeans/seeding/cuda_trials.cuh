// Greedy k-means++ in one cooperative kernel, whose blocks stay on the GPU for many steps. Each step reads the 8-bit
// copy of the points (cuda_bytes.cuh) once. The blocks exchange words twice per step.
//
// Each block owns a range of consecutive rows, and no other block knows the distances of these rows. But every block
// keeps the sums of w D (weight times squared distance) of all blocks. In a step, the warps of a block take tiles of
// its rows in turn. A warp compares a tile with all trials and queues the pairs that the copy leaves undecided. When at
// least 32 pairs wait, each lane computes the canonical chain of one pair. The gain of a trial is a sum of integers.
// Each block publishes the gains within its rows. From all published gains, every block computes the best trial and the
// new sums of all blocks. Every block then draws the trials of the next step. If a trial is in a block's rows, this
// block finds the trial's row and publishes the row number.
//
// If the copy of all rows fits in the shared memory of the blocks, each block keeps its rows there, with the integers
// of w D. A step then reads from other memory only the trials, and the rows of pairs that the copy leaves undecided.
//
// A published word carries a mark of the step. Readers poll the word until it has the mark that they expect; there is
// no other barrier. While a block polls, the first tiles of the next comparison are loading.
//
// If the GPUs of several ranks can write to each other's memory, the blocks of all ranks work together in the same way.
// Each block publishes its words to all GPUs, and knows the sums of the blocks of all ranks. The block that draws a row
// sends the row itself, because no other GPU has it. Each block makes its own 8-bit copy of the rows that it receives.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>
#include <type_traits>

#include "core/philox.hpp"
#include "kmeans/seeding/cuda_bytes.cuh"
#include "kmeans/seeding/cuda_cover_job.cuh"

namespace gradus::kmeans_detail {

constexpr int most_trials = 16;

/// A row, and a trial that is nearer to this row than the row's chosen row.
struct KeptPair {
  double distance;
  std::int64_t pair;  ///< row * most_trials + trial
};

struct TrialOutcome {
  std::int64_t steps;
  Word total;
  Word own_total;  ///< total of this rank's rows
};

/// The blocks of all ranks, which take steps together. They write to the inboxes of all GPUs. Before a launch, all bits
/// of the inboxes are 1, which no published word and no coordinate has. A sent row has a separate place for every step
/// of the launch. So no block has read this place before, and the place is in no cache of a multiprocessor.
template <class T>
struct TrialRanks {
  static constexpr int most = 8;

  Word* inboxes[most];
  int rank;
  int ranks;
  std::int64_t first_row;  ///< global number of this rank's first row
  T* sent_rows;            ///< in this rank's inbox: [step][trial], cover.others.stride elements apart
  const double* middle;    ///< the middle of this rank's 8-bit copy
  const int* abort;        ///< becomes 1 if another rank has given up

  /// Returns the place in the inbox of a rank that corresponds to a place in this rank's inbox.
  template <class Value>
  __device__ Value* of_rank(int other, Value* place) const {
    return reinterpret_cast<Value*>(
        reinterpret_cast<unsigned char*>(inboxes[other]) +
        (reinterpret_cast<unsigned char*>(place) - reinterpret_cast<unsigned char*>(inboxes[rank])));
  }
};

template <class T>
struct TrialJob {
  CoverJob<T> cover;
  DeviceByteRows bytes;
  DeviceByteRows others;  ///< the copy of cover.others
  core::Philox random{0};
  Word first_draw;
  int trials;
  int steps;           ///< the largest number of steps
  Word total;          ///< total of w D before the first step
  Word least_total;    ///< if the total falls below this value, the integers must be rescaled
  bool by_quads;       ///< true if points can be read in 16-byte units
  int resident_tiles;  ///< the largest number of tiles of a block that keeps its rows in shared memory, otherwise 0
  int unit_tiles;   ///< tiles per unit (1 for few points, otherwise the tiles of one sum); each block gets whole units
  int parts;        ///< number of blocks; with several ranks, of all ranks
  int first_part;   ///< number of this rank's first block among them
  Word* part_sums;  ///< one sum per block
  Word* published_gains;  ///< [2][trial][block]; initially 0, like all published words
  Word* published_rows;  ///< [trial], holds most_trials words; with several ranks, [step][trial] and the global numbers
  unsigned int* nearer;  ///< [row][most_trials]: one bit per pair, initially 0; set if the trial is nearer than the
                         ///< chosen row, but the warp had no room for the pair
  std::int64_t* chosen;
  TrialOutcome* outcome;
  TrialRanks<T> ranks;

  // Used by measure_trials and add_kept.
  KeptPair* kept;
  Word kept_room;
  const StepState* state;  ///< if it is not null, the state determines whether the kernel does anything
  Word* kept_count;        ///< number of pairs, initially 0; if it is at least kept_room, `kept` may lack pairs
};

namespace trials {

/// The maximum number of warps per block. If there were more warps, a thread would have too few registers, and the
/// values that it spills would not stay in the cache.
constexpr int most_warps = 12;
constexpr int most_threads = 32 * most_warps;
constexpr int most_blocks = 512;  ///< maximum number of blocks in the grid, and of sums that are scanned at a time

/// The number of pairs that a warp can store while the best trial is not yet known. A pair is stored only if the trial
/// is nearer than the chosen row.
constexpr int remembered = 64;
constexpr unsigned int everyone = 0xffffffffu;

/// Capacity of a warp's queue: all pairs of one tile and eight trials, plus up to 31 earlier pairs.
constexpr int queue_room = 8 * tile_rows + 32;

struct WarpRoom {
  unsigned char chains[Chains::bytes];
  alignas(16) SharedByteStream::Numbers numbers;
  double distances[remembered];
  unsigned int pairs[remembered];
  unsigned int queue[queue_room];
};

/// Layout of a block's shared memory: first the stages of the copy, then the warps' data, the candidates, the sums of
/// all blocks, and the integers of the rows if they are resident.
struct Layout {
  int chunks;
  int eights;      ///< groups of eight trials
  int candidates;  ///< bytes of all candidates
  int parts;
  int resident_tiles;  ///< tiles that stay in shared memory, or 0 if they are streamed

  __host__ __device__ Layout(int chunks_of_rows, int trials, int all_parts, int tiles)
      : chunks(chunks_of_rows), eights((trials + 7) / 8), candidates(eights * candidate_bytes(chunks)),
        parts(all_parts), resident_tiles(tiles) {}
  __host__ __device__ int stages(int warps) const {
    return resident_tiles > 0 ? resident_tiles * chunks : warps * ByteStream::stages;
  }
  __host__ __device__ int bytes(int warps) const {
    return stages(warps) * static_cast<int>(sizeof(ByteStage)) + warps * static_cast<int>(sizeof(WarpRoom)) +
           candidates + 8 * parts + 8 * padded(resident_tiles * tile_rows);
  }
  /// Returns the place of a row's integer. Lanes read integers that are 16 rows apart, so a gap after each 16 rows
  /// avoids bank conflicts.
  __host__ __device__ static int padded(int row) { return row + row / 16; }
};

/// A tile and eight trials have 256 pairs. If more of them than this number are undecided, all 256 distances are
/// computed.
constexpr int most_by_pairs = 64;

/// A published word holds a number in its lower 62 bits. The two highest bits are a mark, which identifies the step in
/// which the word was written. A mark of 0 means that no step has written the word yet.
constexpr int mark_shift = 62;
__device__ inline Word mark_of(int step) { return Word{1} + static_cast<Word>(step / 2 % 2); }

__device__ inline void publish(Word* place, Word word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(place), "l"(word) : "memory");
}
__device__ inline void publish_to_gpus(Word* place, Word word) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(place), "l"(word) : "memory");
}
__device__ inline Word load_of_gpus(const Word* place) {
  Word word = 0;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(place) : "memory");
  return word;
}

/// Sends four coordinates of a row to a GPU.
__device__ inline void send(float* to, const float (&values)[4]) {
  asm volatile("st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(values[0]), "f"(values[1]),
               "f"(values[2]), "f"(values[3])
               : "memory");
}
__device__ inline void send(double* to, const double (&values)[4]) {
  asm volatile("st.relaxed.sys.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(values[0]), "d"(values[1]) : "memory");
  asm volatile("st.relaxed.sys.global.v2.f64 [%0], {%1, %2};" ::"l"(to + 2), "d"(values[2]), "d"(values[3]) : "memory");
}
__device__ inline void load_sent(const float* from, float (&values)[4]) {
  asm volatile("ld.relaxed.sys.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "l"(from)
               : "memory");
}
__device__ inline void load_sent(const double* from, double (&values)[4]) {
  asm volatile("ld.relaxed.sys.global.v2.f64 {%0, %1}, [%2];"
               : "=d"(values[0]), "=d"(values[1])
               : "l"(from)
               : "memory");
  asm volatile("ld.relaxed.sys.global.v2.f64 {%0, %1}, [%2];"
               : "=d"(values[2]), "=d"(values[3])
               : "l"(from + 2)
               : "memory");
}
__device__ inline Word load_published(const Word* place) {
  Word word = 0;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(place) : "memory");
  return word;
}

/// Returns the index of the first of `count` numbers at which the prefix sum exceeds `target`. Subtracts the numbers
/// before this index from `target`. A whole warp must call this function, and all lanes get the same result. The sum of
/// all numbers must exceed `target` and be less than 2^62.
template <class Number>
__device__ int passes_at(int count, Word& target, const Number& number) {
  constexpr int most = 16;  // maximum number of values that a lane loads before it waits for memory
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
    Word rest = target - (prefix - mine);  // the rest of `target`; valid in the lane whose numbers contain the index
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

/// The new reach of a row, and the decrease of its integer.
struct Lowered {
  float reach;
  Word less;
};

/// Lowers the distance of a row and the sum of its block.
template <class T>
__device__ inline Lowered lower(const TrialJob<T>& job, std::int64_t row, double distance) {
  const CoverJob<T>& cover = job.cover;
  const Word less =
      cover.quantize(cover.weighed(row, cover.closest[row])) - cover.quantize(cover.weighed(row, distance));
  cover.closest[row] = distance;
  const float reach = job.bytes.reach_of(distance, job.bytes.length(row, DeviceByteRows::of_residue));
  job.bytes.length(row, DeviceByteRows::of_reach) = reach;
  if (less > 0) atomicAdd(&cover.block_sums[row / block_rows], Word{0} - less);
  return {reach, less};
}

/// The work of one block. The block owns the rows [first_row_, last_row_], and its threads share some state. If `Adds`
/// is true, the block adds the best trial itself. Otherwise it appends the pairs that add_kept needs to TrialJob::kept.
/// If `Resident` is true, the block keeps its rows in shared memory. If `Across` is true, the blocks of several ranks
/// take the steps together (TrialRanks). Functions that wait for other blocks then return false if another rank has
/// given up, and otherwise true.
template <class T, bool Adds, bool Resident, bool Across = false>
class Walker {
 public:
  __device__ Walker(const TrialJob<T>& job, unsigned char* memory)
      : job_(job), layout_(job.bytes.chunks(), job.trials, job.parts, job.resident_tiles), own_(own()),
        warp_(static_cast<int>(threadIdx.x) / 32), lane_(static_cast<int>(threadIdx.x) % 32),
        warps_(static_cast<int>(blockDim.x) / 32), stages_(reinterpret_cast<ByteStage*>(memory)),
        rooms_(reinterpret_cast<WarpRoom*>(stages_ + layout_.stages(warps_))), room_(rooms_[warp_]),
        candidates_(reinterpret_cast<uint4*>(rooms_ + warps_)),
        parts_(reinterpret_cast<Word*>(reinterpret_cast<unsigned char*>(candidates_) + layout_.candidates)),
        integers_(parts_ + layout_.parts), first_row_(first_row_of(blockIdx.x)), stream_(stream_of(job.bytes)) {
    last_row_ = min(first_row_of(std::int64_t{blockIdx.x} + 1), job.cover.rows.count) - 1;
    const auto tiles = static_cast<int>((last_row_ - first_row_) / tile_rows) + 1;
    tiles_ = (tiles - warp_ + warps_ - 1) / warps_;
    if (threadIdx.x < 2) {
      own_.overflowed[threadIdx.x] = false;
      own_.taken[threadIdx.x] = 0;
    }
    if constexpr (Resident) stream_.load(tiles_of(0));
    // The unused places of the last group of eight are also written, because they are multiplied together with the used
    // places. The results for unused places are ignored. receive_trial() does not write the end of a place.
    for (int trial = (Across ? 0 : job.trials) + warp_; trial < 8 * layout_.eights; trial += warps_)
      bring_candidate(job.bytes, -1, trial, candidates_);
    __syncthreads();  // the counters are initialised
  }

  /// Computes the sum of w D over this block's rows and publishes it.
  __device__ void sum_up() {
    if (threadIdx.x == 0) own_.sum = 0;
    __syncthreads();  // the sum is initialised to 0
    Word sum = 0;
    if (job_.unit_tiles == 1) {
      for (std::int64_t row = first_row_ + threadIdx.x; row <= last_row_; row += blockDim.x) {
        const Word integer = job_.cover.integer(row);
        if constexpr (Resident) integers_[Layout::padded(static_cast<int>(row - first_row_))] = integer;
        sum += integer;
      }
    } else {
      for (std::int64_t block = first_row_ / block_rows + threadIdx.x; block * block_rows <= last_row_;
           block += blockDim.x)
        sum += job_.cover.block_sums[block];
    }
    if (sum > 0) atomicAdd(&own_.sum, sum);
    __syncthreads();  // the sum is complete
    if constexpr (Across) {
      if (static_cast<int>(threadIdx.x) < job_.ranks.ranks)
        publish_to_gpus(job_.ranks.of_rank(static_cast<int>(threadIdx.x), job_.part_sums + own_part()), own_.sum);
    } else {
      if (threadIdx.x == 0) job_.part_sums[blockIdx.x] = own_.sum;
    }
  }
  /// Reads the sums of all blocks. Without several ranks, call it after a grid barrier.
  __device__ bool read_sums() {
    for (int part = static_cast<int>(threadIdx.x); part < job_.parts; part += static_cast<int>(blockDim.x)) {
      if constexpr (Across) parts_[part] = wait_for(job_.part_sums + part, [](Word word) { return ~word != 0; });
      else parts_[part] = __ldcg(job_.part_sums + part);
    }
    return meet();  // the sums are stored
  }

  __device__ void start_comparison(int step) {
    if constexpr (Resident) stream_.start(tiles_of(step));
    else stream_.start(block_tiles(step), &own_.taken[step % 2]);
  }

  /// Draws the trials of a step. If a trial is a row of this block, publishes its row number. Call it after a block
  /// barrier.
  __device__ void draw(Word first_draw, Word total, int step) {
    const CoverJob<T>& cover = job_.cover;
    for (int trial = warp_; trial < job_.trials; trial += warps_) {
      Word target = job_.random.below(first_draw + static_cast<Word>(trial), total);
      const int part = passes_at(job_.parts, target, [&](int index) { return parts_[index]; });
      if (part != own_part()) continue;
      std::int64_t first = first_row_;
      auto rows = static_cast<int>(last_row_ - first_row_ + 1);
      if (job_.unit_tiles > 1) {
        const std::int64_t block = first_row_ / block_rows;
        first +=
            std::int64_t{block_rows} * passes_at(static_cast<int>(last_row_ / block_rows - block) + 1, target,
                                                 [&](int index) { return __ldcg(cover.block_sums + block + index); });
        rows = static_cast<int>(min(std::int64_t{block_rows}, cover.rows.count - first));
      }
      const std::int64_t row =
          first + passes_at(rows, target, [&](int index) -> Word {
            if constexpr (Resident) return integers_[Layout::padded(index)];
            return cover.quantize(cover.weighed(first + index, __ldcg(cover.closest + first + index)));
          });
      if constexpr (Across) send_trial(place_of(step, trial), row);
      else if (lane_ == 0)
        publish(job_.published_rows + trial, (static_cast<Word>(step) + 1) << row_bits | static_cast<Word>(row));
    }
  }

  __device__ bool bring_trials(int step) {
    for (int trial = warp_; trial < job_.trials; trial += warps_) {
      if constexpr (Across) {
        receive_trial(trial, place_of(step, trial));
      } else {
        Word word = 0;
        do word = load_published(job_.published_rows + trial);
        while (word >> row_bits != static_cast<Word>(step) + 1);
        bring_trial(trial, static_cast<std::int64_t>(word & ((Word{1} << row_bits) - 1)));
      }
    }
    return meet();  // the candidates are complete
  }
  /// Copies those rows of cover.others that have the numbers `which` to the places of the trials.
  __device__ void bring_trials(const std::int64_t* which) {
    for (int trial = warp_; trial < job_.trials; trial += warps_) bring_trial(trial, which[trial]);
    __syncthreads();  // the candidates are complete
  }

  /// Compares all rows of the block with the trials. Computes the trials' gains within these rows.
  __device__ void compare(int step) {
    waiting_ = 0;
    kept_ = 0;
    parity_ = step % 2;
    if (threadIdx.x == 0) {  // for the next step; no thread uses these before the barrier below
      own_.taken[1 - parity_] = 0;
      own_.overflowed[1 - parity_] = false;
    }
    stream_.begin();
    if constexpr (Resident) {
      const Tiles tiles = tiles_of(step);
      auto local = static_cast<int>(tiles.row(0) - first_row_);
      for (int number = 0; number < tiles_; ++number, local += tiles.step * tile_rows) compare_tile(local);
    } else {
      const Tiles tiles = block_tiles(step);
      for (int tile = stream_.next_tile(); tile >= 0; tile = stream_.next_tile())
        compare_tile(static_cast<int>(tiles.row(tile) - first_row_));
    }
    while (waiting_ > 0) take_from_queue();
    __syncthreads();  // all gains are added
  }
  __device__ void publish_gains(int step) {
    const int messages = Across ? job_.trials * job_.ranks.ranks : job_.trials;
    for (int message = static_cast<int>(threadIdx.x); message < messages; message += static_cast<int>(blockDim.x)) {
      const int trial = Across ? message % job_.trials : message;
      Word* const place = published_gains(step, trial) + own_part();
      const Word word = mark_of(step) << mark_shift | own_gain(trial);
      if constexpr (Across) publish_to_gpus(job_.ranks.of_rank(message / job_.trials, place), word);
      else publish(place, word);
    }
  }
  /// Adds the trials' gains within the block's rows to `gains`, which has one element per trial.
  __device__ void add_gains_to(Word* gains) {
    const auto trial = static_cast<int>(threadIdx.x);
    if (trial < job_.trials && own_gain(trial) > 0) atomicAdd(gains + trial, own_gain(trial));
  }

  struct Best {
    int trial;  ///< negative if another rank has given up
    Word gain;
  };

  /// Returns the trial with the largest gain over all blocks. Ties go to the first trial.
  __device__ Best find_best(int step) {
    constexpr int at_once = Across ? 9 : 8;  // 9 words per lane suffice for two GPUs of 132 multiprocessors
    for (int trial = warp_; trial < job_.trials; trial += warps_) {
      Word sum = 0;
      const Word* const published = published_gains(step, trial);
      for (int begin = 0; begin < job_.parts; begin += 32 * at_once) {
        Word words[at_once];
        bool are_there = false;
        [[maybe_unused]] unsigned int checks = 0;
        do {
          are_there = true;
#pragma unroll
          for (int index = 0; index < at_once; ++index) {
            const int part = begin + 32 * index + lane_;
            words[index] = part < job_.parts ? load(published + part) : mark_of(step) << mark_shift;
            are_there &= words[index] >> mark_shift == mark_of(step);
          }
          if constexpr (Across) are_there |= gives_up(++checks);
        } while (!__all_sync(everyone, are_there));
#pragma unroll
        for (const Word word : words) sum += gain_in(word);
      }
      for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(everyone, sum, lanes);
      if (lane_ == 0) own_.totals[trial] = sum;
    }
    if (!meet()) return {-1, 0};  // all totals are stored
    Best best{lane_, lane_ < job_.trials ? own_.totals[lane_] : 0};
    for (int distance = 16; distance > 0; distance /= 2) {
      const Best other{__shfl_down_sync(everyone, best.trial, distance),
                       __shfl_down_sync(everyone, best.gain, distance)};
      if (other.gain > best.gain || (other.gain == best.gain && other.trial < best.trial)) best = other;
    }
    return {__shfl_sync(everyone, best.trial, 0), __shfl_sync(everyone, best.gain, 0)};
  }

  /// Adds the best trial: decreases the distances of the points that are nearer to this trial, and updates the sums of
  /// all blocks.
  __device__ void add(int step, int best) {
    constexpr int early = Across ? 2 : 1;
    const Word* const published = published_gains(step, best);
    Word early_gains[early] = {};  // loaded early, which hides the latency
#pragma unroll
    for (int index = 0; index < early; ++index)
      if (part_of(index) < job_.parts) early_gains[index] = load(published + part_of(index));
    if (own_.overflowed[parity_]) add_overflowed(best);
    for (int index = lane_; index < kept_; index += 32) {
      const unsigned int pair = room_.pairs[index];
      if (static_cast<int>(pair % most_trials) == best)
        lower_own(first_row_ + pair / most_trials, room_.distances[index]);
    }
#pragma unroll
    for (int index = 0; index < early; ++index)
      if (part_of(index) < job_.parts) parts_[part_of(index)] -= gain_in(early_gains[index]);
    for (int index = early; part_of(index) < job_.parts; ++index)
      parts_[part_of(index)] -= gain_in(load(published + part_of(index)));
  }

  /// Call it after start_comparison(), and after a block barrier that follows the last change of a distance.
  __device__ void ask_for_lengths() {
    if constexpr (!Resident) stream_.ask_for_lengths();
  }
  __device__ void finish() { stream_.finish(); }
  /// Returns the row number of a trial; with several ranks, the global number.
  __device__ std::int64_t trial_row(int step, int trial) {
    if constexpr (Across)
      return static_cast<std::int64_t>(
          wait_for(job_.published_rows + place_of(step, trial), [](Word word) { return ~word != 0; }));
    else return own_.rows[trial];
  }
  /// Returns the sum over the blocks of this rank. The result is valid in the first thread of the block.
  __device__ Word own_total() const {
    Word sum = 0;
    if (threadIdx.x == 0)
      for (int part = 0; part < static_cast<int>(gridDim.x); ++part) sum += parts_[job_.first_part + part];
    return sum;
  }

 private:
  static constexpr int row_bits = 48;

  __device__ int own_part() const { return job_.first_part + static_cast<int>(blockIdx.x); }
  /// Returns the part that belongs to the calling thread in round `index` of a loop over all parts.
  __device__ static int part_of(int index) {
    return static_cast<int>(threadIdx.x) + index * static_cast<int>(blockDim.x);
  }
  __device__ std::int64_t place_of(int step, int trial) const { return std::int64_t{step} * job_.trials + trial; }

  __device__ static Word load(const Word* place) {
    if constexpr (Across) return load_of_gpus(place);
    else return load_published(place);
  }
  /// A block barrier. Returns false if a thread of the block has given up.
  __device__ bool meet() const {
    if constexpr (Across) {
      return __syncthreads_or(static_cast<int>(gave_up_)) == 0;
    } else {
      __syncthreads();
      return true;
    }
  }
  /// Returns true if another rank has given up. Rarely reads the flag, because the flag is in host memory.
  __device__ static bool has_ended(const TrialJob<T>& job, unsigned int checks) {
    return checks % 4096 == 0 && *static_cast<const volatile int*>(job.ranks.abort) != 0;
  }
  __device__ bool gives_up(unsigned int checks) { return gave_up_ |= has_ended(job_, checks); }
  template <class Arrived>
  __device__ Word wait_for(const Word* place, const Arrived& has_arrived) {
    for (unsigned int checks = 1;; ++checks) {
      const Word word = load_of_gpus(place);
      if (has_arrived(word) || gives_up(checks)) return word;
    }
  }

  /// Sends a row of this block, and its global number, to all ranks.
  __device__ void send_trial(std::int64_t place, std::int64_t row) {
    const TrialRanks<T>& ranks = job_.ranks;
    T* const to = ranks.sent_rows + place * job_.cover.others.stride;
    for (int column = 4 * lane_; column < job_.bytes.stride; column += 128) {
      const byte_rows::Quad<T> quad(job_.cover.rows, row, column, job_.by_quads);
      for (int rank = 0; rank < ranks.ranks; ++rank) send(ranks.of_rank(rank, to + column), quad.values);
    }
    if (lane_ < ranks.ranks)
      publish_to_gpus(ranks.of_rank(lane_, job_.published_rows + place), static_cast<Word>(ranks.first_row + row));
  }
  /// Receives a row that a block of any rank has sent, and makes it the candidate of a trial.
  __device__ void receive_trial(int trial, std::int64_t place) {
    const Received received = receive_row(job_, trial, place, candidates_);
    gave_up_ |= received.gave_up;
    if (lane_ == 0) set_trial(trial, place, received.terms.scale, received.terms.square, received.terms.residue);
  }
  struct Received {
    byte_rows::RowTerms terms;
    bool gave_up;
  };
  /// This function is not inlined, because the caller would then need more registers.
  __device__ __noinline__ static Received receive_row(const TrialJob<T>& job, int trial, std::int64_t place,
                                                      uint4* candidates) {
    const T* const from = job.cover.others.data + place * job.cover.others.stride;
    bool gave_up = false;
    const auto receive = [&](int column) {
      byte_rows::Quad<T> quad{};
      bool has_arrived = false;
      for (unsigned int checks = 1; !has_arrived && !gave_up; ++checks) {
        load_sent(from + column, quad.values);
        has_arrived = true;
        for (const T value : quad.values) has_arrived &= value == value;  // the bits of an empty place mean NaN
        gave_up = !has_arrived && has_ended(job, checks);
      }
      return quad;
    };
    const int first = 4 * (static_cast<int>(threadIdx.x) % 32);
    byte_rows::Quad<T> first_quad{};
    if (first < job.bytes.stride) first_quad = receive(first);
    const int chunks = job.bytes.chunks();
    const byte_rows::RowTerms terms = byte_rows::convert_row<T>(
        job.cover.rows.columns, job.bytes, job.ranks.middle, 32, true,
        [&](int column) { return column == first ? first_quad : receive(column); },
        [&](int column, char4 bytes) {
          const int unit = column / 16;
          uint4& to = candidates[(trial / 8 * chunks + unit / 4) * 32 + trial % 8 * 4 + unit % 4];
          reinterpret_cast<char4*>(&to)[column % 16 / 4] = bytes;
        });
    return {terms, gave_up};
  }

  /// Returns the warp's tiles. They are processed in alternating directions from step to step, because the rows that
  /// were read last are still in cache.
  __device__ Tiles tiles_of(int step) const {
    const std::int64_t first = first_row_ / tile_rows + warp_;
    if (step % 2 == 0) return {first, warps_, tiles_};
    return {first + (tiles_ - 1) * warps_, -warps_, tiles_};
  }
  /// Returns the tiles of the block, in the order in which warps take them.
  __device__ Tiles block_tiles(int step) const {
    const std::int64_t first = first_row_ / tile_rows;
    const auto count = static_cast<int>((last_row_ - first_row_) / tile_rows) + 1;
    return step % 2 == 0 ? Tiles{first, 1, count} : Tiles{first + count - 1, -1, count};
  }

  struct Own {
    Word sum;
    unsigned int low_gains[most_trials];  ///< low halves of the gains; gains have two halves, because shared memory has
                                          ///< native atomics only for 32 bits
    unsigned int high_gains[most_trials];
    Word totals[most_trials];
    std::int64_t rows[most_trials];
    ByteCandidate candidates[most_trials];
    // For even and odd steps:
    bool overflowed[2];  ///< true if a warp had no space for a pair that add() needs
    int taken[2];        ///< number of tiles that warps have taken
  };
  __device__ static Own& own() {
    __shared__ Own memory;
    return memory;
  }

  __device__ Word* published_gains(int step, int trial) const {
    return job_.published_gains + (static_cast<std::int64_t>(step % 2) * most_trials + trial) * job_.parts;
  }
  /// Returns the gain of a trial within the block's rows.
  __device__ Word own_gain(int trial) const { return Word{own_.high_gains[trial]} << 32 | own_.low_gains[trial]; }
  __device__ static Word gain_in(Word word) { return word & ((Word{1} << mark_shift) - 1); }

  __device__ void bring_trial(int trial, std::int64_t row) {
    const DeviceByteRows& others = job_.others;
    bring_candidate(others, row, trial, candidates_);
    if (lane_ != 0) return;
    set_trial(trial, row, others.length(row, DeviceByteRows::of_scale), others.length(row, DeviceByteRows::of_square),
              others.length(row, DeviceByteRows::of_residue));
  }
  /// `row` is the trial's number in cover.others.
  __device__ void set_trial(int trial, std::int64_t row, float scale, float square, float residue) {
    own_.rows[trial] = row;
    own_.low_gains[trial] = own_.high_gains[trial] = 0;
    own_.candidates[trial] = {2 * scale, square, residue};
  }

  /// Returns the canonical distance of each lane's pair of row and trial. The result is valid only in lanes below
  /// `count`.
  __device__ double distance_to(std::int64_t row, int trial, int count) {
    const DeviceRows<T>& rows = job_.cover.rows;
    const DeviceRows<T>& others = job_.cover.others;
    return Chains::distance<T>(rows, row, others, own_.rows[trial], job_.by_quads, count, room_.chains);
  }

  __device__ void fetch(std::int64_t row) const {
    const DeviceRows<T>& rows = job_.cover.rows;
    if (rows.are_stored()) return;
    const T* const begin = rows.data + row * rows.stride;
    for (int column = 0; column < rows.columns; column += 128 / static_cast<int>(sizeof(T)))
      asm volatile("prefetch.global.L2 [%0];" ::"l"(begin + column));
  }

  /// Compares the 32 rows of a tile with all trials. `local` is the index of the tile's first row among the rows of the
  /// block.
  __device__ void compare_tile(int local) {
    const int chunks = job_.bytes.chunks();
    const bool are_two = layout_.eights > 1;
    BytePoint points[4];
    int sums[2][2][4] = {};
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const ByteStage& stage = stream_.next();
      if (chunk == 0) read_points(stage, points);
      uint4 parts[4];
#pragma unroll
      for (int index = 0; index < 4; ++index) parts[index] = stage.parts[index][lane_];
      multiply_parts(sums[0], parts, candidates_[chunk * 32 + lane_]);
      if (are_two) multiply_parts(sums[1], parts, candidates_[(chunks + chunk) * 32 + lane_]);
    }
    const unsigned int undecided = undecided_of(local, points, sums[0], 0);
    const unsigned int others = are_two ? undecided_of(local, points, sums[1], 8) : 0;
    if (!__any_sync(everyone, (undecided | others) != 0)) return;
    queue_up(local, undecided, 0);
    if (are_two) queue_up(local, others, 8);
  }

  /// Returns one bit per pair, which is set if the pair is undecided. Bit 2 i + j is for the lane's row i and the
  /// lane's trial j (0 or 1).
  __device__ unsigned int undecided_of(int local, const BytePoint (&points)[4], const int (&sums)[2][4],
                                       int eight) const {
    unsigned int undecided = 0;
#pragma unroll
    for (int next = 0; next < 2; ++next) {
      const int number = eight + 2 * (lane_ % 4) + next;
      if (number >= job_.trials) continue;
      const ByteCandidate candidate = own_.candidates[number];
#pragma unroll
      for (int index = 0; index < 4; ++index)
        if (!points[index].is_out_of_reach(candidate, sums[index / 2][index % 2 * 2 + next]))
          undecided |= 1u << (index * 2 + next);
    }
    // Clears the bits of rows that follow the block's last row.
    const int rows = static_cast<int>(last_row_ - first_row_) + 1 - local - lane_ / 4;
    if (rows <= 24) undecided &= rows <= 0 ? 0u : (1u << (rows + 7) / 8 * 2) - 1;
    return undecided;
  }

  __device__ void queue_up(int local, unsigned int undecided, int eight) {
    int place = __popc(undecided);
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(everyone, place, distance);
      if (lane_ >= distance) place += other;
    }
    const int found = __shfl_sync(everyone, place, 31);
    if (found > most_by_pairs && Chains::by_pieces<T>(job_.cover.rows.columns, job_.by_quads))
      return measure_all(first_row_ + local, eight);
    place += waiting_ - __popc(undecided);
    for (; undecided != 0; undecided &= undecided - 1) {
      const int bit = __ffs(static_cast<int>(undecided)) - 1;
      const int row = local + lane_ / 4 + 8 * (bit / 2);
      fetch(first_row_ + row);
      room_.queue[place++] =
          static_cast<unsigned int>(row) * most_trials + static_cast<unsigned int>(eight + 2 * (lane_ % 4) + bit % 2);
    }
    waiting_ += found;
    __syncwarp();  // all lanes have written the queue
    while (waiting_ >= 32) take_from_queue();
  }

  /// Takes up to 32 pairs from the end of the queue, and computes their distances.
  __device__ void take_from_queue() {
    const int count = min(waiting_, 32);
    waiting_ -= count;
    const unsigned int pair = lane_ < count ? room_.queue[waiting_ + lane_] : 0;
    __syncwarp();  // all lanes have read the queue
    const std::int64_t row = first_row_ + pair / most_trials;
    const int trial = static_cast<int>(pair % most_trials);
    const double before = lane_ < count ? job_.cover.closest[row] : 0.0;
    const double distance = distance_to(row, trial, count);
    record_gain(row, trial, before, distance, lane_ < count && distance < before);
  }

  /// Computes all distances between a tile's rows and eight trials. Used if many of these pairs are undecided.
  __device__ void measure_all(std::int64_t first, int eight) {
    const std::int64_t row = first + lane_;
    const auto count = static_cast<int>(min(std::int64_t{tile_rows}, last_row_ + 1 - first));
    const int trials = min(8, job_.trials - eight);
    const double before = lane_ < count ? job_.cover.closest[row] : 0.0;
    double distances[8];
    // Stores the trials at the end of the queue. This part of the queue is free, because at most 31 pairs wait in the
    // queue.
    static_assert(queue_room * 4 >= 32 * 4 + Chains::bytes_of_others);
    Chains::distances_to_all<T>(job_.cover.rows, first, count, job_.cover.others, own_.rows + eight, trials,
                                room_.chains, reinterpret_cast<unsigned char*>(room_.queue + 32), distances);
#pragma unroll
    for (int trial = 0; trial < 8; ++trial)
      if (trial < trials)
        record_gain(row, eight + trial, before, distances[trial], lane_ < count && distances[trial] < before);
  }

  /// If the distance is smaller than the distance to the point's chosen row, stores it and increases the gain of the
  /// trial.
  __device__ void record_gain(std::int64_t row, int trial, double before, double distance, bool is_nearer) {
    if (is_nearer) {
      const CoverJob<T>& cover = job_.cover;
      const Word gain = cover.quantize(cover.weighed(row, before)) - cover.quantize(cover.weighed(row, distance));
      const auto low = static_cast<unsigned int>(gain);
      const unsigned int was = atomicAdd(&own_.low_gains[trial], low);
      const unsigned int high = static_cast<unsigned int>(gain >> 32) + (was + low < low ? 1u : 0u);
      if (high > 0) atomicAdd(&own_.high_gains[trial], high);
    }
    const unsigned int nearer = __ballot_sync(everyone, is_nearer);
    if constexpr (!Adds) return append(row, trial, distance, is_nearer, nearer);
    const int place = kept_ + __popc(nearer & ((1u << lane_) - 1));
    kept_ = min(kept_ + __popc(nearer), remembered);
    if (!is_nearer) return;
    if (place < remembered) {
      room_.distances[place] = distance;
      room_.pairs[place] = static_cast<unsigned int>(row - first_row_) * most_trials + static_cast<unsigned int>(trial);
    } else {
      own_.overflowed[parity_] = true;
      const std::int64_t bit = row * most_trials + trial;
      atomicOr(job_.nearer + bit / 32, 1u << (bit % 32));
    }
  }

  /// Appends the pairs of the lanes in `nearer` to TrialJob::kept. If some pairs do not fit, they are dropped, and the
  /// list is not used.
  __device__ void append(std::int64_t row, int trial, double distance, bool is_nearer, unsigned int nearer) {
    if (nearer == 0) return;
    Word place = 0;
    if (lane_ == 0) {
      place = load_published(job_.kept_count);
      if (place < job_.kept_room) place = atomicAdd(job_.kept_count, static_cast<Word>(__popc(nearer)));
    }
    place = __shfl_sync(everyone, place, 0) + static_cast<Word>(__popc(nearer & ((1u << lane_) - 1)));
    if (is_nearer && place < job_.kept_room) job_.kept[place] = {distance, row * most_trials + trial};
  }

  /// Handles the pairs with the best trial that the warp had no space to store. Computes their distances a second time,
  /// and decreases the distances of their points.
  __device__ void add_overflowed(int best) {
    waiting_ = 0;
    for (int number = 0; number < tiles_; ++number) {
      const std::int64_t row = tiles_of(0).row(number) + lane_;
      // A word holds the bits of two consecutive rows, which belong to neighbouring lanes.
      unsigned int* const bits = job_.nearer + row / 2;
      const unsigned int word = row <= last_row_ ? __ldcg(bits) : 0;
      __syncwarp();  // both lanes of a pair of rows have read the word
      if (row <= last_row_ && row % 2 == 0 && word != 0) *bits = 0;
      const bool is_wanted = row <= last_row_ && (word >> (row % 2 * most_trials + best) & 1u) != 0;
      const unsigned int wanted = __ballot_sync(everyone, is_wanted);
      if (is_wanted)
        room_.queue[waiting_ + __popc(wanted & ((1u << lane_) - 1))] = static_cast<unsigned int>(row - first_row_);
      waiting_ += __popc(wanted);
      __syncwarp();  // all lanes have written the queue
      if (waiting_ >= 32) lower_from_queue(best);
    }
    if (waiting_ > 0) lower_from_queue(best);
  }
  __device__ void lower_from_queue(int best) {
    const int count = min(waiting_, 32);
    waiting_ -= count;
    const std::int64_t row = first_row_ + (lane_ < count ? room_.queue[waiting_ + lane_] : 0);
    __syncwarp();  // all lanes have read the queue
    const double distance = distance_to(row, best, count);
    if (lane_ < count) lower_own(row, distance);
  }
  /// Lowers the distance of a row of this warp's tiles.
  __device__ void lower_own(std::int64_t row, double distance) {
    const Lowered lowered = lower(job_, row, distance);
    if constexpr (Resident) {
      stream_.set_reach(row, lowered.reach);
      integers_[Layout::padded(static_cast<int>(row - first_row_))] -= lowered.less;
    }
  }
  __device__ std::int64_t first_row_of(std::int64_t block) const {
    const std::int64_t unit_rows = std::int64_t{tile_rows} * job_.unit_tiles;
    const std::int64_t units = (job_.cover.rows.count + unit_rows - 1) / unit_rows;
    return units * block / gridDim.x * unit_rows;
  }
  __device__ auto stream_of(const DeviceByteRows& rows) const {
    if constexpr (Resident) return ResidentBytes(rows, stages_, first_row_ / tile_rows);
    else return SharedByteStream(rows, stages_ + warp_ * ByteStream::stages, room_.numbers);
  }

  const TrialJob<T>& job_;
  Layout layout_;
  Own& own_;
  int warp_;
  int lane_;
  int warps_;
  ByteStage* stages_;
  WarpRoom* rooms_;
  WarpRoom& room_;
  uint4* candidates_;
  Word* parts_;     ///< sums of all blocks
  Word* integers_;  ///< integers of the block's rows, if they are resident
  std::int64_t first_row_;
  std::conditional_t<Resident, ResidentBytes, SharedByteStream> stream_;
  std::int64_t last_row_;
  int tiles_;             ///< number of tiles of the warp, which gets every warps_-th tile of the block
  int parity_ = 0;        ///< of the current step
  int waiting_ = 0;       ///< number of pairs in the warp's queue
  int kept_ = 0;          ///< number of pairs that the warp has stored
  bool gave_up_ = false;  ///< true if this thread has learned that another rank has given up
};

// Launch shape: cooperative, with blocks of up to most_threads threads. The grid has as many blocks as the GPU runs at
// once, but at most one per unit of rows. If `Across` is true, the kernels of all ranks run at the same time.
template <class T, bool Resident, bool Across>
__global__ void __launch_bounds__(most_threads, 1) take_steps(const __grid_constant__ TrialJob<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  Walker<T, true, Resident, Across> walker(job, memory);
  walker.sum_up();
  walker.start_comparison(0);
  walker.ask_for_lengths();
  if constexpr (!Across) cooperative_groups::this_grid().sync();  // all blocks' sums are published
  const bool are_complete = walker.read_sums();
  Word total = job.total;
  int step = 0;
  while (are_complete && step < job.steps && total > 0 && total >= job.least_total) {
    walker.draw(job.first_draw + static_cast<Word>(step) * static_cast<Word>(job.trials), total, step);
    if (!walker.bring_trials(step)) break;
    walker.compare(step);
    walker.publish_gains(step);
    walker.start_comparison(step + 1);
    const auto [best, most] = walker.find_best(step);
    if (best < 0) break;
    total -= most;
    if (blockIdx.x == 0 && threadIdx.x == 0) job.chosen[step] = walker.trial_row(step, best);
    walker.add(step, best);
    __syncthreads();  // all sums and reaches are complete, and all threads have read the trials' rows
    walker.ask_for_lengths();
    ++step;
  }
  walker.finish();
  if (blockIdx.x == 0 && threadIdx.x == 0) *job.outcome = {std::int64_t{step}, total, walker.own_total()};
}

/// Computes the gains of given trials, for a step whose trials other ranks also compare. `which` contains the trials as
/// numbers of rows in cover.others. Launch shape: like take_steps, but not cooperative.
template <class T>
__global__ void __launch_bounds__(most_threads, 1)
    measure_trials(const __grid_constant__ TrialJob<T> job, const std::int64_t* which, Word* gains) {
  if (job.state && job.state->has_ended) return;
  extern __shared__ __align__(16) unsigned char memory[];
  Walker<T, false, false> walker(job, memory);
  walker.start_comparison(0);
  walker.ask_for_lengths();
  walker.bring_trials(which);
  walker.compare(0);
  walker.add_gains_to(gains);
  walker.finish();
}

/// Adds one of the trials that measure_trials has compared. `count` is the number of kept pairs. `owner` is the index
/// of the trial among the chosen rows. If there is a state, ignores `count` and `trial`. Launch shape: grid-stride loop
/// over the kept pairs.
template <class T>
__global__ void add_kept(const __grid_constant__ TrialJob<T> job, std::int64_t count, int trial, int owner) {
  if (job.state) {
    if (!job.state->adds_kept) return;
    count = static_cast<std::int64_t>(*job.kept_count);
    trial = static_cast<int>(job.state->best);
  }
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; index < count; index += stride) {
    const KeptPair kept = job.kept[index];
    if (static_cast<int>(kept.pair % most_trials) != trial) continue;
    const std::int64_t row = kept.pair / most_trials;
    lower(job, row, kept.distance);
    if (job.cover.owners) job.cover.owners[row] = owner;
  }
}

}  // namespace trials

}  // namespace gradus::kmeans_detail
