// `gradus list`: prints every problem's ladder of variants.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/problem.hpp"
#include "bench/verify.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/repeat.hpp"
#include "execution/devices.hpp"
#include "execution/machine.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string_view device_of(core::Backend backend) { return backend == core::Backend::cuda ? "gpu" : "cpu"; }

std::string_view place_of(core::Backend backend) {
  switch (backend) {
    case core::Backend::sequential: return "CPU, one thread";
    case core::Backend::openmp: return "CPU, OpenMP";
    case core::Backend::tbb: return "CPU, oneTBB";
    case core::Backend::simd: return "CPU, OpenMP, SIMD";
    case core::Backend::cuda: return "GPU, CUDA";
  }
  return "?";
}

std::string ladder(const Session& session, const bench::ProblemRow& problem, const execution::Machine& machine) {
  TextTable table({{"variant", TextTable::Align::left},
                   {"runs on", TextTable::Align::left},
                   {"here", TextTable::Align::left},
                   {"result", TextTable::Align::left},
                   {"idea", TextTable::Align::left}});
  std::vector<std::string> reasons;  // each reason once, because many variants have the same reason
  for (const core::VariantInfo& variant : problem.ladder->variants()) {
    const core::Support support = problem.ladder->support(variant.name, machine);
    std::string here = "yes";
    if (!support) {
      const auto known = std::ranges::find(reasons, support.reason);
      here = fmt::format("no [{}]", known - reasons.begin() + 1);
      if (known == reasons.end()) reasons.push_back(support.reason);
    }
    table.add({std::string(variant.name), std::string(place_of(variant.backend)), here, core::text(variant.contract),
               std::string(variant.summary)});
  }
  std::string text = fmt::format("{}: {}\n\n{}", problem.name, problem.summary, table.text(session));
  for (std::size_t index = 0; index < reasons.size(); ++index)
    text += fmt::format("[{}] not here: {}\n", index + 1, reasons[index]);
  return text;
}

/// Returns the options of a table. The documentation and the signatures in Python are generated from them.
Json options_json(std::span<const core::Option> rows) {
  Json options = Json::array();
  for (const core::Option& row : rows) {
    if (!row.recorded) continue;
    Json choices = Json::array();
    for (const core::Choice& choice : row.choices) choices.push_back(choice.name);
    options.push_back({{"name", row.front_name()},
                       {"kind", to_string(row.kind)},
                       {"help", row.help},
                       {"placeholder", row.placeholder},
                       {"choices", std::move(choices)},
                       {"default", json_of(row, row.default_value())},
                       {"calls", row.calls},
                       {"scikit_learn", row.scikit_learn}});
  }
  return options;
}

Json ladder_json(const bench::ProblemRow& problem, const execution::Machine& machine) {
  Json variants = Json::array();
  for (const core::VariantInfo& variant : problem.ladder->variants()) {
    const core::Support support = problem.ladder->support(variant.name, machine);
    Json row{{"name", variant.name},
             {"summary", variant.summary},
             {"change", variant.change},
             {"backend", to_string(variant.backend)},
             {"device", device_of(variant.backend)},
             {"contract", core::kind_text(variant.contract)},
             {"tolerance", bench::tolerance_json(variant.contract)},
             {"runs_here", support.supported}};
    if (!support) row["reason"] = support.reason;
    if (variant.options != nullptr) row["options"] = options_json(variant.options->rows);
    variants.push_back(std::move(row));
  }
  return {{"problem", problem.name},
          {"summary", problem.summary},
          {"variants", std::move(variants)},
          {"options", options_json(problem.options)}};
}

int list(const std::string& name, const Session& session) {
  std::vector<const bench::ProblemRow*> chosen;
  if (!name.empty()) chosen.push_back(&bench::find_problem(name));
  else chosen.assign(bench::problems().begin(), bench::problems().end());
  execution::Machine machine = execution::this_machine();
  machine.gpus = execution::Gpus(execution::list_gpus);
  if (session.json) {
    Json all = Json::array();
    for (const bench::ProblemRow* problem : chosen) all.push_back(ladder_json(*problem, machine));
    session.print_json(all);
    return 0;
  }
  for (const bench::ProblemRow* problem : chosen) {
    if (problem != chosen[0]) session.print("\n");
    session.print(ladder(session, *problem, machine));
  }
  session.print("\n" + std::string(bench::contract_legend) +
                "Without --variant the best variant for the data and the machine runs.\n");
  return 0;
}

}  // namespace

Action setup_list(Options& options, Session& session) {
  auto problem = std::make_shared<std::string>();
  options.value("PROBLEM", "PROBLEM", "list only this problem",
                [target = problem.get()](const std::string& text) { *target = text; },
                {.choices = bench::problem_names()});
  return [problem, &session] { return list(*problem, session); };
}

}  // namespace gradus::cli
