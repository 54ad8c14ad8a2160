// The part of CudaCover (cuda_cover.hpp) for several ranks: copies of rows of other ranks, and steps of k-means++ that
// all GPUs make together.
#include <algorithm>
#include <numeric>
#include <utility>

#include "cuda/launch.hpp"
#include "cuda/peer_sums.hpp"
#include "execution/rank_sums.hpp"
#include "kmeans/points/cuda_points.hpp"
#include "kmeans/seeding/cuda_cover.cuh"
#include "kmeans/seeding/cuda_rounds.cuh"

namespace gradus::kmeans_detail {

namespace {

static_assert(TrialRanks<float>::most >= cuda::PeerSums::most_gpus);

/// The totals and rows of all ranks in one step.
struct RankRound {
  int rank;
  int ranks;
  std::int64_t first_row;  ///< global number of this rank's first row
  int row_words;           ///< number of words per row in `words`
  Word* totals;            ///< one total per rank
};

/// Draws the trials of a step. For each trial on this rank, writes its global number to words[trial], and its row to
/// words[most_trials + trial * row_words]. For trials on other ranks, writes zeros. Launch shape: one block of
/// block_rows threads per trial.
template <class T>
__global__ void draw_trials(const __grid_constant__ CoverJob<T> job, const __grid_constant__ RankRound round,
                            const StepState* state, core::Philox random, Word first_draw, Word* words) {
  if (state->has_ended) return;
  const Word draw = first_draw + static_cast<Word>(state->steps) * gridDim.x + blockIdx.x;
  Word target = random.below(draw, state->total);
  int rank = 0;
  while (target >= round.totals[rank]) target -= round.totals[rank++];
  const bool is_own = rank == round.rank;
  const std::int64_t row = is_own ? row_at(job, target) : 0;
  if (threadIdx.x == 0) words[blockIdx.x] = is_own ? static_cast<Word>(round.first_row + row) : 0;
  T* const to = reinterpret_cast<T*>(words + most_trials + std::int64_t{blockIdx.x} * round.row_words);
  const int room = round.row_words * static_cast<int>(sizeof(Word) / sizeof(T));
  for (int column = static_cast<int>(threadIdx.x); column < room; column += block_rows)
    to[column] = is_own && column < job.rows.columns ? value_at(job.rows, row, column) : T{0};
}

/// Chooses the best trial of a step, and updates the totals. `gains` has the order [rank][most_trials]. `numbers`
/// contains the global numbers of the trials. Launch shape: one warp.
__global__ void choose_best(StepState* state, const RankRound round, int trials, Word least_total, const Word* gains,
                            const Word* numbers, const Word* kept_count, Word kept_room, std::int64_t* chosen) {
  constexpr unsigned int everyone = 0xffffffffu;
  if (state->has_ended) {
    if (threadIdx.x == 0) state->adds_kept = state->adds_round = 0;
    return;
  }
  int best = static_cast<int>(threadIdx.x);
  Word gain = 0;
  if (best < trials)
    for (int rank = 0; rank < round.ranks; ++rank) gain += gains[rank * most_trials + best];
  for (int distance = 16; distance > 0; distance /= 2) {
    const int other = __shfl_down_sync(everyone, best, distance);
    const Word other_gain = __shfl_down_sync(everyone, gain, distance);
    if (other_gain > gain || (other_gain == gain && other < best)) {
      best = other;
      gain = other_gain;
    }
  }
  if (threadIdx.x != 0) return;  // all lanes have read the state
  for (int rank = 0; rank < round.ranks; ++rank) round.totals[rank] -= gains[rank * most_trials + best];
  state->total -= gain;
  state->best = best;
  chosen[state->steps++] = static_cast<std::int64_t>(numbers[best]);
  state->has_ended = state->total == 0 || state->total < least_total;
  state->adds_kept = *kept_count < kept_room;
  state->adds_round = !state->adds_kept;
}

/// Copies rows without gaps between them. Launch shape: grid-stride loop over the elements.
template <class T>
__global__ void copy_rows(const DeviceRows<T> rows, const Word* which, std::int64_t count, T* to) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; index < count * rows.columns;
       index += stride)
    to[index] =
        value_at(rows, static_cast<std::int64_t>(which[index / rows.columns]), static_cast<int>(index % rows.columns));
}

}  // namespace

template <class T>
void CudaCover<T>::keep(std::span<const std::int64_t> rows, Matrix<T> copies) {
  copies_ = std::move(copies);
  copied_.assign(rows.begin(), rows.end());
}

