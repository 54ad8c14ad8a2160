#include "kmeans/problems/schedule.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "core/stop.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "execution/gpu_support.hpp"
#include "execution/request.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/problems/problems.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Returns how many times as fast as one thread `threads` threads fit one problem, by the length of a pass.
std::int64_t speed_of_team(double nanoseconds_of_pass, int threads) {
  constexpr double worth_a_thread = 128e3;  // in ns: about ten times the time of a barrier
  return static_cast<std::int64_t>(std::clamp(nanoseconds_of_pass / worth_a_thread, 1.0, static_cast<double>(threads)));
}

/// The state of a batch that several threads work on.
class BatchRun {
 public:
  BatchRun(std::int64_t problems, const char* name, const Execution& execution,
           const std::function<void(std::int64_t, const Execution&)>& fit)
      : problems_(problems), name_(name), execution_(execution), fit_(fit) {}

  /// Fits a problem. Stores the exception if it is the one of the first problem that failed so far.
  void fit(std::int64_t problem, const Execution& here) {
    try {
      fit_named(problem, here);
      done_.fetch_add(1, std::memory_order_relaxed);
    } catch (...) {
      keep_failure(problem);
    }
  }

  /// Reports progress until no thread is busy. The caller's thread must not end before the other threads, because only
  /// this thread may call the callback, in which the caller may request a stop.
  void report_until_done(const std::atomic<int>& busy) {
    try {
      while (busy.load(std::memory_order_relaxed) > 0) {
        report();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    } catch (...) {
      keep_failure(0);
    }
  }

  /// Returns true if the problem need not be fitted, because an earlier problem failed.
  bool is_over(std::int64_t problem) const { return problem > failed_.load(std::memory_order_relaxed); }

  void rethrow_failure() {
    if (execution_.stop.stop_requested())
      throw InterruptedError("stopped after " + std::to_string(done_.load()) + " of " + std::to_string(problems_) +
                             " problems");
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Returns the settings with a callback that reports the number of completed problems.
  Execution reporting(Execution here) {
    if (execution_.progress) here.progress = [this](const Progress&) { report(); };
    return here;
  }
  void report() const {
    if (execution_.progress) execution_.progress({"problems", done_.load(std::memory_order_relaxed), problems_, {}});
  }

 private:
  void fit_named(std::int64_t problem, const Execution& here) {
    try {
      fit_(problem, here);
    } catch (Error& error) {
      const ErrorMessage& message = error.message();
      ErrorMessage named(std::string(name_) + " " + std::to_string(problem) + ": ");
      named.pieces.insert(named.pieces.end(), message.pieces.begin(), message.pieces.end());
      named.subject = message.subject;
      error.set_message(std::move(named));
      throw;
    }
  }

  void keep_failure(std::int64_t problem) {
    const std::lock_guard lock(mutex_);
    if (is_over(problem)) return;
    failed_.store(problem, std::memory_order_relaxed);
    failure_ = std::current_exception();
  }

  const std::int64_t problems_;
  const char* const name_;
  const Execution& execution_;
  const std::function<void(std::int64_t, const Execution&)>& fit_;
  std::mutex mutex_;  ///< guards failure_ and changes of failed_
  // The counters are relaxed: failure_ and the results are read after the end of the parallel region, which orders
  // them.
  std::atomic<std::int64_t> failed_{std::numeric_limits<std::int64_t>::max()};
  std::atomic<std::int64_t> done_{0};
  std::exception_ptr failure_;
};

/// Returns the settings of one of `workers` workers, which share the host memory of the request.
Execution settings_of_worker(const Execution& one, std::size_t workers) {
  Execution settings = one;
  settings.threads = 1;
  settings.pinning = Pinning::none;  // the team of all workers is pinned
  settings.memory_limit = std::max<std::uint64_t>(1, one.memory_limit / workers);
  return settings;
}

/// Schedules a batch on the CPU. `pass` is the time of a pass in nanoseconds.
void divide_threads(BatchSchedule& schedule, const KMeansShape& shape, std::int64_t problems,
                    const KMeansOptions& options, const Execution& one, double pass) {
  const int threads = schedule.threads;
  const auto workers = static_cast<std::size_t>(threads);
  const Execution settings = settings_of_worker(one, workers);
  const std::uint64_t side_by_side =
      core::checked_multiply(kmeans_memory(shape, options, settings).host, workers, "the fits");
  schedule.on_all_threads = one;
  if (side_by_side <= one.memory_limit) {
    const std::int64_t rest = problems % threads;
    schedule.side_by_side = rest >= speed_of_team(pass, threads) ? problems : problems - rest;
    schedule.workers.assign(workers, settings);
    schedule.memory.host = side_by_side;
  }
  if (schedule.side_by_side < problems)
    schedule.memory.host = std::max(schedule.memory.host, kmeans_memory(shape, options, one).host);
}

/// Schedules a batch on GPUs. While a kernel of one problem ends, or the host reads its outcome, the GPU works on
/// another problem.
void divide_gpus(BatchSchedule& schedule, const KMeansShape& shape, std::int64_t problems, const KMeansOptions& options,
                 Execution one, const std::vector<int>& gpus) {
  constexpr std::int64_t most_on_a_gpu = 8;
  one.gpus.clear();
  one.gpu = gpus.front();
  const auto count = std::ssize(gpus);
  const std::uint64_t of_a_problem = kmeans_memory(shape, options, one).device;
  const std::uint64_t plannable = execution::plannable_memory(execution::least_gpu(execution::GrantedMachine(one)));
  const auto with_room = static_cast<std::int64_t>(plannable / std::max<std::uint64_t>(1, of_a_problem));
  const std::int64_t on_a_gpu =
      std::clamp<std::int64_t>(std::min(with_room, (problems + count - 1) / count), 1, most_on_a_gpu);
  Execution settings = settings_of_worker(one, static_cast<std::size_t>(on_a_gpu * count));
  settings.gpu_memory_limit = one.gpu_memory_limit / static_cast<std::uint64_t>(on_a_gpu);
  for (std::int64_t turn = 0; turn < on_a_gpu; ++turn)
    for (const int gpu : gpus) {
      settings.gpu = gpu;
      schedule.workers.push_back(settings);
    }
  schedule.threads = static_cast<int>(std::ssize(schedule.workers));
  schedule.side_by_side = problems;
  const MemoryEstimate alone = kmeans_memory(shape, options, schedule.workers.front());
  schedule.memory = {core::checked_multiply(alone.host, schedule.workers.size(), "the fits"),
                     core::checked_multiply(alone.device, static_cast<std::uint64_t>(on_a_gpu), "the fits")};
}

}  // namespace

BatchSchedule schedule_of_batch(const KMeansShape& shape, std::int64_t problems, const KMeansOptions& options,
                                const Execution& execution) {
  BatchSchedule schedule;
  const double pass = nanoseconds_of_a_pass(shape_of(shape, options));
  constexpr double passes = 10;  // roughly, of a fit and its first centroids
  schedule.threads = cpu::chosen_threads(passes * pass * static_cast<double>(problems), execution);
  const std::uint64_t results = core::checked_multiply(static_cast<std::uint64_t>(problems),
                                                       result_bytes(shape, options.clusters) + 1024, "the results");
  const std::uint64_t available = execution.memory_limit > 0 ? execution.memory_limit : cpu::available_memory();
  Execution one = execution;
  one.progress = {};
  one.memory_limit = available > results ? available - results : 1;
  if (const std::vector<int> gpus = gpus_of_batch(execution, shape.place); gpus.empty()) {
    one.device = Device::cpu;
    divide_threads(schedule, shape, problems, options, one, pass);
  } else {
    one.device = Device::gpu;
    divide_gpus(schedule, shape, problems, options, one, gpus);
  }
  schedule.memory.host = core::checked_add(schedule.memory.host, results, "the memory of the job");
  return schedule;
}

void run_batch(const BatchSchedule& schedule, std::int64_t problems, const char* name, const Execution& execution,
               const std::function<void(std::int64_t, const Execution&)>& fit) {
  BatchRun run(problems, name, execution, fit);
  if (schedule.side_by_side > 0) {
    const int threads = cpu::start_team(static_cast<int>(std::ssize(schedule.workers)));
    const cpu::PinnedTeam team(threads, execution.pinning);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<std::int64_t> next = 0;
    std::atomic<std::size_t> next_worker = 0;
    std::atomic<int> busy = threads;
#pragma omp parallel num_threads(threads)
    {
      const bool may_report = std::this_thread::get_id() == caller;
      const Execution& own = schedule.workers[next_worker++];
      const Execution here = may_report ? run.reporting(own) : own;
      for (std::int64_t problem = next++; problem < schedule.side_by_side && !run.is_over(problem); problem = next++)
        run.fit(problem, here);
      --busy;
      if (may_report && execution.progress) run.report_until_done(busy);
    }
    run.rethrow_failure();
  }
  const Execution reporting = run.reporting(schedule.on_all_threads);
  for (std::int64_t problem = schedule.side_by_side; problem < problems; ++problem) {
    run.fit(problem, reporting);
    run.rethrow_failure();
  }
  run.report();
}

}  // namespace gradus::kmeans_detail
