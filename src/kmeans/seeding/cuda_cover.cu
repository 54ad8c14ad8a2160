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
#include <limits>
#include <utility>

#include "kmeans/gpu/cuda_common.hpp"
#include "kmeans/points/cuda_points.hpp"
#include "kmeans/seeding/cuda_cover.cuh"
#include "kmeans/seeding/cuda_rounds.cuh"

namespace gradus::kmeans_detail {

namespace {

constexpr int candidates_at_once = 8;  // number of candidates that a thread compares at a time
constexpr int fewest_added_by_bytes = 2;

/// The 8-bit copy is made only if the points have at least this magnitude. Then squared differences do not underflow,
/// and the square of the scale does not overflow.
constexpr double least_magnitude = 0x1p-400;

static_assert(CudaCover<float>::most_candidates <= most_others);

/// Assigns each point to the nearest of `count` new rows, if this row is nearer than the point's current row. Ties go
/// to the first row. Writes the sum of each block. `before` is the number of rows chosen earlier. `is_first` is true if
/// no distances exist yet. Launch shape: blocks of block_rows threads, grid-stride loop over the blocks of rows.
template <class T, int Group>
__global__ void add_rows(const __grid_constant__ CoverJob<T> job, const std::int64_t* which, int count, int before,
                         bool is_first) {
  const OtherRows<T, Group> added(job.others, which, count);
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

/// Computes the distances between all rows and the first chosen row. The rows must not be short, and reads in 16-byte
/// units must be possible. Launch shape: blocks of block_rows threads, grid-stride loop over the tiles.
template <class T>
__global__ void add_first(const __grid_constant__ CoverJob<T> job, const std::int64_t* which) {
  constexpr int warps = block_rows / 32;
  __shared__ alignas(16) unsigned char rooms[warps][Chains::bytes];
  const DeviceRows<T>& rows = job.rows;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t end = min(job.end_block * block_rows, rows.count);
  for (std::int64_t begin = job.first_block * block_rows + (std::int64_t{blockIdx.x} * warps + warp) * tile_rows;
       begin < end; begin += std::int64_t{gridDim.x} * block_rows) {
    const auto count = static_cast<int>(min(std::int64_t{tile_rows}, end - begin));
    const std::int64_t row = begin + min(static_cast<int>(threadIdx.x) % 32, count - 1);
    const double distance = Chains::distance<T>(rows, row, job.others, *which, true, count, rooms[warp]);
    if (static_cast<int>(threadIdx.x) % 32 >= count) continue;
    job.closest[row] = distance;
    if (job.owners) job.owners[row] = 0;
  }
}

// Computes the sum of each block again. Launch shape: like add_rows.
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

/// For each of `count` candidates, computes how much the total would decrease if only this candidate were added. Launch
/// shape: like add_rows.
template <class T>
__global__ void find_gains(const __grid_constant__ CoverJob<T> job, const std::int64_t* which, int count, Word* gains) {
  const OtherRows<T, candidates_at_once> candidates(job.others, which, count);
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

/// Replaces each target by its row. Launch shape: one block of block_rows threads per target.
template <class T>
__global__ void find_rows(const CoverJob<T> job, Word* targets) {
  const std::int64_t row = row_at(job, targets[blockIdx.x]);
  if (threadIdx.x == 0) targets[blockIdx.x] = static_cast<Word>(row);
}

/// Draws the rows of a round of k-means||, in any order. `first_row` is the global number of this rank's first row.
/// Sets length[0] to the number of drawn rows, even if `drawn` has no space for all of them. Launch shape: grid-stride
/// loop over the rows.
template <class T>
__global__ void draw_rows(const CoverJob<T> job, std::int64_t first_row, Word wanted, Word total, core::Philox random,
                          int round, std::int64_t* drawn, Word room, Word* length) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < job.rows.count; row += stride) {
    const Word share = job.integer(row);
    if (share == 0 || !is_drawn(wanted, share, total, random.bits(draw_index(round, first_row + row)))) continue;
    const Word place = atomicAdd(length, Word{1});
    if (place < room) drawn[place] = first_row + row;
  }
}

// Adds up, for each chosen row, the weights of its points. Launch shape: grid-stride loop over the rows.
template <class T>
__global__ void weigh_chosen(const CoverJob<T> job, Quantizer quantize, Word* sums) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < job.rows.count; row += stride)
    atomicAdd(&sums[job.owners[row]], job.weights ? quantize(job.weighed(row, 1.0)) : Word{1});
}

}  // namespace

