// Chooses the first centroids on a GPU: the operations of k-means++ and k-means|| on the distances to the chosen rows.
//
// One kernel takes the steps of greedy k-means++ (cuda_trials.cuh). Another adds the rows of a round of k-means||
// (cuda_rounds.cuh). Both read an 8-bit copy of the points. Without this copy, a step reads the points twice: once for
// the gains of the candidates, and once to add the best candidate. Such a step reads 2 n d elements and 17 n bytes of
// distances, and computes (trials + 1) n d differences and multiply-adds in double. Sums are integers, so blocks may
// finish in any order. A prefix sum is searched in three steps: first for a group of 256 blocks, then for a block of
// 256 rows, and then for a row.
#include "kmeans/seeding/cuda_cover.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kmeans/gpu/cuda_common.hpp"
#include "kmeans/seeding/cuda_cover_job.cuh"
#include "kmeans/seeding/cuda_rounds.cuh"
#include "kmeans/seeding/cuda_trials.cuh"

namespace gradus::kmeans_detail {

namespace {

constexpr int group_blocks = 256;      // number of blocks of rows in a second-level sum
constexpr int candidates_at_once = 8;  // number of candidates to which a thread computes distances at a time
constexpr int fewest_added_by_bytes = 2;

/// The 8-bit copy is made only if the points have at least this magnitude. At this magnitude, squared differences do
/// not underflow, and the square of the reciprocal does not overflow.
constexpr double least_magnitude = 0x1p-400;

static_assert(CudaCover<float>::most_candidates <= most_others);

/// Assigns each point to the nearest of `count` new rows, if this row is nearer than the point's current row. Ties go
/// to the first row. Writes the sum of each block. `before`: the number of rows chosen earlier. `is_first`: true if no
/// distances exist yet. Launch shape: blocks of block_rows threads, grid-stride loop over the blocks of rows.
template <class T, int Group>
__global__ void add_rows(const __grid_constant__ CoverJob<T> job, const std::int64_t* which, int count, int before,
                         bool is_first) {
  const OtherRows<T, Group> added(job.rows, which, count);
  for (std::int64_t block = job.first_block + blockIdx.x; block < job.end_block; block += gridDim.x) {
    const std::int64_t row = block * block_rows + threadIdx.x;
    const bool is_row = row < job.rows.count;
    double least = is_row && !is_first ? job.closest[row] : std::numeric_limits<double>::infinity();
    int nearest = -1;
    for (int part = 0; part < count; part += Group) {
      double distances[Group];
      added.find(job.rows, block * block_rows, part, distances);
      for (int g = 0; g < Group && part + g < count; ++g)
        if (distances[g] < least) {
          least = distances[g];
          nearest = part + g;
        }
    }
    if (is_row && nearest >= 0) {
      job.closest[row] = least;
      if (job.owners) job.owners[row] = before + nearest;
    }
    const Word sum = block_total(is_row ? job.quantize(job.weighed(row, least)) : 0);
    if (threadIdx.x == 0) job.block_sums[block] = sum;
  }
}

/// Computes the distances between all rows and the first chosen row. Requires that rows are not short and can be read
/// in 16-byte units. Launch shape: blocks of block_rows threads, grid-stride loop over the tiles.
template <class T>
__global__ void add_first(const __grid_constant__ CoverJob<T> job, const std::int64_t* which) {
  constexpr int warps = block_rows / 32;
  __shared__ alignas(16) unsigned char rooms[warps][Chains::bytes];
  const DeviceRows<T>& rows = job.rows;
  const T* const first = rows.data + *which * rows.stride;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t end = min(job.end_block * block_rows, rows.count);
  for (std::int64_t begin = job.first_block * block_rows + (std::int64_t{blockIdx.x} * warps + warp) * tile_rows;
       begin < end; begin += std::int64_t{gridDim.x} * block_rows) {
    const auto count = static_cast<int>(min(std::int64_t{tile_rows}, end - begin));
    const std::int64_t row = begin + min(static_cast<int>(threadIdx.x) % 32, count - 1);
    const double distance =
        Chains::distance<T>(rows.data + row * rows.stride, first, rows.columns, true, count, rooms[warp]);
    if (static_cast<int>(threadIdx.x) % 32 >= count) continue;
    job.closest[row] = distance;
    if (job.owners) job.owners[row] = 0;
  }
}

// Recomputes the sum of each block. Launch shape: like add_rows.
template <class T>
__global__ void sum_blocks(const CoverJob<T> job) {
  for (std::int64_t block = blockIdx.x; block < job.row_blocks(); block += gridDim.x) {
    const std::int64_t row = block * block_rows + threadIdx.x;
    const Word sum = block_total(row < job.rows.count ? job.integer(row) : 0);
    if (threadIdx.x == 0) job.block_sums[block] = sum;
  }
}

// For each group of blocks, adds up the sums of its blocks. Launch shape: one block of group_blocks threads per group.
template <class T>
__global__ void sum_groups(const CoverJob<T> job) {
  const std::int64_t block = std::int64_t{blockIdx.x} * group_blocks + threadIdx.x;
  const Word sum = block_total(block < job.row_blocks() ? job.block_sums[block] : 0);
  if (threadIdx.x != 0) return;
  job.group_sums[blockIdx.x] = sum;
  atomicAdd(job.total, sum);
}

/// Finds the largest w * D (weight times squared distance). Stores it as the bits of a non-negative double. Launch
/// shape: grid-stride loop over the rows.
template <class T>
__global__ void find_largest(const CoverJob<T> job, Word* largest) {
  double most = 0;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < job.rows.count; row += stride)
    most = fmax(most, job.weighed(row, job.closest[row]));
  for (int lanes = 16; lanes > 0; lanes /= 2) most = fmax(most, __shfl_down_sync(0xffffffffu, most, lanes));
  if (threadIdx.x % 32 == 0) atomicMax(largest, static_cast<Word>(__double_as_longlong(most)));
}

/// For each of `count` candidates, computes the amount by which the total would decrease if only this candidate were
/// added. Launch shape: like add_rows.
template <class T>
__global__ void find_gains(const __grid_constant__ CoverJob<T> job, const std::int64_t* which, int count, Word* gains) {
  const OtherRows<T, candidates_at_once> candidates(job.rows, which, count);
  for (int part = 0; part < count; part += candidates_at_once) {
    Word sums[candidates_at_once] = {};
    for (std::int64_t block = job.first_block + blockIdx.x; block < job.end_block; block += gridDim.x) {
      const std::int64_t row = block * block_rows + threadIdx.x;
      double distances[candidates_at_once];
      candidates.find(job.rows, block * block_rows, part, distances);
      if (row >= job.rows.count) continue;
      const double mine = job.closest[row];
      const Word before = job.quantize(job.weighed(row, mine));
#pragma unroll
      for (int g = 0; g < candidates_at_once; ++g)
        if (distances[g] < mine) sums[g] += before - job.quantize(job.weighed(row, distances[g]));
    }
#pragma unroll
    for (int g = 0; g < candidates_at_once; ++g) {
      const Word sum = block_total(sums[g]);
      if (threadIdx.x == 0 && part + g < count && sum > 0) atomicAdd(&gains[part + g], sum);
    }
  }
}

/// Each thread passes one number. Returns the index of the first number at which the prefix sum exceeds `target`, or
/// the number of threads if no prefix sum does. Subtracts the numbers before this index from `target`. All threads of
/// the block must call it.
__device__ int passes_at(Word mine, Word& target) {
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

/// Finds, for each target, the row at which the prefix sum of the integers of all rows exceeds this target. Launch
/// shape: one block of block_rows threads per target.
template <class T>
__global__ void find_rows(const CoverJob<T> job, const Word* targets, std::int64_t* found) {
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t groups = (job.row_blocks() + group_blocks - 1) / group_blocks;
  Word target = targets[blockIdx.x];
  std::int64_t first = 0;
  int place = block_rows;
  for (; place == block_rows && first < groups; first += block_rows)
    place = passes_at(first + thread < groups ? job.group_sums[first + thread] : 0, target);
  const std::int64_t group = first - block_rows + place;
  const std::int64_t some_block = group * group_blocks + thread;
  const std::int64_t block =
      group * group_blocks + passes_at(some_block < job.row_blocks() ? job.block_sums[some_block] : 0, target);
  const std::int64_t row = block * block_rows + thread;
  const std::int64_t result = block * block_rows + passes_at(row < job.rows.count ? job.integer(row) : 0, target);
  if (thread == 0) found[blockIdx.x] = result;
}

/// Draws the rows of a round of k-means||, in any order. length[0] receives the number of drawn rows, even if `drawn`
/// has no room for all of them. Launch shape: grid-stride loop over the rows.
template <class T>
__global__ void draw_rows(const CoverJob<T> job, Word wanted, Word total, core::Philox random, int round,
                          std::int64_t* drawn, Word room, Word* length) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < job.rows.count; row += stride) {
    const Word share = job.integer(row);
    if (share == 0 || !is_drawn(wanted, share, total, random.bits(draw_index(round, row)))) continue;
    const Word place = atomicAdd(length, Word{1});
    if (place < room) drawn[place] = row;
  }
}

