// Runs library calls for Python: device and threads, the global interpreter lock (GIL), signals, progress.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "gradus/error.hpp"
#include "gradus/execution.hpp"
#include "gradus/run_report.hpp"
#include "python/bindings/fields.hpp"

namespace gradus::python {

namespace nb = nanobind;

/// The arguments that all functions share.
struct Request {
  Execution execution;
  nb::object progress;
  bool names_gpu = false;     ///< true if the argument `device` names a GPU by its number
  bool chooses_gpus = false;  ///< if true, a fit of k-means uses as many GPUs as pay
  bool only_checks = false;   ///< if true, the call converts its arguments and raises StopIteration instead of running
};

Fields to_python(const RunReport& report);

/// The duration of this thread's last library call, for measuring the overhead of Python.
inline thread_local double seconds_in_library = 0;

/// Runs a job without the GIL. Every 50 ms the job acquires the GIL, lets Python handle signals and calls the progress
/// function. If a signal handler or the progress function raises an exception, the job stops, and run() rethrows the
/// exception.
class Job {
 public:
  explicit Job(const Request& request);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  template <class Run>
  auto run(Run run) {
    if (only_checks_) throw nb::stop_iteration("the arguments are valid");
    std::optional<decltype(run(execution_))> result;
    try {
      const nb::gil_scoped_release release;
      const Clock::time_point start = Clock::now();
      result.emplace(run(execution_));
      seconds_in_library = std::chrono::duration<double>(Clock::now() - start).count();
    } catch (const InterruptedError& error) {
      // If this rank has raised no exception, another rank has stopped the job.
      if (!raised_)
        throw Error(error.message() + ": an exception, its progress function's or an interrupt, ended the call there",
                    error.fields());
    }
    if (raised_) throw nb::python_error(std::move(*raised_));
    return std::move(*result);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void poll(const Progress& progress);

  Execution execution_;
  nb::object progress_;
  bool only_checks_;
  std::stop_source stop_;
  Clock::time_point next_;
  std::optional<nb::python_error> raised_;
};

}  // namespace gradus::python
