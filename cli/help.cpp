#include "cli/help.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/command.hpp"

namespace gradus::cli {

namespace {

constexpr std::size_t help_columns = 100;
constexpr std::size_t widest_signature = 30;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Formats an entry of the help: two spaces, the left text, and the right text, which is wrapped and aligned at
/// `column`.
std::string entry(const std::string& left, std::string_view right, std::size_t column) {
  std::string text = "  " + left;
  if (text.size() + 2 > column) text += "\n" + std::string(column, ' ');
  else text += std::string(column - text.size(), ' ');
  const std::string lines = wrapped(right, column, help_columns);
  return text + (lines.empty() ? lines : lines.substr(column)) + "\n";
}

}  // namespace

std::string_view version() { return GRADUS_VERSION; }

const Command* command_of(const CLI::App& app) {
  const auto found = std::ranges::find(commands(), std::string_view(app.get_name()), &Command::name);
  return found == commands().end() ? nullptr : &*found;
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string result;
  std::string line;
  const auto finish_line = [&] {
    result += (result.empty() ? "" : "\n") + std::string(indent, ' ') + line;
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && indent + line.size() + 1 + word.size() > columns) finish_line();
    line += line.empty() ? std::string(word) : " " + std::string(word);
  }
  if (!line.empty()) finish_line();
  return result;
}

std::vector<OptionGroup> option_groups(const CLI::App& app) {
  std::vector<OptionGroup> groups{{"Arguments", {}}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || option == app.get_help_ptr()) continue;
    const std::string heading = option->get_positional() ? groups[0].heading : option->get_group();
    auto group = std::ranges::find(groups, heading, &OptionGroup::heading);
    if (group == groups.end()) group = groups.insert(groups.end(), {heading, {}});
    group->options.push_back(option);
  }
  if (groups.size() == 1) groups.push_back({"Options", {}});
  // Adds --help at the end, where readers expect it; CLI11 lists it first.
  groups.back().options.push_back(app.get_help_ptr());
  std::erase_if(groups, [](const OptionGroup& group) { return group.options.empty(); });
  return groups;
}

std::string signature_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_option_text();
  std::string text;
  for (const std::string& name : option.get_snames()) text += (text.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) text += (text.empty() ? "--" : ", --") + name;
  if (!option.get_option_text().empty()) text += " " + option.get_option_text();
  return text;
}

std::string usage_of(const CLI::App& app) {
  std::string text = "gradus " + app.get_name();
  for (const OptionGroup& group : option_groups(app))
    for (const CLI::Option* option : group.options) {
      const bool argument = option->get_positional();
      if (!argument && !option->get_required()) continue;
      const std::string& placeholder = option->get_option_text();
      if (argument) text += option->get_required() ? " " + placeholder : " [" + placeholder + "]";
      else
        text += " " +
                std::string(option->get_snames().empty() ? "--" + option->get_lnames().front()
                                                         : "-" + option->get_snames().front()) +
                " " + placeholder;
    }
  return text + " [OPTION]...";
}

std::string overview(const CLI::App& root) {
  std::string text = fmt::format("Gradus {}: {}\n\n", version(), tagline);
  std::size_t comments = 0;
  for (const Command& command : commands()) comments = std::max(comments, command.first_line.size() + 4);
  for (const Command& command : commands())
    if (!command.first_line.empty())
      text += fmt::format("  {:<{}}{}\n", command.first_line, comments, command.first_comment);
  text += "\nCommands\n";
  const std::vector<const CLI::App*> apps = root.get_subcommands({});
  std::size_t column = 0;
  for (const CLI::App* app : apps) column = std::max(column, app->get_name().size() + 4);
  for (const CLI::App* app : apps) text += entry(app->get_name(), app->get_description(), column);
  return text + "\n'gradus COMMAND --help' explains a command and its options.\n";
}

std::string help_of(const CLI::App& app) {
  const Command* command = command_of(app);
  if (!command) return overview(app);
  std::string text = fmt::format("gradus {}: {}\n\n  {}\n", app.get_name(), app.get_description(), usage_of(app));
  const std::vector<OptionGroup> groups = option_groups(app);
  std::size_t column = 0;
  for (const OptionGroup& group : groups)
    for (const CLI::Option* option : group.options)
      if (const std::size_t size = signature_of(*option).size(); size <= widest_signature)
        column = std::max(column, size + 4);
  for (const OptionGroup& group : groups) {
    text += "\n" + group.heading + "\n";
    for (const CLI::Option* option : group.options)
      text += entry(signature_of(*option), option->get_description(), column);
  }
  const std::vector<std::string_view> examples = lines_of(command->examples);
  text += examples.size() > 1 ? "\nExamples\n" : "\nExample\n";
  for (const std::string_view example : examples) text += fmt::format("  {}\n", example);
  return text;
}

}  // namespace gradus::cli
