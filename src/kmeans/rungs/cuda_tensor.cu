// cuda_tensor: a matrix product on tensor cores as filter, doubtful points in double, exact sums; the oracle's bits.
//
// What changes from `cuda_small_dim`: it supports many columns and clusters. The scores s_c = |c|^2 / 2 - x.c of all
// points and clusters form a matrix product. Tensor cores multiply matrices of 16-bit floating-point numbers ten times
// as fast as the other units multiply and add floats. The product is never written to memory: a tile of scores is
// evaluated while it is in registers.
//
// * Rounding. Points are shifted by the middle of each column, scaled by a power of two and rounded to FP16. Points are
//   rounded once per fit. Centroids are shifted, scaled and rounded in the same way once per iteration. For each row,
//   its length and the length of its rounding error are stored. These lengths bound the error of every score
//   (tensor_bound). The bound is proven, not statistical.
// * Decision. A cluster is excluded if its score exceeds the best score by more than twice the bound. If one cluster
//   remains, which is the common case, it is the label. For other points, a few in a hundred, the canonical chain
//   compares the possible clusters (usually two) with eight lanes per point. If more than eight clusters are possible,
//   a block compares all clusters. The lowest cluster wins ties.
// * Update. cuda_exact_update.cuh sums integers on the GPU, only for points that changed cluster. So an iteration ends
//   with one small copy to the host.
//
// On Hopper (assign/pipeline.cuh), one product is enough. Possible clusters are recorded during the product, by
// comparison with the best score so far. This costs an addition and a minimum per score. The single scores of a thread
// are compared only if the minimum of its scores in a tile is near the best score so far. The main remaining cost is
// divergence: the sixteen points of a warp trigger the comparison of single scores at sixteen different clusters. So
// points are ordered by the labels that they had some iterations ago (order_points()). Then all points of a warp are
// usually in the same cluster, and the warp starts with the tile that contains this cluster.
//
// On other GPUs (find_nearest and note_candidates below), the product runs twice. The first run keeps the best and the
// second-best score. A thread holds the scores of 32 of a tile's 128 clusters for each of its two points. It stores no
// separate cluster index: the index among these 32 clusters replaces the last five bits of the score. So a score costs
// five operations: one addition, one logical operation and three minima or maxima. The second run gathers the doubtful
// points and records every cluster whose score is within the bounds of the best. For up to 256 columns, the block's
// points stay in shared memory while all centroids stream past. With more columns, the points stream too. A row of a
// tile has 128 bytes, which covers all banks. The 16-byte units of a row are permuted by the row number. So if eight
// rows are read at once, their units are in different banks.
//
// Points larger than the GPU's memory stay in pinned host memory, or on the GPU in the type in which they are stored
// (points/gpu_tier.hpp). A pass then treats one block of points after the other like all points, and the next block is
// copied or widened during the products. Blocks whose FP16 points fit stay rounded on the GPU. If few of their rows are
// needed, only these rows are copied.
//
// Bytes per iteration: one read of the FP16 points, and one read of the centroids per 256 points, from the second-level
// cache. Operations: n k d multiply-adds on the tensor cores, about 2 n k others.
// Limits: fewer than 2^31 points, at most 2^24 columns and 2^26 clusters.
// Source: certified filters: J. R. Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric
// predicates" (1997). Rounding of tensor cores: Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA
// tensor cores" (2021). Fused product and minimum: Johnson, Douze and Jegou, "Billion-scale similarity search with
// GPUs" (2017).
#include "kmeans/assign/tensor_limits.hpp"
#include "kmeans/gpu/support.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA

#include <cuda_runtime.h>

#include <optional>

#include "cuda/tensor_map.hpp"
#include "execution/rank_sums.hpp"
#include "kmeans/assign/chain.cuh"
#include "kmeans/assign/half_rows.cuh"
#include "kmeans/assign/pipeline.cuh"
#include "kmeans/assign/product.cuh"
#include "kmeans/gpu/cuda_common.hpp"
#include "kmeans/gpu/rank_passes.hpp"
#include "kmeans/means/cuda_far_points.cuh"
#include "kmeans/points/row_blocks.hpp"