/// Copies rows of this rank on the GPU, without gaps between them.
template <class T>
void CudaCover<T>::copy_own_rows(const Word* which, std::int64_t count, T* to) const {
  copy_rows<T><<<cuda::blocks_for(count * job_->rows.columns, 256), 256, 0, stream()>>>(job_->rows, which, count, to);
  cuda::check_launch("copy_rows");
}

template <class T>
Matrix<T> CudaCover<T>::own_copies(std::span<const std::int64_t> rows) const {
  std::vector<Word> numbers;
  for (const std::int64_t row : rows) numbers.push_back(static_cast<Word>(row - rank_rows().first()));
  const auto count = static_cast<std::int64_t>(rows.size());
  Matrix<T> copies(count, job_->rows.columns);
  cuda::DeviceBuffer<Word> which(count);
  cuda::DeviceBuffer<T> gathered(count * copies.columns());
  which.copy_from_host(numbers.data(), count, stream());
  copy_own_rows(which.data(), count, gathered.data());
  gathered.copy_to_host(copies.data(), gathered.size(), stream());
  stream().wait();
  return copies;
}

/// Copies rows that keep() has received to others_.
template <class T>
void CudaCover<T>::upload(std::span<const std::int64_t> rows) {
  const auto found = std::ranges::search(copied_, rows);
  if (found.empty()) throw Error("the rows of other ranks were not fetched");
  placed_.clear();
  const std::int64_t columns = job_->rows.columns;
  const std::int64_t stride = other_stride();
  const auto count = static_cast<std::int64_t>(rows.size());
  make_room_for_others(count);
  const T* const from = copies_.row(found.begin() - copied_.begin());
  const auto width = static_cast<std::size_t>(columns) * sizeof(T);
  if (stride == columns) others_.copy_from_host(from, count * columns, stream());
  else
    cuda::check(cudaMemcpy2DAsync(others_.data(), static_cast<std::size_t>(stride) * sizeof(T), from, width, width,
                                  rows.size(), cudaMemcpyHostToDevice, stream()),
                "cudaMemcpy2DAsync");
  use_others(rows);
}

template <class T>
bool CudaCover<T>::keeps_on_gpu(std::int64_t count) const {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 28;
  return ranks().size() > 1 && count > most_candidates &&
         count * other_stride() * static_cast<std::int64_t>(sizeof(T)) <= most_bytes;
}

template <class T>
void CudaCover<T>::keep_on_gpu(std::span<const std::int64_t> rows) {
  placed_.clear();
  const auto allocate = [&] {
    make_room_for_others(std::ssize(rows));
    if (std::ssize(rows) > which_.size()) number_others(std::ssize(rows));
    return others_.data();
  };
  gather_of_ranks<T>(job_->rows, rank_rows(), rows, other_stride(), allocate, *gpu_);
  use_others(rows);
}

/// Returns the distance between the rows in others_. Each row begins at a multiple of 16 bytes. If is_read_by_quads()
/// is true, the same holds for the points.
template <class T>
std::int64_t CudaCover<T>::other_stride() const {
  constexpr std::int64_t quad = 16 / static_cast<std::int64_t>(sizeof(T));
  return (job_->rows.columns + quad - 1) / quad * quad;
}

template <class T>
void CudaCover<T>::make_room_for_others(std::int64_t count) {
  if (others_.size() >= count * other_stride()) return;
  stream().wait();  // waits until kernels have read the memory that is freed here
  others_ = cuda::DeviceBuffer<T>(std::max(count, most_candidates) * other_stride());
}

/// Lets kernels use the rows whose copies are in others_.
template <class T>
void CudaCover<T>::use_others(std::span<const std::int64_t> rows) {
  job_->others = {others_.data(), std::ssize(rows), other_stride(), job_->rows.columns};
  placed_.assign(rows.begin(), rows.end());
  if (bytes_) bytes_->converted_others = 0;
}

/// Sets which_ to the numbers from 0 to count - 1.
template <class T>
void CudaCover<T>::number_others(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  stream().wait();  // waits until kernels have read the memory that is freed here
  which_ = cuda::DeviceBuffer<std::int64_t>(count);
  which_.copy_from_host(numbers.data(), count, stream());
  stream().wait();
}