// Adds up the weights of each chosen row's points. Launch shape: grid-stride loop over the rows.
template <class T>
__global__ void weigh_chosen(const CoverJob<T> job, Quantizer quantize, Word* sums) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < job.rows.count; row += stride)
    atomicAdd(&sums[job.owners[row]], job.weights ? quantize(job.weighed(row, 1.0)) : Word{1});
}

}  // namespace

/// Calls launch(job) for consecutive ranges of blocks. The size of a range depends on `count`, the number of distances
/// that are computed per row.
template <class T>
template <class Launch>
void CudaCover<T>::in_portions(int count, const Launch& launch) const {
  const double operations = static_cast<double>(count) * job_->rows.columns * block_rows;
  portions_.run(block_sums_.size(), operations, 1, stream(), [&](std::int64_t first, std::int64_t number) {
    CoverJob<T> job = *job_;
    job.first_block = first;
    job.end_block = first + number;
    launch(job);
  });
}

template <class T>
CudaCover<T>::CudaCover(const GpuPoints<T>& points, std::int64_t first, bool groups)
    : gpu_(points.job()), portions_(gpu_->stop(), 0x1p34), multiprocessors_(points.device().multiprocessors),
      job_(std::make_unique<CoverJob<T>>()), closest_(points.rows().rows()), owners_(groups ? closest_.size() : 0),
      block_sums_((closest_.size() + block_rows - 1) / block_rows),
      group_sums_((block_sums_.size() + group_blocks - 1) / group_blocks), total_(1), targets_(most_candidates),
      which_(most_added), gains_(most_candidates), staged_(most_candidates + most_added) {
  for (const T weight : points.host_weights()) largest_weight_ = std::max(largest_weight_, static_cast<double>(weight));
  job_->rows = device_rows(points);
  job_->weights = points.weights().data();
  job_->weight_unit = points.weights().empty() ? 1.0 : weight_unit(largest_weight_);
  job_->closest = closest_.data();
  job_->owners = groups ? owners_.data() : nullptr;
  job_->block_sums = block_sums_.data();
  job_->group_sums = group_sums_.data();
  job_->total = total_.data();
  put(std::span(&first, 1));
  const bool are_wide = is_read_by_quads() && job_->rows.columns > short_columns;
  in_portions(1, [&](const CoverJob<T>& job) {
    if (are_wide) add_first<T><<<blocks(6), block_rows, 0, stream()>>>(job, which_.data());
    else add_rows<T, 1><<<blocks(8), block_rows, 0, stream()>>>(job, which_.data(), 1, 0, true);
    cuda::check_launch("add_rows");
  });
  chosen_ = {first};
  if (job_->weights) {
    CoverJob<T> unweighted = *job_;
    unweighted.weights = nullptr;
    largest_distance_ = largest_of(unweighted);
  }
  rescale();
}

