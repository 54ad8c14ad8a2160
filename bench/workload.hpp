// The interface between problems and the harness: the inputs that a problem's axes describe, and how each is run,
// verified and judged.
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
  double Ceilings::*ceiling = nullptr;  ///< the limiting rate
  double amount = 0;                    ///< in the ceiling's unit: bytes or operations
  double seconds = 0;                   ///< duration of the work
};

/// A problem-specific figure of a row.
struct Figure {
  std::string key;  ///< key in the JSON
  nlohmann::ordered_json value;
  std::string heading{};  ///< heading of the table column; empty: no column
  std::string text{};     ///< text in the table column
};

/// One line of the table: a variant with its settings, on the input of its group.
struct Row {
  std::size_t index = 0;  ///< index in the group
  std::string variant;
  int threads = 0;
  int ranks = 1;  ///< MPI processes, each with `threads` threads; from files of bench/scaling/scaling.py
  Pinning pinning = Pinning::none;
  int block_size = 0;  ///< block size of a GPU variant; 0: the default
  bool on_gpu = false;
  core::Contract contract;

  std::string trouble;  ///< reason for missing figures, or empty
  bool wrong = false;   ///< the trouble is an incorrect result
  std::vector<Sample> samples;
  Summary seconds;
  std::vector<Phase> phases;  ///< medians
  int iterations = 0;         ///< iterations of a run, if it has any
  double speedup = 0;         ///< over the group's first row
  /// Shares of the ceilings of these threads or this GPU; NaN: not measured.
  std::vector<std::pair<double Ceilings::*, double>> shares;
  std::optional<std::uint64_t> memory_bytes;  ///< peak, beyond the input
  double rechecked = 0;                       ///< share that a filter passed on to higher precision
  std::vector<Figure> figures;                ///< the same keys in all rows of a group
};

Execution execution_of(const Row& row, const std::stop_token& stop);
void mark_wrong(Row& row, const std::string& difference);
/// Makes a sample of a run; the phase "total" becomes the sample's time.
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

/// Calls function(row) for the rows without trouble.
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

  /// Returns the common settings of the rows for tables: "1000 x 3 f32 uniform, k = 4".
  virtual std::string title() const = 0;
  /// Returns the common settings as JSON, with facts found during verification.
  virtual nlohmann::ordered_json facts() const = 0;
  /// Returns whether the variant supports this input on this machine.
  virtual core::Support support(std::string_view variant) const = 0;

  /// Runs each row without trouble once, untimed, on the whole input, which warms up caches and memory. Records peak
  /// memory, iterations and the rechecked share, and compares the result (mark_wrong()). Inputs that are too large for
  /// the oracle are compared in part. Returns a description of the comparison.
  virtual std::string verify(std::vector<Row>& rows, const Reporter& report) = 0;
  /// Runs the whole job with the row's settings, as a user would call it.
  virtual Sample run(const Row& row) = 0;

  /// Return the work of a run and the problem's figures for a measured row.
  virtual std::vector<Work> work(const Row& row) const = 0;
  virtual std::vector<Figure> figures(const Row& row) const = 0;
};

/// The callbacks for callbacks inputs.
struct InputCallbacks {
  std::function<void(const Progress&)> progress;  ///< may be null
  std::stop_token stop;
  std::function<void(const std::string&)> note;  ///< receives doubtful guesses of readers; may be null
};

/// The problem-specific axes, and the inputs that their values describe.
class Workloads {
 public:
  Workloads() = default;
  Workloads(const Workloads&) = delete;
  Workloads& operator=(const Workloads&) = delete;
  virtual ~Workloads() = default;

  /// Returns the axes, which write into this object when parsed.
  virtual std::vector<Axis> axes() = 0;
  /// Checks the axes after parsing. Throws UsageError or InputError for invalid or missing values.
  virtual void prepare(const InputCallbacks& callbacks) = 0;
  /// Returns the files that the axes name.
  virtual std::vector<std::string> files() const { return {}; }
  /// Shrinks the inputs to this share, and long runs if the problem supports it. Requires 0 < share <= 1.
  virtual void scale(double share) = 0;
  /// Calls use(workload) for each input; a workload lives until its call returns.
  virtual void for_each(const InputCallbacks& callbacks, const std::function<void(Workload&)>& use) = 0;
};

// --- text of figures ------------------------------------------------------------------------------------------------

std::string milliseconds(double seconds);

}  // namespace gradus::bench
