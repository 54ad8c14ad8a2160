// Finds the points on a GPU that are farthest from their centroids, for empty clusters (lloyd/relocation.hpp).
//
// The bits of two nonnegative doubles are in the same order as the doubles. So the kernels search for a threshold digit
// by digit: they count the points by the next eleven bits of their distances, and keep the digit in which the wanted
// number of points is reached. After three digits, the points that are at or above the threshold are the wanted points
// and those whose distances agree with one of them in 33 bits. They are few, and the host sorts them. If they are too
// many, because many distances are equal, the host sorts all points.
//
// Bytes: one read of the points and of their centroids, and four of eight bytes per point.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kmeans/lloyd/relocation.hpp"
#include "kmeans/means/cuda_exact_update.cuh"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

inline constexpr int far_digit_bits = 11;
inline constexpr int far_bins = 1 << far_digit_bits;
inline constexpr int far_digits = 3;
inline constexpr int far_threads = 256;

/// A lower limit of the distances of the wanted points.
struct FarThreshold {
  Word prefix;           ///< the first digits of the limit
  unsigned int wanted;   ///< number of wanted points among the points with these digits
  unsigned int counted;  ///< number of points whose last digit was counted
};

/// The results of a search without lists.
struct FarCounts {
  FarThreshold thresholds[far_digits];  ///< the limit after each digit
  Word found;                           ///< number of points at or above the last limit
};

struct FarSearch {
  Word* keys;             ///< the bits of each distance plus 1; 0 for points without weight (n elements)
  unsigned int* bins;     ///< for each digit: the number of points with each of its values
  FarCounts* counts;      ///< zero before the search, like bins and members
  unsigned int* members;  ///< for each cluster: its number of points with positive weight (k elements)
  FarPoint* points;       ///< the points at or above the last limit
  unsigned int room;      ///< number of elements of `points`
  unsigned int wanted;    ///< number of points to find; members are counted up to this number and a few more
};

/// Returns the number of bits that follow digit `digit` of a key.
__device__ constexpr int far_shift(int digit) { return 63 - far_digit_bits * (digit + 1); }

/// Adds the counts of a block to the counts of all blocks.
__device__ inline void add_bins(const unsigned int (&counts)[far_bins], unsigned int* bins) {
  __syncthreads();  // the block has counted all its points
  for (int bin = static_cast<int>(threadIdx.x); bin < far_bins; bin += static_cast<int>(blockDim.x))
    if (counts[bin] > 0) atomicAdd(&bins[bin], counts[bin]);
}

__device__ inline void clear_bins(unsigned int (&counts)[far_bins]) {
  for (int bin = static_cast<int>(threadIdx.x); bin < far_bins; bin += static_cast<int>(blockDim.x)) counts[bin] = 0;
  __syncthreads();  // the counts are zero before counting starts
}

/// Measures the points, and counts them by the first digit. Launch: blocks of four warps, a grid-stride loop over the
/// points.
template <class T>
__global__ void measure_points(const __grid_constant__ ExactUpdateJob<T> job, const __grid_constant__ FarSearch far) {
  __shared__ double near[4][32][33];
  __shared__ unsigned int counts[far_bins];
  clear_bins(counts);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t first = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32 * 32; first < job.n;
       first += stride) {
    const int count = job.n - first < 32 ? static_cast<int>(job.n - first) : 32;
    const std::int32_t label = lane < count ? job.labels[first + lane] : 0;
    const double distance = own_distance(job, first, count, label, near[threadIdx.x / 32]);
    if (lane >= count) continue;
    const bool has_weight = !job.weights || job.weights[first + lane] > 0;
    const Word key = has_weight ? static_cast<Word>(__double_as_longlong(distance)) + 1 : 0;
    far.keys[first + lane] = key;
    if (!has_weight) continue;
    atomicAdd(&counts[key >> far_shift(0)], 1u);
    if (__ldcg(&far.members[label]) <= far.wanted) atomicAdd(&far.members[label], 1u);
  }
  add_bins(counts, far.bins);
}

