// Code of the variants that run whole iterations on the GPU: the loop state in GPU memory, and the engine. The only
// difference between the variants is that the CPU launches single kernels or graphs of kernels. The kernels are in
// cuda_all_gpu.cu.
#pragma once

#include <cuda_runtime.h>

#include "kmeans/gpu/cuda_common.hpp"
#include "kmeans/means/cuda_sums.hpp"

namespace gradus::kmeans_detail {

/// The stopping rules and the progress of the loop, in GPU memory.
struct LoopState {
  double shift_limit;
  std::int64_t changed_limit;
  int iterations_left;
  bool relocates;  ///< true if an empty cluster ends the loop, because the driver handles empty clusters
  bool to_unit_length;
  // The members below are written by the iterations.
  int steps;  ///< number of completed iterations
  bool finished;
  bool needs_frame;
  bool same_centroids;
  unsigned long long changed;  ///< number of labels that the current pass changed
  double inertia;              ///< the inertia of the current pass
};

struct LoopRecord {
  double inertia;
  std::int64_t changed;
  double shift;
};

inline constexpr int loop_records = 4096;  ///< maximum number of iterations between two polls by the host

template <class T>
struct LoopMemory;

/// Sets the limit of shared memory for the kernel of launch_assign_and_sum(), and returns the bytes of shared memory
/// that this kernel needs.
template <class T>
std::size_t allow_assign_and_sum(std::int64_t k, std::int64_t d);

template <class T>
void launch_assign_and_sum(LoopMemory<T>& memory, std::int64_t begin, std::int64_t end);

/// Updates the centroids, records the iteration, and decides whether the loop continues. If the loop continues, sets
/// the sums to zero for the next iteration. If the loop ends, keeps the sums. Does nothing after the loop has ended.
template <class T>
void launch_update(LoopMemory<T>& memory);

template <class T>
struct LoopMemory {
  LoopMemory(CudaFit<T>& the_job, int block)
      : job(the_job), threads(block), shared(allow_assign_and_sum<T>(the_job.problem().k(), the_job.problem().d())),
        sums(the_job), centroids(the_job.problem().k() * the_job.problem().d()), next(centroids.size()),
        labels(the_job.problem().n()), state(1), records(loop_records),
        portions(the_job.problem().stop, operations_of_the_first_launch) {
    labels.fill_bytes(0xff, job.stream());  // every label is -1, because the points have no clusters yet
  }

  /// Runs a whole pass. The sums must be zero. The host may wait after each portion of the points.
  void assign_and_sum() {
    portions.run(job.problem().n(), job.point_operations(), 1024, job.stream(),
                 [&](std::int64_t first, std::int64_t count) { launch_assign_and_sum(*this, first, first + count); });
  }
  bool is_one_launch() const { return portions.is_one_launch(job.problem().n(), job.point_operations()); }

  CudaFit<T>& job;
  int threads;         ///< number of threads per block of assign_and_sum
  std::size_t shared;  ///< bytes of shared memory per block of assign_and_sum
  CudaSums<T> sums;
  cuda::DeviceBuffer<T> centroids;
  cuda::DeviceBuffer<T> next;
  cuda::DeviceBuffer<std::int32_t> labels;
  cuda::DeviceBuffer<LoopState> state;
  cuda::DeviceBuffer<LoopRecord> records;
  cuda::Portions portions;
};

/// An engine for Lloyd's driver that runs whole iterations on the GPU. `Loop` is constructed from the LoopMemory.
/// Loop::run(iterations, phases) runs `iterations` iterations, but stops early if state->finished becomes true.
template <class T, class Loop>
class CudaLoopEngine {
 public:
  CudaLoopEngine(CudaFit<T>& job, const Execution& execution, int threads)
      : memory_(job, threads), loop_(memory_, execution), state_(1), records_(loop_records) {}

  static std::uint64_t bytes(const Problem<T>& problem) {
    return CudaSums<T>::bytes(problem) + 2 * centroid_bytes(problem) + sizeof(LoopRecord) * loop_records;
  }

  Steps advance(MatrixView<T> centroids, StopRules rules, std::vector<Phase>& phases) {
    const cuda::Stream& stream = memory_.job.stream();
    memory_.job.add_upload_phase(phases);
    const auto start = core::Clock::now();
    {
      core::PhaseTimer timer(phases, "to_device");
      rules.iterations = std::min(rules.iterations, batch_);
      reset(centroids, rules);
      stream.wait();
    }
    loop_.run(rules.iterations, phases);
    core::PhaseTimer timer(phases, "to_host");
    memory_.state.copy_to_host(state_.data(), 1, stream);
    stream.wait();
    Steps steps;
    steps.same_centroids = state_[0].same_centroids;
    steps.needs_frame = pass_is_pending_ = state_[0].needs_frame;
    const int count = state_[0].steps;
    memory_.records.copy_to_host(records_.data(), count, stream);
    memory_.centroids.copy_to_host(centroids.data(), memory_.centroids.size(), stream);
    stream.wait();
    const double seconds = core::seconds_since(start);
    for (int step = 0; step < count; ++step)
      steps.records.push_back({records_[step].inertia, records_[step].changed, records_[step].shift, seconds / count});
    // The number of iterations per batch doubles until a batch takes about ten milliseconds. After each batch, the host
    // reports progress and responds to stop requests.
    if (seconds < 0.01) batch_ = std::min(2 * batch_, loop_records);
    return steps;
  }

  /// Runs a pass. If advance() has already run this pass, only returns its result.
  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels) {
    const cuda::Stream& stream = memory_.job.stream();
    if (!pass_is_pending_) {
      reset(centroids, {});
      memory_.assign_and_sum();
      memory_.state.copy_to_host(state_.data(), 1, stream);
    }
    pass_is_pending_ = false;
    memory_.sums.fetch();
    cuda::download(memory_.labels, labels, memory_.labels.size(), memory_.job.staging(), memory_.job.threads(), stream);
    stream.wait();
    return {static_cast<std::int64_t>(state_[0].changed), state_[0].inertia};
  }

  const FloatSums<T>& sums() const { return memory_.sums.on_host(); }
  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool /*labels_are_current*/) {
    pass(centroids, labels);
    return float_inertia(memory_.job, memory_.centroids.data(), memory_.labels.data());
  }
  static double rechecked() { return 0; }

 private:
  void reset(MatrixView<const T> centroids, StopRules rules) {
    const Problem<T>& problem = memory_.job.problem();
    state_[0] = {};
    state_[0].shift_limit = rules.shift_limit;
    state_[0].changed_limit = rules.changed_limit;
    state_[0].iterations_left = rules.iterations;
    state_[0].relocates = problem.empty != EmptyCluster::keep;
    state_[0].to_unit_length = problem.metric == Metric::cosine;
    memory_.state.copy_from_host(state_.data(), 1, memory_.job.stream());
    memory_.sums.clear();
    memory_.centroids.copy_from_host(centroids.data(), memory_.centroids.size(), memory_.job.stream());
  }

  LoopMemory<T> memory_;
  Loop loop_;
  cuda::PinnedBuffer<LoopState> state_;
  cuda::PinnedBuffer<LoopRecord> records_;
  int batch_ = 1;
  bool pass_is_pending_ = false;
};

}  // namespace gradus::kmeans_detail