template <class T>
double CudaCover<T>::largest_of(const CoverJob<T>& job) {
  total_.clear(stream());
  find_largest<T><<<blocks(8), block_rows, 0, stream()>>>(job, total_.data());
  cuda::check_launch("find_largest");
  total_.copy_to_host(staged_.data(), 1, stream());
  stream().wait();
  return std::bit_cast<double>(staged_[0]);
}

template <class T>
CudaCover<T>::~CudaCover() = default;

template <class T>
std::vector<std::int64_t> CudaCover<T>::rows_at(std::span<const std::uint64_t> targets) {
  const auto count = static_cast<std::int64_t>(targets.size());
  std::copy(targets.begin(), targets.end(), staged_.data());
  targets_.copy_from_host(staged_.data(), count, stream());
  find_rows<T><<<static_cast<unsigned int>(count), block_rows, 0, stream()>>>(*job_, targets_.data(), which_.data());
  cuda::check_launch("find_rows");
  std::vector<std::int64_t> rows(targets.size());
  which_.copy_to_host(rows.data(), count, stream());
  stream().wait();
  return rows;
}

template <class T>
std::vector<std::uint64_t> CudaCover<T>::gains(std::span<const std::int64_t> candidates) {
  put(candidates);
  gains_.clear(stream());
  const auto count = static_cast<int>(candidates.size());
  in_portions(count, [&](const CoverJob<T>& job) {
    find_gains<T><<<blocks(6), block_rows, 0, stream()>>>(job, which_.data(), count, gains_.data());
    cuda::check_launch("find_gains");
  });
  gains_.copy_to_host(staged_.data(), count, stream());
  stream().wait();
  return {staged_.data(), staged_.data() + count};
}