/// Returns the limit after digit `digit`, whose values are counted. The threads of a block of `far_threads` call this
/// function together.
__device__ inline FarThreshold threshold_of(const FarSearch& far, int digit) {
  constexpr int own_bins = far_bins / far_threads;
  __shared__ unsigned int sums[far_threads];  // for each thread: the number of points in its bins and in all later bins
  __shared__ FarThreshold threshold;
  const int thread = static_cast<int>(threadIdx.x);
  const unsigned int* const bins = far.bins + digit * far_bins + thread * own_bins;
  const FarThreshold before = digit > 0 ? far.counts->thresholds[digit - 1] : FarThreshold{0, far.wanted, 0};
  unsigned int own = 0;
  for (int bin = 0; bin < own_bins; ++bin) own += bins[bin];
  sums[thread] = own;
  for (int step = 1; step < far_threads; step *= 2) {
    __syncthreads();  // the sums of the previous step are complete
    const unsigned int more = thread + step < far_threads ? sums[thread + step] : 0;
    __syncthreads();  // these sums have been read
    sums[thread] += more;
  }
  __syncthreads();  // all sums are complete
  const unsigned int later = sums[thread] - own;
  // If there are fewer points than are wanted, the limit is the lowest one, in the first thread's first bin.
  const bool is_here = later < before.wanted && (thread == 0 || sums[thread] >= before.wanted);
  if (is_here) {
    int bin = own_bins - 1;
    unsigned int wanted = before.wanted - later;
    for (; (thread > 0 || bin > 0) && bins[bin] < wanted; --bin) wanted -= bins[bin];
    threshold = {before.prefix << far_digit_bits | static_cast<Word>(thread * own_bins + bin), wanted, sums[0]};
  }
  __syncthreads();  // the limit is known
  return threshold;
}

/// Counts the points that have the first `digits` digits of the limit by their next digit. After the last digit, lists
/// the points at or above the limit instead, without their weights. Launch: blocks of `far_threads` threads, a
/// grid-stride loop over the points.
__global__ inline void narrow_down(const __grid_constant__ FarSearch far, std::int64_t n, const std::int32_t* labels,
                                   int digits) {
  __shared__ unsigned int counts[far_bins];
  clear_bins(counts);
  const FarThreshold threshold = threshold_of(far, digits - 1);
  if (blockIdx.x == 0 && threadIdx.x == 0) far.counts->thresholds[digits - 1] = threshold;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; point < n; point += stride) {
    const Word key = far.keys[point];
    const Word prefix = key >> far_shift(digits - 1);
    if (key == 0 || prefix < threshold.prefix) continue;
    if (digits < far_digits) {
      if (prefix == threshold.prefix) atomicAdd(&counts[(key >> far_shift(digits)) % far_bins], 1u);
    } else if (const Word place = atomicAdd(&far.counts->found, Word{1}); place < far.room) {
      far.points[place] = {__longlong_as_double(static_cast<long long>(key - 1)), 0, point, labels[point]};
    }
  }
  if (digits < far_digits) add_bins(counts, far.bins + digits * far_bins);
}

/// Adds (sign 1) or subtracts (sign -1) the moved points in the sums of the clusters that they leave. Launch: blocks of
/// any size, a grid-stride loop over the moved points.
template <class T>
__global__ void add_moved_points(const __grid_constant__ ExactUpdateJob<T> job, int sign) {
  const auto add = [sign](Word& sum, std::uint64_t addend) {
    atomicAdd(&sum, static_cast<Word>(sign) * static_cast<Word>(addend));
  };
  for (int index = static_cast<int>(blockIdx.x); index < job.move_count; index += static_cast<int>(gridDim.x)) {
    const MovedPoint move = job.moves[index];
    const T* const row = static_cast<const T*>(move.row);
    const double weight = move.weight * job.weight_scale;
    Word* const limbs = job.sums + static_cast<std::int64_t>(move.from) * 2 * job.d;
    for (int dim = static_cast<int>(threadIdx.x); dim < job.d; dim += static_cast<int>(blockDim.x)) {
      const double on_grid = static_cast<double>(row[dim]) * job.to_high[dim];
      const core::RawLimbs raw =
          job.weights ? core::raw_limbs(weight, on_grid, job.to_low) : core::raw_limbs(on_grid, job.to_low);
      add(limbs[dim], raw.high);
      add(limbs[job.d + dim], raw.low);
    }
    if (threadIdx.x > 0) continue;
    Word* rest = job.sums + static_cast<std::int64_t>(job.k) * 2 * job.d;
    if (job.weights) {
      const core::Limbs split = job.weight.split(weight);
      add(rest[2 * static_cast<std::int64_t>(move.from)], static_cast<std::uint64_t>(split.high));
      add(rest[2 * static_cast<std::int64_t>(move.from) + 1], static_cast<std::uint64_t>(split.low));
      rest += 2 * static_cast<std::int64_t>(job.k);
    }
    add(rest[move.from], 1);
  }
}

