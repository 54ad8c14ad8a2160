// Parts of CudaCover (cuda_cover.hpp) that both of its units use: sums of blocks of rows, the search in these sums, and
// the 8-bit copy.
#pragma once

#include <cstdint>
#include <utility>

#include "cuda/memory.hpp"
#include "execution/rank_sums.hpp"
#include "kmeans/seeding/cuda_cover.hpp"
#include "kmeans/seeding/cuda_cover_job.cuh"
#include "kmeans/seeding/cuda_trials.cuh"

namespace gradus::kmeans_detail {

constexpr int group_blocks = 256;  // number of blocks of rows in a second-level sum

/// Each thread passes one number. Returns the index of the first number at which the prefix sum exceeds `target`. If no
/// prefix sum does, returns the number of threads. Subtracts the numbers before this index from `target`. All threads
/// of the block must call this function.
__device__ inline int passes_at(Word mine, Word& target) {
  __shared__ Word prefix[block_rows];
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();  // the previous call's sums have been read
  prefix[thread] = mine;
  for (int step = 1; step < block_rows; step *= 2) {
    __syncthreads();  // the sums of the previous step are stored
    const Word other = thread >= step ? prefix[thread - step] : 0;
    __syncthreads();  // the sums of the previous step have been read
    prefix[thread] += other;
  }
  __syncthreads();  // the sums are complete
  const int found = __syncthreads_count(prefix[thread] <= target);
  if (found > 0) target -= prefix[found - 1];
  return found;
}

/// Returns the first row at which the prefix sum of the rows' integers exceeds the target. All threads of the block
/// must call this function.
template <class T>
__device__ std::int64_t row_at(const CoverJob<T>& job, Word target) {
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t groups = (job.row_blocks() + group_blocks - 1) / group_blocks;
  std::int64_t first = 0;
  int place = block_rows;
  for (; place == block_rows && first < groups; first += block_rows)
    place = passes_at(first + thread < groups ? job.group_sums[first + thread] : 0, target);
  const std::int64_t group = first - block_rows + place;
  const std::int64_t some_block = group * group_blocks + thread;
  const std::int64_t block =
      group * group_blocks + passes_at(some_block < job.row_blocks() ? job.block_sums[some_block] : 0, target);
  const std::int64_t row = block * block_rows + thread;
  return block * block_rows + passes_at(row < job.rows.count ? job.integer(row) : 0, target);
}

/// The launch shape of a kernel.
template <class T>
struct CudaCover<T>::Launch {
  unsigned int blocks;
  unsigned int threads;
  std::size_t shared_bytes;
};

/// The 8-bit copy of the points, and other buffers for the steps of k-means++.
template <class T>
struct CudaCover<T>::Bytes {
  Bytes(std::int64_t rows, cuda::DeviceBuffer<double> middle_of_rows, std::int64_t most_blocks, bool takes_steps)
      : middle(std::move(middle_of_rows)), padded((rows + block_rows - 1) / block_rows * block_rows),
        bytes(padded * byte_stride(middle.size())), lengths(DeviceByteRows::kinds * padded),
        nearer(takes_steps ? padded * most_trials / 32 : 0), kept(takes_steps ? 0 : padded / 8), part_sums(most_blocks),
        published((2 * most_blocks + 1) * most_trials), chosen(most_steps), outcome(1) {}

  static constexpr std::int64_t most_steps = 1024;  ///< the largest number of steps per launch

  DeviceByteRows rows{};
  cuda::DeviceBuffer<double> middle;
  std::int64_t padded;  ///< number of rows, rounded up to whole blocks
  cuda::DeviceBuffer<signed char> bytes;
  cuda::DeviceBuffer<float> lengths;
  cuda::DeviceBuffer<unsigned int> nearer;
  cuda::DeviceBuffer<KeptPair> kept;
  cuda::DeviceBuffer<Word> part_sums;
  cuda::DeviceBuffer<Word> published;
  cuda::DeviceBuffer<std::int64_t> chosen;
  cuda::DeviceBuffer<TrialOutcome> outcome;

  // With several ranks: the copy of the rows in job_->others.
  DeviceByteRows others{};
  std::int64_t converted_others = 0;  ///< number of rows that this copy already contains
  cuda::DeviceBuffer<signed char> other_bytes;
  cuda::DeviceBuffer<float> other_lengths;
};

/// The inboxes of take_steps_by_inboxes().
template <class T>
struct CudaCover<T>::InboxSteps {
  execution::RankSums& sums;
  int parts;       ///< number of blocks of all ranks
  int first_part;  ///< number of this rank's first block among them
  std::int64_t most_steps;
  std::int64_t stride;  ///< distance between sent rows, a multiple of 128 bytes

  // The order of an inbox. Sums, gains and numbers are words.
  std::int64_t first_gain() const { return parts; }
  std::int64_t first_number() const { return first_gain() + std::int64_t{2} * most_trials * parts; }
  std::int64_t first_row(int trials) const { return (first_number() + most_steps * trials + 15) / 16 * 16; }
  std::int64_t words(int trials) const {
    return first_row(trials) +
           most_steps * trials * stride * static_cast<int>(sizeof(T)) / static_cast<int>(sizeof(Word));
  }
};

/// The buffers of take_steps_on_all_gpus().
template <class T>
struct CudaCover<T>::RankSteps {
  RankSteps(execution::RankSums& sums_of_ranks, int ranks, int columns)
      : sums(sums_of_ranks), row_words((columns * static_cast<int>(sizeof(T)) + 15) / 16 * 2),
        own_rows(most_trials * (1 + row_words)), all_rows(own_rows.size()), own_gains((ranks + 1) * most_trials),
        all_gains(ranks * most_trials), totals(ranks), state(1) {}

  execution::RankSums& sums;
  int row_words;  ///< words per row, in whole units of 16 bytes
  cuda::DeviceBuffer<Word> own_rows;
  cuda::DeviceBuffer<Word> all_rows;
  cuda::DeviceBuffer<Word> own_gains;  ///< in the order [rank][most_trials]; the last word is the number of kept pairs
  cuda::DeviceBuffer<Word> all_gains;
  cuda::DeviceBuffer<Word> totals;
  cuda::DeviceBuffer<StepState> state;
};

}  // namespace gradus::kmeans_detail