/// Returns the 8-bit copy of job_->others. It has the same scale as the copy of this rank's points. Any scale would be
/// valid, because the copy only excludes candidates.
template <class T>
const DeviceByteRows& CudaCover<T>::bytes_of_others() {
  if (ranks().size() == 1) return bytes_->rows;
  const DeviceRows<T>& rows = job_->others;
  if (bytes_->converted_others == rows.count) return bytes_->others;
  const std::int64_t padded = (rows.count + tile_rows - 1) / tile_rows * tile_rows;
  const int stride = byte_stride(rows.columns);
  if (bytes_->other_bytes.size() < padded * stride) {
    stream().wait();  // waits until kernels have read the memory that is freed here
    const std::int64_t most = std::max(padded, most_candidates);
    bytes_->other_bytes = cuda::DeviceBuffer<signed char>(most * stride);
    bytes_->other_lengths = cuda::DeviceBuffer<float>(DeviceByteRows::kinds * most);
  }
  bytes_->others = {bytes_->other_bytes.data(), bytes_->other_lengths.data(), stride, bytes_->rows.unit};
  convert(rows, nullptr, bytes_->others);
  bytes_->converted_others = rows.count;
  return bytes_->others;
}

/// Measures at most most_trials candidates. Adds their gains to gains_. Adds the number of pairs in Bytes::kept to the
/// word after the gains.
template <class T>
void CudaCover<T>::find_gains_by_bytes(const std::int64_t* which, int count) {
  const auto kernel = &trials::measure_trials<T>;
  const TrialJob<T> job = trial_job(count);
  const Launch launch = trial_launch(reinterpret_cast<const void*>(kernel), count, job.parts);
  kernel<<<launch.blocks, launch.threads, launch.shared_bytes, stream()>>>(job, which, gains_.data());
  cuda::check_launch("measure_trials");
}

/// Adds a row that the last call of own_gains() has measured. Does not compare it with the points again. Returns false
/// if this is impossible.
template <class T>
bool CudaCover<T>::add_by_kept_pairs(std::span<const std::int64_t> rows) {
  const auto at = std::ranges::find(measured_, rows.front());
  if (rows.size() != 1 || at == measured_.end() || kept_pairs_ >= bytes_->kept.size()) return false;
  if (kept_pairs_ == 0) return true;
  const auto most = static_cast<std::int64_t>(blocks(8));
  const auto grid = static_cast<unsigned int>(std::min((kept_pairs_ + block_rows - 1) / block_rows, most));
  trials::add_kept<T><<<grid, block_rows, 0, stream()>>>(trial_job(static_cast<int>(measured_.size())), kept_pairs_,
                                                         static_cast<int>(at - measured_.begin()),
                                                         static_cast<int>(chosen_.size()));
  cuda::check_launch("add_kept");
  return true;
}

/// Returns the same on all ranks.
template <class T>
bool CudaCover<T>::takes_steps_on_all_gpus(int trials) {
  if (rank_steps_ || inbox_steps_ || !may_take_steps_) return may_take_steps_;
  may_take_steps_ = ranks().all([&] { return trials <= most_trials && has_bytes(); });
  if (!may_take_steps_) return false;
  execution::RankSums& sums = execution::RankSums::of(ranks(), gpu_->gpu());
  if (sums.way() == execution::RankSums::Way::peers) prepare_inboxes(sums, trials);
  else
    rank_steps_ = ranks().agree([&] { return std::make_unique<RankSteps>(sums, ranks().size(), job_->rows.columns); });
  return true;
}

template <class T>
void CudaCover<T>::prepare_inboxes(execution::RankSums& sums, int trials) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 24;
  constexpr std::int64_t line = 128 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t stride = (byte_stride(job_->rows.columns) + line - 1) / line * line;
  const std::int64_t bytes_of_a_step = trials * stride * static_cast<std::int64_t>(sizeof(T));
  const std::vector<std::int64_t> blocks_of_ranks = ranks().gather([&] {
    bytes_->kept = {};
    bytes_->nearer = cuda::DeviceBuffer<unsigned int>(bytes_->padded * most_trials / 32);
    bytes_->nearer.clear(stream());
    return most_blocks_of_steps();
  });
  const auto own = blocks_of_ranks.begin() + ranks().rank();
  inbox_steps_ = std::make_unique<InboxSteps>(
      InboxSteps{sums, static_cast<int>(std::reduce(blocks_of_ranks.begin(), blocks_of_ranks.end())),
                 static_cast<int>(std::reduce(blocks_of_ranks.begin(), own)),
                 std::clamp<std::int64_t>(most_bytes / bytes_of_a_step, 1, Bytes::most_steps), stride});
}

