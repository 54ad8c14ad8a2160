#include "cli/kmeans_arguments.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/input.hpp"
#include "cli/kmeans_checkpoint.hpp"
#include "cli/kmeans_choose.hpp"
#include "cli/kmeans_table.hpp"
#include "core/names.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "kmeans/graph_file.hpp"
#include "kmeans/hierarchy/options.hpp"
#include "kmeans/line/options.hpp"
#include "kmeans/options.hpp"
#include "kmeans/problem.hpp"

namespace gradus::cli {

namespace {

std::vector<std::string> init_methods() {
  std::vector<std::string> names;
  for (const EnumName<KMeansInit>& row : enum_names<KMeansInit>)
    if (row.value != KMeansInit::given) names.emplace_back(row.name);
  return names;
}

void parse_init(const std::string& text, KMeansArguments& arguments) {
  arguments.init = text;
  const std::optional<KMeansInit> method = from_string<KMeansInit>(text);
  if (method && *method != KMeansInit::given) {
    arguments.options.init = *method;
    return;
  }
  // A word without "." and "/" is probably a misspelt method, and not the name of a missing file.
  const bool like_a_path = text == "-" || text.find_first_of("./") != std::string::npos;
  if (!like_a_path && !std::filesystem::exists(text)) {
    const std::vector<std::string> names = init_methods();
    throw UsageError(fmt::format("--init: {} is neither {}, nor a file with centroids or a folder of a result{}",
                                 core::excerpt(text), fmt::join(names, ", "),
                                 core::did_you_mean(text, std::vector<std::string_view>(names.begin(), names.end()))));
  }
  arguments.centroids = text;
  if (is_folder(text)) {
    arguments.init_folder = text;
    arguments.centroids = std::filesystem::path(text) / centroids_name;
  }
  arguments.options.init = KMeansInit::given;
}

/// Called if several numbers of clusters are compared. Throws UsageError for options that support only one number.
void refuse_options_of_one_fit(const KMeansArguments& arguments, const Session& session) {
  const auto refuse = [](const std::string& what) { throw UsageError(what + ", and -k names several"); };
  if (arguments.options.init == KMeansInit::given) refuse("--init: a file has the centroids of one number of clusters");
  if (!kmeans_detail::graph_file(session.execution).empty()) refuse("--dump-graph: the graph belongs to one fit");
  if (!arguments.options.checkpoint.file.empty()) refuse("--checkpoint: the file belongs to one number of clusters");
}

/// Called with --optimal or --bisecting. Throws an error for options that only Lloyd's algorithm has.
void prepare_other_algorithm(const KMeansArguments& arguments, Session& session) {
  const std::string name = arguments.optimal ? "--optimal" : "--bisecting";
  if (arguments.optimal && arguments.bisecting) throw UsageError("--optimal and --bisecting are different algorithms");
  if (arguments.chooses()) throw UsageError(name + " finds one number of clusters, and -k names several");
  if (arguments.bisecting && arguments.options.init == KMeansInit::given)
    throw UsageError("--init: --bisecting needs first centroids for each split; name a method instead of a file");
  if (!arguments.options.checkpoint.file.empty())
    throw UsageError("--checkpoint: " + name + " makes no iterations whose state could be saved");
  if (session.chooses_gpus) throw UnsupportedError("--gpus: " + name + " runs on the CPU; leave --gpus out");
  if (session.execution.device == Device::automatic && session.execution.gpus.empty())
    session.execution.device = Device::cpu;
}

/// Called with --subspaces. Throws an error for options that support only one fit.
void prepare_codebooks(const KMeansArguments& arguments, Session& session) {
  const auto refuse = [](const std::string& what) { throw UsageError(what + ", and --subspaces fits several"); };
  if (arguments.chooses()) throw UsageError("--subspaces needs one number of clusters, and -k names several");
  if (arguments.optimal) throw UsageError("--optimal finds the best clustering of one column, without --subspaces");
  if (arguments.bisecting) refuse("--bisecting makes one tree of splits");
  if (arguments.certify.is_wanted) refuse("--certify: a certificate belongs to one fit");
  if (arguments.options.quality) refuse("--quality: its budget is the time of one fit (--quality-moves N is possible)");
  if (arguments.options.init == KMeansInit::given) refuse("--init: a file has the centroids of one fit");
  if (!arguments.options.checkpoint.file.empty()) refuse("--checkpoint: the file belongs to one fit");
  if (!kmeans_detail::graph_file(session.execution).empty()) refuse("--dump-graph: the graph belongs to one fit");
  if (!arguments.page.empty()) refuse("--report: the page shows one fit");
  if (arguments.options.standardize)
    throw UsageError("--standardize: codebooks are in the units of the points; leave it out");
  if (session.chooses_gpus)
    throw UsageError("--gpus auto: its model knows a single fit; name the GPUs of --subspaces, or all");
  if (session.execution.device == Device::automatic && session.execution.gpus.empty())
    session.execution.device = Device::cpu;
}

/// Called if the program runs as several ranks. Throws UnsupportedError for options that need all rows in one process.
/// Selects this rank's GPU. Prints a note if the launcher has bound the ranks to too few CPUs.
void prepare_ranks(const KMeansArguments& arguments, Session& session) {
  const auto refuse = [](std::string_view what) {
    throw UnsupportedError(std::string(what) +
                           " needs all points in one process, and a launcher has started several; "
                           "start the program without it");
  };
  if (arguments.chooses()) refuse("the choice among several -k");
  if (arguments.optimal) refuse("--optimal");
  if (arguments.certify.is_wanted) refuse("--certify");
  if (arguments.bisecting) refuse("--bisecting");
  if (arguments.subspaces > 0) refuse("--subspaces");
  if (!arguments.page.empty()) refuse("--report");
  if (!kmeans_detail::graph_file(session.execution).empty()) refuse("--dump-graph");
  if (session.execution.device != Device::cpu && !session.names_gpu) session.execution.gpu = gpu_of_rank(*session.job);
  const int threads = cpu::thread_count(session.execution);
  if (const std::string note = note_of_binding(*session.job, threads); !note.empty()) session.note(note);
}

/// Adds the options of the k-means option table, and the options that only some variants have. Leaves out --clusters,
/// whose value may be several numbers.
void add_fit_options(Options& options, KMeansArguments& arguments, Session& session) {
  KMeansOptions& fit = arguments.options;
  options.flag("--optimal", arguments.optimal,
               "points of one column: the clustering with the least inertia, instead of Lloyd's algorithm");
  add_certify_options(options, arguments.certify,
                      "also prove a lower bound for the inertia of every clustering into k clusters, on the CPU");
  options.choice(
      "--bisecting", arguments.bisecting,
      "split clusters in two until there are k: always the one of the biggest inertia or with the most points", "none");
  const auto why_optimal = [&arguments] {
    return arguments.optimal ? "--optimal finds the best clustering without Lloyd's algorithm" : "";
  };
  for (const core::Option& row : core::option_rows<KMeansOptions>) {
    if (row.name == "clusters") continue;
    if (row.name == "init") {
      CLI::Option& init = options.always_recorded(
          options.value("--init", "METHOD|FILE|DIR",
                        "first centroids: k-means++, k-means-parallel, hierarchical (for many clusters), random, "
                        "first (the first k points), a file with k rows, or the folder of an earlier fit [k-means++]",
                        [&arguments](const std::string& text) { parse_init(text, arguments); },
                        {.choices = init_methods(), .file = true}),
          [&arguments] {
            return arguments.options.init == KMeansInit::given ? arguments.init
                                                               : std::string(to_string(arguments.options.init));
          });
      options.ineffective_if(init, why_optimal);
      continue;
    }
    CLI::Option& option = options.row(row, &fit);
    if (row.name == "restarts") options.word(option, "auto", "0");
    if (kmeans_detail::is_of_optimum(row)) continue;
    options.ineffective_if(option, [&arguments, &fit, &row, why_optimal]() -> std::string {
      if (arguments.optimal) return why_optimal();
      if (row.name == "quality") return fit.quality_moves > 0 ? "--quality-moves sets the number of moves" : "";
      if (arguments.bisecting && !kmeans_detail::is_of_bisecting(row))
        return "--bisecting splits clusters without this option";
      if (row.name == "balanced")
        return fit.size_min > 0 || fit.size_max > 0 ? "--size-min or --size-max sets the limits" : "";
      const bool is_random =
          row.name == "seed" || row.name == "init_rows" || (row.name == "restarts" && fit.restarts != 1);
      return is_random ? why_nothing_is_random(fit.init) : "";
    });
  }
  options.whole(
      "--subspaces", arguments.subspaces,
      "divide the columns into this many groups of equal size and fit each group: the codebooks and codes of a "
      "product quantizer; 0: one fit of all columns",
      std::int64_t{0});
  options.variant_options(kmeans_detail::ladder, session.execution);
}

}  // namespace

std::string why_nothing_is_random(KMeansInit init) {
  if (init == KMeansInit::first) return "--init first takes the first points, and nothing is random";
  if (init == KMeansInit::given) return "--init takes the centroids of a file, and nothing is random";
  return "";
}

void require_names(const KMeansArguments& arguments) {
  for (const std::string& input : arguments.inputs)
    if (input.empty()) throw UsageError("INPUT: the name of the file is empty");
  if (!arguments.input_per_rank) return;
  const std::string& input = arguments.inputs.front();
  if (arguments.inputs.size() > 1 || file_of_rank(input, 0) == input)
    throw UsageError("--input-per-rank: " +
                     (arguments.inputs.size() > 1 ? "each rank reads one file, and INPUT names several"
                                                  : core::excerpt(input) + " is the same file on all ranks") +
                     "; the name has {rank} in it, as points-{rank}.npy");
}

void prepare_session(const KMeansArguments& arguments, Session& session) {
  if (session.job) prepare_ranks(arguments, session);
  if (!arguments.is_plain()) prepare_other_algorithm(arguments, session);
  if (arguments.subspaces > 0) prepare_codebooks(arguments, session);
  if (arguments.chooses()) refuse_options_of_one_fit(arguments, session);
}

void add_kmeans_options(Options& options, const std::shared_ptr<KMeansArguments>& arguments, Session& session) {
  Options::required(options.files("INPUT", arguments->inputs, "INPUT...",
                                  points_help() + "; several files, or a quoted pattern of names, are read one after "
                                                  "the other"));
  Options::required(options.value("-k,--clusters", "N",
                                  "number of clusters; several (2..20 or 4,8,16) are compared, and the best is kept",
                                  [arguments = arguments.get()](const std::string& text) {
                                    arguments->choice.clusters = parse_cluster_counts(text);
                                    arguments->options.clusters = arguments->choice.clusters.back();
                                  }));
  options.value(
      "-o,--output", "DIR",
      "write centroids.npy, labels.npy and summary.json there; for a table also centroids.csv and labels.csv, "
      "for a picture quantized.png",
      [arguments = arguments.get()](const std::string& text) {
        if (text.empty() || text == "-")
          throw UsageError("--output: " + core::excerpt(text) +
                           " is not a folder; the result is several files (--json prints its summary)");
        arguments->output = text;
      },
      {.choices = {}, .file = true, .is_result = false});
  options.not_repeated(options.file("--report", arguments->page, "FILE.html",
                                    "write a page with the clusters on their first two principal components, a picture "
                                    "before and after, and charts of the summary"));
  options.file("--weights", arguments->weights, "FILE", "one weight per point, .npy or .csv");
  add_reading_options(options, session, arguments->reading);
  add_column_options(options, arguments->reading,
                     {.id = true, .weight = true, .why_no_weight = [arguments = arguments.get()] {
                        return arguments->weights.empty() ? "" : "--weights names a file of weights";
                      }});

  options.heading("Which number of clusters", [arguments = arguments.get()] {
    return arguments->chooses() ? "" : "-k names one number of clusters, and there is nothing to choose";
  });
  options.choice("--choose", arguments->choice.criterion,
                 "criterion for the best of several -k: the largest silhouette or Calinski-Harabasz index, or the "
                 "smallest Davies-Bouldin index, as scikit-learn defines them, without weights; or the elbow of the "
                 "inertia");
  options.whole("--silhouette-points", arguments->choice.silhouette_points,
                "largest number of points with an exact silhouette; for more points, a sample of this size is used",
                std::int64_t{2});

  options.heading("How to cluster");
  add_fit_options(options, *arguments, session);
  add_checkpoint_options(options, arguments->options.checkpoint);

  options.heading(std::string(ranks_heading));
  options.flag(
      "--input-per-rank", arguments->input_per_rank,
      "each rank reads a separate file: {rank} in the names of INPUT and --weights stands for the rank's number");
  add_stall_option(options, session);
}

void add_metric_option(Options& options, KMeansMetric& metric, NoEffectReason no_effect_reason) {
  const core::Option& row = *core::find_option(core::option_rows<KMeansOptions>, "metric");
  CLI::Option& option = options.choice("--metric", metric, std::string(row.help));
  if (no_effect_reason) options.ineffective_if(option, std::move(no_effect_reason));
}

}  // namespace gradus::cli