/// Calls launch(job) for consecutive ranges of blocks. `count` is the number of distances per row, which determines the
/// size of a range.
template <class T>
template <class Work>
void CudaCover<T>::in_portions(int count, const Work& launch) {
  const double operations = static_cast<double>(count) * job_->rows.columns * block_rows;
  portions_.run(block_sums_.size(), operations, 1, stream(), [&](std::int64_t first, std::int64_t number) {
    CoverJob<T> job = *job_;
    job.first_block = first;
    job.end_block = first + number;
    launch(job);
  });
}

/// Returns the maximum number of rows that add() passes to own_add(). With several ranks, the GPU holds copies of these
/// rows.
template <class T>
std::int64_t most_added_at_once(const GpuPoints<T>& points) {
  if (points.ranks().size() == 1) return CudaCover<T>::most_added;
  return std::clamp((std::int64_t{1} << 22) / points.rows().columns(), CudaCover<T>::most_candidates,
                    CudaCover<T>::most_added);
}

template <class T>
CudaCover<T>::CudaCover(const GpuPoints<T>& points, std::int64_t first, bool groups)
    : RankCover<T>(points.rank_rows(), points.rows().columns(), first, most_added_at_once(points), points.stop()),
      gpu_(points.job()), portions_(gpu_->stop(), 0x1p34), multiprocessors_(points.device().multiprocessors),
      job_(std::make_unique<CoverJob<T>>()), may_have_bytes_(points.plan().has_byte_copy) {
  job_->rows = job_->others = device_rows(points);
  this->bring(chosen_);
  largest_weight_ = this->largest_weight_of(points.host_weights());
  this->begin([&] { start(points, groups); });
}

