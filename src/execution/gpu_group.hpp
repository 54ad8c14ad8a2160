// Jobs on several GPUs of this process (Execution::gpus). Each GPU is a rank with its own thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "gradus/execution.hpp"
#include "gradus/run_report.hpp"

namespace gradus::core {
class ThreadGroup;
}

namespace gradus::execution {

/// Returns the request, changed so that it names only the first GPU of its list. If the request has no list of GPUs,
/// returns it unchanged.
Execution on_first_gpu(Execution execution);

/// The ranks of a job on several GPUs. It takes long to connect GPUs, so the connected ranks are kept after the job,
/// and a later job on the same GPUs uses them again.
class GpuGroup {
 public:
  /// Throws UsageError or UnsupportedError if the job cannot run on these GPUs. `execution` must outlive the object.
  explicit GpuGroup(const Execution& execution);
  GpuGroup(const GpuGroup&) = delete;
  GpuGroup& operator=(const GpuGroup&) = delete;
  ~GpuGroup();

  int size() const { return static_cast<int>(execution_.gpus.size()); }

  /// Calls job(rank, execution) for each GPU in parallel. The call for the first GPU runs on this thread. `execution`
  /// names the GPU and has a communicator. Returns the results in the order of the GPUs. If a job throws, throws its
  /// exception.
  template <class Job>
  auto run(const Job& job) {
    std::vector<std::invoke_result_t<Job, int, const Execution&>> results(execution_.gpus.size());
    run_all([&](int rank, const Execution& here) { results[static_cast<std::size_t>(rank)] = job(rank, here); });
    return results;
  }

  /// Changes the report of the first rank into a report of the whole job.
  void describe(RunReport& report) const;

 private:
  void run_all(const std::function<void(int, const Execution&)>& job);
  Execution of_rank(Communicator& communicator) const;

  const Execution& execution_;
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
