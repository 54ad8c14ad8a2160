// The problems of this build, with one row each for the harness and the command line. A problem's row is in
// bench/<problem>.cpp; cmake/rooms.cmake finds the problems.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/verify.hpp"
#include "bench/workload.hpp"
#include "core/ladder.hpp"
#include "core/options.hpp"
#include "execution/machine.hpp"

namespace gradus::bench {

struct ProblemRow {
  std::string_view name;     ///< name of its folder and header; the command line also accepts hyphens
  std::string_view summary;  ///< one line, in lower case, without a full stop: the problem and its results
  std::string_view figures;  ///< meaning of the problem's specific table columns, in whole sentences

  const core::Ladder* ladder;
  std::span<const core::Option> options = {};  ///< options of a call: the room's table
  /// Checks every variant on every case against the oracle. Throws UsageError for unknown variants and cases.
  VerifyReport (*verify)(const VerifyOptions& options, const VerifyProgress& progress);
  std::vector<std::string> (*cases)();
  /// Returns the axes with their defaults, and the inputs they describe.
  std::unique_ptr<Workloads> (*workloads)();
};

/// Returns the problems in the order of all user-visible lists.
std::span<const ProblemRow* const> problems();
/// Throws UsageError with a suggestion for an unknown name.
const ProblemRow& find_problem(std::string_view name);
/// For the shell: names of problems, of a problem's variants, and of all variants.
std::vector<std::string> problem_names();
std::vector<std::string> variant_names(const ProblemRow& problem);
std::vector<std::string> all_variant_names();
/// Throws UsageError with a suggestion for an unknown name.
core::VariantInfo variant_info(const ProblemRow& problem, std::string_view variant);

}  // namespace gradus::bench
