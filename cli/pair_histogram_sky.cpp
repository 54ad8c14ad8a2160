// `gradus pair-counts`: reads catalogues and counts pairs across and along the line of sight.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/pair_histogram.hpp"
#include "cli/command.hpp"
#include "cli/destination.hpp"
#include "cli/errors.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/pair_histogram_result.hpp"
#include "cli/repeat.hpp"
#include "core/names.hpp"
#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "gradus/pair_histogram_counts.hpp"
#include "pair_histogram/sky/options.hpp"

namespace gradus::cli {

Command pair_counts_command();

namespace {

using Json = nlohmann::ordered_json;

struct SkyArguments {
  std::string input;
  std::string others;
  std::string weights;
  std::string other_weights;
  std::string edges;
  std::string second_edges;
  std::string output;
  files::ReadOptions reading;
  PairCountsOptions options;
  std::optional<LineOfSight> line_of_sight;
  bool is_sky = false;
  double second_end = 0;         ///< --pi-max or --mu-max; 0: not given
  std::int64_t second_bins = 0;  ///< --pi-bins or --mu-bins; 0: not given
};

/// Converts right ascension, declination and, unless the kind is theta, distance to Cartesian coordinates.
files::PointsOf<double> on_the_sky(const SkyArguments& arguments, const files::PointsOf<double>& read,
                                   const char* what) {
  const bool is_theta = arguments.options.kind == PairCountsKind::theta;
  const std::int64_t needed = is_theta ? 2 : 3;
  if (read.view.columns() != needed)
    throw InputError(about(what) + fmt::format("there are {} columns; {} are needed: right ascension, declination{}",
                                               read.view.columns(), needed, is_theta ? "" : " and distance"));
  const MatrixView<const double> directions(read.view.data(), read.view.rows(), 2, read.view.row_stride());
  const std::vector<double> vectors = sky_vectors(directions);
  Matrix<double> points(read.view.rows(), 3);
  for (std::int64_t row = 0; row < points.rows(); ++row)
    for (std::int64_t column = 0; column < 3; ++column)
      points(row, column) = vectors[static_cast<std::size_t>(3 * row + column)] * (is_theta ? 1 : read.view(row, 2));
  return files::own(std::move(points));
}

/// Sets the edges of pi or mu.
void complete_second_edges(SkyArguments& arguments) {
  PairCountsOptions& options = arguments.options;
  const bool is_across = options.kind == PairCountsKind::rp_pi;
  if (options.kind == PairCountsKind::theta || !options.second_edges.empty()) return;
  if (is_across && arguments.second_end == 0)
    throw UsageError("--pi-max (the end of the bins of pi) or --second-edges is needed");
  if (!is_across && arguments.second_bins == 0) throw UsageError("--mu-bins or --second-edges is needed");
  const double end = arguments.second_end > 0 ? arguments.second_end : 1;
  const std::int64_t bins = arguments.second_bins > 0
                                ? arguments.second_bins
                                : std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(end, 0x1p24)));
  for (std::int64_t edge = 0; edge <= bins; ++edge)
    options.second_edges.push_back(static_cast<double>(edge) * end / static_cast<double>(bins));
}

pairs::Table table_of(const SkyArguments& arguments, const PairCountsResult& result) {
  const bool is_theta = arguments.options.kind == PairCountsKind::theta;
  const bool is_across = arguments.options.kind == PairCountsKind::rp_pi;
  const std::string first = is_theta ? "theta" : is_across ? "rp" : "s";
  const std::string second = is_across ? "pi" : "mu";
  std::vector<double> columns[4];
  for (std::int64_t bin = 0; bin < result.rows * result.columns; ++bin) {
    const auto row = static_cast<std::size_t>(bin / result.columns);
    const auto column = static_cast<std::size_t>(bin % result.columns);
    columns[0].push_back(arguments.options.edges[row]);
    columns[1].push_back(arguments.options.edges[row + 1]);
    if (is_theta) continue;
    columns[2].push_back(arguments.options.second_edges[column]);
    columns[3].push_back(arguments.options.second_edges[column + 1]);
  }
  pairs::Table table;
  table.add(first + "_min", std::move(columns[0]));
  table.add(first + "_max", std::move(columns[1]));
  if (!is_theta) {
    table.add(second + "_min", std::move(columns[2]));
    table.add(second + "_max", std::move(columns[3]));
  }
  table.add("count", result.counts);
  if (!result.weighted.empty()) table.add("weighted", result.weighted);
  return table;
}

