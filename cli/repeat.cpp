#include "cli/repeat.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/point_files.hpp"
#include "core/text.hpp"
#include "files/points.hpp"
#include "gradus/error.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view option_name = "--repeat";

std::string name_of(const CLI::Option& option) {
  return option.get_positional() ? option.get_option_text() : "--" + option.get_lnames().front();
}

/// Returns all options of a command except --help.
std::vector<CLI::Option*> options_of(const CLI::App& app) {
  std::vector<CLI::Option*> options = const_cast<CLI::App&>(app).get_options();
  std::erase_if(options, [&](const CLI::Option* option) {
    return option == app.get_help_ptr() || (!option->get_positional() && name_of(*option) == option_name);
  });
  return options;
}

OptionValue value_of(const OptionValues& values, const CLI::Option& option) {
  const auto found = values.find(&option);
  return found == values.end() ? OptionValue{} : found->second;
}

/// Returns true if the option affects where and how a run takes place, but not its result.
bool is_of_the_run(const CLI::Option& option, const OptionValue& value) {
  const bool of_the_job = option.get_group() == job_heading && name_of(option) != "--variant";
  return !value.is_result || of_the_job || option.get_group() == output_heading;
}

/// Returns the command line of the run that is about to start. It states the value of every option from an option
/// table, unless the option has no effect.
std::vector<std::string> command_of_run(const CLI::App& app, const Session& session) {
  std::vector<std::string> words{"gradus", app.get_name()};
  for (const CLI::Option* option : options_of(app)) {
    const OptionValue value = value_of(session.values, *option);
    const bool has_no_effect = std::ranges::any_of(
        session.uses, [&](const auto& use) { return use.first == option && !use.second().empty(); });
    std::vector<std::string> texts = option->count() > 0 ? option->results() : std::vector<std::string>{};
    const bool is_flag = option->get_items_expected_max() == 0;
    if (const std::string text = value.current ? value.current() : ""; !text.empty()) texts = {text};
    else if (is_flag && value.current) texts.clear();
    if (has_no_effect || texts.empty()) continue;
    if (option->get_positional())  // adds "./" to a file name that begins with "--"
      for (const std::string& text : texts) words.push_back((text.starts_with("--") ? "./" : "") + text);
    else if (is_flag) words.push_back(name_of(*option));
    else
      for (const std::string& text : texts) words.push_back(name_of(*option) + "=" + text);
  }
  return words;
}

std::string text_of_file(const std::string& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw InputError(fmt::format("{}: '{}' is no regular file", option_name, path));
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.is_open() || stream.bad()) throw InputError(fmt::format("{}: cannot read '{}'", option_name, path));
  return text;
}

/// Returns true if the name refers to an existing file. It may also name an array in a file (file.npz:array), or be a
/// pattern of names.
bool names_a_file(const std::string& name) {
  std::error_code none;
  if (std::filesystem::exists(name, none)) return true;
  if (const std::string file = files::file_of_points(name); file != name) return std::filesystem::exists(file, none);
  return !files_like(name).empty();
}

}  // namespace

Json json_of(const core::Option& row, const core::Value& value) {
  if (row.kind == core::OptionKind::choice) return core::value_text(row, value);
  return std::visit(
      [](const auto& content) -> Json {
        if constexpr (std::is_same_v<decltype(content), const std::monostate&>) return nullptr;
        else return content;
      },
      value);
}

RepeatedRecord::RepeatedRecord(const std::string& file) : file_(file) {
  std::error_code none;
  const std::filesystem::path inside = std::filesystem::path(file) / "summary.json";
  if (std::filesystem::is_directory(file, none)) file_ = inside;
  const auto refuse = [&](std::string_view why) {
    throw InputError(fmt::format("{}: '{}' {}; a summary that 'gradus' wrote is needed", option_name, file_, why));
  };
  const Json record = Json::parse(text_of_file(file_), nullptr, false);
  if (!record.is_object() || !record.contains("problem") || !record["problem"].is_string())
    refuse("is no summary of a run");
  if (record.contains("unfinished")) refuse("says that the result is unfinished");
  try {
    command_ = record.at("command").get<std::vector<std::string>>();
    directory_ = record.at("directory").get<std::string>();
    if (!record.at("input_hashes").is_object()) refuse("does not say how to repeat the run");
    for (const auto& [role, hash] : record.at("input_hashes").items()) hashes_[role] = hash.get<std::string>();
  } catch (const Json::exception&) {
    refuse("does not say how to repeat the run");
  }
  if (command_.size() < 2) refuse("does not say how to repeat the run");
}

