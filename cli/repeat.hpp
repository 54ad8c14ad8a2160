// Records of runs: a summary holds the command that leads to it, and --repeat runs that again.
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

/// A record that is being repeated.
class RepeatedRecord {
 public:
  /// Reads the record: a summary, or the folder of a result. InputError if it does not say how to repeat the run.
  explicit RepeatedRecord(const std::string& file);

  /// Gives the options that are not on the command line the values of the record. UsageError if the record is another
  /// command's, or if a required option has no value. Says what the command line itself has in is_given().
  void complete(CLI::App& app, const Session& session);
  bool is_given(const CLI::Option& option) const { return given_.contains(&option); }

  /// Throws InputError unless the input that the option names has the content of the recorded one. Inputs that the
  /// command line replaces or reads in another way are not compared.
  void require_same(std::string_view role, const std::string& option, const std::string& hash,
                    const std::string& path) const;

 private:
  std::string found(const std::string& path) const;

  std::string file_;
  std::string directory_;
  std::vector<std::string> command_;
  std::map<std::string, std::string, std::less<>> hashes_;
  std::set<const CLI::Option*> given_;
  std::set<std::string, std::less<>> replaced_;  ///< names of options that the command line gives
  bool is_read_alike_ = true;
};

/// Adds --repeat.
void add_repeat_option(Options& options, Session& session);

/// Returns true if the words of the command line have --repeat.
bool repeats(const std::vector<std::string>& words);

/// Options are required no more: the record may have them. Returns which were.
std::vector<CLI::Option*> take_requirements(CLI::App& app);

/// Returns the value as records have it.
nlohmann::ordered_json json_of(const core::Option& row, const core::Value& value);

/// Adds to a summary the options, the command that repeats the run, the folder in which it ran, and the hashes of its
/// inputs by their roles.
void add_record(nlohmann::ordered_json& summary, const Session& session, std::span<const core::Option> rows,
                const void* options, const std::map<std::string, std::string>& hashes = {});

}  // namespace gradus::cli