/// Reads points of the job's type. With --sky or angles, converts directions to Cartesian coordinates.
template <class T>
files::PointsOf<T> read_catalogue(const SkyArguments& arguments, files::PointsOf<T> points, const char* what) {
  if constexpr (sizeof(T) == 8)
    if (arguments.is_sky) return on_the_sky(arguments, points, what);
  return points;
}

template <class T>
int count_catalogue(SkyArguments& arguments, const Session& session, const files::Points& read,
                    core::Clock::time_point start) {
  files::ReadOptions reading = arguments.reading;
  reading.type = files::element_type_of<T>;
  const auto points = read_catalogue<T>(arguments, std::get<files::PointsOf<T>>(read.values), "points");
  PairCountsMemory<T> memory;
  files::PointsOf<T> others;
  files::VectorOf<T> weights;
  files::VectorOf<T> other_weights;
  if (!arguments.others.empty()) {
    others = read_catalogue<T>(arguments, read_matrix_as<T>(arguments.others, reading), "others");
    memory.others = others.view;
  }
  if (!arguments.weights.empty()) {
    weights = read_vector_as<T>(arguments.weights, reading);
    memory.weights = weights.view;
  }
  if (!arguments.other_weights.empty()) {
    other_weights = read_vector_as<T>(arguments.other_weights, reading);
    memory.other_weights = other_weights.view;
  }
  const double seconds = core::seconds_since(start);
  Destination destination(arguments.output, session.execution.stop, true);
  const PairCountsResult result = pair_counts(points.view, arguments.options, memory, session.execution);
  session.end_progress();
  const core::Clock::time_point write_start = core::Clock::now();
  const pairs::Table table = table_of(arguments, result);
  const auto summary = [&] {
    Json all{{"problem", "pair_counts"},
             {"input", arguments.input},
             {"n", points.view.rows()},
             {"cross", arguments.others.empty() ? Json(nullptr) : Json(others.view.rows())},
             {"dtype", sizeof(T) == 4 ? "f32" : "f64"},
             {"device", result.report.device},
             {"threads", result.report.threads},
             {"pairs", result.pairs},
             {"shape", {result.rows, result.columns}},
             {"counts", result.counts},
             {"rechecked", result.report.rechecked}};
    if (!result.weighted.empty()) all["weighted"] = result.weighted;
    add_record(all, session, core::option_rows<PairCountsOptions>, &arguments.options);
    all["seconds"] = seconds_of(seconds, "pair_counts", result.report.phases, core::seconds_since(write_start),
                                core::seconds_since(start));
    return all;
  };
  if (destination.is_file()) {
    core::AtomicFile& file = destination.file();
    if (destination.format() == TableFormat::npy) files::write_npy_table(file, table.columns);
    else file.write(destination.format() == TableFormat::csv ? pairs::csv_text(table.columns) : json_text(summary()));
    file.commit();
  }
  if (session.json) session.print_json(summary());
  else if (!destination.is_file()) session.print(pairs::csv_text(table.columns));
  std::uint64_t counted_pairs = 0;
  for (const std::uint64_t count : result.counts) counted_pairs += count;
  session.note(fmt::format("{} of {} are in {} in {:.3g} s{}", grouped(static_cast<std::int64_t>(counted_pairs)),
                           counted(static_cast<std::int64_t>(result.pairs), "pair"),
                           counted(result.rows * result.columns, "bin"), core::seconds_since(start),
                           destination.is_file() ? fmt::format("; wrote '{}'", arguments.output) : ""));
  return 0;
}

