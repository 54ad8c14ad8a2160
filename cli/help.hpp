// The text of --help, and what help, completion and the manual need to know of the tree of options.
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
/// Of this build.
std::string_view version();

/// What `gradus` without arguments says.
std::string overview(const CLI::App& root);
/// What `gradus COMMAND --help` says.
std::string help_of(const CLI::App& app);
/// "gradus generate KIND -o FILE [OPTION]..."
std::string usage_of(const CLI::App& app);
/// "-k, --clusters N", or "INPUT".
std::string signature_of(const CLI::Option& option);

struct OptionGroup {
  std::string heading;
  std::vector<const CLI::Option*> options;
};
/// The options of a subcommand in the order of the help; arguments without a name are in a first group.
std::vector<OptionGroup> option_groups(const CLI::App& app);
/// The row of the table, or null for the root.
const Command* command_of(const CLI::App& app);
/// Lines of at most `columns`, each indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns);

}  // namespace gradus::cli
