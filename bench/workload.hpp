// The interface between problems and the harness. A problem describes its inputs by axes, and defines how each input is
// run, verified and judged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/axis.hpp"
#include "bench/ceilings.hpp"
#include "bench/harness.hpp"
#include "bench/statistics.hpp"
#include "core/ladder.hpp"
#include "gradus/execution.hpp"

namespace gradus::bench {

/// Work whose rate is shown as a share of a ceiling.
struct Work {
  double Ceilings::*ceiling = nullptr;  ///< the ceiling that limits the rate
  double amount = 0;                    ///< amount in the unit of the ceiling: bytes or operations
  double seconds = 0;                   ///< duration of the work
};

/// A problem-specific figure of a row.
struct Figure {
  std::string key;  ///< key in the JSON
  nlohmann::ordered_json value;
  std::string heading{};  ///< heading of the table column; empty: no column
  std::string text{};     ///< text in the table column
};

/// A line of the table: a variant with its settings, and its measurements on the input of the group.
struct Row {
  std::size_t index = 0;  ///< index in the group
  std::string variant;
  int threads = 0;
  int ranks = 1;  ///< number of MPI processes with `threads` threads each; above 1 only in results of scaling.py
  Pinning pinning = Pinning::none;
  int block_size = 0;  ///< block size of a GPU variant; 0: the default
  bool on_gpu = false;
  core::Contract contract;

  std::string trouble;  ///< reason why figures are missing; may be empty
  bool wrong = false;   ///< true if the trouble is an incorrect result
  std::vector<Sample> samples;
  Summary seconds;
  std::vector<Phase> phases;  ///< medians of the phases
  int iterations = 0;         ///< number of iterations of a run, if runs have iterations
  double speedup = 0;         ///< speed-up over the group's first row
  /// Shares of the ceilings of these threads or this GPU. A share is NaN if the ceiling was not measured.
  std::vector<std::pair<double Ceilings::*, double>> shares;
  std::optional<std::uint64_t> memory_bytes;  ///< peak memory that the job needs in addition to the input
  double rechecked = 0;                       ///< share of the decisions that a filter left to a higher precision
  std::vector<Figure> figures;                ///< problem-specific figures; all rows of a group have the same keys
};

Execution execution_of(const Row& row, const std::stop_token& stop);
void mark_wrong(Row& row, const std::string& difference);
/// Returns the sample of a run that took `seconds`. The sample has all phases except "total".
Sample sample_of(double seconds, const std::vector<Phase>& phases);

/// Reports the progress of a group. Throws InterruptedError after a stop request.
class Reporter {
 public:
  Reporter(std::function<void(const Progress&)> progress, std::stop_token stop, std::string input)
      : progress_(std::move(progress)), stop_(std::move(stop)), input_(std::move(input)) {}
  void operator()(std::string_view phase, std::int64_t done, std::int64_t total) const;

 private:
  std::function<void(const Progress&)> progress_;
  std::stop_token stop_;
  std::string input_;
};

/// Calls function(row) for the rows whose `trouble` is empty.
template <class Function>
void for_each_sound(std::vector<Row>& rows, std::string_view phase, const Reporter& report, const Function& function) {
  std::int64_t done = 0;
  for (Row& row : rows) {
    report(phase, done++, std::ssize(rows));
    if (row.trouble.empty()) function(row);
  }
}

/// One input on which variants are compared: a group of rows.
class Workload {
 public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  /// Returns the common settings of all rows as text for tables: "1000 x 3 f32 uniform, k = 4".
  virtual std::string title() const = 0;
  /// Returns the common settings of all rows as JSON. Adds facts that were found during verification.
  virtual nlohmann::ordered_json facts() const = 0;
  /// Returns whether the variant supports this input on this machine and, if it does not, the reason.
  virtual core::Support support(std::string_view variant) const = 0;

  /// Runs each row whose `trouble` is empty on the whole input, once and untimed. This warms up caches and memory, and
  /// records peak memory, iterations and the rechecked share. Also verifies the results, and calls mark_wrong() for
  /// each row whose result is incorrect. If the input is too large for the oracle, the comparison with the oracle
  /// covers only a part of the input. Returns a description of the verification.
  virtual std::string verify(std::vector<Row>& rows, const Reporter& report) = 0;
  /// Runs the whole job with the row's settings, as a user would call it.
  virtual Sample run(const Row& row) = 0;

  /// work() returns the work of a run. figures() returns the problem-specific figures of a measured row.
  virtual std::vector<Work> work(const Row& row) const = 0;
  virtual std::vector<Figure> figures(const Row& row) const = 0;
};

/// Callbacks for the preparation of inputs.
struct InputCallbacks {
  std::function<void(const Progress&)> progress;  ///< may be null
  std::stop_token stop;
  std::function<void(const std::string&)> note;  ///< receives notes about doubtful guesses of readers; may be null
};

/// The axes that only this problem has, and the inputs that their values describe.
class Workloads {
 public:
  Workloads() = default;
  Workloads(const Workloads&) = delete;
  Workloads& operator=(const Workloads&) = delete;
  virtual ~Workloads() = default;

  /// Returns the axes, which write into this object when parsed.
  virtual std::vector<Axis> axes() = 0;
  /// Checks the axes after parsing. Throws UsageError or InputError if values are invalid or missing.
  virtual void prepare(const InputCallbacks& callbacks) = 0;
  /// Returns the files that the axes name.
  virtual std::vector<std::string> files() const { return {}; }
  /// Reduces the work. Depending on the problem, multiplies the sizes of the inputs or the amount of work by `share`.
  /// Long runs may become shorter, too. Requires 0 < share <= 1.
  virtual void scale(double share) = 0;
  /// Calls use(workload) for each input. A workload exists until its call returns.
  virtual void for_each(const InputCallbacks& callbacks, const std::function<void(Workload&)>& use) = 0;
};

// --- text of figures ------------------------------------------------------------------------------------------------

std::string milliseconds(double seconds);

}  // namespace gradus::bench
