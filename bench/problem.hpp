// The problems that this build knows, as the harness and the command line see them: a row each, and nothing else of
// them. A problem's row is in bench/<problem>.cpp, and cmake/rooms.cmake finds the problems.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/verify.hpp"
#include "bench/workload.hpp"
#include "core/ladder.hpp"
#include "execution/machine.hpp"

namespace gradus::bench {

struct ProblemRow {
  std::string_view name;     ///< that of its folder and header; the command line also takes hyphens
  std::string_view summary;  ///< one line, in lower case, without a full stop: what it is, and what a person gets
  std::string_view figures;  ///< what its own columns of the table of measurements mean, in whole sentences

  const core::Ladder* ladder;                  ///< that of the room
  std::span<const core::Option> options = {};  ///< the table of the room
  /// Every variant on every case against the oracle. UsageError for names of variants and cases that are in no table.
  VerifyReport (*verify)(const VerifyOptions& options, const VerifyProgress& progress);
  std::vector<std::string> (*cases)();
  /// What is measured: the axes with their usual values, and the inputs that they stand for.
  std::unique_ptr<Workloads> (*workloads)();
};

/// In the order of every list that a person sees.
std::span<const ProblemRow* const> problems();
/// UsageError with a suggestion where there is none of this name.
const ProblemRow& find_problem(std::string_view name);
/// For the shell: problems, variants of one, and of all of them.
std::vector<std::string> problem_names();
std::vector<std::string> variant_names(const ProblemRow& problem);
std::vector<std::string> all_variant_names();
/// UsageError with a suggestion where there is none of this name.
core::VariantInfo variant_info(const ProblemRow& problem, std::string_view variant);

}  // namespace gradus::bench
