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

#include "core/checked.hpp"
#include "core/stop.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "kmeans/api/estimate.hpp"

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

}  // namespace

BatchSchedule schedule_of_batch(const KMeansShape& shape, std::int64_t problems, const KMeansOptions& options,
                                const Execution& execution) {
  BatchSchedule schedule;
  const double pass = nanoseconds_of_a_pass(shape_of(shape, options));
  constexpr double passes = 10;  // roughly, of a fit and its first centroids
  schedule.threads = cpu::chosen_threads(passes * pass * static_cast<double>(problems), execution);
  const int threads = schedule.threads;
  const std::uint64_t results = core::checked_multiply(static_cast<std::uint64_t>(problems),
                                                       result_bytes(shape, options.clusters) + 1024, "the results");
  const std::uint64_t available = execution.memory_limit > 0 ? execution.memory_limit : cpu::available_memory();
  const std::uint64_t left = available > results ? available - results : 1;
  schedule.on_all_threads = execution;
  schedule.on_all_threads.device = Device::cpu;
  schedule.on_all_threads.progress = {};
  schedule.on_all_threads.memory_limit = left;
  schedule.on_one_thread = schedule.on_all_threads;
  schedule.on_one_thread.threads = 1;
  schedule.on_one_thread.pinning = Pinning::none;  // the team of all threads is pinned
  schedule.on_one_thread.memory_limit = std::max<std::uint64_t>(1, left / static_cast<std::uint64_t>(threads));
  const std::uint64_t side_by_side = core::checked_multiply(kmeans_memory(shape, options, schedule.on_one_thread).host,
                                                            static_cast<std::uint64_t>(threads), "the fits");
  if (side_by_side <= left) {
    const std::int64_t rest = problems % threads;
    schedule.side_by_side = rest >= speed_of_team(pass, threads) ? problems : problems - rest;
    schedule.bytes = side_by_side;
  }
  if (schedule.side_by_side < problems)
    schedule.bytes = std::max(schedule.bytes, kmeans_memory(shape, options, schedule.on_all_threads).host);
  schedule.bytes = core::checked_add(schedule.bytes, results, "the memory of the job");
  return schedule;
}

void run_batch(const BatchSchedule& schedule, std::int64_t problems, const char* name, const Execution& execution,
               const std::function<void(std::int64_t, const Execution&)>& fit) {
  BatchRun run(problems, name, execution, fit);
  if (schedule.side_by_side > 0) {
    const int threads = cpu::start_team(schedule.threads);
    const cpu::PinnedTeam team(threads, execution.pinning);
    const Execution reporting = run.reporting(schedule.on_one_thread);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<std::int64_t> next = 0;
    std::atomic<int> busy = threads;
#pragma omp parallel num_threads(threads)
    {
      const bool may_report = std::this_thread::get_id() == caller;
      for (std::int64_t problem = next++; problem < schedule.side_by_side && !run.is_over(problem); problem = next++)
        run.fit(problem, may_report ? reporting : schedule.on_one_thread);
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