namespace gradus::kmeans_detail {

namespace {

using namespace tensor;

// Finds the label of each point, or adds the point to the list of doubtful points.
// Launch: Tile::threads threads, one block per Tile::points points, cuda_tensor_shared() bytes of shared memory.
template <bool Resident>
__global__ __launch_bounds__(Tile<Resident>::threads,
                             Resident ? 2 : 1) void find_nearest(const __grid_constant__ FilterJob job) {
  using Shape = Tile<Resident>;
  extern __shared__ __align__(1024) unsigned char memory[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first = job.first_point + std::int64_t{blockIdx.x} * Shape::points;
  const auto row_of = [&](int index) {
    // The last tile is filled up with copies of the last point.
    const std::int64_t point = first + index < job.n ? first + index : job.n - 1;
    return job.points + point * job.stride;
  };
  Leader leaders[2];  // the best scores of two points of the warp: points lane / 4 and 8 + lane / 4
  Product<Resident> product(job, memory);
  product.run(0, job.cluster_tiles, row_of, [&](int tile, const Scores& scores) {
    float best[2] = {INFINITY, INFINITY};
    float second[2] = {INFINITY, INFINITY};
#pragma unroll
    for (int column = 0; column < 16; ++column) {
      const float2 half_squares = half_squares_of(job, tile, column);
#pragma unroll
      for (int row = 0; row < 2; ++row)
#pragma unroll
        for (int next = 0; next < 2; ++next) {
          const float sum = scores[column][2 * row + next] + (next ? half_squares.y : half_squares.x);
          const unsigned int bits = __float_as_uint(sum) & ~31u;
          const float score = __uint_as_float(bits | static_cast<unsigned int>(2 * column + next));
          second[row] = fminf(second[row], fmaxf(best[row], score));
          best[row] = fminf(best[row], score);
        }
    }
    leaders[0].meet(best[0], second[0], tile);
    leaders[1].meet(best[1], second[1], tile);
  });

  // Until here, four lanes divide the clusters of a point among themselves. From here on, each thread handles one
  // point.
  Leader* const of_points = reinterpret_cast<Leader*>(memory);
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    Leader& leader = leaders[row];
    leader.cluster = cluster_of(leader.cluster, static_cast<int>(__float_as_uint(leader.best) & 31u));
#pragma unroll
    for (int lanes = 1; lanes <= 2; lanes *= 2)
      leader.meet(__shfl_xor_sync(everyone, leader.best, lanes), __shfl_xor_sync(everyone, leader.second, lanes),
                  __shfl_xor_sync(everyone, leader.cluster, lanes));
    if (lane % 4 == 0) of_points[static_cast<int>(threadIdx.x) / 32 * 16 + row * 8 + lane / 4] = leader;
  }
  __syncthreads();  // all best scores are written
  const int index = static_cast<int>(threadIdx.x);
  if (index >= Shape::points) return;  // whole warps return here
  const Leader leader = of_points[index];
  const auto point = static_cast<std::int32_t>(first + index);
  const bool exists = first + index < job.n;
  bool certain = false;
  float bound = 0;
  float limit = 0;
  if (exists) {
    const TensorLengths own = job.point_lengths[point];
    bound = tensor_bound(own, *job.largest, job.stride);
    certain = __fsub_rd(leader.second, leader.best) > 2 * bound;
    limit = __fadd_ru(leader.best, tensor_bound(own, job.cluster_lengths[leader.cluster], job.stride));
  }
  const unsigned int place = append(exists && !certain, &job.counters->doubtful);
  if (exists && !certain) {
    job.doubtful[place] = point;
    job.reaches[place] = __fadd_ru(limit, bound);
    job.limits[place] = limit;
    job.noted[place] = 0;
  }
  settle(job, certain, point, leader.cluster);
}

// Multiplies the doubtful points with the clusters again, and records every cluster that may be nearest to a point.
// Launch: like find_nearest, but with any number of blocks. Blocks take tiles of points in turn. If there are few
// tiles, several blocks share a tile and each block takes a part of the clusters.
template <bool Resident>
__global__ __launch_bounds__(Tile<Resident>::threads,
                             Resident ? 2 : 1) void note_candidates(const __grid_constant__ FilterJob job) {
  using Shape = Tile<Resident>;
  extern __shared__ __align__(1024) unsigned char memory[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t count = job.counters->doubtful;
  const std::int64_t tiles = (count + Shape::points - 1) / Shape::points;
  if (tiles == 0) return;
  const std::int64_t spare = gridDim.x / tiles;
  const int splits = spare < 1 ? 1 : spare < job.cluster_tiles ? static_cast<int>(spare) : job.cluster_tiles;
  Product<Resident> product(job, memory);
  for (std::int64_t task = blockIdx.x; task < tiles * splits; task += gridDim.x) {
    const std::int64_t first = task / splits * Shape::points;
    const int split = static_cast<int>(task % splits);
    const auto row_of = [&](int index) {
      // The last tile is filled up with copies of the last doubtful point.
      const std::int64_t place = first + index < count ? first + index : count - 1;
      return job.points + static_cast<std::int64_t>(job.doubtful[place]) * job.stride;
    };
    const std::int64_t first_place = first + static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
    float reaches[2];  // maximum score of a candidate, for points lane / 4 and 8 + lane / 4 of the warp
#pragma unroll
    for (int row = 0; row < 2; ++row)
      reaches[row] = first_place + 8 * row < count ? job.reaches[first_place + 8 * row] : -INFINITY;
    const int first_tile = static_cast<int>(std::int64_t{job.cluster_tiles} * split / splits);
    const int last_tile = static_cast<int>(std::int64_t{job.cluster_tiles} * (split + 1) / splits);
    product.run(first_tile, last_tile, row_of, [&](int tile, const Scores& scores) {
      unsigned int near[2] = {0, 0};  // one bit for each of the thread's 32 clusters
#pragma unroll
      for (int column = 0; column < 16; ++column) {
        const float2 half_squares = half_squares_of(job, tile, column);
#pragma unroll
        for (int row = 0; row < 2; ++row) {
          near[row] |= scores[column][2 * row] + half_squares.x <= reaches[row] ? 1u << 2 * column : 0u;
          near[row] |= scores[column][2 * row + 1] + half_squares.y <= reaches[row] ? 2u << 2 * column : 0u;
        }
      }
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        if (near[row] == 0) continue;
        float own[32];
#pragma unroll
        for (int which = 0; which < 32; ++which) own[which] = scores[which / 2][2 * row + which % 2];
        const std::int64_t place = first_place + 8 * row;
        const TensorLengths lengths = job.point_lengths[job.doubtful[place]];
        for (unsigned int rest = near[row]; rest != 0; rest &= rest - 1) {
          // The score is within the common error bound of all clusters. The individual error bound of its cluster
          // decides.
          const int which = __ffs(static_cast<int>(rest)) - 1;
          const int cluster = cluster_of(tile, which);
          const float score = own[which] + job.half_squares[cluster];
          if (__fsub_rd(score, tensor_bound(lengths, job.cluster_lengths[cluster], job.stride)) > job.limits[place])
            continue;
          const unsigned int room = atomicAdd(&job.noted[place], 1u);
          if (room < candidate_room) job.candidates[place * candidate_room + room] = cluster;
        }
      }
    });
  }
}

/// The words that the ranks add up together with the sums of an iteration.
struct RankWords {
  Word changed;  ///< number of changed labels
  Word looks;    ///< number of ranks that must leave the loop after this iteration
  Word stops;    ///< number of ranks on which a stop was requested
};

/// The sums over all ranks, and the object that computes them.
struct RankTotals {
  execution::RankSums& sums;
  cuda::DeviceBuffer<Word> words;
};

/// The results of a pass and of its update. All fields are zero before the next pass begins.
struct StepOutcome {
  PassCounters counters;
  UpdateState update;
  RankWords of_ranks;     ///< zero unless the GPUs of several ranks iterate together
  TensorLengths largest;  ///< maximum of each length over all clusters; zero before the centroids are rounded
};

/// Stores the outcome of an update where the host reads it, and clears it for the next pass. A kernel does this faster
/// than a copy and a memset, which make the GPU idle for 20 us.
struct PublishOutcome {
  StepOutcome* outcome;
  const RankWords* of_ranks;  ///< the sums over all ranks, or null
  StepOutcome* on_host;       ///< null if the host copies the outcome itself

  __device__ void operator()() const {
    if (of_ranks) outcome->of_ranks = *of_ranks;
    if (!on_host) return;
    constexpr int words = sizeof(StepOutcome) / sizeof(unsigned int);
    for (int word = 0; word < words; ++word)  // the words of other blocks are in the second-level cache
      reinterpret_cast<unsigned int*>(on_host)[word] = __ldcg(reinterpret_cast<const unsigned int*>(outcome) + word);
    *outcome = {};
  }
};

__global__ void note_step(const PassCounters* counters, bool looks, bool stops, RankWords* words) {
  *words = {counters->changed, looks ? 1u : 0u, stops ? 1u : 0u};
}

// Adds up the counters of all blocks. Launch: one warp.
__global__ void add_counters(const PassCounters* of_blocks, std::int64_t blocks, PassCounters* total) {
  PassCounters sum{};
  for (std::int64_t block = threadIdx.x; block < blocks; block += 32) {
    sum.changed += of_blocks[block].changed;
    sum.doubtful += of_blocks[block].doubtful;
  }
  sum.changed = __reduce_add_sync(everyone, sum.changed);
  sum.doubtful = __reduce_add_sync(everyone, sum.doubtful);
  if (threadIdx.x == 0) *total = sum;
}

template <class T>
class TensorEngine final : public RankPasses<T> {
 public:
  using LeavesLabelsOnGpu = void;

