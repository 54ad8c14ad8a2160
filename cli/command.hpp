// The table of the subcommands of `gradus`. commands.cpp lists the general commands, and cli/<problem>.cpp lists the
// commands of a problem. Each command is defined in a separate file. Parsing, help, completion and the manual all loop
// over commands().
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

/// Does the work after the command line has been parsed. Returns the exit status, 0 for success. Throws gradus::Error.
using Action = std::function<int()>;

/// The common options that a subcommand supports in addition to its specific options.
enum class Common : std::uint8_t {
  none,    ///< adds nothing; for commands that print text for a shell or a pager
  output,  ///< adds --json and --quiet, which set Session::json and Session::quiet
  /// Adds the options of `output` and --device, --gpus, --threads, --memory-limit, --gpu-memory-limit, which set
  /// Session::execution.
  place,
  job  ///< adds the options of `place` and --variant, --pin, --block-size
};

/// The headings under which the help lists the common options.
inline constexpr std::string_view job_heading = "Where and how to run";
inline constexpr std::string_view output_heading = "Output";

/// A file that a command writes, as the manual describes it.
struct WrittenFile {
  std::string_view name;
  std::string_view content;
};

struct Command {
  std::string_view name;
  std::string_view summary;  ///< one line, in lower case, without a full stop
  std::string examples;      ///< example commands for the end of the help, one per line
  Common common;
  std::string_view problem;  ///< if `common` is `job`: the problem whose variants --variant can name
  /// Adds the subcommand's options. Their targets must live as long as the returned action.
  Action (*setup)(Options& options, Session& session);
  std::string_view first_line{};     ///< command line in the short help; empty: the short help leaves the command out
  std::string_view first_comment{};  ///< comment next to `first_line`
  std::vector<WrittenFile> files = {};
  bool on_ranks = false;            ///< true if the command can run under mpirun as several ranks
  bool is_repeated = false;         ///< true if the command writes a summary from which --repeat can repeat the run
  bool prints_all_options = false;  ///< true if the command prints the options of all commands
};

/// A kind of input that `gradus generate` makes for a problem.
struct Generator {
  /// Values of the options that all kinds share.
  struct Request {
    std::string kind;
    std::uint64_t seed = 0;
    std::optional<double> density;  ///< share of the possible elements, from 0 to 1
    std::string output;
  };
  std::string_view name;
  std::string_view summary;  ///< description in a few words
  /// description of the elements whose share --density sets; empty: --density has no effect on this kind
  std::string_view density;
  /// Adds the kind's options under the current heading. These options affect this kind only. The returned action writes
  /// the file.
  Action (*setup)(Options& options, Session& session, const Request& request);
};

/// The contribution of cli/<problem>.cpp to the command line.
struct ProblemCommands {
  struct Example {
    std::string_view command;
    std::string_view line;
  };
  std::vector<Command> commands;
  std::vector<Generator> generators = {};
  std::vector<Example> examples;  ///< examples for the help of the general commands list, verify and bench
};

/// Returns all commands in the order of the help: first those that belong to a problem, then the general ones.
const std::vector<Command>& commands();
const std::vector<Generator>& generators();

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
