// The table of the subcommands of `gradus`. commands.cpp lists the general commands, cli/<problem>.cpp the commands of
// a problem; each command has a file. Parsing, help, completion and the manual all loop over commands().
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

/// Does the work after the command line is parsed and returns the exit status, 0 for success. Throws gradus::Error.
using Action = std::function<int()>;

/// The common options that a subcommand supports in addition to its specific ones.
enum class Common : std::uint8_t {
  none,    ///< prints text for a shell or a pager
  output,  ///< --json, --quiet: Session::json, Session::quiet
  place,   ///< also --device, --threads, --memory-limit, --gpu-memory-limit: Session::execution
  job      ///< also --variant, --pin, --block-size
};

/// The headings of the common options in the help.
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
  std::string_view problem;  ///< the problem whose variants --variant names, if `common` is `job`
  /// Adds the subcommand's options. Their targets must live as long as the returned action.
  Action (*setup)(Options& options, Session& session);
  std::string_view first_line{};     ///< example for the short help; empty: not listed there
  std::string_view first_comment{};  ///< comment next to that example
  std::vector<WrittenFile> files = {};
  bool on_ranks = false;     ///< can run as several ranks under mpirun
  bool is_repeated = false;  ///< writes a summary that --repeat can run again
};

/// A kind of input that `gradus generate` makes for a problem.
struct Generator {
  /// The options common to all kinds.
  struct Request {
    std::string kind;
    std::uint64_t seed = 0;
    std::optional<double> density;  ///< a share of the possible elements, from 0 to 1
    std::string output;
  };
  std::string_view name;
  std::string_view summary;  ///< a few words
  std::string_view density;  ///< the elements whose share --density sets; empty: no density
  /// Adds the kind's options under the current heading; they have an effect for this kind only. The action writes
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
  std::vector<Example> examples;  ///< for the help of the general commands list, verify and bench
};

/// Returns all commands in the order of the help: the problems' commands first.
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
