// `gradus bench`: measures variants over axes, or repeats a published experiment.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/experiment.hpp"
#include "bench/facts.hpp"
#include "bench/group.hpp"
#include "bench/problem.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"
#include "cli/report.hpp"
#include "core/atomic_file.hpp"
#include "execution/machine.hpp"

namespace gradus::cli {

namespace {

/// A problem and the settings of its axes.
struct Candidate {
  const bench::ProblemRow* problem;
  std::shared_ptr<bench::Workloads> workloads;
};

struct BenchArguments {
  std::string problem;
  std::string experiment;
  double scale = 1;
  bench::VariantRun run;
  std::vector<int> threads;  ///< numbers of threads; empty: not given
  std::vector<Candidate> candidates;
  bench::Effort effort;
  bool json = false;
  std::string json_file;  ///< file of --json; empty: JSON is printed instead of tables
  std::string page_file;

  const Candidate& chosen() const {
    return *std::ranges::find(candidates, &bench::find_problem(problem), &Candidate::problem);
  }
};

std::string group_text(const bench::Group& group, const Session& session) {
  const bench::Table lines = bench::table(group);
  std::vector<TextTable::Column> columns;
  for (const std::string& heading : lines.front())
    columns.push_back({heading, columns.empty() || heading.empty() ? TextTable::Align::left : TextTable::Align::right});
  TextTable table(std::move(columns));
  for (std::size_t row = 1; row < lines.size(); ++row) table.add(lines[row]);
  return fmt::format("{}\nverified: {}\n{}\n", session.bold(group.title), group.verified, table.text(session));
}

std::string columns_text(const bench::ProblemRow& problem, const bench::Report& report) {
  constexpr std::size_t columns = 110;
  const bool rechecked = std::ranges::any_of(report.groups, [](const bench::Group& group) {
    return std::ranges::any_of(group.rows, [](const bench::Row& row) { return row.rechecked > 0; });
  });
  return wrapped(fmt::format("spread: median deviation. {}{} memory: at its peak, beyond the input.", problem.figures,
                             rechecked ? " rechecked: share that a filter in low precision left to double." : ""),
                 0, columns) +
         "\n";
}

std::string ceilings_text(const std::vector<bench::TeamCeilings>& teams, const Session& session) {
  TextTable table({{"threads"}, {"pin"}, {"read GB/s"}, {"copy GB/s"}, {"fma G/s f32"}, {"f64"}});
  for (const bench::TeamCeilings& team : teams)
    table.add({team.on_gpu ? "GPU" : fmt::format("{}", team.threads),
               team.on_gpu ? "-" : std::string(to_string(team.pinning)),
               fmt::format("{:.1f}", 1e-9 * team.ceilings.read_bytes_per_second),
               fmt::format("{:.1f}", 1e-9 * team.ceilings.copy_bytes_per_second),
               fmt::format("{:.1f}", 1e-9 * team.ceilings.fma_f32_per_second),
               fmt::format("{:.1f}", 1e-9 * team.ceilings.fma_f64_per_second)});
  return fmt::format("{}\n{}", session.bold("ceilings of this machine, measured in this run"), table.text(session));
}

std::string published_text(const bench::Experiment& experiment, const bench::Report& report, const Session& session) {
  TextTable table({{"shape", TextTable::Align::left},
                   {"variant", TextTable::Align::left},
                   {"published"},
                   {"threads"},
                   {"here"},
                   {"threads"},
                   {"pin"},
                   {"", TextTable::Align::left}});
  for (const bench::Published& published : experiment.published) {
    const bench::Row* row = bench::counterpart(published, report);
    table.add({published.shape, published.variant.empty() ? "-" : published.variant, bench::published_text(published),
               published.threads ? fmt::format("{}", *published.threads) : "-",
               row ? bench::measured_text(published, *row, report) : "-", row ? fmt::format("{}", row->threads) : "-",
               row ? std::string(to_string(row->pinning)) : "-", published.note});
  }
  return fmt::format("{}\n{}\n", session.bold("published, and here"), table.text(session));
}

using Judged = std::vector<std::pair<bench::Claim, bench::Judgement>>;

Judged judged_claims(const bench::Experiment& experiment, const bench::Report& report) {
  Judged judged;
  for (const bench::Claim& claim : experiment.claims)
    judged.emplace_back(claim, bench::judge(claim, report, experiment.settings, execution::this_machine().cores));
  return judged;
}

std::string what_is_compared(const bench::Claim& claim) {
  if (is_about_figure(claim.kind)) return claim.figure + " by threads";
  if (!is_about_axis(claim.kind)) return "time by threads";
  return (claim.threads > 0 ? "time by " : "best time by ") + claim.axis;
}

/// Lists the claims, each with its verdict and its rule. Adds a line for each input of a claim. The line has the
/// figures that decide the verdict.
std::string claims_text(const Judged& judged, const Session& session) {
  std::string text;
  for (const auto& [claim, judgement] : judged) {
    TextTable table({{"shape", TextTable::Align::left},
                     {"verdict", TextTable::Align::left},
                     {"because", TextTable::Align::left},
                     {what_is_compared(claim), TextTable::Align::left}});
    for (const bench::Finding& finding : judgement.findings)
      table.add({finding.input, std::string(to_string(finding.verdict)), finding.because,
                 bench::points_text(claim, finding.points)});
    text += fmt::format(
        "{}\nrule: {}\n{}\n",
        session.bold(fmt::format("claim: {} {}: {}", claim.variant, claim_text(claim), to_string(judgement.verdict))),
        rule_text(claim), table.text(session));
  }
  return text;
}

bench::Experiment prepared_experiment(const BenchArguments& arguments, const Session& session) {
  bench::Experiment experiment = bench::read_experiment(bench::find_experiment(arguments.experiment));
  bench::scale(experiment, arguments.scale);
  for (bench::Bench& part : experiment.parts) {
    part.effort = arguments.effort;
    if (!arguments.threads.empty())
      for (bench::VariantRun& run : part.runs) run.threads = arguments.threads;
  }
  const int cores = execution::this_machine().cores;
  if (arguments.threads.empty() && bench::limit_threads(experiment, cores))
    session.note(fmt::format("more threads than the {} core{} here are left out; --threads asks for any number", cores,
                             cores == 1 ? "" : "s"));
  return experiment;
}

void require_one_of_both(const BenchArguments& arguments) {
  if (!arguments.experiment.empty()) return;
  if (arguments.problem.empty())
    throw UsageError(fmt::format("say what to measure: 'gradus bench {}', or 'gradus bench --experiment NAME'",
                                 bench::with_hyphens(bench::problems().front()->name)));
  bench::find_problem(arguments.problem);
}

// If the user named an experiment, returns the reason why options for axes have no effect: the experiment sets the
// axes. If not, returns "".
std::string why_not_of_experiment(const BenchArguments& arguments) {
  if (arguments.experiment.empty()) return "";
  return "an experiment has its own problem, variants and axes; it takes --threads, --scale, --repeats and --min-time";
}

// Returns "" if a variant to be measured has a backend of the required kind. Otherwise returns the reason why the axis
// has no effect: no variant to be measured has such a backend.
std::string why_not_with(bool (*kind)(core::Backend), std::string_view kinds, const BenchArguments& arguments) {
  if (arguments.problem.empty()) return "";
  const bench::ProblemRow& problem = bench::find_problem(arguments.problem);
  for (const std::string& name : arguments.run.variants)
    if (kind(bench::variant_info(problem, name).backend)) return "";
  if (arguments.run.variants.empty())
    for (const core::VariantInfo& info : problem.ladder->variants())
      if (kind(info.backend) && problem.ladder->support(info.name, execution::this_machine())) return "";
  return fmt::format("none of the variants to be measured {}", kinds);
}

bool has_blocks(core::Backend backend) { return backend == core::Backend::cuda; }

bool has_threads(core::Backend backend) {
  return backend != core::Backend::cuda && backend != core::Backend::sequential;
}

/// An axis, and the problems that have it. The command line has one option for the axis in all these problems.
struct SharedAxis {
  bench::Axis shown;
  std::vector<std::pair<const bench::ProblemRow*, bench::Axis>> owners;