template <class T>
void CudaCover<T>::add(std::span<const std::int64_t> rows) {
  if (rows.empty()) return;
  while (!rows.empty()) {
    const auto some = rows.first(std::min(rows.size(), static_cast<std::size_t>(most_added)));
    add_some(some);
    chosen_.insert(chosen_.end(), some.begin(), some.end());
    rows = rows.subspan(some.size());
  }
  refresh();
  if (host_total_ < total_at_rescale_ / 4) rescale();
}

/// Adds at most most_added rows.
template <class T>
void CudaCover<T>::add_some(std::span<const std::int64_t> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  put(rows);
  if (count >= fewest_added_by_bytes && has_bytes()) return add_by_bytes(count);
  for (std::int64_t first = 0; first < count; first += most_candidates) {
    const auto before = static_cast<int>(std::ssize(chosen_) + first);
    const auto added = static_cast<int>(std::min(most_candidates, count - first));
    const std::int64_t* which = which_.data() + first;
    in_portions(added, [&](const CoverJob<T>& job) {
      if (added == 1) add_rows<T, 1><<<blocks(8), block_rows, 0, stream()>>>(job, which, 1, before, false);
      else add_rows<T, candidates_at_once><<<blocks(6), block_rows, 0, stream()>>>(job, which, added, before, false);
      cuda::check_launch("add_rows");
    });
  }
}

template <class T>
std::vector<std::int64_t> CudaCover<T>::sample(std::uint64_t wanted, const core::Philox& random, int round) {
  cuda::DeviceBuffer<Word> length(1);
  Word room = std::min<Word>(2 * wanted + 1024, static_cast<Word>(job_->rows.count));
  while (true) {
    cuda::DeviceBuffer<std::int64_t> drawn(static_cast<std::int64_t>(room));
    length.clear(stream());
    draw_rows<T><<<blocks(8), block_rows, 0, stream()>>>(*job_, wanted, host_total_, random, round, drawn.data(), room,
                                                         length.data());
    cuda::check_launch("draw_rows");
    Word count = 0;
    length.copy_to_host(&count, 1, stream());
    stream().wait();
    if (count > room) {
      room = count;  // the next attempt draws the same rows, with enough memory for all of them
      continue;
    }
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    drawn.copy_to_host(rows.data(), static_cast<std::int64_t>(count), stream());
    stream().wait();
    std::sort(rows.begin(), rows.end());
    return rows;
  }
}