  explicit TensorEngine(CudaFit<T>& job)
      : job_(job), n_(job.problem().n()), is_pipelined_(execution::has_warpgroup_code(job.gpu())),
        stride_(static_cast<int>(tensor_padded(job.problem().d(), tensor_columns))),
        has_wide_tiles_(is_pipelined_ && stride_ > tensor_pipeline_columns && job.problem().k() > tensor_clusters),
        padded_clusters_(static_cast<int>(
            tensor_padded(job.problem().k(), has_wide_tiles_ ? 2 * tensor_clusters : tensor_clusters))),
        plan_(job.in_blocks() ? job.in_blocks()->plan() : GpuTierPlan{.block_rows = n_}), room_(plan_.block_rows),
        copies_(plan_.resident_blocks + (job.in_blocks() ? 1 : 0)), sums_(job.problem()),
        half_points_(copies_ * room_ * stride_), half_centroids_(std::int64_t{padded_clusters_} * stride_),
        half_squares_(padded_clusters_), point_lengths_(copies_ * tensor_padded(room_, pipeline_granule)),
        cluster_lengths_(padded_clusters_), columns_(3 * job.problem().d()), units_(2 * job.problem().d()), labels_(n_),
        lists_((job.in_blocks() ? list_words + 1 : list_words) * room_), candidates_(candidate_room * room_),
        possible_(is_pipelined_ ? (has_wide_tiles_ ? Wide::room : Streamed::room) * room_ : 0),
        beginnings_(is_pipelined_ ? plan_.blocks * tiles_of_a_block() : 0), all_(1),
        cluster_counters_(2 * job.problem().k()), centroids_(job.problem().k() * job.problem().d()),
        next_(centroids_.size()), parts_(2 * job.problem().k()), outcome_(1), host_outcome_(1),
        portions_(stop_of(job.problem()), 0x1p38), last_changed_(n_) {
    describe();
    prepare_points();
    has_all_rows_ = !rows_;
  }

  static std::uint64_t bytes(const Problem<T>& problem) { return cuda_tensor_bytes(shape_of(problem)); }

  Steps advance(MatrixView<T> centroids, StopRules rules, std::vector<Phase>& phases) {
    const cuda::Stream& stream = job_.stream();
    job_.add_upload_phase(phases);
    core::PhaseTimer timer(phases, "iterate");
    centroids_.copy_from_host(centroids.data(), centroids_.size(), stream);
    stream.wait();
    Steps steps;
    steps.inertia_is_explained = true;
    const auto start = core::Clock::now();
    begin_pass(centroids_);
    while (static_cast<int>(steps.records.size()) < rules.iterations) {
      const auto step_start = core::Clock::now();
      const auto looks = [&] { return core::seconds_since(start) > look_seconds; };
      if (totals_) launch_pass_on_ranks(looks() || std::ssize(steps.records) + 1 == rules.iterations);
      else launch_pass();
      launch_update();
      fetch_outcome();
      begin_pass(next_);  // the GPU rounds the next centroids while the host reads the outcome
      read_outcome();
      const StepOutcome& outcome = host_outcome_[0];
      const UpdateState& update = outcome.update;
      if (outcome.of_ranks.stops > 0) break;
      if (can_relocate(outcome)) relocate_points();
      steps.needs_frame = pass_is_pending_ = is_for_the_frame(update);
      if (pass_is_pending_) break;
      std::swap(centroids_, next_);
      steps.same_centroids = update.different == 0;
      const std::int64_t own_changed = outcome.counters.changed;
      const auto changed = totals_ ? static_cast<std::int64_t>(outcome.of_ranks.changed) : own_changed;
      moved_since_ordered_ += own_changed;
      steps.records.push_back({update.explained, changed, update.shift, core::seconds_since(step_start)});
      if (changed == 0 || (rules.shift_limit > 0 && update.shift <= rules.shift_limit) ||
          (rules.changed_limit > 0 && changed <= rules.changed_limit))
        break;
      if (is_worth_ordering(own_changed)) order_points();
      if (totals_ ? outcome.of_ranks.looks > 0 : looks()) break;
    }
    centroids_.copy_to_host(centroids.data(), centroids_.size(), stream);
    stream.wait();
    return steps;
  }

  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels) {
    if (!pass_is_pending_) run_pass(centroids);
    pass_is_pending_ = false;
    fetch(labels);
    return {static_cast<std::int64_t>(host_outcome_[0].counters.changed)};
  }

  const ExactSums<T>& sums() const override { return sums_; }

  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool labels_are_current) {
    if (!labels_are_current) run_pass(centroids);
    fetch(labels);
    return own_inertia().template round<double>();
  }

  std::int64_t make_pass(MatrixView<const T> centroids) override {
    if (!pass_is_pending_) run_pass(centroids);
    pass_is_pending_ = false;
    bring_sums();
    const std::int64_t changed = host_outcome_[0].counters.changed;
    moved_since_ordered_ += changed;
    if (is_worth_ordering(changed)) order_points();
    return changed;
  }

  bool can_iterate() const override { return true; }

  void connect() override {
    core::Ranks& ranks = job_.problem().ranks();
    execution::RankSums& sums = execution::RankSums::of(ranks, job_.gpu().index);
    ranks.agree([&] { totals_.emplace(sums, cuda::DeviceBuffer<Word>(device_sums_.size())); });
    has_all_rows_ = ranks.all([&] { return !rows_; });
  }

  void bring_sums() override { fetch_sums(device_sums_, sums_, job_.stream()); }

  void bring_labels(std::int32_t* labels) override {
    cuda::download(labels_, labels, n_, job_.staging(), job_.threads(), job_.stream());
  }

  core::ExactAccumulator own_inertia() override {
    const cuda::Stream& stream = job_.stream();
    point_at_centroids();
    const Statistics& statistics = job_.problem().statistics;
    SharedTotal* const total = inertia_.cleared(stream);
    for_each_block([](std::int64_t) { return true; },
                   [&] {
                     exact_inertia_by_rows<<<blocks(4), 128, 0, stream>>>(update_, statistics.inertia, total);
                     cuda::check_launch("exact_inertia_by_rows");
                   });
    return inertia_.fetch(statistics.inertia, statistics.weight_exponent, stream);
  }

