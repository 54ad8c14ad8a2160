// Host code of the exact GPU variants for few columns. They run the whole fit in one kernel. Allocates GPU memory,
// chooses blocks and threads, launches the kernel, and copies the results back for Lloyd's driver.
//
// The kernel is in kernel.cuh, which uses filter.cuh and sums.cuh. The kernels that run after it are in results.cuh,
// and the data that all kernels share are in job.cuh.
#pragma once

#include <cuda_runtime.h>

#include "kmeans/gpu/cuda_common.hpp"
#include "kmeans/gpu/rank_passes.hpp"
#include "kmeans/persistent/results.cuh"

namespace gradus::kmeans_detail {

/// A kernel for one kind of walk over the points (kernel.cuh), and its launch parameters.
template <class T>
struct WalkKernel {
  const void* function = nullptr;
  int points_per_thread = 1;
  int threads = 256;  ///< threads per block, if the caller does not choose a number
  int (*work_bytes)(const SmallDimJob<T>& job, int warps) = nullptr;
  std::size_t (*shared_bytes)(const SmallDimJob<T>& job, int copies, int work_bytes) = nullptr;
};

template <class T, class Walk>
WalkKernel<T> walk_kernel() {
  return {reinterpret_cast<const void*>(fit_on_gpu<T, Walk>), Walk::points_per_thread, Walk::threads, Walk::work_bytes,
          Shared<T, Walk::columns>::bytes};
}

/// The engine that runs a kernel for one kind of walk. In a single process, lloyd() uses the engine directly. With
/// several ranks, the engine makes the passes of this rank (RankPasses).
template <class T>
class PersistentEngine final : public RankPasses<T> {
 public:
  using LeavesLabelsOnGpu = void;

  explicit PersistentEngine(CudaFit<T>& job)
      : job_(job), past_steps_(past_steps(job.problem())), sums_(job.problem()),
        centroids_(job.problem().k() * job.problem().d()), labels_(label_bytes(job.problem())), records_(past_steps_),
        past_sums_(past_steps_ * words_of(job.problem())), past_centroids_((past_steps_ + 1) * centroids_.size()),
        parts_(past_steps_ * 2 * job.problem().k()), outcome_(1), host_records_(past_steps_), host_outcome_(1) {
    const Problem<T>& problem = job.problem();
    describe(problem);
    const int words = sum_words(device_);
    device_sums_ = cuda::DeviceBuffer<Word>(words);
    differences_ = cuda::DeviceBuffer<Word>(3 * (words + 1));
    device_.labels = labels_.data();
    device_.centroids = centroids_.data();
    device_.sums = device_sums_.data();
    device_.differences = differences_.data();
    device_.records = records_.data();
    device_.past_sums = past_sums_.data();
    device_.past_centroids = past_centroids_.data();
    device_.parts = parts_.data();
    device_.outcome = outcome_.data();
    labels_.fill_bytes(0xff, job.stream());  // marks all points as not having a cluster yet
    device_sums_.clear(job.stream());
  }

  /// Returns the kernel arguments. A variant may add further arguments to them.
  SmallDimJob<T>& device() { return device_; }

  /// Chooses the number of threads and blocks and the size of the shared memory. As long as a block does not fit on a
  /// multiprocessor, halves the number of threads per block. The result of the fit does not depend on these numbers.
  void use(const WalkKernel<T>& kernel, const Execution& execution, std::string_view variant) {
    const std::int64_t n = job_.problem().n();
    const int multiprocessors = job_.gpu().multiprocessors;
    kernel_ = kernel;
    cudaFuncAttributes attributes{};
    cuda::check(cudaFuncGetAttributes(&attributes, kernel_.function), "cudaFuncGetAttributes");
    const std::size_t most = job_.gpu().shared_bytes - attributes.sharedSizeBytes;
    const auto needed = [&](int copies) {
      return kernel_.shared_bytes(device_, copies, kernel_.work_bytes(device_, threads_ / 32));
    };
    threads_ = block_threads(execution, kernel_.threads);
    while (threads_ > 32 && (threads_ > attributes.maxThreadsPerBlock || needed(1) > most))
      threads_ = std::max(32, threads_ / 64 * 32);
    // Uses as many copies of the sums as possible without reducing the number of resident blocks per multiprocessor.
    device_.copies = 1;
    const int resident = resident_blocks(needed(1));
    if (resident < 1) throw UnsupportedError(std::string(variant) + ": a block does not fit this GPU");
    while (device_.copies < 32 && needed(2 * device_.copies) <= most &&
           resident_blocks(needed(2 * device_.copies)) == resident)
      device_.copies *= 2;
    shared_ = needed(device_.copies);
    const std::int64_t tile = std::int64_t{threads_} * kernel_.points_per_thread;
    const std::int64_t working = std::max<std::int64_t>(1, (n + tile - 1) / tile);
    blocks_ = static_cast<unsigned int>(std::min(std::int64_t{resident} * multiprocessors, working));
  }