/// Memory of a search on the GPU: bins, FarCounts, members and points. The host reads all but the bins.
struct FarMemory {
  static constexpr std::int64_t room = 4096;  ///< maximum number of points in the list
  static constexpr std::int64_t bins = far_digits * far_bins / 2;
  static constexpr std::int64_t counts = sizeof(FarCounts) / sizeof(Word);
  static constexpr std::int64_t point = sizeof(FarPoint) / sizeof(Word);

  explicit FarMemory(std::int64_t k)
      : members((k + 1) / 2), words(bins + counts + members + point * room), on_host(words.size() - bins) {}

  std::int64_t members;  ///< number of words with two numbers of members each
  cuda::DeviceBuffer<Word> words;
  cuda::PinnedBuffer<Word> on_host;
};

/// The part of GpuFarPoints that does not depend on the type of the points.
class GpuFarPointsBase : public FarPoints {
 public:
  std::int64_t size() const override { return size_; }

  FarPoint at(std::int64_t place, std::int64_t ahead) override {
    if (place < std::ssize(found_)) return found_[static_cast<std::size_t>(place)];
    return on_host().at(place, ahead);
  }

 protected:
  /// Fills found_ and size_, and adds the numbers of members. `measure` launches measure_points() for a search.
  void search(const std::function<void(const FarSearch&)>& measure, std::int64_t count,
              std::span<std::uint64_t> members, FarMemory& memory, Word* keys, const std::int32_t* labels,
              std::int64_t n, unsigned int blocks, const cuda::Stream& stream) {
    constexpr auto numbers_of = [](Word* words) { return reinterpret_cast<unsigned int*>(words); };
    const std::int64_t room = std::min(FarMemory::room, 2 * count);
    const std::int64_t cleared = FarMemory::bins + FarMemory::counts + memory.members;
    Word* const words = memory.words.data();
    Word* const counts = words + FarMemory::bins;
    const FarSearch far{keys,
                        numbers_of(words),
                        reinterpret_cast<FarCounts*>(counts),
                        numbers_of(counts + FarMemory::counts),
                        reinterpret_cast<FarPoint*>(words + cleared),
                        static_cast<unsigned int>(room),
                        static_cast<unsigned int>(count)};
    cuda::check(cudaMemsetAsync(words, 0, static_cast<std::size_t>(cleared) * sizeof(Word), stream), "cudaMemsetAsync");
    measure(far);
    for (int digits = 1; digits <= far_digits; ++digits) {
      narrow_down<<<blocks, far_threads, 0, stream>>>(far, n, labels, digits);
      cuda::check_launch("narrow_down");
    }
    const std::int64_t copied = cleared - FarMemory::bins + FarMemory::point * room;
    cuda::check(cudaMemcpyAsync(memory.on_host.data(), counts, static_cast<std::size_t>(copied) * sizeof(Word),
                                cudaMemcpyDeviceToHost, stream),
                "cudaMemcpyAsync");
    stream.wait();
    const auto& found = *reinterpret_cast<const FarCounts*>(memory.on_host.data());
    const unsigned int* const own_members = numbers_of(memory.on_host.data() + FarMemory::counts);
    const auto* const points =
        reinterpret_cast<const FarPoint*>(memory.on_host.data() + FarMemory::counts + memory.members);
    size_ = found.thresholds[0].counted;
    for (std::size_t cluster = 0; cluster < members.size(); ++cluster) members[cluster] += own_members[cluster];
    if (found.found <= static_cast<Word>(room)) found_.assign(points, points + found.found);
    sort_by_distance(found_);
  }

  std::vector<FarPoint> found_;  ///< the first points of the order; empty if too many are equally far

