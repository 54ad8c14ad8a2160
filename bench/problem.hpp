// The problems of this build. The harness and the command line use one row per problem, defined in bench/<problem>.cpp.
// cmake/rooms.cmake finds the problems.
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
  std::string_view name;     ///< name of the problem's folder and header; the command line also accepts hyphens
  std::string_view summary;  ///< one line, in lower case, without a full stop: the problem and its results
  std::string_view figures;  ///< explanation, in whole sentences, of the table columns that only this problem has

  const core::Ladder* ladder;
  std::span<const core::Option> options = {};  ///< options of a call: the option table of the room
  /// Checks every variant on every case against the oracle. Throws UsageError for unknown variants and cases.
  VerifyReport (*verify)(const VerifyOptions& options, const VerifyProgress& progress);
  std::vector<std::string> (*cases)();
  /// Returns the problem's axes with their defaults, and the inputs that they describe.
  std::unique_ptr<Workloads> (*workloads)();
};

/// Returns the problems in the order in which all lists show them.
std::span<const ProblemRow* const> problems();
/// Finds a problem. Throws UsageError with a suggestion if the name is unknown.
const ProblemRow& find_problem(std::string_view name);
/// For completion by the shell: the names of all problems, of the variants of one problem, and of the variants of all
/// problems.
std::vector<std::string> problem_names();
std::vector<std::string> variant_names(const ProblemRow& problem);
std::vector<std::string> all_variant_names();
/// Finds a variant. Throws UsageError with a suggestion if the name is unknown.
core::VariantInfo variant_info(const ProblemRow& problem, std::string_view variant);

}  // namespace gradus::bench
