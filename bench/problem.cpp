#include "bench/problem.hpp"

#include <algorithm>

#include "execution/ladders.hpp"

namespace gradus::bench {

#define GRADUS_PROBLEM(problem) extern const ProblemRow problem##_problem;
#include "problems.inc"
#undef GRADUS_PROBLEM

namespace {

constexpr const ProblemRow* problem_rows[] = {
#define GRADUS_PROBLEM(problem) &problem##_problem,
#include "problems.inc"
#undef GRADUS_PROBLEM
};

}  // namespace

std::span<const ProblemRow* const> problems() { return problem_rows; }

const ProblemRow& find_problem(std::string_view name) {
  const core::Ladder& ladder = execution::find_ladder(name);
  return **std::ranges::find(problem_rows, &ladder, &ProblemRow::ladder);
}

std::vector<std::string> problem_names() {
  std::vector<std::string> names;
  for (const ProblemRow* problem : problem_rows) names.emplace_back(problem->name);
  return names;
}

std::vector<std::string> variant_names(const ProblemRow& problem) {
  std::vector<std::string> names;
  for (const core::VariantInfo& variant : problem.ladder->variants()) names.emplace_back(variant.name);
  return names;
}

std::vector<std::string> all_variant_names() {
  std::vector<std::string> names;
  for (const ProblemRow* problem : problem_rows)
    for (const std::string& name : variant_names(*problem))
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

core::VariantInfo variant_info(const ProblemRow& problem, std::string_view variant) {
  const std::vector<core::VariantInfo> infos = problem.ladder->variants();
  return core::find_variant(std::span<const core::VariantInfo>(infos), variant, problem.name);
}

}  // namespace gradus::bench