  double rechecked() const override {
    return assignments_ > 0 ? static_cast<double>(rechecked_) / static_cast<double>(assignments_) : 0.0;
  }

 private:
  // Number of lists with 4 bytes per point; see describe().
  static constexpr std::int64_t list_words = tensor_list_words;
  static constexpr double look_seconds = 0.25;  // seconds between two polls of progress and stop requests
  static constexpr std::int64_t words_of_ranks = sizeof(RankWords) / sizeof(Word);

  // Blocks of kernels with streamed points have 512 threads; blocks with resident points have 256.
  using Few = Tile<true>;
  using Many = Tile<false>;

  static const std::stop_token& stop_of(const Problem<T>& problem) {
    return problem.ranks().is_alone() ? problem.stop : problem.ranks().asked();
  }

  bool is_resident() const { return stride_ <= tensor_resident_columns; }

  // The shapes of blocks on Hopper: for points of one chunk, for points of two chunks, and for points of more chunks,
  // with few or many clusters.
  using One = Pipeline<1, 128>;
  using Two = Pipeline<2, 128>;
  using Streamed = Pipeline<0, 128>;
  using Wide = Pipeline<0, 256>;

  template <class Use>
  void with_pipeline(const Use& use) const {
    if (has_wide_tiles_) use(Wide());
    else if (stride_ > tensor_pipeline_columns) use(Streamed());
    else if (stride_ > tensor_chunk) use(Two());
    else use(One());
  }
  std::int64_t tiles_of_a_block() const { return tensor_padded(room_, tile_points()) / tile_points(); }
  int tile_points() const { return has_wide_tiles_ ? Wide::points : Streamed::points; }
  int tile_clusters() const { return has_wide_tiles_ ? Wide::clusters : Streamed::clusters; }

  unsigned int blocks(int per_multiprocessor) const {
    return static_cast<unsigned int>(per_multiprocessor * job_.gpu().multiprocessors);
  }

  std::int32_t* list(std::int64_t index) { return lists_.data() + index * room_; }
  __half* halves_of(std::int64_t copy) { return half_points_.data() + copy * room_ * stride_; }
  TensorLengths* lengths_of(std::int64_t copy) {
    return point_lengths_.data() + copy * tensor_padded(room_, pipeline_granule);
  }
  std::int32_t* beginnings_of_block() { return beginnings_.data() + block_ * tiles_of_a_block(); }
  /// Returns the place of the current block's 16-bit rows. Blocks whose copy does not stay share the last place.
  std::int64_t copy_of_block() const { return std::min(block_, copies_ - 1); }

  void describe() {
    if (job_.in_blocks()) prepare_blocks();
    describe_columns();
    describe_filter();
    describe_update();
    if (is_pipelined_) describe_pipeline();
  }

  void prepare_blocks() {
    rows_.emplace(*job_.in_blocks(), job_.stream());
    block_counters_ = cuda::DeviceBuffer<PassCounters>(plan_.blocks);
    if (is_pipelined_) block_slots_ = cuda::DeviceBuffer<std::int32_t>(n_);
    has_copy_.assign(static_cast<std::size_t>(plan_.blocks), false);
    update_.by_blocks = true;
  }

