// Records of runs. A summary contains the command that produced it. --repeat runs the command again.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "cli/session.hpp"
#include "core/options.hpp"

namespace gradus::cli {

class RepeatedRecord {
 public:
  /// Reads a summary from the file, or from the folder of a result. Throws InputError if the summary does not state how
  /// to repeat the run.
  explicit RepeatedRecord(const std::string& file);

  /// Assigns recorded values to the options that the command line lacks. Stores the options that are on the command
  /// line, for is_given(). Throws UsageError if the record belongs to another command, or if a required option has no
  /// value.
  void complete(CLI::App& app, const Session& session);
  bool is_given(const CLI::Option& option) const { return given_.contains(&option); }

  /// Throws InputError unless the content of the option's input equals the recorded content. Skips the comparison if
  /// the command line names another input or changes how it is read.
  void require_same(std::string_view role, const std::string& option, const std::string& hash,
                    const std::string& path) const;

 private:
  /// Leaves out the recorded options that make an option of the command line ineffective, and those that have no effect
  /// with the options of the command line.
  void leave_out_conflicts(const std::vector<CLI::Option*>& completed, const Session& session) const;
  std::string found(const std::string& path) const;

  std::string file_;
  std::string directory_;
  std::vector<std::string> command_;
  std::map<std::string, std::string, std::less<>> hashes_;
  std::set<const CLI::Option*> given_;
  std::set<std::string, std::less<>> replaced_;  ///< names of options on the command line
  bool is_read_alike_ = true;
};

void add_repeat_option(Options& options, Session& session);

/// Returns true if the command line contains --repeat.
bool repeats(const std::vector<std::string>& words);

/// Makes required options optional, because the record may supply their values. Returns these options.
std::vector<CLI::Option*> take_requirements(CLI::App& app);

nlohmann::ordered_json json_of(const core::Option& row, const core::Value& value);

/// Adds to a summary the options, the command that repeats the run, the working directory of the run, and the hashes of
/// its inputs by role.
void add_record(nlohmann::ordered_json& summary, const Session& session, std::span<const core::Option> rows,
                const void* options, const std::map<std::string, std::string>& hashes = {});

}  // namespace gradus::cli
