// `gradus pair-histogram`: read points, count their pairs by distance, write the histogram.
#include "gradus/pair_histogram.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/bin_options.hpp"
#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/lists.hpp"
#include "cli/output.hpp"
#include "core/atomic_file.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string input;
  std::string others;
  std::string weights;
  std::string other_weights;
  std::string edges;
  std::string output;
  std::optional<io::ElementType> dtype;
  PairBins bins;
  std::vector<double> box;
  std::vector<double> box_origin;
  bool radial = false;
  double volume = 0;  ///< 0: of the box
};

double volume_of(const Arguments& arguments) {
  if (arguments.volume > 0) return arguments.volume;
  if (arguments.box.empty())
    throw UsageError(
        "--rdf compares with as many points spread uniformly; say in what volume (--volume), or give the "
        "periodic --box");
  double volume = 1;
  for (const double length : arguments.box) volume *= length;
  return volume;
}

std::string csv_text(const PairHistogramResult& result, const std::optional<RadialDistribution>& radial) {
  std::string text = "lo,hi,count";
  if (!result.weighted.empty()) text += ",weight";
  if (radial) text += ",g,density,coordination";
  text += '\n';
  for (std::size_t bin = 0; bin < result.counts.size(); ++bin) {
    text += core::number_text(result.edges[bin]) + ',' + core::number_text(result.edges[bin + 1]) + ',' +
            std::to_string(result.counts[bin]);
    if (!result.weighted.empty()) text += ',' + core::number_text(result.weighted[bin]);
    if (radial)
      for (const std::vector<double>* column : {&radial->g, &radial->density, &radial->coordination})
        text += ',' + core::number_text((*column)[bin]);
    text += '\n';
  }
  return text;
}

template <class T>
Json summary_of(const Arguments& arguments, MatrixView<const T> points, const PairHistogramOptions<T>& options,
                const PairHistogramResult& result, const std::optional<RadialDistribution>& radial,
                std::uint64_t memory) {
  Json summary{{"problem", "pair_histogram"},
               {"input", arguments.input},
               {"n", points.rows()},
               {"d", points.columns()},
               {"cross", arguments.others.empty() ? Json(nullptr) : Json(options.others.rows())},
               {"dtype", sizeof(T) == 4 ? "f32" : "f64"},
               {"variant", result.variant},
               {"device", result.device},
               {"threads", result.threads},
               {"box", arguments.box.empty() ? Json(nullptr) : Json(arguments.box)},
               {"pairs", result.pairs},
               {"below", result.below},
               {"beyond", result.beyond},
               {"edges", result.edges},
               {"counts", result.counts}};
  if (!result.weighted.empty()) summary["weighted"] = result.weighted;
  if (radial) {
    summary["g"] = radial->g;
    summary["density"] = radial->density;
    summary["coordination"] = radial->coordination;
  }
  summary["rechecked"] = result.rechecked;
  summary["memory_bytes"] = memory;
  return summary;
}

std::string closing_line(std::int64_t rows, std::int64_t columns, const char* dtype, const PairHistogramResult& result,
                         double seconds) {
  const auto count = [](std::uint64_t number) { return grouped(static_cast<std::int64_t>(number)); };
  return fmt::format("{} points x {} ({}), {} pairs: {} in {} bins, {}{} beyond, {:.3g} s, {}, {} thread{}",
                     grouped(rows), columns, dtype, count(result.pairs),
                     count(result.pairs - result.below - result.beyond), grouped(std::ssize(result.counts)),
                     result.below > 0 ? count(result.below) + " below, " : "", count(result.beyond), seconds,
                     result.variant, result.threads, result.threads == 1 ? "" : "s");
}

/// Calls the library; what it finds wrong with an input is told of the file that it came from.
template <class T>
PairHistogramResult counted(const Arguments& arguments, MatrixView<const T> points,
                            const PairHistogramOptions<T>& options, const Execution& execution) {
  try {
    return naming_files({{"points", arguments.input},
                         {"others", arguments.others},
                         {"weights", arguments.weights},
                         {"other weights", arguments.other_weights}},
                        [&] { return pair_histogram<T>(points, options, execution); });
  } catch (const UsageError& error) {
    constexpr std::string_view role = "edges: ";
    const std::string_view message = error.what();
    if (arguments.edges.empty() || !message.starts_with(role)) throw;
    throw InputError(fmt::format("'{}': {}", arguments.edges, message.substr(role.size())));
  }
}