Action setup_pair_counts(Options& options, Session& session) {
  auto arguments = std::make_shared<SkyArguments>();
  SkyArguments& own = *arguments;
  const auto row = [](std::string_view name) -> const core::Option& {
    return core::option_row<PairCountsOptions>(name);
  };
  Options::required(options.file("INPUT", own.input, "INPUT",
                                 "a catalogue with columns x, y, z, or with --sky right ascension, declination and "
                                 "distance; .npy, .csv, .tsv; - for CSV on standard input"));
  add_table_output(options, own.output, "write the counts there, .csv, .npy or .json [CSV on standard output]", true);
  options.file("--cross", own.others, "FILE", "count the pairs between the points and the points of this file");
  options.file("--weights", own.weights, "FILE", "one weight per point; a pair's weight is the product");
  options.ineffective_if(options.file("--cross-weights", own.other_weights, "FILE", "weights of the points of --cross"),
                         [&own] { return own.others.empty() ? "it needs --cross" : ""; });
  options.flag("--sky", own.is_sky,
               "the columns hold right ascension and declination in degrees, and distance (none for "
               "theta)");
  add_reading_options(options, session, own.reading);
  add_column_options(options, own.reading, {});
  options.heading("Bins");
  const auto only_for = [&own](PairCountsKind kind, const char* text) {
    return [&own, kind, text] { return own.options.kind == kind ? "" : text; };
  };
  options.row(row("kind"), &own.options);
  const auto file_into = [](std::string& target) {
    return [&target](const std::string&, const std::string& text) { target = text; };
  };
  Options::required(options.row(row("edges"), &own.options, file_into(own.edges)));
  options.row(row("second_edges"), &own.options, file_into(own.second_edges));
  const auto end = [&](const char* name, PairCountsKind kind, const char* help, const char* needs) {
    options.ineffective_if(
        options.value(name, "X", help,
                      [&own, name](const std::string& text) { own.second_end = parse_positive(name, text); }),
        only_for(kind, needs));
  };
  const auto bins = [&](const char* name, PairCountsKind kind, const char* help, const char* needs) {
    options.ineffective_if(
        options.value(name, "N", help,
                      [&own, name](const std::string& text) { own.second_bins = parse_whole(name, text, 1, 1 << 24); }),
        only_for(kind, needs));
  };
  end("--pi-max", PairCountsKind::rp_pi, "bins of pi from 0 to X", "it needs --kind rp_pi");
  bins("--pi-bins", PairCountsKind::rp_pi, "number of bins of pi [the integer part of --pi-max]",
       "it needs --kind rp_pi");
  end("--mu-max", PairCountsKind::s_mu, "bins of mu from 0 to X [1]", "it needs --kind s_mu");
  bins("--mu-bins", PairCountsKind::s_mu, "number of bins of mu", "it needs --kind s_mu");
  options.heading("Space");
  options.row(row("line_of_sight"), &own.options, [&own](const std::string& label, const std::string& text) {
    own.line_of_sight = bench::parse_enum<LineOfSight>(label, text);
  });
  options.row(row("box"), &own.options, [&own](const std::string& label, const std::string& text) {
    own.options.box.clear();
    for (const std::string& part : parse_list(label, text)) own.options.box.push_back(parse_positive(label, part));
  });
  return [arguments, &session] {
    SkyArguments own = *arguments;  // the record holds the options as they were given, files of edges by their names
    const auto start = core::Clock::now();
    const std::vector<std::string> inputs{own.input,         own.others, own.weights,
                                          own.other_weights, own.edges,  own.second_edges};
    require_one_standard_input(inputs);
    require_table_for_header(own.reading, inputs);
    require_no_input_overwritten({own.output}, inputs);
    own.reading.threads = cpu::thread_count(session.execution);
    own.options.edges = bench::read_edges(own.edges, own.reading);
    if (!own.second_edges.empty()) own.options.second_edges = bench::read_edges(own.second_edges, own.reading);
    complete_second_edges(own);
    own.is_sky = own.is_sky || own.options.kind == PairCountsKind::theta;
    own.options.line_of_sight =
        own.line_of_sight.value_or(own.options.box.empty() ? LineOfSight::midpoint : LineOfSight::z);
    files::ReadOptions reading = own.reading;
    if (own.is_sky) reading.type = files::ElementType::f64;
    const files::Points points = files::read_points(own.input, reading);
    return naming_files(
        {{"points", own.input}, {"others", own.others}, {"weights", own.weights}, {"other weights", own.other_weights}},
        [&] {
          return points.type() == files::ElementType::f32 ? count_catalogue<float>(own, session, points, start)
                                                          : count_catalogue<double>(own, session, points, start);
        });
  };
}

}  // namespace

Command pair_counts_command() {
  return {.name = "pair-counts",
          .summary = "count pairs of galaxies by (r_p, pi), (s, mu) or angle",
          .examples =
              "gradus pair-counts galaxies.npy --edges rp.csv --pi-max 40 --box 500,500,500 -o dd.csv\n"
              "gradus pair-counts galaxies.csv --sky --kind s_mu --edges s.csv --mu-bins 20 --cross randoms.csv\n"
              "gradus pair-counts radec.csv --kind theta --edges degrees.csv",
          .common = Common::place,
          .problem = "pair_histogram",
          .setup = setup_pair_counts};
}

}  // namespace gradus::cli
