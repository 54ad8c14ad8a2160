// The problems that this build knows, and their tables of variants as far as these look alike.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ladder.hpp"
#include "execution/machine.hpp"

namespace gradus::cli {

struct ProblemRow {
  std::string_view name;
  std::string_view summary;
  std::vector<core::VariantInfo> (*variants)();
  /// On the machine, for at least one of the problem's usual shapes. Looks for GPUs where the variant needs one.
  core::Support (*support)(std::string_view variant, const execution::Machine& machine);
};

std::span<const ProblemRow> problems();
/// UsageError that suggests the nearest name where there is no such problem.
const ProblemRow& find_problem(std::string_view name);
std::vector<std::string> variant_names(std::string_view problem);
/// Of all problems, each once.
std::vector<std::string> all_variant_names();
/// The row of the problem's variant; UsageError that suggests the nearest name where there is none.
core::VariantInfo variant_info(std::string_view problem, std::string_view variant);

}  // namespace gradus::cli