template <class T>
std::vector<std::uint64_t> CudaCover<T>::weights_of_chosen() const {
  cuda::DeviceBuffer<Word> sums(static_cast<std::int64_t>(chosen_.size()));
  sums.clear(stream());
  weigh_chosen<T>
      <<<blocks(8), block_rows, 0, stream()>>>(*job_, weight_quantizer(largest_weight_, job_->rows.count), sums.data());
  cuda::check_launch("weigh_chosen");
  std::vector<Word> host(chosen_.size());
  sums.copy_to_host(host.data(), sums.size(), stream());
  stream().wait();
  return {host.begin(), host.end()};
}

template <class T>
unsigned int CudaCover<T>::blocks(int per_multiprocessor) const {
  return static_cast<unsigned int>(
      std::min<std::int64_t>(std::int64_t{per_multiprocessor} * multiprocessors_, block_sums_.size()));
}

template <class T>
void CudaCover<T>::put(std::span<const std::int64_t> rows) const {
  if (static_cast<std::int64_t>(rows.size()) > most_added) throw Error("too many candidates at once");
  stream().wait();  // the previous copy from staged_ must be complete
  std::int64_t* staged = reinterpret_cast<std::int64_t*>(staged_.data()) + most_candidates;
  std::copy(rows.begin(), rows.end(), staged);
  which_.copy_from_host(staged, static_cast<std::int64_t>(rows.size()), stream());
}

template <class T>
void CudaCover<T>::refresh() {
  total_.clear(stream());
  sum_groups<T><<<static_cast<unsigned int>(group_sums_.size()), group_blocks, 0, stream()>>>(*job_);
  cuda::check_launch("sum_groups");
  total_.copy_to_host(staged_.data(), 1, stream());
  stream().wait();
  host_total_ = staged_[0];
}

template <class T>
void CudaCover<T>::rescale() {
  const double largest = largest_of(*job_);
  if (chosen_.size() == 1 && !job_->weights) largest_distance_ = largest;
  job_->quantize = Quantizer(largest, job_->rows.count);
  sum_blocks<T><<<blocks(8), block_rows, 0, stream()>>>(*job_);
  cuda::check_launch("sum_blocks");
  refresh();
  total_at_rescale_ = host_total_;
}

/// The 8-bit copy of the points, and other buffers for the steps of k-means++.
template <class T>
struct CudaCover<T>::Bytes {
  Bytes(std::int64_t rows, std::int64_t columns, std::int64_t most_blocks)
      : padded((rows + block_rows - 1) / block_rows * block_rows), bytes(padded * byte_stride(columns)),
        lengths(DeviceByteRows::kinds * padded), nearer(padded * most_trials / 32), part_sums(most_blocks),
        published((2 * most_blocks + 1) * most_trials), chosen(most_steps), outcome(1) {}

  static constexpr std::int64_t most_steps = 1024;  ///< the largest number of steps per launch

  DeviceByteRows rows{};
  std::int64_t padded;  ///< number of rows, rounded up to whole blocks
  cuda::DeviceBuffer<signed char> bytes;
  cuda::DeviceBuffer<float> lengths;
  cuda::DeviceBuffer<unsigned int> nearer;
  cuda::DeviceBuffer<Word> part_sums;
  cuda::DeviceBuffer<Word> published;
  cuda::DeviceBuffer<std::int64_t> chosen;
  cuda::DeviceBuffer<TrialOutcome> outcome;
};

