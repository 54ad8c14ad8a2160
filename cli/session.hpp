// What one run of the program shares: the common options, the stop request, and where words go. Results go to standard
// output, messages and progress to standard error.
#pragma once

#include <chrono>
#include <memory>
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

/// A line on a terminal that shows how far a job has come and how long it will take; nothing where it is switched off.
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
  std::size_t drawn_ = 0;  ///< columns of the line that is there
  std::string phase_;
  std::int64_t first_done_ = 0;
  Clock::time_point phase_start_;
  Clock::time_point last_drawn_;
};

/// Columns of the terminal that the file descriptor is; 0 where it is none, 80 where it does not say.
std::size_t terminal_columns(int descriptor);

/// Columns that UTF-8 text takes on a terminal, as long as each character takes one.
std::size_t width_of(std::string_view text);

/// Indented, with a line's end at the end. File names need not be UTF-8; what is not is replaced, so that the text is
/// always valid JSON.
std::string json_text(const nlohmann::ordered_json& value);

struct Session {
  Execution execution;       ///< of the common options; `stop` is the process's own, `progress` draws the bar
  bool names_gpu = false;    ///< the options name one by its number
  bool json = false;         ///< results as JSON on standard output instead of text
  bool quiet = false;        ///< no messages and no progress
  bool colour = false;       ///< standard output is a terminal and NO_COLOR is not set
  std::size_t columns = 0;   ///< of the terminal that standard output is; 0: it is none
  CLI::App* root = nullptr;  ///< the whole tree, for completion and the manual
  OptionValues values;
  Uses uses;
  std::string repeat;                            ///< the file of --repeat
  std::shared_ptr<const RepeatedRecord> record;  ///< what it holds, if it is given

  /// False where another process, with which this one has no job, says and prints the same.
  bool speaks = true;
  std::shared_ptr<RankedJob> job;  ///< with the others, where this process is one of several ranks; otherwise null
  /// Returns the ranks of the job, or this process alone.
  core::Ranks& ranks() const;
  /// Of several ranks the first one says, prints and writes all there is; the others' words go nowhere.
  bool is_first() const;

  /// Text on standard output.
  void print(std::string_view text) const;
  /// JSON on standard output, as json_text() writes it.
  void print_json(const nlohmann::ordered_json& value) const;
  /// A message on standard error, unless --quiet; "gradus: " stands before it.
  void note(std::string_view message) const;
  /// The text in bold where `colour` is set.
  std::string bold(std::string_view text) const;
  /// The text in grey where `colour` is set.
  std::string faint(std::string_view text) const;
  /// Ends the progress bar's line; called before anything else is printed.
  void end_progress() const;

  std::unique_ptr<ProgressBar> bar;
  mutable int print_error = 0;  ///< errno where standard output could not be written
};

}  // namespace gradus::cli
