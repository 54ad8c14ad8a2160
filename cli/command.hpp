// A subcommand of `gradus`: a file of its own and a row of the one table in commands.cpp. Parsing, help, completion and
// the manual all loop over that table.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

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
  place,   ///< also --device, --threads: Session::execution
  job      ///< also --variant, --pin, --block-size, --memory-limit
};

/// The headings of these options in the help.
inline constexpr std::string_view job_heading = "Where and how to run";
inline constexpr std::string_view output_heading = "Output";

struct Command {
  std::string_view name;
  std::string_view summary;   ///< one line, in lower case, without a full stop
  std::string_view examples;  ///< one command line per line; shown at the end of the help
  Common common;
  std::string_view problem;  ///< whose variants --variant names, where `common` is `job`
  /// Adds the subcommand's options. What they set must live as long as the action that is returned.
  Action (*setup)(Options& options, Session& session);
};

std::span<const Command> commands();

// One line per subcommand's file.
Action setup_kmeans(Options& options, Session& session);
Action setup_predict(Options& options, Session& session);
Action setup_transform(Options& options, Session& session);
Action setup_pair_histogram(Options& options, Session& session);
Action setup_generate(Options& options, Session& session);
Action setup_list(Options& options, Session& session);
Action setup_verify(Options& options, Session& session);
Action setup_bench(Options& options, Session& session);
Action setup_info(Options& options, Session& session);
Action setup_demo(Options& options, Session& session);
Action setup_completion(Options& options, Session& session);
Action setup_manual(Options& options, Session& session);

}  // namespace gradus::cli
