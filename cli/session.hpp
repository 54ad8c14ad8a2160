// The state of one run of the program: common options, stop request, and output. Results go to standard output,
// messages and progress to standard error.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "cli/options.hpp"
#include "gradus/execution.hpp"

namespace gradus::core {
class Ranks;
}

namespace gradus::cli {

class RankedJob;
class RepeatedRecord;

/// A line on the terminal that shows the progress of a job and the remaining time. Draws nothing if it is disabled.
class ProgressBar {
 public:
  explicit ProgressBar(bool shown) : shown_(shown) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }
  void update(const Progress& progress);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_;
  std::size_t drawn_ = 0;  ///< number of columns of the current line
  std::string phase_;
  std::int64_t first_done_ = 0;
  Clock::time_point phase_start_;
  Clock::time_point last_drawn_;
};

/// Returns the width of the terminal to which the file descriptor belongs. Returns 0 if the descriptor belongs to no
/// terminal, and 80 if the width is unknown.
std::size_t terminal_columns(int descriptor);

/// Returns the number of terminal columns of a UTF-8 text. Assumes one column per character.
std::size_t width_of(std::string_view text);

/// Returns indented JSON that ends with a newline. Replaces invalid UTF-8, which file names may contain, so that the
/// text is valid JSON.
std::string json_text(const nlohmann::ordered_json& value);

struct Session {
  /// The settings of the library call. The common options set them. Signals request `stop`, and `progress` draws the
  /// bar.
  Execution execution;
  bool names_gpu = false;        ///< true if --device names a GPU by its number
  std::optional<int> gpu_count;  ///< the number of GPUs that --gpus requests; 0: all
  bool chooses_gpus = false;     ///< true if --gpus requests as many GPUs as pay
  bool json = false;
  bool quiet = false;
  bool colour = false;      ///< true if standard output is a terminal and NO_COLOR is not set
  std::size_t columns = 0;  ///< width of the terminal on standard output; 0: there is no terminal
  CLI::App* root = nullptr;
  OptionValues values;
  Uses uses;
  std::string repeat;                            ///< the file of --repeat
  std::shared_ptr<const RepeatedRecord> record;  ///< the content of the file of --repeat

  /// False if a launcher has started several identical processes that are not ranks of one job, and if one of the other
  /// processes prints the output.
  bool speaks = true;
  /// True if this process may be the only one that knows the error, for example because its machine lacks a library.
  bool speaks_for_machine = false;
  std::shared_ptr<RankedJob> job;  ///< null unless this process is one of several ranks
  /// Returns the ranks of the job, or this process alone.
  core::Ranks& ranks() const;
  /// Returns true on the first rank. Only the first rank prints messages and writes results.
  bool is_first() const;

  void print(std::string_view text) const;
  void print_json(const nlohmann::ordered_json& value) const;
  /// Writes "gradus: " and the message to standard error, unless --quiet is set.
  void note(std::string_view message) const;
  /// Returns the text in bold if `colour` is set.
  std::string bold(std::string_view text) const;
  /// Returns the text in grey if `colour` is set.
  std::string faint(std::string_view text) const;
  /// Ends the line of the progress bar. Must be called before any other output.
  void end_progress() const;

  std::unique_ptr<ProgressBar> bar;
  mutable int print_error = 0;  ///< errno of the first failed write to standard output, or 0
};

}  // namespace gradus::cli