 private:
  /// Returns all points, for the rare cases in which found_ does not suffice.
  virtual FarPoints& on_host() = 0;

  std::int64_t size_ = 0;
};

/// The points of this rank's GPU.
template <class T>
class GpuFarPoints final : public GpuFarPointsBase {
 public:
  /// `keys` has n elements on the GPU. The first search allocates `memory`.
  GpuFarPoints(CudaFit<T>& job, const ExactUpdateJob<T>& update, Word* keys, std::optional<FarMemory>& memory)
      : job_(job), update_(update), keys_(keys), memory_(memory) {}

  void measure(std::int64_t count, std::span<std::uint64_t> members) override {
    const Problem<T>& problem = job_.problem();
    const auto multiprocessors = static_cast<unsigned int>(job_.gpu().multiprocessors);
    if (!memory_) memory_.emplace(problem.k());
    const auto measure = [&](const FarSearch& far) {
      measure_points<T><<<5 * multiprocessors, 128, 0, job_.stream()>>>(update_, far);
      cuda::check_launch("measure_points");
    };
    search(measure, count, members, *memory_, keys_, update_.labels, update_.n, 4 * multiprocessors, job_.stream());
    for (FarPoint& point : found_) {
      point.weight = problem.weight(point.point);
      point.point += problem.source->rank_rows().first();
    }
  }

 private:
  FarPoints& on_host() override {
    if (all_) return *all_;
    const Problem<T>& problem = job_.problem();
    labels_ = Buffer<std::int32_t>(problem.n());
    centroids_ = Matrix<T>(problem.k(), problem.d());
    const auto copy = [&](void* to, const void* from, std::int64_t bytes) {
      cuda::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, job_.stream()),
                  "cudaMemcpyAsync");
    };
    copy(labels_.data(), update_.labels, problem.n() * 4);
    copy(centroids_.data(), update_.centroids, problem.k() * problem.d() * static_cast<std::int64_t>(sizeof(T)));
    job_.stream().wait();
    all_.emplace(problem, std::as_const(centroids_).view(), labels_.data());
    std::vector<std::uint64_t> members(static_cast<std::size_t>(problem.k()));
    all_->measure(0, members);
    return *all_;
  }

  CudaFit<T>& job_;
  const ExactUpdateJob<T>& update_;
  Word* keys_;
  std::optional<FarMemory>& memory_;
  Buffer<std::int32_t> labels_;
  Matrix<T> centroids_;
  std::optional<HostFarPoints<T>> all_;
};

/// The points that move to empty clusters, in GPU memory.
class MovedPoints {
 public:
  const MovedPoint* data() const { return reinterpret_cast<const MovedPoint*>(moves_.data()); }

  /// Copies the moves to the GPU. `rows` are the rows of the points in host memory. If it is null, the points are on
  /// this GPU, one row of `row_bytes` after the other from `points` on. The host memory must stay unchanged until the
  /// caller has waited for the stream. Collective.
  void send(std::span<const Relocation> moves, const void* rows, const void* points, std::int64_t row_bytes,
            core::Ranks& ranks, const cuda::Stream& stream) {
    const auto copy = [&](cuda::DeviceBuffer<unsigned char>& to, const void* from, std::int64_t bytes) {
      if (to.size() < bytes) to = cuda::DeviceBuffer<unsigned char>(bytes);
      to.copy_from_host(static_cast<const unsigned char*>(from), bytes, stream);
    };
    const std::int64_t count = std::ssize(moves);
    ranks.agree([&] {
      if (rows) copy(rows_, rows, count * row_bytes);
      host_moves_.clear();
      for (const Relocation& move : moves) {
        const auto* const row = rows ? rows_.data() + std::ssize(host_moves_) * row_bytes
                                     : static_cast<const unsigned char*>(points) + move.point * row_bytes;
        host_moves_.push_back({row, move.weight, move.from, move.to});
      }
      copy(moves_, host_moves_.data(), count * static_cast<std::int64_t>(sizeof(MovedPoint)));
    });
  }

 private:
  cuda::DeviceBuffer<unsigned char> moves_;
  cuda::DeviceBuffer<unsigned char> rows_;
  std::vector<MovedPoint> host_moves_;
};

}  // namespace gradus::kmeans_detail
