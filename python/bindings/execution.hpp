// Where and how to run, asked from Python: the interpreter's lock, signals, progress.
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

/// The arguments that all functions have.
struct Request {
  Execution execution;
  nb::object progress;
  bool only_checks = false;  ///< a call that converts its arguments, and raises StopIteration instead of running
};

Fields to_python(const RunReport& report);

/// How long this thread's last call of the library took, so that what Python adds to it can be measured.
inline thread_local double seconds_in_library = 0;

/// A job without the interpreter's lock. Now and then it takes the lock, lets Python handle signals and calls the
/// caller's function; what these raise stops the job and comes out of run().
class Job {
 public:
  explicit Job(const Request& request);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  template <class Run>
  auto run(Run run) {
    if (only_checks_) throw nb::stop_iteration("the arguments are all right");
    std::optional<decltype(run(execution_))> result;
    try {
      const nb::gil_scoped_release release;
      const Clock::time_point start = Clock::now();
      result.emplace(run(execution_));
      seconds_in_library = std::chrono::duration<double>(Clock::now() - start).count();
    } catch (const InterruptedError& error) {
      // Who has raised nothing was stopped by another rank.
      if (!raised_)
        throw Error(error.message() + ": an exception, its progress function's or an interrupt, ended the call there",
                    error.fields());
    }
    if (raised_) throw nb::python_error(std::move(*raised_));
    return std::move(*result);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void look_up(const Progress& progress);

  Execution execution_;
  nb::object progress_;
  bool only_checks_;
  std::stop_source stop_;
  Clock::time_point next_;
  std::optional<nb::python_error> raised_;
};

}  // namespace gradus::python