void RepeatedRecord::complete(CLI::App& app, const Session& session) {
  if (command_[1] != app.get_name())
    throw UsageError(fmt::format("{}: '{}' is the record of 'gradus {}'; repeat it with that command", option_name,
                                 file_, core::without_control(command_[1])));
  std::vector<CLI::Option*> positionals;
  for (CLI::Option* option : options_of(app)) {
    if (option->get_positional()) positionals.push_back(option);
    if (option->count() == 0) continue;
    given_.insert(option);
    replaced_.insert(name_of(*option));
    const OptionValue value = value_of(session.values, *option);
    is_read_alike_ = is_read_alike_ &&
                     (is_of_the_run(*option, value) || value.current || value.file || name_of(*option) == "--variant");
  }
  std::vector<CLI::Option*> completed;
  std::size_t place = 0;
  for (std::size_t index = 2; index < command_.size(); ++index) {
    const std::string& word = command_[index];
    const bool is_option = word.starts_with("--");
    const std::string name = is_option ? word.substr(0, word.find('=')) : "";
    CLI::Option* option = is_option                    ? app.get_option_no_throw(name)
                          : place < positionals.size() ? positionals[place]
                                                       : nullptr;
    if (option == nullptr)
      throw InputError(
          fmt::format("{}: '{}' has {}, which this version does not know", option_name, file_, core::excerpt(word)));
    if (!is_option && option->get_items_expected_max() <= 1) ++place;
    const OptionValue value = value_of(session.values, *option);
    const bool is_of_another_variant = value.of_variant && replaced_.contains("--variant");
    if (given_.contains(option) || is_of_another_variant || is_of_the_run(*option, value)) continue;
    const std::string text = !is_option ? word : word.size() > name.size() ? word.substr(name.size() + 1) : "true";
    const bool is_path = value.file && std::ranges::find(value.choices, text) == value.choices.end();
    if (is_path && text == "-")
      throw InputError(fmt::format("{}: '{}' is the record of a run that read standard input; name its file for {}",
                                   option_name, file_, name_of(*option)));
    option->add_result(is_path ? found(text) : text);
    if (std::ranges::find(completed, option) == completed.end()) completed.push_back(option);
  }
  for (CLI::Option* option : completed) option->run_callback();
  leave_out_conflicts(completed, session);
}

void RepeatedRecord::leave_out_conflicts(const std::vector<CLI::Option*>& completed, const Session& session) const {
  const auto leave_out = [&](CLI::Option& option) {
    const OptionValue value = value_of(session.values, option);
    if (value.reset) value.reset();
    if (value.reset && !value.current) option.clear();
    return value.reset != nullptr;
  };
  for (const auto& [given, no_effect_reason] : session.uses) {
    if (!given_.contains(given)) continue;
    // Leaves out recorded options until the given option has an effect. Then puts back all that are not in its way.
    std::vector<std::pair<CLI::Option*, std::vector<std::string>>> left_out;
    const auto put_back = [&](std::size_t index) {
      if (left_out[index].first->count() == 0) left_out[index].first->add_result(left_out[index].second);
      left_out[index].first->run_callback();
    };
    for (CLI::Option* option : completed) {
      if (no_effect_reason().empty()) break;
      const std::vector<std::string> recorded = option->results();
      if (leave_out(*option)) left_out.emplace_back(option, recorded);
    }
    const bool has_effect = no_effect_reason().empty();
    for (std::size_t index = 0; index < left_out.size(); ++index) {
      put_back(index);
      if (has_effect && !no_effect_reason().empty()) leave_out(*left_out[index].first);
    }
  }
  for (CLI::Option* option : completed)
    for (const auto& [used, no_effect_reason] : session.uses)
      if (used == option && option->count() > 0 && !no_effect_reason().empty()) leave_out(*option);
}

/// Returns the path of a file that the record names. A relative name refers to the current directory or, if there is no
/// such file, to the directory of the recorded run.
std::string RepeatedRecord::found(const std::string& path) const {
  std::error_code none;
  if (std::filesystem::path(path).is_absolute() || names_a_file(path)) return path;
  if (std::filesystem::equivalent(std::filesystem::current_path(none), directory_, none)) return path;
  return std::filesystem::path(directory_) / path;
}

void RepeatedRecord::require_same(std::string_view role, const std::string& option, const std::string& hash,
                                  const std::string& path) const {
  const auto recorded = hashes_.find(role);
  if (!is_read_alike_ || replaced_.contains(option) || recorded == hashes_.end() || recorded->second == hash) return;
  throw InputError(
      fmt::format("'{}': these are not the {} of the run in '{}' (their hash is {}, not {}); the file has changed "
                  "since. Restore it, "
                  "or name another {} to run with the recorded options",
                  path, role, file_, hash, core::without_control(recorded->second), option));
}

void add_repeat_option(Options& options, Session& session) {
  options.not_repeated(options.file(std::string(option_name), session.repeat, "FILE.json",
                                    "repeat the run of a summary, with its inputs, options and named variant; other "
                                    "options given here override the recorded ones"));
}

bool repeats(const std::vector<std::string>& words) {
  const auto end = std::ranges::find(words, "--");
  return std::any_of(words.begin(), end, [](const std::string& word) {
    return word == option_name || word.starts_with(std::string(option_name) + "=");
  });
}

std::vector<CLI::Option*> take_requirements(CLI::App& app) {
  std::vector<CLI::Option*> required;
  for (CLI::Option* option : options_of(app))
    if (option->get_required()) required.push_back(option->required(false));
  return required;
}

void add_record(Json& summary, const Session& session, std::span<const core::Option> rows, const void* options,
                const std::map<std::string, std::string>& hashes) {
  Json values = Json::object();
  for (const core::Option& row : rows)
    if (row.recorded) values[std::string(row.front_name())] = json_of(row, row.get(options));
  if (!session.execution.gpus.empty()) summary["gpus"] = session.execution.gpus;
  summary["options"] = std::move(values);
  summary["command"] = command_of_run(*session.root->get_subcommands().front(), session);
  std::error_code none;
  summary["directory"] = std::filesystem::current_path(none).string();
  summary["input_hashes"] = hashes;
}

}  // namespace gradus::cli