  void describe_columns() {
    const Problem<T>& problem = job_.problem();
    const Statistics& statistics = problem.statistics;
    const std::int64_t d = problem.d();
    host_columns_.resize(static_cast<std::size_t>(2 * d));
    host_units_.resize(static_cast<std::size_t>(2 * d));
    double half = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const auto column = static_cast<std::size_t>(dim);
      const double middle = statistics.middle[column];
      half = std::max({half, statistics.highest[column] - middle, middle - statistics.lowest[column]});
      // If rows have unit length, a centroid may be outside the range of the points, but its coordinates are at most 1.
      if (problem.metric == Metric::cosine) half = std::max(half, 1 + std::abs(middle));
      host_columns_[column] = middle;
      host_columns_[column + static_cast<std::size_t>(d)] = statistics.columns[column].to_high;
      host_units_[column] = statistics.columns[column].unit;
      host_units_[column + static_cast<std::size_t>(d)] = statistics.is_on_grid(dim) ? 1 : 0;
    }
    // The exponent of the scale has a lower limit. If data need a smaller exponent, their squares underflow in the
    // canonical chain. With this limit, the scores of such data are smaller than the constant of tensor_bound().
    constexpr int least_exponent = -400;
    conversion_ = {columns_.data(), std::ldexp(1.0, tensor_exponent - core::exponent_above(half, least_exponent)),
                   static_cast<int>(d), stride_};
  }

  void describe_filter() {
    filter_.n = room_;
    filter_.k = static_cast<int>(job_.problem().k());
    filter_.points = half_points_.data();
    filter_.centroids = half_centroids_.data();
    filter_.half_squares = half_squares_.data();
    filter_.point_lengths = point_lengths_.data();
    filter_.cluster_lengths = cluster_lengths_.data();
    filter_.largest = &outcome_.data()->largest;
    filter_.stride = stride_;
    filter_.cluster_tiles = padded_clusters_ / tensor_clusters;
    filter_.labels = labels_.data();
    filter_.moved_points = list(0);
    filter_.moved_from = list(1);
    filter_.counters = &outcome_.data()->counters;
    filter_.doubtful = list(2);
    filter_.reaches = reinterpret_cast<float*>(list(3));
    filter_.limits = reinterpret_cast<float*>(list(4));
    filter_.noted = reinterpret_cast<unsigned int*>(list(5));
    filter_.crowded = reinterpret_cast<unsigned int*>(list(6));
    filter_.candidates = candidates_.data();
  }

  void describe_update() {
    const Problem<T>& problem = job_.problem();
    const Statistics& statistics = problem.statistics;
    const std::int64_t d = problem.d();
    update_.points = job_.points();
    update_.weights = job_.weights();
    update_.n = n_;
    update_.d = static_cast<int>(d);
    update_.k = static_cast<int>(problem.k());
    update_.labels = labels_.data();
    update_.moved_points = filter_.moved_points;
    update_.moved_from = filter_.moved_from;
    update_.counters = filter_.counters;
    update_.middle = columns_.data();
    update_.to_high = columns_.data() + d;
    update_.units = units_.data();
    update_.on_grid = units_.data() + d;
    update_.to_low = statistics.columns.front().to_low;
    update_.bits = statistics.columns.front().bits;
    update_.weight = statistics.weight;
    update_.weights_on_grid = statistics.weights_are_on_grid();
    update_.weight_scale = statistics.weight_scale;
    update_.coordinate_scale = statistics.coordinate_scale;
    device_sums_ = cuda::DeviceBuffer<Word>((sum_words(update_) + words_of_ranks + 1) / 2 * 2);
    update_.sums = device_sums_.data();
    update_.sizes = cluster_counters_.data();
    update_.cursors = cluster_counters_.data() + problem.k();
    update_.order = reinterpret_cast<unsigned int*>(list(7));  // the last list: twice as long if there are blocks
    update_.parts = parts_.data();
    update_.state = &outcome_.data()->update;
    update_.relocates = problem.empty != EmptyCluster::keep;
    update_.to_unit_length = problem.metric == Metric::cosine;
  }

  void describe_pipeline() {
    if (!rows_) {
      slots_ = list(4);
      pipeline_.points = cuda::map_of_halves(half_points_.data(), n_, stride_, tile_points());
    }
    pipeline_.clusters = cuda::map_of_halves(half_centroids_.data(), padded_clusters_, stride_, tile_clusters());
    pipeline_.half_squares = half_squares_.data();
    pipeline_.lengths = point_lengths_.data();
    pipeline_.largest = filter_.largest;
    pipeline_.beginnings = beginnings_.data();
    pipeline_.n = filter_.n;
    pipeline_.cluster_tiles = padded_clusters_ / tile_clusters();
    pipeline_.stride = stride_;
    pipeline_.counts = list(3);
    pipeline_.possible = possible_.data();
  }

  void prepare_points() {
    const cuda::Stream& stream = job_.stream();
    columns_.copy_from_host(host_columns_.data(), static_cast<std::int64_t>(host_columns_.size()), stream);
    units_.copy_from_host(host_units_.data(), units_.size(), stream);
    labels_.fill_bytes(0xff, stream);  // marks all points as not having a cluster yet
    device_sums_.clear(stream);
    cluster_counters_.clear(stream);
    point_lengths_.clear(stream);  // sets the lengths of all points, and of the padding of the last tile, to zero
    if (is_pipelined_) {
      with_pipeline([]<class Shape>(Shape) {
        cuda::allow_shared_memory(reinterpret_cast<const void*>(find_possible<Shape>), Shape::shared_bytes);
      });
      beginnings_.clear(stream);
      host_outcome_[0].counters = {static_cast<unsigned int>(filter_.n), 0, 0};
      cuda::check(cudaMemcpyAsync(all_.data(), &host_outcome_[0].counters, sizeof(PassCounters), cudaMemcpyHostToDevice,
                                  stream),
                  "cudaMemcpyAsync");
      for (std::int64_t block = 0; block < plan_.blocks; ++block) {
        enter(block);
        name_slots<<<blocks(8), 256, 0, stream>>>(slots_, filter_.n);
        cuda::check_launch("name_slots");
      }
      if (!rows_) convert_points_of_block();
      stream.wait();
      return;
    }
    const auto shared = static_cast<std::size_t>(cuda_tensor_shared(stride_));
    cuda::allow_shared_memory(is_resident() ? reinterpret_cast<const void*>(find_nearest<true>)
                                            : reinterpret_cast<const void*>(find_nearest<false>),
                              shared);
    cuda::allow_shared_memory(is_resident() ? reinterpret_cast<const void*>(note_candidates<true>)
                                            : reinterpret_cast<const void*>(note_candidates<false>),
                              shared);
    if (!rows_) convert_points_of_block();
    stream.wait();
  }

  /// Rounds the points of the current block, or all points if there are no blocks.
  void convert_points_of_block() {
    const auto convert = [&]<int lanes>(std::integral_constant<int, lanes>) {
      convert_points<lanes><<<blocks(8), 256, 0, job_.stream()>>>(
          update_.points, filter_.n, slots_, conversion_, halves_of(copy_of_block()), lengths_of(copy_of_block()));
    };
    if (stride_ <= 16) convert(std::integral_constant<int, 4>());
    else if (stride_ <= 32) convert(std::integral_constant<int, 8>());
    else if (stride_ <= 64) convert(std::integral_constant<int, 16>());
    else convert(std::integral_constant<int, 32>());
    cuda::check_launch("convert_points");
  }

  /// Returns true if a new order is worthwhile: enough labels have changed since the points were last ordered, and so
  /// few labels change now that a new order will last.
  bool is_worth_ordering(std::int64_t changed) const {
    return is_pipelined_ && pipeline_.cluster_tiles > 1 && 4 * changed < n_ && 3 * moved_since_ordered_ > n_;
  }

  /// Orders the slots by the points' labels, within each block if there are blocks. Uses the kernels that order the
  /// entries of an update.
  void order_points() {
    for (std::int64_t block = 0; block < plan_.blocks; ++block) {
      enter(block);
      if (rows_ && has_copy_[static_cast<std::size_t>(block)]) order_copies();
      else order_slots();
      if (!rows_) convert_points_of_block();
      find_beginnings<<<blocks_for(tiles_of_a_block(), 256), 256, 0, job_.stream()>>>(
          slots_, filter_.labels, filter_.n, tile_points(), tile_clusters(), beginnings_of_block());
      cuda::check_launch("find_beginnings");
    }
    moved_since_ordered_ = 0;
  }

  void order_slots() {
    ExactUpdateJob<T> by_label = update_;
    by_label.counters = all_.data();
    by_label.joins_all = true;
    by_label.sums = nullptr;
    by_label.order = reinterpret_cast<unsigned int*>(slots_);
    launch_order(by_label);
  }

  /// Orders the slots and the 16-bit rows of the current block.
  void order_copies() {
    const cuda::Stream& stream = job_.stream();
    std::int32_t* const place_of = list(4);
    invert_slots<<<blocks(8), 256, 0, stream>>>(slots_, filter_.n, place_of);
    cuda::check_launch("invert_slots");
    order_slots();
    __half* const halves = halves_of(copies_ - 1);  // the place for blocks whose copy does not stay
    TensorLengths* const lengths = lengths_of(copies_ - 1);
    reorder_rows<<<blocks(8), 256, 0, stream>>>(filter_.points, filter_.point_lengths, stride_, filter_.n, slots_,
                                                place_of, halves, lengths);
    cuda::check_launch("reorder_rows");
    const auto copy = [&](void* to, const void* from, std::int64_t bytes) {
      cuda::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream),
                  "cudaMemcpyAsync");
    };
    copy(halves_of(copy_of_block()), halves, filter_.n * stride_ * static_cast<std::int64_t>(sizeof *halves));
    copy(lengths_of(copy_of_block()), lengths, filter_.n * static_cast<std::int64_t>(sizeof *lengths));
  }

  /// Makes a block the current one: from here on, the kernels' points are the points of this block. Does nothing if
  /// there are no blocks.
  void enter(std::int64_t block) {
    if (!rows_) return;
    block_ = block;
    const std::int64_t first = rows_->first(block);
    filter_.n = update_.n = pipeline_.n = rows_->rows(block);
    filter_.points = halves_of(copy_of_block());
    filter_.point_lengths = pipeline_.lengths = lengths_of(copy_of_block());
    filter_.labels = labels_.data() + first;
    filter_.counters = block_counters_.data() + block;
    update_.counters = filter_.counters;
    update_.labels = filter_.labels;
    update_.weights = job_.weights() ? job_.weights() + first : nullptr;
    if (!is_pipelined_) return;
    slots_ = block_slots_.data() + first;
    pipeline_.points = cuda::map_of_halves(filter_.points, filter_.n, stride_, tile_points());
    pipeline_.beginnings = beginnings_of_block();
  }

  /// Calls work() for each block after entering it. `needs_rows(block)`: true if all rows of the block must be copied
  /// to the GPU. If there are no blocks, calls work() once. Blocks are entered in ascending and in descending order in
  /// turn, so that blocks which are still on the GPU come first.
  template <class NeedsRows, class Work>
  void for_each_block(const NeedsRows& needs_rows, const Work& work) {
    if (!rows_) return work();
    const auto block_at = [&](std::int64_t turn) { return is_backwards_ ? plan_.blocks - 1 - turn : turn; };
    for (std::int64_t turn = 0; turn < plan_.blocks; ++turn) {
      core::honour_stop(stop_of(job_.problem()), "stopped while the GPU was at work");
      const std::int64_t block = block_at(turn);
      enter(block);
      room_for_rows_ = needs_rows(block) ? nullptr : rows_->begin_without_rows();
      update_.points = room_for_rows_ ? room_for_rows_ : rows_->begin(block);
      if (turn + 1 < plan_.blocks && needs_rows(block_at(turn + 1))) rows_->ask_for(block_at(turn + 1));
      work();
      rows_->end();
    }
    is_backwards_ = !is_backwards_;
  }

  /// Copies the listed rows of the current block to the GPU, unless all its rows are there.
  void bring(const std::int32_t* rows, const unsigned int* count) {
    if (!room_for_rows_) return;
    bring_rows<T><<<blocks(8), 256, 0, job_.stream()>>>(rows_->source(block_), rows, count, room_for_rows_);
    cuda::check_launch("bring_rows");
  }

  void point_at_centroids() {
    update_.centroids = centroids_.data();
    update_.next = next_.data();
  }

  /// Clears the outcome and rounds the centroids of the next pass.
  void begin_pass(const cuda::DeviceBuffer<T>& centroids) {
    const cuda::Stream& stream = job_.stream();
    if (!is_published_) outcome_.clear(stream);
    is_published_ = false;
    convert_centroids<<<blocks_for(std::int64_t{padded_clusters_} * 32, 256), 256, 0, stream>>>(
        centroids.data(), filter_.k, padded_clusters_, conversion_, half_centroids_.data(), half_squares_.data(),
        cluster_lengths_.data(), &outcome_.data()->largest);
    cuda::check_launch("convert_centroids");
  }

  /// Computes the labels of all points. The centroids must be on the GPU, and begin_pass() must have rounded them.
  void launch_pass() {
    earlier_doubtful_ = 0;
    if (rows_) return launch_pass_by_blocks();
    assign_block();
    launch_sums();
  }

  void launch_pass_by_blocks() {
    const cuda::Stream& stream = job_.stream();
    // The number of labels that the whole pass will change is unknown while its first blocks are summed. The last pass
    // decides whether the sums start at zero.
    update_.joins_all = 2 * last_changed_ > n_;
    if (update_.joins_all) device_sums_.clear(stream);
    block_counters_.clear(stream);
    const bool copies_all = update_.joins_all || copies_whole_blocks(plan_.tier, share_read_, shape_of(job_.problem()));
    for_each_block([&](std::int64_t block) { return copies_all || !has_copy_[static_cast<std::size_t>(block)]; },
                   [&] {
                     if (!has_copy_[static_cast<std::size_t>(block_)]) convert_points_of_block();
                     has_copy_[static_cast<std::size_t>(block_)] = block_ < plan_.resident_blocks;
                     assign_block();
                     launch_sums();
                   });
    add_counters<<<1, 32, 0, stream>>>(block_counters_.data(), plan_.blocks, &outcome_.data()->counters);
    cuda::check_launch("add_counters");
  }

  /// Computes the labels of the current block, or of all points if there are no blocks.
  void assign_block() {
    const std::int64_t tile = is_pipelined_ ? tile_points() : is_resident() ? Few::points : Many::points;
    const double operations = static_cast<double>(padded_clusters_) * stride_;
    portions_.run(filter_.n, operations, tile, job_.stream(), [&](std::int64_t first, std::int64_t count) {
      if (first > 0) forget_doubtful();
      launch_assignment(first, count);
    });
  }

  /// Empties the lists of doubtful points before the next portion.
  void forget_doubtful() {
    cuda::check(cudaMemcpyAsync(&host_outcome_[0].counters, filter_.counters, sizeof(PassCounters),
                                cudaMemcpyDeviceToHost, job_.stream()),
                "cudaMemcpyAsync");
    job_.stream().wait();
    earlier_doubtful_ += host_outcome_[0].counters.doubtful;
    PassCounters* counters = filter_.counters;
    for (unsigned int* counter : {&counters->doubtful, &counters->crowded})
      cuda::check(cudaMemsetAsync(counter, 0, sizeof *counter, job_.stream()), "cudaMemsetAsync");
  }

  /// Computes the labels of `count` points, beginning with point `first`. `first` must be the start of a tile.
  void launch_assignment(std::int64_t first, std::int64_t count) {
    const cuda::Stream& stream = job_.stream();
    filter_.first_point = first;
    const auto shared = static_cast<std::size_t>(cuda_tensor_shared(stride_));
    if (is_pipelined_) {
      launch_pipeline(first, count);
    } else if (is_resident()) {
      find_nearest<true><<<blocks_for(count, Few::points), Few::threads, shared, stream>>>(filter_);
      cuda::check_launch("find_nearest");
      note_candidates<true><<<blocks(2), Few::threads, shared, stream>>>(filter_);
      cuda::check_launch("note_candidates");
    } else {
      find_nearest<false><<<blocks_for(count, Many::points), Many::threads, shared, stream>>>(filter_);
      cuda::check_launch("find_nearest");
      note_candidates<false><<<blocks(1), Many::threads, shared, stream>>>(filter_);
      cuda::check_launch("note_candidates");
    }
    bring(filter_.doubtful, &filter_.counters->doubtful);
    const ChainJob<T> rows{update_.points, centroids_.data(), update_.d};
    compare_candidates<T><<<blocks(8), 256, 0, stream>>>(filter_, rows);
    cuda::check_launch("compare_candidates");
    compare_all<T><<<blocks(8), 256, 0, stream>>>(filter_, rows);
    cuda::check_launch("compare_all");
  }

  /// Computes the labels of `count` points on Hopper.
  void launch_pipeline(std::int64_t first, std::int64_t count) {
    const cuda::Stream& stream = job_.stream();
    with_pipeline([&]<class Shape>(Shape) {
      pipeline_.first_tile = static_cast<std::int32_t>(first / Shape::points);
      pipeline_.end_tile = static_cast<std::int32_t>((first + count + Shape::points - 1) / Shape::points);
      const unsigned int tiles = static_cast<unsigned int>(pipeline_.end_tile - pipeline_.first_tile);
      find_possible<Shape><<<std::min(blocks(1), tiles), Shape::threads, Shape::shared_bytes, stream>>>(pipeline_);
      cuda::check_launch("find_possible");
      settle_points<<<blocks_for(count, settling_threads), settling_threads, 0, stream>>>(
          filter_, slots_, pipeline_.counts, pipeline_.possible, Shape::room, first + count);
    });
    cuda::check_launch("settle_points");
  }

  /// Orders the entries of an update by clusters.
  void launch_order(const ExactUpdateJob<T>& update) {
    const cuda::Stream& stream = job_.stream();
    const std::size_t counters = update.k <= counted_in_shared ? static_cast<std::size_t>(update.k) * 4 : 0;
    count_entries<T><<<blocks(2), order_threads, counters, stream>>>(update);
    cuda::check_launch("count_entries");
    place_clusters<T><<<1, 1024, 0, stream>>>(update);
    cuda::check_launch("place_clusters");
    order_entries<T><<<blocks(2), order_threads, counters, stream>>>(update);
    cuda::check_launch("order_entries");
  }

  void launch_sums() {
    const cuda::Stream& stream = job_.stream();
    point_at_centroids();
    bring(filter_.moved_points, &filter_.counters->changed);
    launch_order(update_);
    if (update_.weights) add_entries<T, true><<<blocks(8), add_threads, 0, stream>>>(update_);
    else add_entries<T, false><<<blocks(8), add_threads, 0, stream>>>(update_);
    cuda::check_launch("add_entries");
  }

  /// Runs a pass over the points of all ranks, and adds up their sums. `looks` is true if this rank must leave the loop
  /// after this iteration. After a stop request, the ranks still add up their sums, but the results are invalid.
  void launch_pass_on_ranks(bool looks) {
    const cuda::Stream& stream = job_.stream();
    const std::stop_token& stop = job_.problem().ranks().asked();
    try {
      launch_pass();
    } catch (const InterruptedError&) {
      // at this point, stop_requested() returns true
    }
    const std::int64_t sums = sum_words(update_);
    note_step<<<1, 1, 0, stream>>>(&outcome_.data()->counters, looks, stop.stop_requested(),
                                   reinterpret_cast<RankWords*>(device_sums_.data() + sums));
    cuda::check_launch("note_step");
    totals_->sums.add_up(device_sums_.data(), totals_->words.data(), device_sums_.size(), stream);
  }

  /// Computes the next centroids, in the second update of an iteration without the first `moves` points of moved_.
  void launch_update(int moves = 0) {
    const cuda::Stream& stream = job_.stream();
    ExactUpdateJob<T> update = update_;
    PublishOutcome publish{outcome_.data(), nullptr, host_outcome_.on_gpu()};
    if (totals_) {
      update.sums = totals_->words.data();
      publish.of_ranks = reinterpret_cast<const RankWords*>(update.sums + sum_words(update));
    }
    update.moves = moved_.data();
    update.move_count = moves;
    const auto add_moved = [&](int sign) {
      if (moves == 0) return;
      add_moved_points<T><<<std::min(blocks(8), static_cast<unsigned int>(moves)), 128, 0, stream>>>(update, sign);
      cuda::check_launch("add_moved_points");
    };
    const auto clusters = static_cast<unsigned int>(update.k);
    add_moved(-1);
    update_centroids<T><<<std::min(blocks(8), clusters), update_threads, 0, stream>>>(update, publish);
    cuda::check_launch("update_centroids");
    add_moved(1);  // the moved points change their labels in the next pass only
    is_published_ = publish.on_host != nullptr;
  }

  /// Returns true if clusters are empty and the GPUs can move points to them. The driver decides whether an iteration
  /// in which no label changes is the last one.
  bool can_relocate(const StepOutcome& outcome) const {
    const Problem<T>& problem = job_.problem();
    const Word changed = totals_ ? outcome.of_ranks.changed : outcome.counters.changed;
    return outcome.update.empty > 0 && outcome.update.doubtful == 0 && changed > 0 && has_all_rows_ &&
           problem.empty == EmptyCluster::relocate && !problem.has_surplus();
  }

  /// Moves points to the empty clusters, and updates the centroids and the outcome again. Collective.
  void relocate_points() {
    const Problem<T>& problem = job_.problem();
    const StepOutcome first = host_outcome_[0];
    GpuFarPoints<T> points(job_, update_, reinterpret_cast<Word*>(list(2)), far_memory_);  // in lists 2 and 3
    const std::vector<Relocation> moves = relocate<T>(problem, first.update.empty, points);
    if (moves.empty()) return;
    const Matrix<T> rows = totals_ ? rows_of(problem, moves) : Matrix<T>();
    moved_.send(moves, rows.data(), update_.points, problem.d() * static_cast<std::int64_t>(sizeof(T)), problem.ranks(),
                job_.stream());
    launch_update(static_cast<int>(moves.size()));
    fetch_outcome();
    begin_pass(next_);
    await_outcome();
    host_outcome_[0].counters = first.counters;
  }

  /// Lets the host read the outcome after the work in the stream, by read_outcome().
  void fetch_outcome() {
    if (!is_published_) outcome_.copy_to_host(host_outcome_.data(), 1, job_.stream());
    is_fetched_.record(job_.stream());
  }

  void await_outcome() {
    if (totals_) totals_->sums.wait(is_fetched_);
    else is_fetched_.wait();
  }

  /// Waits for the outcome of a pass.
  void read_outcome() {
    await_outcome();
    const std::int64_t doubtful = earlier_doubtful_ + host_outcome_[0].counters.doubtful;
    last_changed_ = host_outcome_[0].counters.changed;
    share_read_ = static_cast<double>(doubtful + last_changed_) / static_cast<double>(n_);
    rechecked_ += doubtful;
    assignments_ += n_;
  }

  void run_pass(MatrixView<const T> centroids) {
    centroids_.copy_from_host(centroids.data(), centroids_.size(), job_.stream());
    begin_pass(centroids_);
    launch_pass();
    fetch_outcome();
    read_outcome();
  }

  // Copies the sums to the host, for the driver. If `labels` is not null, copies the labels, too.
  void fetch(std::int32_t* labels) {
    const cuda::Stream& stream = job_.stream();
    fetch_sums(device_sums_, sums_, stream);
    if (labels) return bring_labels(labels);
    cuda::check(cudaMemcpyAsync(job_.problem().labels_on_gpu, labels_.data(), static_cast<std::size_t>(n_) * 4,
                                cudaMemcpyDeviceToDevice, stream),
                "cudaMemcpyAsync");
  }

  CudaFit<T>& job_;
  std::int64_t n_;
  bool is_pipelined_;  ///< true on Hopper
  int stride_;
  bool has_wide_tiles_;  ///< true on Hopper if there are many columns
  int padded_clusters_;
  GpuTierPlan plan_;
  std::int64_t room_;    ///< number of points of a block, or of all points if there are no blocks
  std::int64_t copies_;  ///< number of blocks whose 16-bit rows have memory
  FilterJob filter_{};
  PipelineJob pipeline_{};
  ExactUpdateJob<T> update_{};
  Conversion conversion_{};
  ExactSums<T> sums_;
  std::vector<double> host_columns_;
  std::vector<int> host_units_;
  cuda::DeviceBuffer<__half> half_points_;
  cuda::DeviceBuffer<__half> half_centroids_;
  cuda::DeviceBuffer<float> half_squares_;
  cuda::DeviceBuffer<TensorLengths> point_lengths_;
  cuda::DeviceBuffer<TensorLengths> cluster_lengths_;
  cuda::DeviceBuffer<double> columns_;  ///< the middle and the scale to the high limb of each column
  cuda::DeviceBuffer<int> units_;       ///< the unit of each column's grid, followed by flags of Statistics::is_on_grid
  cuda::DeviceBuffer<std::int32_t> labels_;
  cuda::DeviceBuffer<std::int32_t> lists_;  ///< list_words lists, each with n elements
  cuda::DeviceBuffer<std::int32_t> candidates_;
  cuda::DeviceBuffer<Possible> possible_;
  cuda::DeviceBuffer<std::int32_t> beginnings_;
  cuda::DeviceBuffer<PassCounters> all_;  ///< counters of a pass in which all labels change
  /// The point in each 16-bit row of the current block; null if the rows are in the points' original order.
  std::int32_t* slots_ = nullptr;
  cuda::DeviceBuffer<unsigned int> cluster_counters_;
  cuda::DeviceBuffer<T> centroids_;
  cuda::DeviceBuffer<T> next_;
  cuda::DeviceBuffer<double> parts_;
  cuda::DeviceBuffer<Word> device_sums_;  ///< the sums, followed by RankWords; an even number of words
  std::optional<RankTotals> totals_;      ///< set if the GPUs of several ranks iterate together
  std::optional<FarMemory> far_memory_;   ///< set after the first search for points that move to empty clusters
  MovedPoints moved_;
  cuda::DeviceBuffer<StepOutcome> outcome_;
  DeviceTotal inertia_;
  cuda::PinnedBuffer<StepOutcome> host_outcome_;
  cuda::Event is_fetched_;     ///< recorded after the last write to host_outcome_
  bool is_published_ = false;  ///< true if the last update wrote to host_outcome_ and cleared the outcome
  cuda::Portions portions_;
  std::optional<RowBlocks<T>> rows_;  ///< set if kernels process the points by blocks
  bool has_all_rows_ = false;         ///< true if the GPUs of all ranks have all rows of their points
  cuda::DeviceBuffer<PassCounters> block_counters_;
  cuda::DeviceBuffer<std::int32_t> block_slots_;
  std::vector<bool> has_copy_;  ///< per block: true if its 16-bit rows are on the GPU to stay
  std::int64_t block_ = 0;      ///< the current block
  bool is_backwards_ = false;   ///< the order of blocks in the next pass
  T* room_for_rows_ = nullptr;  ///< if the current block was begun without its rows: where bring() copies them
  std::int64_t last_changed_;   ///< number of labels that the last pass changed
  double share_read_ = 1;       ///< share of the points whose rows the last pass needed
  std::int64_t moved_since_ordered_ = 0;  ///< number of label changes since the slots were last ordered
  std::int64_t earlier_doubtful_ = 0;     ///< number of doubtful points in the current pass, without its last portion
  bool pass_is_pending_ = false;
  std::int64_t assignments_ = 0;
  std::int64_t rechecked_ = 0;
};

