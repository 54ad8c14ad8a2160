// What a problem tells the harness: the inputs that its axes stand for, and of each how it is run, verified and judged.
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

/// Work whose rate is shown as a share of what the machine can do at most.
struct Work {
  double Ceilings::*ceiling = nullptr;  ///< what limits it
  double amount = 0;                    ///< in the ceiling's unit: bytes or operations
  double seconds = 0;                   ///< that it took
};

/// A figure of a row beyond those that all problems have.
struct Figure {
  std::string key;  ///< in the JSON
  nlohmann::ordered_json value;
  std::string heading{};  ///< of its column in the table; empty: it has none
  std::string text{};     ///< in that column
};

/// One line of the table: a variant with its settings, on the input of its group.
struct Row {
  std::size_t index = 0;  ///< its place in the group
  std::string variant;
  int threads = 0;
  int ranks = 1;  ///< processes of MPI, each with so many threads; of a file of bench/scaling/scaling.py
  Pinning pinning = Pinning::none;
  int block_size = 0;  ///< of a GPU variant; 0: its own choice
  bool on_gpu = false;
  core::Contract contract;

  std::string trouble;  ///< why it has no figures, or empty
  bool wrong = false;   ///< the trouble is a wrong result
  std::vector<Sample> samples;
  Summary seconds;
  std::vector<Phase> phases;                                  ///< medians
  int iterations = 0;                                         ///< of a run, where it has any
  double speedup = 0;                                         ///< over the group's first row
  std::vector<std::pair<double Ceilings::*, double>> shares;  ///< of ceilings of such a team or GPU; NaN: not measured
  std::optional<std::uint64_t> memory_bytes;                  ///< at its peak, beyond the input
  double rechecked = 0;                                       ///< share that a filter left to a more precise look
  std::vector<Figure> figures;                                ///< of all rows of a group the same ones
};

Execution execution_of(const Row& row, const std::stop_token& stop);
void mark_wrong(Row& row, const std::string& difference);
/// A run as a sample; the phase "total" is the sample itself.
Sample sample_of(double seconds, const std::vector<Phase>& phases);

/// Tells how far a group is. InterruptedError after a stop request.
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

/// function(row) for the rows that are without trouble.
template <class Function>
void for_each_sound(std::vector<Row>& rows, std::string_view phase, const Reporter& report, const Function& function) {
  std::int64_t done = 0;
  for (Row& row : rows) {
    report(phase, done++, std::ssize(rows));
    if (row.trouble.empty()) function(row);
  }
}

/// One input, on which the variants are compared: a group of rows.
class Workload {
 public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  /// What the rows have in common, for a person: "1000 x 3 f32 uniform, k = 4".
  virtual std::string title() const = 0;
  /// The same as JSON, with what was found out while the rows were verified.
  virtual nlohmann::ordered_json facts() const = 0;
  /// Whether the variant takes such an input on this machine.
  virtual core::Support support(std::string_view variant) const = 0;

  /// Runs each row that is without trouble once, untimed, on everything, so that caches and memory are warm; notes its
  /// peak of memory, its iterations and its share re-checked, and compares its result: mark_wrong(). What the oracle
  /// cannot follow in a moment is compared on a part of the input. Returns what was compared with what, in words.
  virtual std::string verify(std::vector<Row>& rows, const Reporter& report) = 0;
  /// Does the whole job as the row says it, as a person would call it.
  virtual Sample run(const Row& row) = 0;

  /// Of a row that was measured: the work of a run, and figures of the problem's own.
  virtual std::vector<Work> work(const Row& row) const = 0;
  virtual std::vector<Figure> figures(const Row& row) const = 0;
};

/// What making inputs takes from whoever asks for them.
struct Making {
  std::function<void(const Progress&)> progress;  ///< may be null
  std::stop_token stop;
  std::function<void(const std::string&)> note;  ///< hears what a reader took in doubt; may be null
};

/// A problem's own axes, and the inputs that their values stand for.
class Workloads {
 public:
  Workloads() = default;
  Workloads(const Workloads&) = delete;
  Workloads& operator=(const Workloads&) = delete;
  virtual ~Workloads() = default;

  /// They write into this object when they are parsed.
  virtual std::vector<Axis> axes() = 0;
  /// When all axes were parsed: UsageError or InputError for what is impossible, or missing.
  virtual void prepare(const Making& making) = 0;
  /// The files that the axes name.
  virtual std::vector<std::string> files() const { return {}; }
  /// Shrinks the inputs to this share, and long runs where that is the way. 0 < share <= 1.
  virtual void scale(double share) = 0;
  /// use(workload) for one input after the other; each lives as long as the call.
  virtual void for_each(const Making& making, const std::function<void(Workload&)>& use) = 0;
};

// --- text of figures ------------------------------------------------------------------------------------------------

std::string milliseconds(double seconds);

}  // namespace gradus::bench