/// Makes at most `steps` steps by one kernel on each GPU. The kernels of all ranks run at the same time and exchange
/// everything themselves.
template <class T>
void CudaCover<T>::take_steps_by_inboxes(int trials, std::int64_t steps, const core::Philox& random,
                                         std::uint64_t& draws, std::vector<std::int64_t>& chosen) {
  const InboxSteps& all = *inbox_steps_;
  const auto start = core::Clock::now();
  const std::int64_t words = (all.words(trials) + 1) / 2 * 2;
  const execution::RankSums::Inboxes inboxes = all.sums.inboxes(words, stream());
  Word* const inbox = inboxes.of_ranks[static_cast<std::size_t>(ranks().rank())];
  const auto kernel = reinterpret_cast<const void*>(&trials::take_steps<T, false, true>);
  const Launch launch = trial_launch(kernel, trials, all.parts);
  TrialJob<T> job = trial_job(trials);
  // No kernel may write to an inbox before it is empty.
  ranks().agree([&] {
    cuda::check(cudaMemsetAsync(inbox, 0xff, static_cast<std::size_t>(words) * sizeof(Word), stream()),
                "cudaMemsetAsync");
    stream().wait();
  });
  job.random = random;
  job.first_draw = draws;
  job.steps = static_cast<int>(std::min(steps, all.most_steps));
  job.total = this->total();
  job.least_total = this->least_total();
  job.parts = all.parts;
  job.first_part = all.first_part;
  job.part_sums = inbox;
  job.published_gains = inbox + all.first_gain();
  job.published_rows = inbox + all.first_number();
  std::ranges::copy(inboxes.of_ranks, job.ranks.inboxes);
  job.ranks.rank = ranks().rank();
  job.ranks.ranks = ranks().size();
  job.ranks.first_row = rank_rows().first();
  job.ranks.sent_rows = reinterpret_cast<T*>(inbox + all.first_row(trials));
  job.ranks.middle = bytes_->middle.data();
  job.ranks.abort = inboxes.abort;
  job.cover.others = {job.ranks.sent_rows, all.most_steps * trials, all.stride, job_->rows.columns};
  launch_steps(kernel, launch, job);
  all.sums.wait(stream());
  const TrialOutcome outcome = outcome_of_steps(chosen);
  draws += static_cast<std::uint64_t>(outcome.steps) * static_cast<std::uint64_t>(trials);
  struct Own {
    Word total;
    double seconds;
  };
  const std::vector<Own> own_of_ranks = ranks().gather([&] {
    return Own{outcome.own_total, core::seconds_since(start)};
  });
  std::vector<std::uint64_t> totals;
  double seconds = 1e-7;
  for (const Own& own : own_of_ranks) {
    totals.push_back(own.total);
    seconds = std::max(seconds, own.seconds);
  }
  seconds_of_a_step_ = seconds / static_cast<double>(std::max(outcome.steps, std::int64_t{1}));
  this->replace_totals(std::move(totals));
}