  Steps advance(MatrixView<T> centroids, StopRules rules, std::vector<Phase>& phases) {
    const cuda::Stream& stream = job_.stream();
    job_.add_upload_phase(phases);
    device_.iterations = std::min(rules.iterations, batch_);
    device_.shift_limit = rules.shift_limit;
    device_.changed_limit = rules.changed_limit;
    const auto start = core::Clock::now();
    {
      core::PhaseTimer timer(phases, "iterate");
      centroids_.copy_from_host(centroids.data(), centroids_.size(), stream);
      launch();
      centroids_.copy_to_host(centroids.data(), centroids_.size(), stream);
      stream.wait();
    }
    // The number of iterations per batch doubles until a batch takes about ten milliseconds. After each batch, the host
    // reports progress and responds to stop requests.
    if (core::seconds_since(start) < 0.01) batch_ = static_cast<int>(std::min<std::int64_t>(2 * batch_, past_steps_));
    const LoopOutcome& outcome = host_outcome_[0];
    records_.copy_to_host(host_records_.data(), outcome.steps, stream);
    stream.wait();
    Steps steps;
    steps.same_centroids = outcome.same_centroids;
    steps.inertia_is_explained = true;
    steps.needs_frame = pass_is_pending_ = outcome.pass_only;
    Word before = outcome.start_nanoseconds;
    for (int step = 0; step < outcome.steps; ++step) {
      const Record& record = host_records_[step];
      steps.records.push_back(
          {record.explained, record.changed, record.shift, 1e-9 * static_cast<double>(record.nanoseconds - before)});
      before = record.nanoseconds;
    }
    return steps;
  }

  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels) {
    if (!pass_is_pending_) run_pass(centroids);
    pass_is_pending_ = false;
    fetch(labels);
    return {static_cast<std::int64_t>(host_outcome_[0].changed)};
  }

