// `gradus bench`: measure variants over axes, or repeat a published experiment.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/experiment.hpp"
#include "bench/facts.hpp"
#include "bench/kmeans_bench.hpp"
#include "bench/pair_histogram_bench.hpp"
#include "bench/points.hpp"
#include "cli/bin_options.hpp"
#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/lists.hpp"
#include "cli/output.hpp"
#include "cli/problems.hpp"
#include "core/atomic_file.hpp"
#include "core/names.hpp"
#include "execution/machine.hpp"

namespace gradus::cli {

namespace {

struct Arguments {
  std::string problem;
  std::string experiment;
  double scale = 1;
  std::vector<std::string> variants;
  std::vector<int> threads;
  std::vector<Pinning> pinnings;
  std::vector<int> block_sizes;
  std::vector<bench::PointSet> shapes;
  std::vector<std::int64_t> clusters;
  std::vector<io::ElementType> types;
  std::string data;
  int iterations = 0;
  PairBins bins;
  std::string edges;
  std::vector<double> box;
  io::ReadOptions reading;
  bench::Effort effort;
  bool json = false;
  std::string json_file;  ///< empty: standard output, instead of the tables
};

bench::PointSet parse_shape(const std::string& text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos)
    throw UsageError("--shape: '" + text + "' is not POINTSxDIMENSIONS; 1000000x16 is an example");
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  bench::PointSet set;
  set.rows = parse_whole("--shape", text.substr(0, cross), 1, most);
  set.columns = parse_whole("--shape", text.substr(cross + 1), 1, most);
  return set;
}

bool is_generator(const std::string& name) {
  const std::vector<std::string> names = bench::generator_names();
  return std::ranges::any_of(
      names, [&](const std::string& known) { return core::with_underscores(known) == core::with_underscores(name); });
}

bool has_bins(const Arguments& arguments) {
  const PairBins& bins = arguments.bins;
  return bins.bin_width != 0 || bins.bins != 0 || bins.cutoff != 0 || !arguments.edges.empty();
}

// What both problems take from the axes; `usual` are the points where none are asked for.
void set_axes(bench::Bench& bench, const Arguments& arguments, const bench::PointSet& usual) {
  bench::VariantRun& run = bench.runs.front();
  run.variants = arguments.variants;
  if (!arguments.threads.empty()) run.threads = arguments.threads;
  if (!arguments.pinnings.empty()) run.pinnings = arguments.pinnings;
  if (!arguments.block_sizes.empty()) run.block_sizes = arguments.block_sizes;
  bench.types = arguments.types.empty() ? std::vector{io::ElementType::f32} : arguments.types;
  bench.effort = arguments.effort;
  const std::string data = arguments.data.empty() ? usual.generator : arguments.data;
  require_table_for_header(arguments.reading, {is_generator(data) ? "" : data, arguments.edges});
  if (!is_generator(data)) {
    bench.points = {{"", 0, 0, data}};
    return;
  }
  bench.points = arguments.shapes.empty() ? std::vector{usual} : arguments.shapes;
  for (bench::PointSet& set : bench.points) set.generator = data;
}

bench::KMeansBench kmeans_axes(const Arguments& arguments) {
  bench::KMeansBench bench;
  set_axes(bench, arguments, {"uniform", 1000000, 16, ""});
  bench.clusters = arguments.clusters.empty() ? std::vector<std::int64_t>{16} : arguments.clusters;
  if (arguments.iterations > 0) bench.iterations = arguments.iterations;
  return bench;
}

bench::PairHistogramBench pair_histogram_axes(const Arguments& arguments) {
  bench::PairHistogramBench bench;
  set_axes(bench, arguments, {"lab_atoms", 20000, 3, ""});
  bench.bins = arguments.bins;
  bench.box = arguments.box;
  const bool published = core::with_underscores(bench.points.front().generator) == "lab_atoms";
  if (published && !has_bins(arguments)) {
    bench.bins.bin_width = 500;
    bench.bins.bins = 80;
  }
  check_bins(bench.bins, arguments.edges);
  complete_bins(bench.bins, bench.box);
  if (!arguments.edges.empty()) bench.bins.edges = read_edges(arguments.edges, arguments.reading);
  return bench;
}

std::string group_text(const bench::GroupText& group, const Session& session) {
  std::vector<TextTable::Column> columns;
  for (const std::string& heading : group.table.front())
    columns.push_back({heading, columns.empty() || heading.empty() ? TextTable::Align::left : TextTable::Align::right});
  TextTable table(std::move(columns));
  for (std::size_t row = 1; row < group.table.size(); ++row) table.add(group.table[row]);
  return fmt::format("{}\nverified: {}\n{}\n", session.bold(group.title), group.verified, table.text(session));
}

constexpr const char* kmeans_columns =
    "spread: median deviation. in one: median time of an iteration by itself, without what comes before and after.\n"
    "read: the points, once per pass, over the time, as a share of the read bandwidth of\n"
    "as many threads. fma: a multiply-add for each point, centroid and dimension per pass, likewise; a variant that\n"
    "skips work may come above 100 %. On a GPU both are of the time in one iteration. memory: at its peak, beyond "
    "the points.\n";

constexpr const char* pair_histogram_columns =
    "spread: median deviation. pairs: all of them over the time, in 10^9 per second, whether or not a variant looks "
    "at\n"
    "each; counted: those in the bins. fma: a difference and a multiply-add for each pair and dimension, as a share "
    "of\n"
    "the float rate of as many threads; a variant that passes over pairs may come above 100 %. rechecked: share of\n"
    "the pairs that the float filter left to double precision. memory: at its peak, beyond the points.\n";

std::string ceilings_text(const std::vector<bench::TeamCeilings>& teams, std::string_view columns,
                          const Session& session) {
  TextTable table({{"threads"}, {"pin"}, {"read GB/s"}, {"copy GB/s"}, {"fma G/s f32"}, {"f64"}});
  for (const bench::TeamCeilings& team : teams)
    table.add({team.on_gpu ? "GPU" : fmt::format("{}", team.threads),
               team.on_gpu ? "-" : std::string(bench::to_string(team.pinning)),
               fmt::format("{:.1f}", 1e-9 * team.ceilings.read_bytes_per_second),
               fmt::format("{:.1f}", 1e-9 * team.ceilings.copy_bytes_per_second),
               fmt::format("{:.1f}", 1e-9 * team.ceilings.fma_f32_per_second),
               fmt::format("{:.1f}", 1e-9 * team.ceilings.fma_f64_per_second)});
  return fmt::format("{}\n{}{}", session.bold("ceilings of this machine, measured in this run"), table.text(session),
                     columns);
}

template <class Report>
std::string published_text(const bench::Experiment& experiment, const Report& report, const Session& session) {
  TextTable table({{"shape", TextTable::Align::left},
                   {"variant", TextTable::Align::left},
                   {"published"},
                   {"threads"},
                   {"here"},
                   {"threads"},
                   {"pin"},
                   {"", TextTable::Align::left}});
  for (const bench::Published& published : experiment.published) {
    const auto* row = bench::counterpart(published, report);
    table.add({published.shape, published.variant.empty() ? "-" : published.variant, bench::published_text(published),
               published.threads ? fmt::format("{}", *published.threads) : "-",
               row ? bench::measured_text(published, *row) : "-", row ? fmt::format("{}", row->threads) : "-",
               row ? std::string(bench::to_string(row->pinning)) : "-", published.note});
  }
  return fmt::format("{}\n{}\nsource: {}\n", session.bold("published, and here"), table.text(session),
                     experiment.source);
}

bench::Experiment prepared_experiment(const Arguments& arguments, const Session& session) {
  bench::Experiment experiment = bench::read_experiment(bench::find_experiment(arguments.experiment));
  bench::scale(experiment, arguments.scale);
  const auto set = [&](bench::Bench& part) {
    part.effort = arguments.effort;
    if (!arguments.threads.empty())
      for (bench::VariantRun& run : part.runs) run.threads = arguments.threads;
  };
  for (bench::KMeansBench& part : experiment.parts) set(part);
  for (bench::PairHistogramBench& part : experiment.pair_parts) set(part);
  const int cores = execution::this_machine().cores;
  if (arguments.threads.empty() && bench::limit_threads(experiment, cores))
    session.note(fmt::format("more threads than the {} core{} here are left out; --threads asks for any number", cores,
                             cores == 1 ? "" : "s"));
  return experiment;
}

void require_one_of_both(const Arguments& arguments) {
  if (!arguments.experiment.empty()) return;
  if (arguments.problem.empty())
    throw UsageError("say what to measure: 'gradus bench kmeans', or 'gradus bench --experiment NAME'");
  find_problem(arguments.problem);
}

// Why the axes of one have no effect: empty where there is no experiment.
std::string why_not_of_experiment(const Arguments& arguments) {
  if (arguments.experiment.empty()) return "";
  return "an experiment has its own problem, variants, points and clusters; it takes --threads, --scale, --repeats and "
         "--min-time";
}

// Likewise where it is not for this problem.
std::string why_not_of(std::string_view problem, const Arguments& arguments) {
  if (!arguments.experiment.empty() || arguments.problem.empty()) return why_not_of_experiment(arguments);
  const std::string_view here = find_problem(arguments.problem).name;
  return here == problem ? "" : fmt::format("it is for {}; {} has none of it", problem, here);
}

// Likewise where no variant that will be measured is of this kind.
std::string why_not_with(bool (*kind)(core::Backend), std::string_view kinds, const Arguments& arguments) {
  if (arguments.problem.empty()) return "";
  const ProblemRow& problem = find_problem(arguments.problem);
  for (const std::string& name : arguments.variants)
    if (kind(variant_info(problem.name, name).backend)) return "";
  if (arguments.variants.empty())
    for (const core::VariantInfo& info : problem.variants())
      if (kind(info.backend) && problem.support(info.name, execution::this_machine())) return "";
  return fmt::format("none of the variants to be measured {}", kinds);
}

bool has_blocks(core::Backend backend) { return backend == core::Backend::cuda; }

bool has_threads(core::Backend backend) {
  return backend != core::Backend::cuda && backend != core::Backend::sequential;
}

// Measures, shows what is to be shown, and returns the exit status. `finish(json, report)` adds what an experiment has.
template <class Measure, class Finish>
int measure_and_show(const Arguments& arguments, const Session& session, const char* columns, const Measure& measure,
                     const Finish& finish) {
  const bool tables = !arguments.json || !arguments.json_file.empty();
  require_no_input_overwritten({arguments.json_file}, {arguments.data, arguments.edges, arguments.experiment});
  // The file is opened first: that it cannot be written is better known before the measurement than after it.
  std::optional<core::AtomicFile> file;
  if (!arguments.json_file.empty()) file.emplace(arguments.json_file);

  bench::BenchCallbacks callbacks;
  callbacks.stop = session.execution.stop;
  callbacks.reading = arguments.reading;
  callbacks.progress = session.execution.progress;
  callbacks.group_done = [&](const bench::GroupText& group) {
    if (tables) session.print(group_text(group, session));
  };
  const auto report = measure(callbacks);
  if (tables) session.print(ceilings_text(report.ceilings, columns, session));
  nlohmann::ordered_json json = bench::to_json(report);
  finish(json, report);
  if (file) {
    file->write(json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    file->commit();
  } else if (arguments.json) {
    session.print_json(json);
  }
  if (report.right()) return 0;
  session.note("some results are wrong; their times are not shown");
  return VerificationError("").exit_status();
}

int run_experiment(const Arguments& arguments, const Session& session) {
  const bool tables = !arguments.json || !arguments.json_file.empty();
  const bench::Experiment experiment = prepared_experiment(arguments, session);
  const auto finish = [&](nlohmann::ordered_json& json, const auto& report) {
    if (tables) session.print("\n" + published_text(experiment, report, session));
    json["experiment"] = bench::to_json(experiment);
    json["scale"] = arguments.scale;
  };
  if (tables) session.print(session.bold(experiment.title) + "\n\n");
  if (!experiment.pair_parts.empty())
    return measure_and_show(
        arguments, session, pair_histogram_columns,
        [&](const bench::BenchCallbacks& callbacks) {
          return bench::bench_pair_histogram(experiment.pair_parts, callbacks);
        },
        finish);
  return measure_and_show(
      arguments, session, kmeans_columns,
      [&](const bench::BenchCallbacks& callbacks) { return bench::bench_kmeans(experiment.parts, callbacks); }, finish);
}

int bench_command(const Arguments& arguments, const Session& session) {
  require_one_of_both(arguments);
  if (!arguments.experiment.empty()) return run_experiment(arguments, session);
  const auto nothing_more = [](const auto&, const auto&) {};
  if (find_problem(arguments.problem).name == "pair_histogram") {
    const bench::PairHistogramBench bench = pair_histogram_axes(arguments);
    return measure_and_show(
        arguments, session, pair_histogram_columns,
        [&](const bench::BenchCallbacks& callbacks) { return bench::bench_pair_histogram({bench}, callbacks); },
        nothing_more);
  }
  const bench::KMeansBench bench = kmeans_axes(arguments);
  return measure_and_show(
      arguments, session, kmeans_columns,
      [&](const bench::BenchCallbacks& callbacks) { return bench::bench_kmeans({bench}, callbacks); }, nothing_more);
}

}  // namespace

Action setup_bench(Options& options, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  Arguments* target = arguments.get();
  std::vector<std::string> problem_names;
  for (const ProblemRow& row : problems()) problem_names.emplace_back(row.name);
  const WhyUseless in_experiment = [target] { return why_not_of_experiment(*target); };
  options.useless_where(
      options.value("PROBLEM", "PROBLEM", "whose variants",
                    [target](const std::string& text) { target->problem = text; }, {.choices = problem_names}),
      in_experiment);
  options.value("--experiment", "NAME", "a published experiment, instead of a problem and axes",
                [target](const std::string& text) { target->experiment = text; },
                {.choices = bench::experiment_names(), .file = true});
  options.useless_where(
      options.value("--scale", "SHARE", "shrink the experiment's points (and long fits) to this share [1]",
                    [target](const std::string& text) { target->scale = parse_real("--scale", text, 1e-9, 1); }),
      [target] { return target->experiment.empty() ? "it shrinks an experiment; without one, give --shape" : ""; });

  constexpr const char* axes = "Axes; what is measured is the product of all lists";
  options.heading(axes);
  options.useless_where(options.value("--threads", "N,...", "numbers of threads [one per core]",
                                      [target](const std::string& text) {
                                        target->threads = parse_whole_list("--threads", text, 1, 4096);
                                      }),
                        [target] { return why_not_with(has_threads, "runs on several threads of the CPU", *target); });
  options.heading(axes, in_experiment);
  options.value("--variants", "NAME,...", "variants [all that run here]",
                [target](const std::string& text) { target->variants = parse_list("--variants", text); },
                {.choices = all_variant_names()});
  options.useless_where(options.value("--block-size", "N,...", "threads per block of GPU variants [the variant's own]",
                                      [target](const std::string& text) {
                                        target->block_sizes = parse_whole_list("--block-size", text, 32, 1024);
                                      }),
                        [target] { return why_not_with(has_blocks, "runs on a GPU", *target); });
  options.useless_where(options.value("--pin", "HOW,...", "none, compact, scatter [none]",
                                      [target](const std::string& text) {
                                        target->pinnings.clear();
                                        for (const std::string& name : parse_list("--pin", text))
                                          target->pinnings.push_back(bench::pinning_called(name));
                                      },
                                      {.choices = {"none", "compact", "scatter"}}),
                        [target] { return why_not_with(has_threads, "runs on several threads of the CPU", *target); });
  options.useless_where(options.value("--shape", "NxD,...", "points x dimensions [1000000x16; 20000x3 of pairs]",
                                      [target](const std::string& text) {
                                        target->shapes.clear();
                                        for (const std::string& shape : parse_list("--shape", text))
                                          target->shapes.push_back(parse_shape(shape));
                                      }),
                        [target] {
                          const bool file = !target->data.empty() && !is_generator(target->data);
                          return file ? "the file of --data has a shape of its own" : "";
                        });
  options.value("--dtype", "TYPE,...", "f32, f64 [f32]",
                [target](const std::string& text) {
                  target->types.clear();
                  for (const std::string& name : parse_list("--dtype", text))
                    target->types.push_back(parse_choice("--dtype", name, {"f32", "f64"}) == 0 ? io::ElementType::f32
                                                                                               : io::ElementType::f64);
                },
                {.choices = {"f32", "f64"}});
  options.value(
      "--data", "KIND|FILE", "uniform, blobs, lab-points, lab-atoms, or a file of points [uniform; lab-atoms of pairs]",
      [target](const std::string& text) { target->data = text; }, {.choices = bench::generator_names(), .file = true});
  add_header_option(options, session, target->reading);
  options.heading("Of kmeans", [target] { return why_not_of("kmeans", *target); });
  options.value("-k,--clusters", "K,...", "numbers of clusters [16]", [target](const std::string& text) {
    target->clusters.clear();
    for (const int k : parse_whole_list("--clusters", text, 1, std::numeric_limits<int>::max()))
      target->clusters.push_back(k);
  });
  options.value("--iterations", "N", "iterations at most [10]", [target](const std::string& text) {
    target->iterations = static_cast<int>(parse_whole("--iterations", text, 1, 1000000000));
  });

  options.heading("Of pair-histogram: one set of bins [80 of 500 for lab-atoms]",
                  [target] { return why_not_of("pair_histogram", *target); });
  add_bin_options(options, target->bins, target->edges);
  add_box_option(options, target->box);

  options.heading("Effort and output");
  options.whole("--repeats", target->effort.repeats, "samples of each row; the rows take turns at random", 1, 1000);
  options.real("--min-time", target->effort.minimal_seconds, "seconds that a sample fills with runs; 0: one run", 0.0);
  options
      .value("--json", "[FILE]", "raw results to the file; to standard output without one",
             [target](const std::string& text) {
               target->json = true;
               target->json_file = text;
             },
             {.choices = {}, .file = true})
      .expected(0, 1);
  options.flag("--quiet", session.quiet, "no messages and no progress");
  return [arguments, &session] { return bench_command(*arguments, session); };
}

}  // namespace gradus::cli
