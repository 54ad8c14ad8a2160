// `gradus verify`: compares every variant that runs here with the oracle of its problem.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/problem.hpp"
#include "bench/verify.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"

namespace gradus::cli {

namespace {

struct VerifyArguments {
  std::string problem{bench::problems().front()->name};
  bench::VerifyOptions options;
  bool list_cases = false;
};

bool runs_on_cpu(const VerifyArguments& arguments) {
  if (arguments.options.variants.empty()) return arguments.options.device != Device::gpu;
  return std::ranges::any_of(arguments.options.variants, [&](const std::string& name) {
    return bench::variant_info(bench::find_problem(arguments.problem), name).backend != core::Backend::cuda;
  });
}

std::string report_text(const bench::VerifyReport& report, const Session& session) {
  TextTable table({{"variant", TextTable::Align::left},
                   {"type", TextTable::Align::left},
                   {"contract", TextTable::Align::left},
                   {"right"},
                   {"left out"},
                   {"runs"},
                   {"seconds"},
                   {"", TextTable::Align::left}});
  std::string differences;
  bool any_left_out = false;
  for (const bench::VerifyRow& row : report.rows) {
    std::string verdict = row.cases_passed == row.cases ? "right" : "WRONG";
    if (!row.skipped.empty()) verdict = "skipped: " + row.skipped;
    table.add({row.variant, row.dtype, core::text(row.contract), fmt::format("{}/{}", row.cases_passed, row.cases),
               fmt::format("{}", row.cases_left_out), fmt::format("{}", row.checks), fmt::format("{:.2f}", row.seconds),
               verdict});
    any_left_out |= row.cases_left_out > 0;
    for (const std::string& difference : row.differences)
      differences += fmt::format("  {} {}: {}\n", row.variant, row.dtype, difference);
  }
  std::string threads;
  for (const int count : report.options.threads) threads += fmt::format("{}{}", threads.empty() ? "" : ", ", count);
  // Variants with the contract "invariants" have no oracle and run on CPUs only. These are the locks and sets.
  const bool has_oracle = std::ranges::any_of(
      report.rows, [](const bench::VerifyRow& row) { return row.contract != core::Contract::invariants; });
  std::string text = fmt::format("{}: every variant{}\n\n{}\n", report.problem,
                                 has_oracle ? fmt::format(" against the oracle, each case with {} threads, or with "
                                                          "several block sizes on a GPU",
                                                          threads)
                                            : fmt::format(", each case with {} threads", threads),
                                 table.text(session));
  text += has_oracle ? bench::contract_legend : "invariants: what must be true of every run is checked.\n";
  if (any_left_out)
    text += has_oracle
                ? "left out: cases in which ties or cancellation decide, of which the textbook's arithmetic promises "
                  "nothing,\nand shapes that the variant does not take.\n"
                : "left out: cases that the variant does not take.\n";
  if (!differences.empty()) text += "\nThe first differences:\n" + differences;
  return text;
}

int verify(const VerifyArguments& arguments, const Session& session) {
  const bench::ProblemRow& problem = bench::find_problem(arguments.problem);
  if (arguments.list_cases) {
    const std::vector<std::string> names = problem.cases();
    if (session.json) session.print_json(names);
    else
      for (const std::string& name : names) session.print(name + "\n");
    return 0;
  }
  const auto progress = [&session](std::int64_t done, std::int64_t total, std::string_view name) {
    if (session.execution.stop.stop_requested()) throw InterruptedError("stopped while verifying");
    session.execution.progress({"verify", done, total, name});
  };
  const bench::VerifyReport report = problem.verify(arguments.options, progress);
  if (session.json) session.print_json(bench::to_json(report));
  else session.print(report_text(report, session));
  if (report.right()) return 0;
  const bool ran = std::any_of(report.rows.begin(), report.rows.end(), [](const auto& row) { return row.checks > 0; });
  session.note(ran ? "some results are incorrect" : "none of the variants ran");
  return ran ? VerificationError("").exit_status() : UnsupportedError("").exit_status();
}

}  // namespace

Action setup_verify(Options& options, Session& session) {
  auto arguments = std::make_shared<VerifyArguments>();
  options.value("PROBLEM", "PROBLEM", with_default("the problem to verify", arguments->problem),
                [arguments](const std::string& text) { arguments->problem = text; },
                {.choices = bench::problem_names()});
  options.flag("--list-cases", arguments->list_cases, "print the names of the cases");
  options.heading("What is verified", [arguments = arguments.get()] {
    return arguments->list_cases ? "--list-cases prints the names of the cases and runs none" : "";
  });
  options.value("--variant", "NAME,...", "only these ('gradus list' shows all)",
                [arguments](const std::string& text) { arguments->options.variants = parse_list("--variant", text); },
                {.choices = bench::all_variant_names()});
  options.ineffective_if(
      options.choice("--device", arguments->options.device, "without --variant: all variants, or those that run there"),
      [arguments = arguments.get()] {
        return arguments->options.variants.empty() ? "" : "--variant names the variants, and so where they run";
      });
  options.value("--case", "NAME,...", "only these cases",
                [arguments](const std::string& text) { arguments->options.cases = parse_list("--case", text); });
  options.whole("--seeds", arguments->options.seeds, "data sets per case", 1, 1000000);
  options.ineffective_if(
      options.value("--threads", "N,...", "numbers of threads, which may exceed the number of cores [1,2,3,7,16]",
                    [arguments = arguments.get()](const std::string& text) {
                      arguments->options.threads = parse_whole_list("--threads", text, 1, 4096);
                    }),
      [arguments = arguments.get()] {
        return runs_on_cpu(*arguments) ? "" : "on a GPU a case is run with several block sizes instead";
      });
  return [arguments, &session] { return verify(*arguments, session); };
}

}  // namespace gradus::cli