template <class T>
void CudaCover<T>::make_bytes() {
  const DeviceRows<T>& rows = job_->rows;
  cuda::DeviceBuffer<double> middle(rows.columns);
  total_.clear(stream());
  byte_rows::find_middle<T><<<static_cast<unsigned int>(rows.columns), byte_rows::sample_rows, 0, stream()>>>(
      rows, chosen_.front(), middle.data(), total_.data());
  cuda::check_launch("find_middle");
  total_.copy_to_host(staged_.data(), 1, stream());
  stream().wait();
  // An upper bound of the magnitude of the rows relative to the middle. No coordinate of a row differs from the first
  // chosen row by more than the distance between the two rows.
  const double magnitude = std::bit_cast<double>(staged_[0]) + std::sqrt(largest_distance_) * (1 + byte_margin);
  if (!(magnitude >= least_magnitude && magnitude <= 1 / least_magnitude)) return;
  bytes_ = std::make_unique<Bytes>(rows.count, rows.columns, most_blocks_of_steps());
  // Sets the padding of the last block to zero. Kernels read the padding but ignore the results.
  const std::int64_t written = rows.count / tile_rows * tile_rows * byte_stride(rows.columns);
  cuda::check(cudaMemsetAsync(bytes_->bytes.data() + written, 0,
                              static_cast<std::size_t>(bytes_->bytes.size() - written), stream()),
              "cudaMemsetAsync");
  bytes_->lengths.clear(stream());
  bytes_->nearer.clear(stream());
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  bytes_->rows = {bytes_->bytes.data(), bytes_->lengths.data(), byte_stride(rows.columns), std::ldexp(1.0, -exponent)};
  const int quads = byte_stride(rows.columns) / 4;
  const int lanes = std::min(32, static_cast<int>(std::bit_ceil(static_cast<unsigned int>(quads))));
  byte_rows::convert<T><<<blocks(8), block_rows, 0, stream()>>>(rows, is_read_by_quads(), middle.data(), lanes,
                                                                closest_.data(), bytes_->rows);
  cuda::check_launch("convert");
  stream().wait();  // the kernels must have read `middle`, which is freed at the end of this function
}

template <class T>
std::int64_t CudaCover<T>::most_blocks_of_steps() const {
  const std::int64_t unit_rows = std::int64_t{unit_tiles_of_steps()} * tile_rows;
  const std::int64_t units = (job_->rows.count + unit_rows - 1) / unit_rows;
  return std::min<std::int64_t>({trials::most_blocks, multiprocessors_, units});
}

/// Returns the number of tiles in a unit. Rows are assigned to blocks in whole units. If there are few points, a unit
/// is a single tile, so that all multiprocessors get work. Otherwise a unit consists of the rows that one sum covers.
template <class T>
int CudaCover<T>::unit_tiles_of_steps() const {
  const std::int64_t tiles = std::int64_t{trials::most_warps} * std::min(trials::most_blocks, multiprocessors_);
  return job_->rows.count <= tiles * tile_rows ? 1 : block_rows / tile_rows;
}

/// Makes the 8-bit copy if it does not exist yet. Returns false if no copy can be made of these points.
template <class T>
bool CudaCover<T>::has_bytes() {
  if (!bytes_ && job_->rows.columns <= byte_columns) make_bytes();
  return bytes_ != nullptr;
}

template <class T>
bool CudaCover<T>::takes_steps(int trials) {
  return trials <= most_trials && has_bytes();
}

template <class T>
bool CudaCover<T>::is_read_by_quads() const {
  return reinterpret_cast<std::uintptr_t>(job_->rows.data) % 16 == 0 &&
         job_->rows.stride * static_cast<std::int64_t>(sizeof(T)) % 16 == 0;
}

/// Returns the dynamic shared memory that a block may request, which is what the kernel's static shared memory leaves.
inline int room_of_a_block() {
  constexpr int of_its_own = 4096;
  return cuda::attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - of_its_own;
}

/// Adds the first `count` rows in which_, as add_rows does, but by means of the 8-bit copy.
template <class T>
void CudaCover<T>::add_by_bytes(std::int64_t count) {
  const auto kernel = &rounds::add_many<T>;
  const int chunks = bytes_->rows.chunks();
  const int room = room_of_a_block();
  // If rows are very long, fewer than most_added rows fit in shared memory. The rows are then added by several
  // launches.
  const int at_once =
      std::min(rounds::most_added,
               8 * std::max(1, (room - rounds::bytes_of(rounds::fewest_warps, 0, 0)) / candidate_bytes(chunks)));
  rounds::RoundJob<T> round{};
  round.bytes = bytes_->rows;
  round.by_quads = is_read_by_quads();
  for (std::int64_t first = 0; first < count; first += at_once) {
    round.which = which_.data() + first;
    round.added = static_cast<int>(std::min<std::int64_t>(at_once, count - first));
    round.before = static_cast<int>(std::ssize(chosen_) + first);
    round.backwards = !round.backwards;
    int warps = rounds::most_warps;
    while (warps > 1 && rounds::bytes_of(warps, chunks, round.added) > room) --warps;
    const auto shared = static_cast<std::size_t>(rounds::bytes_of(warps, chunks, round.added));
    cuda::allow_shared_memory(reinterpret_cast<const void*>(kernel), shared);
    in_portions(round.added, [&](const CoverJob<T>& job) {
      round.cover = job;
      const auto grid =
          static_cast<unsigned int>(std::min<std::int64_t>(multiprocessors_, job.end_block - job.first_block));
      kernel<<<grid, 32 * static_cast<unsigned int>(warps), shared, stream()>>>(round);
      cuda::check_launch("add_many");
    });
  }
}