template <class T>
int count_pairs(const Arguments& arguments, const Session& session, const io::Points& points,
                core::Clock::time_point start) {
  const std::stop_token& stop = session.execution.stop;
  PairHistogramOptions<T> options;
  options.bins = arguments.bins;
  options.box = arguments.box;
  options.box_origin = arguments.box_origin;
  io::PointsOf<T> others;
  io::VectorOf<T> weights;
  io::VectorOf<T> other_weights;
  if (!arguments.others.empty()) others = read_matrix_as<T>(arguments.others, stop);
  if (!arguments.weights.empty()) weights = read_vector_as<T>(arguments.weights, stop);
  if (!arguments.other_weights.empty()) other_weights = read_vector_as<T>(arguments.other_weights, stop);
  options.others = others.view;
  options.weights = weights.view;
  options.other_weights = other_weights.view;
  if (!arguments.edges.empty()) options.bins.edges = read_edges(arguments.edges, stop);
  const double read = core::seconds_since(start);

  // The file is opened first, so that a place that cannot be written is found before the work and not after it.
  std::optional<core::AtomicFile> file;
  if (!arguments.output.empty()) file.emplace(arguments.output);
  const MatrixView<const T> view = points.view<T>();
  const PairHistogramResult result = counted(arguments, view, options, session.execution);
  session.end_progress();
  std::optional<RadialDistribution> radial;
  if (arguments.radial)
    radial = radial_distribution(result, view.columns(), view.rows(), options.others.rows(), volume_of(arguments));

  const auto write_start = core::Clock::now();
  const std::string text = csv_text(result, radial);
  if (file) {
    file->write(text);
    file->commit();
  }
  const double write = core::seconds_since(write_start);
  const double seconds = core::seconds_since(start);
  if (session.json) {
    Json summary = summary_of(arguments, view, options, result, radial,
                              pair_histogram_memory<T>(view, options, session.execution));
    summary["seconds"] = seconds_of(read, "histogram", result.phases, write, seconds);
    session.print_json(summary);
    return 0;
  }
  if (!file) session.print(text);
  session.note(closing_line(view.rows(), view.columns(), sizeof(T) == 4 ? "f32" : "f64", result, seconds) +
               (file ? fmt::format("; wrote '{}'", arguments.output) : ""));
  return 0;
}

void add_space_options(Options& options, Arguments& arguments) {
  constexpr double least = std::numeric_limits<double>::denorm_min();
  constexpr double most = std::numeric_limits<double>::max();
  options.heading("Space");
  add_box_option(options, arguments.box);
  options.value("--box-origin", "X,Y,Z", "its lower corner [0,0,0]", [&arguments](const std::string& text) {
    arguments.box_origin = parse_real_list("--box-origin", text, -most, most);
  });
  options.flag("--rdf", arguments.radial,
               "also the radial distribution g, the density around a point, and the coordination number");
  options.value(
      "--volume", "V", "for --rdf: volume that the points lie in [of the box]",
      [&arguments](const std::string& text) { arguments.volume = parse_real("--volume", text, least, most); });
}

}  // namespace

Action setup_pair_histogram(Options& options, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(options.file("INPUT", arguments->input, "INPUT",
                                 "points with 1 to 3 coordinates, one per row: .npy, .csv, .tsv; - for CSV on standard "
                                 "input"));
  options.file("-o,--output", arguments->output, "FILE", "write the histogram there instead of to standard output");
  options.file("--cross", arguments->others, "FILE", "count the pairs of a point with one of these");
  options.file("--weights", arguments->weights, "FILE", "one weight per point; a pair weighs their product");
  options.file("--cross-weights", arguments->other_weights, "FILE", "those of the points of --cross");
  add_dtype_option(options, arguments->dtype);
  options.heading("Bins");
  add_bin_options(options, arguments->bins, arguments->edges);
  add_space_options(options, *arguments);
  return [arguments, &session] {
    const auto start = core::Clock::now();
    check_bins(arguments->bins, arguments->edges);
    complete_bins(arguments->bins, arguments->box);
    if (arguments->radial) volume_of(*arguments);  // refused before anything is read
    require_one_standard_input(
        {arguments->input, arguments->others, arguments->weights, arguments->other_weights, arguments->edges});
    const io::Points points =
        io::read_points(arguments->input, {.type = arguments->dtype, .stop = session.execution.stop});
    return points.type() == io::ElementType::f32 ? count_pairs<float>(*arguments, session, points, start)
                                                 : count_pairs<double>(*arguments, session, points, start);
  };
}

}  // namespace gradus::cli
