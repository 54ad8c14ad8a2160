// `gradus manual`: generates the manual page from the tree of options.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/problem.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"

namespace gradus::cli {

namespace {

/// Escapes text for roff, so that no part of it is read as a request or escape.
std::string roff(std::string_view text) {
  std::string result;
  for (const char character : text) {
    if (character == '\\') result += "\\e";
    else if (character == '-') result += "\\-";
    else if (character == '\'') result += "\\(aq";
    else if (character == '.' && (result.empty() || result.back() == '\n')) result += "\\&.";
    else if (character == '~') result += "\\(ti";
    else if (character == '^') result += "\\(ha";
    else if (character == '`') result += "\\(ga";
    else result += character;
  }
  return result;
}

std::string paragraph(std::string_view title, std::string_view text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(title), roff(text));
}

std::string group_text(const OptionGroup& group, const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : group.options)
    if (option != app.get_help_ptr()) text += paragraph(signature_of(*option), option->get_description());
  return text;
}

std::string example_text(std::string_view examples) {
  return fmt::format(".PP\n.nf\n.RS\n{}\n.RE\n.fi\n", roff(examples));
}

/// Returns true if the group contains common options. The manual describes these only once, not for each command.
bool is_common(const OptionGroup& group, const Command& command) {
  return (command.common == Common::job && group.heading == job_heading) ||
         (command.common != Common::none && group.heading == output_heading);
}

std::string command_text(const CLI::App& app) {
  const Command& command = *command_of(app);
  std::string text =
      fmt::format(".SS {}\n{}.\n.PP\n.B {}\n", roff(app.get_name()), roff(app.get_description()), roff(usage_of(app)));
  for (const OptionGroup& group : option_groups(app))
    if (!is_common(group, command)) text += group_text(group, app);
  if (command.common == Common::job) text += ".PP\nIt takes all of the common options.\n";
  if (command.common == Common::output)
    text += fmt::format(".PP\nIt takes {} and {}.\n", roff("--json"), roff("--quiet"));
  return text + example_text(command.examples);
}

/// Describes the common options. Takes the descriptions from the first subcommand that has all common options.
std::string common_text(const std::vector<CLI::App*>& apps) {
  const auto job =
      std::ranges::find_if(apps, [](const CLI::App* app) { return command_of(*app)->common == Common::job; });
  std::string text;
  if (job == apps.end()) return text;
  for (const OptionGroup& group : option_groups(**job))
    if (is_common(group, *command_of(**job)))
      text += fmt::format(".SS {}\n", roff(group.heading)) + group_text(group, **job);
  return text;
}

std::string page(const Session& session) {
  const std::vector<CLI::App*> apps = session.root->get_subcommands({});
  std::string problems;
  for (const bench::ProblemRow* problem : bench::problems())
    problems += paragraph(bench::with_hyphens(problem->name), problem->summary);
  std::string text = fmt::format(
      ".TH GRADUS 1 \"\" \"Gradus {0}\" \"User Commands\"\n"
      ".SH NAME\ngradus \\- {1}\n"
      ".SH SYNOPSIS\n.B gradus\n.I COMMAND\n[\\fIOPTION\\fR]...\n"
      ".SH DESCRIPTION\n"
      "Gradus solves the problems below exactly: results are the same bits on any number of threads. It takes the\n"
      "fastest of its variants for the data and the machine; each of them can be listed, run, verified and measured\n"
      "by its name.\n"
      "{2}"
      ".PP\n"
      "Results go to standard output, messages and progress to standard error. Files appear whole or not at all.\n"
      ".SH COMMANDS\n",
      roff(version()), roff(tagline), problems);
  for (const CLI::App* app : apps) text += command_text(*app);
  text += ".SH COMMON OPTIONS\n" + common_text(apps);
  text += ".SS Everywhere\n" + paragraph("-h, --help", "explain the command and its options") +
          paragraph("-V, --version", "print the version");
  text += ".SH EXIT STATUS\n";
  constexpr std::pair<std::string_view, std::string_view> statuses[] = {
      {"0", "done"},
      {"1", "run-time failure: a full disk, too little memory"},
      {"2", "usage error: an unknown option, an impossible value"},
      {"3", "bad input data"},
      {"4", "no such device, or not supported here"},
      {"5", "verification found a wrong result"},
      {"130", "interrupted"}};
  for (const auto& [status, meaning] : statuses) text += paragraph(status, meaning);
  text += ".SH ENVIRONMENT\n" + paragraph("NO_COLOR", "set and not empty: no colour on a terminal");
  text += ".SH FILES\n";
  for (const Command& command : commands())
    for (const WrittenFile& file : command.files) text += paragraph(file.name, file.content);
  return text;
}

}  // namespace

Action setup_manual(Options&, Session& session) {
  return [&session] {
    session.print(page(session));
    return 0;
  };
}

}  // namespace gradus::cli