/// Makes at most `steps` steps together with the other ranks. All ranks start the same kernels, and the CPU waits only
/// at the end. If a rank fails, the sums of all other ranks end with an error.
template <class T>
void CudaCover<T>::take_steps_on_all_gpus(int trials, std::int64_t steps, const core::Philox& random,
                                          std::uint64_t& draws, std::vector<std::int64_t>& chosen) {
  if (inbox_steps_) return take_steps_by_inboxes(trials, steps, random, draws, chosen);
  RankSteps& all = *rank_steps_;
  const int size = ranks().size();
  // Once the total has fallen to a quarter, further steps do nothing. Before this happens, there are usually at least
  // as many steps as chosen rows. A stream can hold about a thousand operations. If the host started more operations,
  // the call could block the driver while another rank on the same GPU waits for it.
  constexpr std::int64_t most_started = 64;
  steps = std::min({steps, std::max<std::int64_t>(8, std::ssize(chosen) / 2), most_started});
  const auto start = core::Clock::now();
  std::vector<Word> totals(this->totals().of_ranks().begin(), this->totals().of_ranks().end());
  StepState state{.total = this->total(), .steps = 0, .best = 0, .has_ended = 0, .adds_kept = 0, .adds_round = 0};
  all.totals.copy_from_host(totals.data(), size, stream());
  all.state.copy_from_host(&state, 1, stream());
  all.own_rows.clear(stream());
  TrialJob<T> job = trial_job(trials);
  bytes_->converted_others = 0;  // the steps overwrite this copy
  job.cover.others = {reinterpret_cast<const T*>(all.all_rows.data() + most_trials), trials,
                      all.row_words * static_cast<std::int64_t>(sizeof(Word) / sizeof(T)), job_->rows.columns};
  job.cover.first_block = 0;
  job.cover.end_block = block_sums_.size();
  job.state = all.state.data();
  job.kept_count = all.own_gains.data() + size * most_trials;
  const RankRound ranks_of_step{ranks().rank(), size, rank_rows().first(), all.row_words, all.totals.data()};
  rounds::RoundJob<T> round{};
  round.cover = job.cover;
  round.bytes = job.bytes;
  round.others = job.others;
  round.which = &all.state.data()->best;
  round.added = 1;
  round.by_quads = job.by_quads;
  round.state = job.state;
  const auto measure = &trials::measure_trials<T>;
  const Launch measuring = trial_launch(reinterpret_cast<const void*>(measure), trials, job.parts);
  const Launch adding = round_launch(job.cover, 1);
  for (std::int64_t step = 0; step < steps; ++step) {
    all.own_gains.clear(stream());
    draw_trials<T><<<static_cast<unsigned int>(trials), block_rows, 0, stream()>>>(job.cover, ranks_of_step, job.state,
                                                                                   random, draws, all.own_rows.data());
    cuda::check_launch("draw_trials");
    all.sums.add_up(all.own_rows.data(), all.all_rows.data(), most_trials + std::int64_t{trials} * all.row_words,
                    stream());
    convert(job.cover.others, nullptr, job.others);
    measure<<<measuring.blocks, measuring.threads, measuring.shared_bytes, stream()>>>(
        job, which_.data(), all.own_gains.data() + ranks().rank() * most_trials);
    cuda::check_launch("measure_trials");
    all.sums.add_up(all.own_gains.data(), all.all_gains.data(), std::int64_t{size} * most_trials, stream());
    choose_best<<<1, 32, 0, stream()>>>(all.state.data(), ranks_of_step, trials, this->least_total(),
                                        all.all_gains.data(), all.all_rows.data(), job.kept_count, job.kept_room,
                                        bytes_->chosen.data());
    cuda::check_launch("choose_best");
    trials::add_kept<T><<<blocks(2), block_rows, 0, stream()>>>(job, 0, 0, 0);
    cuda::check_launch("add_kept");
    launch_round(adding, round);
    add_up_groups();
  }
  all.sums.wait(stream());
  all.state.copy_to_host(&state, 1, stream());
  all.totals.copy_to_host(totals.data(), size, stream());
  stream().wait();
  const auto before = static_cast<std::ptrdiff_t>(chosen.size());
  chosen.resize(chosen.size() + static_cast<std::size_t>(state.steps));
  bytes_->chosen.copy_to_host(chosen.data() + before, state.steps, stream());
  stream().wait();
  draws += static_cast<std::uint64_t>(state.steps) * static_cast<std::uint64_t>(trials);
  seconds_of_a_step_ =
      ranks().greatest([&] { return std::max(core::seconds_since(start), 1e-7) / static_cast<double>(steps); });
  this->replace_totals({totals.begin(), totals.end()});
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define GRADUS_INSTANTIATE(T)                                                                                \
  template void CudaCover<T>::keep(std::span<const std::int64_t>, Matrix<T>);                                \
  template void CudaCover<T>::copy_own_rows(const Word*, std::int64_t, T*) const;                            \
  template Matrix<T> CudaCover<T>::own_copies(std::span<const std::int64_t>) const;                          \
  template void CudaCover<T>::upload(std::span<const std::int64_t>);                                         \
  template bool CudaCover<T>::keeps_on_gpu(std::int64_t) const;                                              \
  template void CudaCover<T>::keep_on_gpu(std::span<const std::int64_t>);                                    \
  template void CudaCover<T>::number_others(std::int64_t);                                                   \
  template const DeviceByteRows& CudaCover<T>::bytes_of_others();                                            \
  template void CudaCover<T>::find_gains_by_bytes(const std::int64_t*, int);                                 \
  template bool CudaCover<T>::add_by_kept_pairs(std::span<const std::int64_t>);                              \
  template bool CudaCover<T>::takes_steps_on_all_gpus(int);                                                  \
  template void CudaCover<T>::take_steps_on_all_gpus(int, std::int64_t, const core::Philox&, std::uint64_t&, \
                                                     std::vector<std::int64_t>&)
// NOLINTEND(bugprone-macro-parentheses)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