template <class T>
struct TensorFit {
  TensorFit(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases)
      : job(problem, execution, Layout::rows,
            GpuNeeds(TensorEngine<T>::bytes(problem),
                     HostRowsJob{.shape = shape_of(problem), .on_ranks = !problem.ranks().is_alone()})),
        engine(job) {
    block_threads(execution, Tile<true>::threads);  // checks the option; the number of threads is fixed by the tiles
    core::add_phase(phases, "prepare", core::seconds_since(start));
  }

  CudaFit<T> job;
  core::Clock::time_point start = core::Clock::now();
  TensorEngine<T> engine;
};

}  // namespace

template <class T>
KMeansResult<T> cuda_tensor(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  return whole_fit<TensorFit<T>>(problem, execution, phases);
}

}  // namespace gradus::kmeans_detail
#endif

namespace gradus::kmeans_detail {

namespace {

core::Support tiles_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  if (core::Support few = at_most(cuda_tensor_columns, "columns", shape.dimensions); !few) return few;
  if (core::Support few = at_most(cuda_tensor_clusters, "clusters", shape.clusters); !few) return few;
  return execution::fits_shared(cuda_tensor_shared(shape.dimensions), "tiles of points and centroids", machine);
}

}  // namespace

extern constinit const Variant cuda_tensor_rung{
    .name = "cuda_tensor",
    .summary = "a matrix product on the tensor cores as filter, doubtful points in double; exact sums",
    .change =
        "many columns or clusters: scores in FP16 with a proven bound; possible clusters are recorded while "
        "scores are in registers, with points in label order; moved points are sorted by cluster and summed in "
        "runs; the oracle's bits",
    .contract = exact,
    .backend = core::Backend::cuda,
    .device_input = true,
    .on_ranks = true,
    .supports = tiles_on_gpu,
    .memory = gpu_exact_sums<cuda_tensor_bytes>,
    .run = GRADUS_CUDA_RUNS(cuda_tensor<float>, cuda_tensor<double>),
};

}  // namespace gradus::kmeans_detail
