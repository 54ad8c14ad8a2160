// The text of --help, and the queries of the option tree that help, completion and the manual share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
class Option;
}  // namespace CLI

namespace gradus::cli {

struct Command;

inline constexpr std::string_view tagline = "exact parallel kernels for data";
std::string_view version();

/// Returns the text that `gradus` prints without arguments.
std::string overview(const CLI::App& root);
/// Returns the text that `gradus COMMAND --help` prints.
std::string help_of(const CLI::App& app);
/// Returns the usage line, for example "gradus generate KIND -o FILE [OPTION]...".
std::string usage_of(const CLI::App& app);
/// Returns an option as the help shows it, for example "-k, --clusters N" or "INPUT".
std::string signature_of(const CLI::Option& option);

struct OptionGroup {
  std::string heading;
  std::vector<const CLI::Option*> options;
};
/// Returns the options of a subcommand in the order of the help. Positional arguments form the first group.
std::vector<OptionGroup> option_groups(const CLI::App& app);
/// Returns the row of commands() that `app` belongs to, or null if `app` is the whole program.
const Command* command_of(const CLI::App& app);
/// Wraps the text into indented lines that have at most `columns` columns.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns);

}  // namespace gradus::cli