/// Allocates the memory, and computes the distances to the first chosen row.
template <class T>
void CudaCover<T>::start(const GpuPoints<T>& points, bool groups) {
  const std::int64_t n = job_->rows.count;
  const std::int64_t row_blocks = (n + block_rows - 1) / block_rows;
  closest_ = cuda::DeviceBuffer<double>(n);
  owners_ = cuda::DeviceBuffer<std::int32_t>(groups ? n : 0);
  block_sums_ = cuda::DeviceBuffer<Word>(row_blocks);
  group_sums_ = cuda::DeviceBuffer<Word>((row_blocks + group_blocks - 1) / group_blocks);
  total_ = cuda::DeviceBuffer<Word>(1);
  targets_ = cuda::DeviceBuffer<Word>(most_candidates);
  if (ranks().size() == 1) which_ = cuda::DeviceBuffer<std::int64_t>(most_added);
  gains_ = cuda::DeviceBuffer<Word>(most_candidates + 1);
  staged_ = cuda::PinnedBuffer<Word>(most_candidates + most_added);
  job_->weights = points.weights().data();
  job_->weight_unit = points.weights().empty() ? 1.0 : weight_unit(largest_weight_);
  job_->closest = closest_.data();
  job_->owners = groups ? owners_.data() : nullptr;
  job_->block_sums = block_sums_.data();
  job_->group_sums = group_sums_.data();
  job_->total = total_.data();
  if (ranks().size() > 1) number_others(most_added);
  const std::int64_t* const which = place(chosen_);
  const bool are_wide = is_read_by_quads() && job_->rows.columns > short_columns;
  in_portions(1, [&](const CoverJob<T>& job) {
    if (are_wide) add_first<T><<<blocks(6), block_rows, 0, stream()>>>(job, which);
    else add_rows<T, 1><<<blocks(8), block_rows, 0, stream()>>>(job, which, 1, 0, true);
    cuda::check_launch("add_rows");
  });
  if (job_->weights) {
    CoverJob<T> unweighted = *job_;
    unweighted.weights = nullptr;
    largest_distance_ = largest_of(unweighted);
  }
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

/// Copies rows that keep() has received to job_->others, for the kernels. Returns the GPU address of an array with the
/// indices of these rows in job_->others.
template <class T>
const std::int64_t* CudaCover<T>::place(std::span<const std::int64_t> rows) {
  if (static_cast<std::int64_t>(rows.size()) > most_added) throw Error("too many candidates at once");
  if (ranks().size() == 1) {
    stream().wait();  // waits until the previous copy from staged_ is complete
    std::int64_t* staged = reinterpret_cast<std::int64_t*>(staged_.data()) + most_candidates;
    std::copy(rows.begin(), rows.end(), staged);
    which_.copy_from_host(staged, static_cast<std::int64_t>(rows.size()), stream());
    return which_.data();
  }
  auto found = std::ranges::search(placed_, rows);
  if (found.empty()) {
    upload(rows);
    found = {placed_.begin(), placed_.end()};
  }
  return which_.data() + (found.begin() - placed_.begin());
}

template <class T>
std::vector<std::int64_t> CudaCover<T>::own_rows_at(std::span<const std::uint64_t> targets, Matrix<T>* copies) {
  const auto count = static_cast<std::int64_t>(targets.size());
  std::copy(targets.begin(), targets.end(), staged_.data());
  targets_.copy_from_host(staged_.data(), count, stream());
  find_rows<T><<<static_cast<unsigned int>(count), block_rows, 0, stream()>>>(*job_, targets_.data());
  cuda::check_launch("find_rows");
  targets_.copy_to_host(staged_.data(), count, stream());
  if (copies != nullptr) {
    *copies = Matrix<T>(count, job_->rows.columns);
    if (found_rows_.size() == 0) found_rows_ = cuda::DeviceBuffer<T>(most_candidates * copies->columns());
    copy_own_rows(targets_.data(), count, found_rows_.data());
    found_rows_.copy_to_host(copies->data(), count * copies->columns(), stream());
  }
  stream().wait();
  std::vector<std::int64_t> rows;
  for (std::int64_t index = 0; index < count; ++index)
    rows.push_back(rank_rows().first() + static_cast<std::int64_t>(staged_[index]));
  return rows;
}

template <class T>
std::vector<std::uint64_t> CudaCover<T>::own_gains(std::span<const std::int64_t> candidates) {
  const std::int64_t* const which = place(candidates);
  gains_.clear(stream());
  const auto count = static_cast<int>(candidates.size());
  measured_.clear();
  if (ranks().size() > 1 && count <= most_trials && has_bytes()) {
    find_gains_by_bytes(which, count);
    measured_.assign(candidates.begin(), candidates.end());
  } else {
    in_portions(count, [&](const CoverJob<T>& job) {
      find_gains<T><<<blocks(6), block_rows, 0, stream()>>>(job, which, count, gains_.data());
      cuda::check_launch("find_gains");
    });
  }
  gains_.copy_to_host(staged_.data(), count + 1, stream());
  stream().wait();
  kept_pairs_ = static_cast<std::int64_t>(staged_[count]);
  return {staged_.data(), staged_.data() + count};
}

template <class T>
void CudaCover<T>::own_add(std::span<const std::int64_t> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const bool are_kept = add_by_kept_pairs(rows);
  measured_.clear();  // the pairs become invalid when a distance changes
  if (are_kept) return;
  const std::int64_t* const all = place(rows);
  if ((bytes_ || count >= fewest_added_by_bytes) && has_bytes()) return add_by_bytes(all, count);
  for (std::int64_t first = 0; first < count; first += most_candidates) {
    const auto before = static_cast<int>(std::ssize(chosen_) + first);
    const auto added = static_cast<int>(std::min(most_candidates, count - first));
    const std::int64_t* which = all + first;
    in_portions(added, [&](const CoverJob<T>& job) {
      if (added == 1) add_rows<T, 1><<<blocks(8), block_rows, 0, stream()>>>(job, which, 1, before, false);
      else add_rows<T, candidates_at_once><<<blocks(6), block_rows, 0, stream()>>>(job, which, added, before, false);
      cuda::check_launch("add_rows");
    });
  }
}

template <class T>
std::vector<std::int64_t> CudaCover<T>::own_sample(std::uint64_t wanted, const core::Philox& random, int round) {
  cuda::DeviceBuffer<Word> length(1);
  Word room = std::min<Word>(2 * wanted + 1024, static_cast<Word>(job_->rows.count));
  while (true) {
    cuda::DeviceBuffer<std::int64_t> drawn(static_cast<std::int64_t>(room));
    length.clear(stream());
    draw_rows<T><<<blocks(8), block_rows, 0, stream()>>>(*job_, rank_rows().first(), wanted, this->total(), random,
                                                         round, drawn.data(), room, length.data());
    cuda::check_launch("draw_rows");
    Word count = 0;
    length.copy_to_host(&count, 1, stream());
    stream().wait();
    if (count > room) {
      room = count;  // the next attempt has enough memory for all rows, and draws the same rows
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
std::vector<std::uint64_t> CudaCover<T>::own_weights_of_chosen() const {
  cuda::DeviceBuffer<Word> sums(static_cast<std::int64_t>(chosen_.size()));
  sums.clear(stream());
  weigh_chosen<T><<<blocks(8), block_rows, 0, stream()>>>(*job_, weight_quantizer(largest_weight_, rank_rows().all()),
                                                          sums.data());
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
void CudaCover<T>::own_refresh() {
  total_.clear(stream());
  add_up_groups();
}

/// Adds the sum of each group of blocks to total_.
template <class T>
void CudaCover<T>::add_up_groups() const {
  sum_groups<T><<<static_cast<unsigned int>(group_sums_.size()), group_blocks, 0, stream()>>>(*job_);
  cuda::check_launch("sum_groups");
}

template <class T>
std::uint64_t CudaCover<T>::own_total() {
  total_.copy_to_host(staged_.data(), 1, stream());
  stream().wait();
  return staged_[0];
}

template <class T>
double CudaCover<T>::own_largest() {
  const double largest = largest_of(*job_);
  if (chosen_.size() == 1 && !job_->weights) largest_distance_ = largest;
  return largest;
}

template <class T>
void CudaCover<T>::own_requantize(const Quantizer& quantize) {
  job_->quantize = quantize;
  sum_blocks<T><<<blocks(8), block_rows, 0, stream()>>>(*job_);
  cuda::check_launch("sum_blocks");
}

template <class T>
void CudaCover<T>::make_bytes() {
  const DeviceRows<T>& rows = job_->rows;
  cuda::DeviceBuffer<double> middle(rows.columns);
  total_.clear(stream());
  const std::int64_t first = chosen_.front() - rank_rows().first();
  const bool is_here = rank_rows().is_own(chosen_.front());
  byte_rows::find_middle<T><<<static_cast<unsigned int>(rows.columns), byte_rows::sample_rows, 0, stream()>>>(
      rows, is_here ? first : 0, middle.data(), total_.data());
  cuda::check_launch("find_middle");
  total_.copy_to_host(staged_.data(), 1, stream());
  stream().wait();
  // An upper bound of the magnitude of the rows relative to the middle. No coordinate of a row differs from the first
  // chosen row by more than the distance between the two rows. If the first chosen row is on another rank, the distance
  // between two rows of this rank is at most twice the largest distance.
  const double distance = (is_here ? 1 : 2) * std::sqrt(largest_distance_);
  const double magnitude = std::bit_cast<double>(staged_[0]) + distance * (1 + byte_margin);
  if (!(magnitude >= least_magnitude && magnitude <= 1 / least_magnitude)) return;
  bytes_ = std::make_unique<Bytes>(rows.count, std::move(middle), most_blocks_of_steps(), ranks().size() == 1);
  // Sets the padding of the last block to zero, because kernels read it. They ignore the results for it.
  const std::int64_t written = rows.count / tile_rows * tile_rows * byte_stride(rows.columns);
  cuda::check(cudaMemsetAsync(bytes_->bytes.data() + written, 0,
                              static_cast<std::size_t>(bytes_->bytes.size() - written), stream()),
              "cudaMemsetAsync");
  bytes_->lengths.clear(stream());
  bytes_->nearer.clear(stream());
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  bytes_->rows = {bytes_->bytes.data(), bytes_->lengths.data(), byte_stride(rows.columns), std::ldexp(1.0, -exponent)};
  convert(rows, closest_.data(), bytes_->rows);
}

/// Makes the 8-bit copy of rows. For `closest`, see byte_rows::convert().
template <class T>
void CudaCover<T>::convert(const DeviceRows<T>& rows, const double* closest, const DeviceByteRows& to) const {
  const int quads = byte_stride(rows.columns) / 4;
  const int lanes = std::min(32, static_cast<int>(std::bit_ceil(static_cast<unsigned int>(quads))));
  const auto grid = std::min(blocks(8), cuda::blocks_for(rows.count * lanes, block_rows));
  byte_rows::convert<T>
      <<<grid, block_rows, 0, stream()>>>(rows, is_read_by_quads(), bytes_->middle.data(), lanes, closest, to);
  cuda::check_launch("convert");
}

/// Returns how much dynamic shared memory a block may request in addition to the kernel's static shared memory.
inline int room_of_a_block() {
  constexpr int of_its_own = 4096;
  return cuda::attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - of_its_own;
}

template <class T>
std::int64_t CudaCover<T>::most_blocks_of_steps() const {
  const std::int64_t unit_rows = std::int64_t{unit_tiles_of_steps()} * tile_rows;
  const std::int64_t units = (job_->rows.count + unit_rows - 1) / unit_rows;
  return std::min<std::int64_t>({trials::most_blocks, multiprocessors_, units});
}

/// Returns the number of tiles in a unit. Each block of a launch gets whole units of rows. If there are few points, a
/// unit is a single tile, so that all multiprocessors get work. Otherwise a unit has the same rows as one of the sums.
template <class T>
int CudaCover<T>::unit_tiles_of_steps() const {
  const std::int64_t tiles = std::int64_t{trials::most_warps} * std::min(trials::most_blocks, multiprocessors_);
  return job_->rows.count <= tiles * tile_rows || resident_tiles() > 0 ? 1 : block_rows / tile_rows;
}

/// Returns the largest number of tiles of a block if all blocks of trials::take_steps() can keep their rows in shared
/// memory, otherwise 0.
template <class T>
int CudaCover<T>::resident_tiles() const {
  if (ranks().size() > 1) return 0;
  const std::int64_t tiles = (job_->rows.count + tile_rows - 1) / tile_rows;
  const auto blocks = static_cast<int>(std::min<std::int64_t>({trials::most_blocks, multiprocessors_, tiles}));
  const std::int64_t most = (tiles + blocks - 1) / blocks;
  const int stride = byte_stride(job_->rows.columns);
  if (most * tile_rows * stride > room_of_a_block()) return 0;
  const trials::Layout layout((stride + chunk_columns - 1) / chunk_columns, most_trials, blocks,
                              static_cast<int>(most));
  const auto warps = static_cast<int>(std::min<std::int64_t>(most, trials::most_warps));
  return layout.bytes(warps) <= room_of_a_block() ? static_cast<int>(most) : 0;
}

/// Makes the 8-bit copy if it does not exist yet. Returns false if these points cannot have such a copy.
template <class T>
bool CudaCover<T>::has_bytes() {
  if (!bytes_ && may_have_bytes_) {
    may_have_bytes_ = false;
    if (job_->rows.columns <= byte_columns) make_bytes();
  }
  return bytes_ != nullptr;
}

template <class T>
bool CudaCover<T>::takes_steps(int trials) {
  if (ranks().size() > 1) return takes_steps_on_all_gpus(trials);
  return trials <= most_trials && has_bytes();
}

template <class T>
bool CudaCover<T>::is_read_by_quads() const {
  return !job_->rows.are_stored() && reinterpret_cast<std::uintptr_t>(job_->rows.data) % 16 == 0 &&
         job_->rows.stride * static_cast<std::int64_t>(sizeof(T)) % 16 == 0;
}

/// Adds `count` rows, as add_rows does, but by means of the 8-bit copy.
template <class T>
void CudaCover<T>::add_by_bytes(const std::int64_t* which, std::int64_t count) {
  const int chunks = bytes_->rows.chunks();
  const int room = room_of_a_block();
  // If rows are very long, fewer than most_added rows fit in shared memory. In this case, several launches add the
  // rows.
  const int at_once =
      std::min(rounds::most_added_of(chunks),
               8 * std::max(1, (room - rounds::bytes_of(rounds::fewest_warps, 0, 0)) / candidate_bytes(chunks)));
  rounds::RoundJob<T> round{};
  round.bytes = bytes_->rows;
  round.others = bytes_of_others();
  round.by_quads = is_read_by_quads();
  for (std::int64_t first = 0; first < count; first += at_once) {
    round.which = which + first;
    round.added = static_cast<int>(std::min<std::int64_t>(at_once, count - first));
    round.before = static_cast<int>(std::ssize(chosen_) + first);
    round.backwards = !round.backwards;
    in_portions(round.added, [&](const CoverJob<T>& job) {
      round.cover = job;
      const Launch launch = round_launch(job, round.added);
      launch_round(launch, round);
    });
  }
}

/// Returns the launch shape of rounds::add_many().
template <class T>
typename CudaCover<T>::Launch CudaCover<T>::round_launch(const CoverJob<T>& job, int added) const {
  const int chunks = bytes_->rows.chunks();
  int warps = rounds::most_warps(chunks);
  while (warps > 1 && rounds::bytes_of(warps, chunks, added) > room_of_a_block()) --warps;
  const auto shared = static_cast<std::size_t>(rounds::bytes_of(warps, chunks, added));
  cuda::allow_shared_memory(reinterpret_cast<const void*>(rounds::kernel<T>(chunks)), shared);
  return {static_cast<unsigned int>(std::min<std::int64_t>(multiprocessors_, job.end_block - job.first_block)),
          32 * static_cast<unsigned int>(warps), shared};
}

template <class T>
void CudaCover<T>::launch_round(const Launch& launch, const rounds::RoundJob<T>& round) const {
  rounds::kernel<T>(round.bytes.chunks())<<<launch.blocks, launch.threads, launch.shared_bytes, stream()>>>(round);
  cuda::check_launch("add_many");
}

/// Returns the launch shape of the kernels in cuda_trials.cuh. `parts` is the number of blocks whose sums a block
/// keeps.
template <class T>
typename CudaCover<T>::Launch CudaCover<T>::trial_launch(const void* kernel, int trials, int parts) const {
  const auto most_blocks = static_cast<int>(most_blocks_of_steps());
  const trials::Layout layout(bytes_->rows.chunks(), trials, parts, resident_tiles());
  // There are at most as many warps as a block has tiles.
  const int unit_tiles = unit_tiles_of_steps();
  const std::int64_t unit_rows = std::int64_t{unit_tiles} * tile_rows;
  const std::int64_t units = (job_->rows.count + unit_rows - 1) / unit_rows;
  int warps = static_cast<int>(
      std::min<std::int64_t>(trials::most_warps, (units + most_blocks - 1) / most_blocks * unit_tiles));
  while (warps > 1 && layout.bytes(warps) > room_of_a_block()) --warps;
  const auto shared = static_cast<std::size_t>(layout.bytes(warps));
  cuda::allow_shared_memory(kernel, shared);
  return {static_cast<unsigned int>(most_blocks), 32 * static_cast<unsigned int>(warps), shared};
}

template <class T>
TrialJob<T> CudaCover<T>::trial_job(int trials) {
  TrialJob<T> job{};
  job.others = bytes_of_others();
  job.cover = *job_;
  job.bytes = bytes_->rows;
  job.trials = trials;
  job.by_quads = is_read_by_quads();
  job.unit_tiles = unit_tiles_of_steps();
  job.resident_tiles = resident_tiles();
  job.parts = static_cast<int>(most_blocks_of_steps());
  job.kept = bytes_->kept.data();
  job.kept_room = static_cast<Word>(bytes_->kept.size());
  job.kept_count = gains_.data() + trials;
  return job;
}

template <class T>
void CudaCover<T>::take_steps(int trials, std::int64_t clusters, const core::Philox& random, std::uint64_t& draws,
                              std::vector<std::int64_t>& chosen) {
  constexpr double seconds_of_a_launch = 0.1;
  const double in_time = std::clamp(seconds_of_a_launch / seconds_of_a_step_, 1.0, 1.0 * Bytes::most_steps);
  const std::int64_t steps = std::min(static_cast<std::int64_t>(in_time), clusters - std::ssize(chosen));
  if (ranks().size() > 1) return take_steps_on_all_gpus(trials, steps, random, draws, chosen);
  const auto kernel = resident_tiles() > 0 ? reinterpret_cast<const void*>(&trials::take_steps<T, true, false>)
                                           : reinterpret_cast<const void*>(&trials::take_steps<T, false, false>);
  const Launch launch = trial_launch(kernel, trials, static_cast<int>(most_blocks_of_steps()));
  TrialJob<T> job = trial_job(trials);
  job.random = random;
  job.first_draw = draws;
  job.steps = static_cast<int>(steps);
  job.total = this->total();
  job.least_total = this->least_total();
  job.part_sums = bytes_->part_sums.data();
  job.published_gains = bytes_->published.data();
  job.published_rows = bytes_->published.data() + std::int64_t{2} * launch.blocks * most_trials;
  bytes_->published.clear(stream());
  const auto start = core::Clock::now();
  launch_steps(kernel, launch, job);
  const TrialOutcome outcome = outcome_of_steps(chosen);
  seconds_of_a_step_ =
      std::max(core::seconds_since(start), 1e-7) / static_cast<double>(std::max(outcome.steps, std::int64_t{1}));
  draws += static_cast<std::uint64_t>(outcome.steps) * static_cast<std::uint64_t>(trials);
  this->replace_totals({outcome.total});
}

template <class T>
void CudaCover<T>::launch_steps(const void* kernel, const Launch& launch, TrialJob<T>& job) const {
  job.nearer = bytes_->nearer.data();
  job.chosen = bytes_->chosen.data();
  job.outcome = bytes_->outcome.data();
  void* arguments[] = {&job};
  cuda::check(
      cudaLaunchCooperativeKernel(kernel, launch.blocks, launch.threads, arguments, launch.shared_bytes, stream()),
      "cudaLaunchCooperativeKernel");
}

/// Waits for the steps of a launch, and appends the rows that they have chosen.
template <class T>
TrialOutcome CudaCover<T>::outcome_of_steps(std::vector<std::int64_t>& chosen) const {
  TrialOutcome outcome{};
  bytes_->outcome.copy_to_host(&outcome, 1, stream());
  stream().wait();
  const auto before = static_cast<std::ptrdiff_t>(chosen.size());
  chosen.resize(chosen.size() + static_cast<std::size_t>(outcome.steps));
  bytes_->chosen.copy_to_host(chosen.data() + before, outcome.steps, stream());
  stream().wait();
  return outcome;
}

template class CudaCover<float>;
template class CudaCover<double>;

}  // namespace gradus::kmeans_detail