template <class T>
void CudaCover<T>::take_steps(int trials, std::int64_t clusters, const core::Philox& random, std::uint64_t& draws,
                              std::vector<std::int64_t>& chosen) {
  constexpr double seconds_of_a_launch = 0.1;
  const auto kernel = reinterpret_cast<const void*>(&trials::take_steps<T>);
  const auto most_blocks = static_cast<int>(most_blocks_of_steps());
  const trials::Layout layout(bytes_->rows.chunks(), trials, most_blocks);
  // There are at most as many warps as a block has tiles.
  const int unit_tiles = unit_tiles_of_steps();
  const std::int64_t unit_rows = std::int64_t{unit_tiles} * tile_rows;
  const std::int64_t units = (job_->rows.count + unit_rows - 1) / unit_rows;
  int warps = static_cast<int>(
      std::min<std::int64_t>(trials::most_warps, (units + most_blocks - 1) / most_blocks * unit_tiles));
  while (warps > 1 && layout.bytes(warps) > room_of_a_block()) --warps;
  const auto shared = static_cast<std::size_t>(layout.bytes(warps));
  cuda::allow_shared_memory(kernel, shared);
  TrialJob<T> job{};
  job.cover = *job_;
  job.bytes = bytes_->rows;
  job.random = random;
  job.first_draw = draws;
  job.trials = trials;
  const double in_time = std::clamp(seconds_of_a_launch / seconds_of_a_step_, 1.0, 1.0 * Bytes::most_steps);
  job.steps = static_cast<int>(
      std::min(static_cast<std::int64_t>(in_time), clusters - static_cast<std::int64_t>(chosen.size())));
  job.total = host_total_;
  job.least_total = total_at_rescale_ / 4;
  job.by_quads = is_read_by_quads();
  job.unit_tiles = unit_tiles;
  job.part_sums = bytes_->part_sums.data();
  job.published_gains = bytes_->published.data();
  job.published_rows = bytes_->published.data() + 2 * most_blocks * most_trials;
  job.nearer = bytes_->nearer.data();
  job.chosen = bytes_->chosen.data();
  job.outcome = bytes_->outcome.data();
  bytes_->published.clear(stream());
  void* arguments[] = {&job};
  const auto start = core::Clock::now();
  cuda::check(cudaLaunchCooperativeKernel(kernel, static_cast<unsigned int>(most_blocks),
                                          32 * static_cast<unsigned int>(warps), arguments, shared, stream()),
              "cudaLaunchCooperativeKernel");
  TrialOutcome outcome{};
  bytes_->outcome.copy_to_host(&outcome, 1, stream());
  stream().wait();
  const auto before = static_cast<std::ptrdiff_t>(chosen.size());
  chosen.resize(chosen.size() + static_cast<std::size_t>(outcome.steps));
  bytes_->chosen.copy_to_host(chosen.data() + before, outcome.steps, stream());
  stream().wait();
  seconds_of_a_step_ =
      std::max(core::seconds_since(start), 1e-7) / static_cast<double>(std::max(outcome.steps, std::int64_t{1}));
  draws += static_cast<std::uint64_t>(outcome.steps) * static_cast<std::uint64_t>(trials);
  host_total_ = outcome.total;
  if (host_total_ < total_at_rescale_ / 4) rescale();
}

template class CudaCover<float>;
template class CudaCover<double>;

}  // namespace gradus::kmeans_detail
