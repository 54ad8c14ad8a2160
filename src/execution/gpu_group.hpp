// Jobs on several GPUs of this process (Execution::gpus). Each GPU is a rank with its own thread. Data that the caller
// has split can also be worked on by several ranks on the CPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "execution/gpu_shares.hpp"
#include "gradus/execution.hpp"
#include "gradus/run_report.hpp"

namespace gradus::core {
class ThreadGroup;
}

namespace gradus::execution {

/// Returns the request for the first of its GPUs alone. Without a list of GPUs, returns the request unchanged. Throws
/// UsageError if the request lists GPUs and asks for the CPU.
Execution on_first_gpu(Execution execution);

/// Returns the request for its GPUs, in which a list of one GPU has become a request for this GPU. Throws the error of
/// on_first_gpu().
Execution on_listed_gpus(Execution execution);

/// Returns true if an earlier job has connected these GPUs, and no job uses the group at the moment.
bool has_idle_group(const std::vector<int>& gpus);

/// The ranks of a job on several GPUs. Connecting GPUs takes long, so a group outlives its job, and a later job on the
/// same GPUs uses the group again.
class GpuGroup {
 public:
  /// Throws UsageError or UnsupportedError if the job cannot run on these GPUs. `execution` must outlive the object. If
  /// it lists no GPUs, there are `ranks_on_cpu` ranks on the CPU.
  explicit GpuGroup(const Execution& execution, int ranks_on_cpu = 0);
  GpuGroup(const GpuGroup&) = delete;
  GpuGroup& operator=(const GpuGroup&) = delete;
  ~GpuGroup();

  int size() const { return size_; }

  /// Calls job(rank, execution) for each rank in parallel. The call for the first rank runs on this thread. `execution`
  /// names the rank's GPU and has a communicator. Returns the results in the order of the ranks. If a job throws,
  /// throws its exception.
  template <class Job>
  auto run(const Job& job) {
    std::vector<std::invoke_result_t<Job, int, const Execution&>> results(static_cast<std::size_t>(size_));
    run_all([&](int rank, const Execution& here) { results[static_cast<std::size_t>(rank)] = job(rank, here); });
    return results;
  }

  /// Returns shares_of_gpus() for the free memory of the GPUs.
  std::vector<RowRange> divide(std::int64_t rows, const PartMemory& needed);

  /// Changes the report of the first rank so that it describes the whole job.
  void describe(RunReport& report) const;

 private:
  void run_all(const std::function<void(int, const Execution&)>& job);
  Execution of_rank(Communicator& communicator) const;

  const Execution& execution_;
  int size_;
  std::shared_ptr<core::ThreadGroup> group_;
};

/// Starts and connects the GPUs of a request in the background, while the caller does other work, such as reading a
/// file. The destructor waits until the GPUs are ready. Ignores errors, because the job will report them.
class GpuStart {
 public:
  explicit GpuStart(const Execution& execution);
  GpuStart(const GpuStart&) = delete;
  GpuStart& operator=(const GpuStart&) = delete;
  ~GpuStart();

 private:
  std::thread thread_;
};

}  // namespace gradus::execution
