// A subcommand of `gradus`: a file of its own and a row of a table, commands.cpp for those of the whole program and
// cli/<problem>.cpp for those of a problem. Parsing, help, completion and the manual all loop over commands().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "cli/session.hpp"

namespace gradus::cli {

/// Does the work after the command line has been parsed; the value is the exit status, 0 where all went well.
/// Failures are thrown as gradus::Error.
using Action = std::function<int()>;

/// Which of the common options a subcommand takes besides its own.
enum class Common : std::uint8_t {
  none,    ///< prints text for a shell or a pager
  output,  ///< --json, --quiet: Session::json, Session::quiet
  place,   ///< also --device, --threads, --memory-limit, --gpu-memory-limit: Session::execution
  job      ///< also --variant, --pin, --block-size
};

/// The headings of these options in the help.
inline constexpr std::string_view job_heading = "Where and how to run";
inline constexpr std::string_view output_heading = "Output";

/// A file that a command writes, for the manual.
struct WrittenFile {
  std::string_view name;
  std::string_view content;
};

struct Command {
  std::string_view name;
  std::string_view summary;  ///< one line, in lower case, without a full stop
  std::string examples;      ///< one command line per line; shown at the end of the help
  Common common;
  std::string_view problem;  ///< whose variants --variant names, where `common` is `job`
  /// Adds the subcommand's options. What they set must live as long as the action that is returned.
  Action (*setup)(Options& options, Session& session);
  std::string_view first_line{};     ///< a line to begin with, for the short help; empty: it is not there
  std::string_view first_comment{};  ///< what that line does
  std::vector<WrittenFile> files = {};
  bool on_ranks = false;     ///< mpirun may start it several times
  bool is_repeated = false;  ///< its summary is a record, which --repeat runs again
};

/// A kind of input that `gradus generate` makes for a problem.
struct Generator {
  /// What all kinds have in common.
  struct Request {
    std::string kind;
    std::uint64_t seed = 0;
    std::optional<double> density;  ///< a share of all that there could be, from 0 to 1
    std::string output;
  };
  std::string_view name;
  std::string_view summary;  ///< a few words
  std::string_view density;  ///< what it has a density of; empty: of nothing
  /// Adds the kind's own options, which have an effect for this kind only, under the heading at hand. The action makes
  /// the file.
  Action (*setup)(Options& options, Session& session, const Request& request);
};

/// What cli/<problem>.cpp adds to the command line.
struct ProblemCommands {
  struct Example {
    std::string_view command;
    std::string_view line;
  };
  std::vector<Command> commands;
  std::vector<Generator> generators = {};
  std::vector<Example> examples;  ///< of commands for all problems: list, verify, bench
};

/// All of them, in the order of the help: the problems' come first.
const std::vector<Command>& commands();
/// Those of all problems.
const std::vector<Generator>& generators();

// One line per subcommand's file.
Action setup_generate(Options& options, Session& session);
Action setup_list(Options& options, Session& session);
Action setup_verify(Options& options, Session& session);
Action setup_bench(Options& options, Session& session);
Action setup_compare(Options& options, Session& session);
Action setup_report(Options& options, Session& session);
Action setup_info(Options& options, Session& session);
Action setup_completion(Options& options, Session& session);
Action setup_manual(Options& options, Session& session);

}  // namespace gradus::cli