  const bench::Axis* of(std::string_view problem) const {
    const auto found =
        std::ranges::find(owners, core::with_underscores(problem), [](const auto& owner) { return owner.first->name; });
    return found == owners.end() ? nullptr : &found->second;
  }
  std::string names() const {
    std::string names;
    for (const auto& [problem, axis] : owners)
      names += (names.empty() ? "" : ", ") + bench::with_hyphens(problem->name);
    return names;
  }
};

std::vector<SharedAxis> shared_axes(const std::vector<Candidate>& candidates) {
  std::vector<SharedAxis> all;
  for (const Candidate& candidate : candidates)
    for (const bench::Axis& axis : candidate.workloads->axes()) {
      auto shared = std::ranges::find(all, axis.name, [](const SharedAxis& known) { return known.shown.name; });
      if (shared == all.end()) shared = all.insert(all.end(), {axis, {}});
      else if (axis.initial != shared->owners.front().second.initial)
        shared->shown.initial +=
            fmt::format("; for {}: {}", bench::with_hyphens(candidate.problem->name), axis.initial);
      if (!shared->owners.empty() && axis.help != shared->owners.front().second.help)
        shared->shown.help += fmt::format("; for {}: {}", bench::with_hyphens(candidate.problem->name), axis.help);
      for (const auto& choice : axis.choices)
        if (std::ranges::find(shared->shown.choices, choice) == shared->shown.choices.end())
          shared->shown.choices.push_back(choice);
      shared->owners.emplace_back(candidate.problem, axis);
    }
  // Sorts the axes by the number of problems that share them, so that axes of the same problems are next to each other
  // and share a heading.
  std::ranges::stable_sort(all, std::ranges::greater{}, [](const SharedAxis& axis) { return axis.owners.size(); });
  return all;
}

// Returns the reason why the axis has no effect, or "" if the axis has an effect.
std::string why_not_of_problem(const SharedAxis& axis, const BenchArguments& arguments) {
  if (!arguments.experiment.empty() || arguments.problem.empty()) return why_not_of_experiment(arguments);
  const std::string_view here = bench::find_problem(arguments.problem).name;
  const bench::Axis* own = axis.of(here);
  if (own == nullptr) return fmt::format("it is for {}; {} has none of it", axis.names(), here);
  return own->no_effect_reason ? own->no_effect_reason() : "";
}

void add_axes(Options& options, BenchArguments& arguments, const char* heading_of_all) {
  for (const SharedAxis& axis : shared_axes(arguments.candidates)) {
    options.heading(axis.owners.size() == arguments.candidates.size() ? heading_of_all : "For " + axis.names(),
                    [&arguments, axis] { return why_not_of_problem(axis, arguments); });
    bench::Axis shown = axis.shown;
    // The problem is parsed before all other options, so it is known here.
    shown.parse = [&arguments, axis](const std::string& label, const std::string& text) {
      const bench::Axis* own = axis.of(arguments.problem);
      (own != nullptr ? *own : axis.owners.front().second).parse(label, text);
    };
    options.axis(shown);
  }
}

// Measures, shows the results, and returns the exit status.
int measure_and_show(const BenchArguments& arguments, const Session& session, const bench::ProblemRow& problem,
                     const std::vector<bench::Bench>& parts, const bench::InputCallbacks& callbacks,
                     const bench::Experiment* experiment) {
  const bool tables = !arguments.json || !arguments.json_file.empty();
  std::vector<std::string> inputs{arguments.experiment};
  for (const bench::Bench& part : parts)
    for (const std::string& file : part.workloads->files()) inputs.push_back(file);
  require_no_input_overwritten({arguments.json_file, arguments.page_file}, inputs);
  // Opens the files first. If a file is not writable, the command then fails before the measurement.
  std::optional<core::AtomicFile> file;
  if (!arguments.json_file.empty()) file.emplace(arguments.json_file);
  std::optional<core::AtomicFile> page;
  if (!arguments.page_file.empty()) page.emplace(arguments.page_file);

  if (tables && experiment) session.print(session.bold(experiment->title) + "\n\n");
  const bench::Report report = bench::measure(problem, parts, {callbacks, [&](const bench::Group& group) {
                                                                 if (tables) session.print(group_text(group, session));
                                                               }});
  if (tables) session.print(ceilings_text(report.ceilings, session) + columns_text(problem, report));
  nlohmann::ordered_json json = bench::to_json(report);
  if (experiment) {
    const Judged judged = judged_claims(*experiment, report);
    if (tables) {
      session.print("\n");
      if (arguments.scale < 1)
        session.print(
            fmt::format("inputs at a scale of {:g}; published figures are for the full size\n", arguments.scale));
      if (!experiment->published.empty()) session.print(published_text(*experiment, report, session));
      session.print(claims_text(judged, session) + fmt::format("source: {}\n", experiment->source));
    }
    json["experiment"] = bench::to_json(*experiment);
    json["scale"] = arguments.scale;
    if (!judged.empty()) json["claims"] = nlohmann::ordered_json::array();
    for (const auto& [claim, judgement] : judged) json["claims"].push_back(bench::to_json(claim, judgement));
  }
  if (file) {
    file->write(json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    file->commit();
  } else if (arguments.json) {
    session.print_json(json);
  }
  if (page) {
    page->write(page_of(json));
    page->commit();
    if (const std::string note = page_note(); !note.empty()) session.note(note);
  }
  if (report.right()) return 0;
  session.note("some results are incorrect; their times are not shown");
  return VerificationError("").exit_status();
}

int bench_command(const BenchArguments& arguments, const Session& session) {
  require_one_of_both(arguments);
  const bench::InputCallbacks callbacks{.progress = session.execution.progress,
                                        .stop = session.execution.stop,
                                        .note = [&session](const std::string& text) { session.note(text); }};
  if (!arguments.experiment.empty()) {
    const bench::Experiment experiment = prepared_experiment(arguments, session);
    return measure_and_show(arguments, session, *experiment.problem, experiment.parts, callbacks, &experiment);
  }
  const Candidate& chosen = arguments.chosen();
  chosen.workloads->prepare(callbacks);
  bench::Bench part{.label = "", .runs = {arguments.run}, .workloads = chosen.workloads, .effort = arguments.effort};
  if (!arguments.threads.empty()) part.runs.front().threads = arguments.threads;
  return measure_and_show(arguments, session, *chosen.problem, {part}, callbacks, nullptr);
}

}  // namespace

Action setup_bench(Options& options, Session& session) {
  auto arguments = std::make_shared<BenchArguments>();
  BenchArguments* target = arguments.get();
  for (const bench::ProblemRow* problem : bench::problems())
    target->candidates.push_back({problem, problem->workloads()});
  const NoEffectReason in_experiment = [target] { return why_not_of_experiment(*target); };
  options.ineffective_if(
      options.value("PROBLEM", "PROBLEM", "the problem to measure",
                    [target](const std::string& text) { target->problem = text; }, {.choices = bench::problem_names()}),
      in_experiment);
  options.value("--experiment", "NAME", "a published experiment, instead of a problem and axes",
                [target](const std::string& text) { target->experiment = text; },
                {.choices = bench::experiment_names(), .file = true});
  options.ineffective_if(
      options.value("--scale", "SHARE", "shrink the experiment's inputs (and long runs) to this share [1]",
                    [target](const std::string& text) { target->scale = parse_real("--scale", text, 1e-9, 1); }),
      [target] {
        return target->experiment.empty() ? "it shrinks an experiment; without one, say the sizes (--shape)" : "";
      });

  constexpr const char* axes = "Axes; all combinations of the listed values are measured";
  options.heading(axes);
  options.ineffective_if(options.value("--threads", "N,...", "numbers of threads [one per core]",
                                       [target](const std::string& text) {
                                         target->threads = parse_whole_list("--threads", text, 1, 4096);
                                       }),
                         [target] { return why_not_with(has_threads, "runs on several threads of the CPU", *target); });
  options.heading(axes, in_experiment);
  options.value("--variants", "NAME,...", "variants [all that run here]",
                [target](const std::string& text) { target->run.variants = parse_list("--variants", text); },
                {.choices = bench::all_variant_names()});
  options.ineffective_if(
      options.value("--block-size", "N,...", "threads per block of GPU variants [the variant's default]",
                    [target](const std::string& text) {
                      target->run.block_sizes = parse_whole_list("--block-size", text, 32, 1024);
                    }),
      [target] { return why_not_with(has_blocks, "runs on a GPU", *target); });
  const std::vector<std::string> pinnings = bench::names_of<Pinning>();
  options.ineffective_if(options.value("--pin", "HOW,...", fmt::format("{} [none]", fmt::join(pinnings, ", ")),
                                       [target](const std::string& text) {
                                         target->run.pinnings.clear();
                                         for (const std::string& name : parse_list("--pin", text))
                                           target->run.pinnings.push_back(bench::parse_enum<Pinning>("--pin", name));
                                       },
                                       {.choices = pinnings}),
                         [target] { return why_not_with(has_threads, "runs on several threads of the CPU", *target); });
  add_axes(options, *target, axes);

  options.heading("Effort and output");
  options.whole("--repeats", target->effort.repeats, "samples per row; the rows alternate in random order", 1, 1000);
  options.real("--min-time", target->effort.minimal_seconds,
               "minimum seconds of a sample, which is filled with runs; 0: one run", 0.0);
  options
      .value("--json", "[FILE]", "raw results to the file; to standard output without one",
             [target](const std::string& text) {
               target->json = true;
               target->json_file = text;
             },
             {.choices = {}, .file = true})
      .expected(0, 1);
  options.file("--report", target->page_file, "FILE.html", "write a page of charts and tables, like 'gradus report'");
  options.flag("--quiet", session.quiet, "no messages and no progress");
  return [arguments, &session] { return bench_command(*arguments, session); };
}

}  // namespace gradus::cli