  const ExactSums<T>& sums() const override { return sums_; }

  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool labels_are_current) {
    if (!labels_are_current) run_pass(centroids);
    fetch(labels);
    return own_inertia().template round<double>();
  }

  std::int64_t make_pass(MatrixView<const T> centroids) override {
    run_pass(centroids);
    fetch_sums(device_sums_, sums_, job_.stream());
    return static_cast<std::int64_t>(host_outcome_[0].changed);
  }

  void bring_labels(std::int32_t* labels) override {
    if (device_.wide_labels) fetch_labels<std::uint16_t>(labels);
    else fetch_labels<std::uint8_t>(labels);
  }

  core::ExactAccumulator own_inertia() override {
    const cuda::Stream& stream = job_.stream();
    const Statistics& statistics = job_.problem().statistics;
    exact_inertia<<<static_cast<unsigned int>(8 * job_.gpu().multiprocessors), 256, 0, stream>>>(
        device_, statistics.inertia, inertia_.cleared(stream));
    cuda::check_launch("exact_inertia");
    return inertia_.fetch(statistics.inertia, statistics.weight_exponent, stream);
  }

  double rechecked() const override {
    return assignments_ > 0 ? static_cast<double>(rechecked_) / static_cast<double>(assignments_) : 0.0;
  }

 private:
  static std::int64_t words_of(const Problem<T>& problem) {
    return problem.k() * (2 * problem.d() + (problem.weights.empty() ? 0 : 2) + 1);
  }

  static std::uint64_t past_bytes(const Problem<T>& problem) {
    return sizeof(Record) + centroid_bytes(problem) +
           8 * static_cast<std::uint64_t>(words_of(problem) + 2 * problem.k());
  }

  // Returns the maximum number of iterations between two polls by the host.
  static std::int64_t past_steps(const Problem<T>& problem) {
    // With several ranks, the driver runs the iterations, and the kernel runs single passes.
    if (!problem.ranks().is_alone()) return 1;
    const auto fitting = static_cast<std::int64_t>(cuda_history_bytes / past_bytes(problem));
    return std::max<std::int64_t>(1, std::min<std::int64_t>({fitting, cuda_history_limit, problem.max_iterations}));
  }

  static std::int64_t label_bytes(const Problem<T>& problem) {
    // Adds 16 bytes, because labels are copied in units of 16 bytes.
    return problem.n() * (problem.k() > cuda_narrow_clusters ? 2 : 1) + 16;
  }

  void describe(const Problem<T>& problem) {
    const Statistics& statistics = problem.statistics;
    device_.points = job_.points();
    device_.weights = job_.weights();
    device_.n = problem.n();
    device_.d = static_cast<int>(problem.d());
    device_.k = static_cast<int>(problem.k());
    device_.wide_labels = problem.k() > cuda_narrow_clusters;
    double half = 0;
    for (int dim = 0; dim < device_.d; ++dim) {
      const auto column = static_cast<std::size_t>(dim);
      device_.low[dim] = statistics.middle[column];
      device_.middle[dim] = static_cast<T>(device_.low[dim]);
      device_.columns[dim] = statistics.columns[column];
      device_.on_grid[dim] = statistics.is_on_grid(dim);
      const double middle = static_cast<double>(device_.middle[dim]);
      half = std::max({half, statistics.highest[column] - middle, middle - statistics.lowest[column]});
      // If rows have unit length, a centroid may be outside the range of the points, but its magnitude is at most 1.
      if (problem.metric == Metric::cosine) half = std::max(half, 1 + std::abs(middle));
    }
    // The error bound does not cover scales near the smallest normal number of T, nor squares that underflow in the
    // canonical chain. Therefore, the exponent has a lower limit. If the data need a smaller exponent, the filter is
    // coarser, and more points need the canonical chain.
    constexpr int least_exponent = sizeof(T) == 4 ? -100 : -400;
    device_.scale = static_cast<T>(std::ldexp(1.0, -std::max(core::exponent_above(half), least_exponent)));
    device_.bound = filter_bound(device_.d);
    device_.weight = statistics.weight;
    device_.weights_on_grid = statistics.weights_are_on_grid();
    device_.weight_scale = statistics.weight_scale;
    device_.coordinate_scale = statistics.coordinate_scale;
    device_.relocates = problem.empty != EmptyCluster::keep;
    device_.to_unit_length = problem.metric == Metric::cosine;
  }

  int resident_blocks(std::size_t shared) const {
    int blocks = 0;
    cuda::allow_shared_memory(kernel_.function, shared);
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_.function, threads_, shared),
                "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return blocks;
  }

  void launch() {
    const cuda::Stream& stream = job_.stream();
    differences_.clear(stream);
    outcome_.clear(stream);
    void* arguments[] = {&device_};
    cuda::check(cudaLaunchCooperativeKernel(kernel_.function, blocks_, static_cast<unsigned int>(threads_), arguments,
                                            shared_, stream),
                "cudaLaunchCooperativeKernel");
    outcome_.copy_to_host(host_outcome_.data(), 1, stream);
    stream.wait();
    if (const int steps = host_outcome_[0].steps; steps > 0) {
      judge_steps<<<static_cast<unsigned int>(steps), 256, 0, stream>>>(device_);
      cuda::check_launch("judge_steps");
    }
    rechecked_ += host_outcome_[0].rechecked;
    assignments_ += job_.problem().n() * (host_outcome_[0].steps + (host_outcome_[0].pass_only ? 1 : 0));
  }

  void run_pass(MatrixView<const T> centroids) {
    device_.iterations = 0;
    centroids_.copy_from_host(centroids.data(), centroids_.size(), job_.stream());
    launch();
  }

  // Fetches the sums for the driver. Also fetches the labels if `labels` is not null.
  void fetch(std::int32_t* labels) {
    if (!labels) place(job_.problem().labels_on_gpu);
    fetch_sums(device_sums_, sums_, job_.stream());
    if (labels) bring_labels(labels);
  }

  template <class Label>
  void fetch_labels(std::int32_t* labels) {
    const bool in_place = device_.tiles.points == 0;
    cuda::DeviceBuffer<Label> placed(in_place ? 0 : device_.n);
    if (!in_place) place(placed.data());
    cuda::download(in_place ? static_cast<const Label*>(device_.labels) : placed.data(), labels, device_.n,
                   job_.staging(), job_.threads(), job_.stream());
  }

  template <class Label>
  void place(Label* labels) {
    place_labels<<<blocks_for(device_.n, 256), 256, 0, job_.stream()>>>(device_, labels);
    cuda::check_launch("place_labels");
  }

  CudaFit<T>& job_;
  std::int64_t past_steps_;  // number of iterations that the records on the GPU can hold
  SmallDimJob<T> device_{};
  ExactSums<T> sums_;
  cuda::DeviceBuffer<T> centroids_;
  cuda::DeviceBuffer<unsigned char> labels_;
  cuda::DeviceBuffer<Word> device_sums_;
  cuda::DeviceBuffer<Word> differences_;
  cuda::DeviceBuffer<Record> records_;
  cuda::DeviceBuffer<Word> past_sums_;
  cuda::DeviceBuffer<T> past_centroids_;
  cuda::DeviceBuffer<double> parts_;
  cuda::DeviceBuffer<LoopOutcome> outcome_;
  DeviceTotal inertia_;
  cuda::PinnedBuffer<Record> host_records_;
  cuda::PinnedBuffer<LoopOutcome> host_outcome_;
  WalkKernel<T> kernel_;
  int threads_ = 0;
  unsigned int blocks_ = 0;
  std::size_t shared_ = 0;
  int batch_ = 1;
  bool pass_is_pending_ = false;
  std::int64_t assignments_ = 0;
  Word rechecked_ = 0;
};

}  // namespace gradus::kmeans_detail
