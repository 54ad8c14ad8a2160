// `gradus pair-counts`: reads catalogues and counts pairs across and along the line of sight.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
#include "core/text.hpp"
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

/// Refuses named columns that are in another order than the command reads them.
void require_order(const SkyArguments& arguments, const files::Points& read, const std::string& path) {
  const std::array<std::string_view, 3> expected = arguments.is_sky
                                                       ? std::array<std::string_view, 3>{"ra", "dec", "distance"}
                                                       : std::array<std::string_view, 3>{"x", "y", "z"};
  for (std::size_t column = 0; column < read.column_names.size(); ++column) {
    std::string name = read.column_names[column];
    std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::tolower(letter); });
    const auto place = static_cast<std::size_t>(std::ranges::find(expected, name) - expected.begin());
    if (place == expected.size() || place == column) continue;
    const std::size_t count = arguments.options.kind == PairCountsKind::theta ? 2 : 3;
    std::string order;
    for (const std::string_view one : std::span(expected).first(count))
      order += (order.empty() ? "" : ",") + std::string(one);
    throw InputError(
        about(shown_path(path)) + fmt::format("column {} is named {}, but columns are read in the order {}", column + 1,
                                              core::excerpt(read.column_names[column]), order),
        {.file = path,
         .value = read.column_names[column],
         .remedy = "choose the columns in this order by --columns, with the names of the file"});
  }
}

/// Converts right ascension, declination and, unless the kind is theta, distance to Cartesian coordinates.
files::PointsOf<double> on_the_sky(const SkyArguments& arguments, const files::PointsOf<double>& read,
                                   const std::string& path) {
  const bool is_theta = arguments.options.kind == PairCountsKind::theta;
  const std::int64_t needed = is_theta ? 2 : 3;
  if (read.view.columns() != needed)
    throw InputError(
        about(shown_path(path)) + fmt::format("there are {} columns; {} are needed: right ascension, declination{}",
                                              read.view.columns(), needed, is_theta ? "" : " and distance"),
        {.file = path});
  const MatrixView<const double> directions(read.view.data(), read.view.rows(), 2, read.view.row_stride());
  const std::vector<double> vectors = naming_files({{"points", path}}, [&] { return sky_vectors(directions); });
  Matrix<double> points(read.view.rows(), 3);
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    const double distance = is_theta ? 1 : read.view(row, 2);
    if (!(distance >= 0 && std::isfinite(distance)))
      throw InputError(about(shown_path(path)) + fmt::format("the distance in row {} (counted from 0) is {}; a number "
                                                             "of at least 0 is needed",
                                                             row, core::number_text(distance)),
                       {.code = error_code::out_of_range,
                        .file = path,
                        .row = row,
                        .column = 2,
                        .value = core::number_text(distance)});
    for (std::int64_t column = 0; column < 3; ++column)
      points(row, column) = vectors[static_cast<std::size_t>(3 * row + column)] * distance;
  }
  return files::own(std::move(points));
}

constexpr std::int64_t most_bins = 1 << 24;

/// Throws an error if the command line asks for a GPU.
void require_no_gpu(const Session& session) {
  const Execution& execution = session.execution;
  if (execution.device == Device::gpu || !execution.gpus.empty() || session.chooses_gpus)
    throw UnsupportedError("pair-counts counts on the CPU; leave out --device gpu and --gpus");
  if (execution.gpu_memory_limit > 0)
    throw UsageError("--gpu-memory-limit has no effect: pair-counts counts on the CPU",
                     {.code = error_code::no_effect});
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
  constexpr std::int64_t most_in_all = 1 << 28;  // the library's limit, with two places beyond the bins on each axis
  const std::int64_t most = std::clamp(most_in_all / (std::ssize(options.edges) + 1) - 2, std::int64_t{1}, most_bins);
  if (arguments.second_bins == 0 && end >= static_cast<double>(most) + 1)
    throw UsageError(fmt::format("--pi-bins, the number of bins of pi, is needed: its default, the integer part of "
                                 "--pi-max {}, is more than {}",
                                 core::number_text(end), most),
                     {.code = error_code::out_of_range, .argument = "pi_bins"});
  const std::int64_t bins =
      arguments.second_bins > 0 ? arguments.second_bins : std::max<std::int64_t>(1, static_cast<std::int64_t>(end));
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
files::PointsOf<T> read_catalogue(const SkyArguments& arguments, const files::Points& points, const std::string& path) {
  const auto& values = std::get<files::PointsOf<T>>(points.values);
  if constexpr (sizeof(T) == 8)
    if (arguments.is_sky) return on_the_sky(arguments, values, path);
  return values;
}

/// Calls the function. If it refuses the range of the coordinates of both files, names both.
template <class Function>
decltype(auto) naming_both(const SkyArguments& arguments, Function&& function) {
  try {
    return function();
  } catch (InputError& error) {
    const bool is_range = error.code() == error_code::outside_box || error.code() == error_code::out_of_range;
    if (!arguments.others.empty() && is_range && error.message().subject == "points" && !error.fields().row) {
      ErrorMessage message = error.message();
      message.subject = shown_path(arguments.input) + " and " + shown_path(arguments.others);
      error.set_message(std::move(message));
    }
    throw;
  }
}

template <class T>
int count_catalogue(SkyArguments& arguments, const Session& session, const files::Points& read,
                    core::Clock::time_point start) {
  files::ReadOptions reading = arguments.reading;
  reading.type = files::element_type_of<T>;
  const auto points = read_catalogue<T>(arguments, read, arguments.input);
  PairCountsMemory<T> memory;
  files::PointsOf<T> others;
  files::VectorOf<T> weights;
  files::VectorOf<T> other_weights;
  const auto weights_of = [&](const std::string& path, const files::Points& rows) {
    return files::of_rows_left(read_vector_as<T>(path, reading), rows.dropped, rows.rows(), path);
  };
  if (!arguments.weights.empty()) {
    weights = weights_of(arguments.weights, read);
    memory.weights = weights.view;
  }
  if (!arguments.others.empty()) {
    const files::Points rows = pairs::read_others<T>(arguments.others, reading, read, arguments.input);
    others = read_catalogue<T>(arguments, rows, arguments.others);
    memory.others = others.view;
    if (!arguments.other_weights.empty()) {
      other_weights = weights_of(arguments.other_weights, rows);
      memory.other_weights = other_weights.view;
    }
  }
  const double seconds = core::seconds_since(start);
  Destination destination(arguments.output, session.execution.stop, true);
  const PairCountsResult result =
      naming_both(arguments, [&] { return pair_counts(points.view, arguments.options, memory, session.execution); });
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
  pairs::deliver_table(destination, session, table, summary);
  std::uint64_t counted_pairs = 0;
  for (const std::uint64_t count : result.counts) counted_pairs += count;
  session.note(fmt::format("{} of {} are in {} in {:.3g} s{}", grouped(static_cast<std::int64_t>(counted_pairs)),
                           counted(static_cast<std::int64_t>(result.pairs), "pair"),
                           counted(result.rows * result.columns, "bin"), core::seconds_since(start),
                           destination.is_file() ? fmt::format("; wrote '{}'", arguments.output) : ""));
  return 0;
}

const core::Option& sky_row(std::string_view name) { return core::option_row<PairCountsOptions>(name); }

void add_sky_bins(Options& options, SkyArguments& own) {
  options.heading("Bins");
  const auto only_for = [&own](PairCountsKind kind, const char* text) {
    return [&own, kind, text] {
      if (own.options.kind != kind) return text;
      return own.second_edges.empty() ? "" : "--second-edges has the edges of these bins";
    };
  };
  options.row(sky_row("kind"), &own.options);
  const auto file_into = [](std::string& target) {
    return [&target](const std::string&, const std::string& text) { target = text; };
  };
  Options::required(options.row(sky_row("edges"), &own.options, file_into(own.edges)));
  options.row(sky_row("second_edges"), &own.options, file_into(own.second_edges));
  const auto end = [&](const char* name, PairCountsKind kind, const char* help, const char* needs) {
    options.ineffective_if(
        options.value(name, "X", help,
                      [&own, name](const std::string& text) { own.second_end = parse_positive(name, text); }),
        only_for(kind, needs));
  };
  const auto bins = [&](const char* name, PairCountsKind kind, const char* help, const char* needs) {
    options.ineffective_if(options.value(name, "N", help,
                                         [&own, name](const std::string& text) {
                                           own.second_bins = parse_whole(name, text, 1, most_bins);
                                         }),
                           only_for(kind, needs));
  };
  end("--pi-max", PairCountsKind::rp_pi, "bins of pi from 0 to X", "it needs --kind rp_pi");
  bins("--pi-bins", PairCountsKind::rp_pi,
       "number of bins of pi, all of one width [the integer part of --pi-max, at least 1]", "it needs --kind rp_pi");
  end("--mu-max", PairCountsKind::s_mu, "bins of mu from 0 to X [1]", "it needs --kind s_mu");
  bins("--mu-bins", PairCountsKind::s_mu, "number of bins of mu", "it needs --kind s_mu");
}

void add_sky_space(Options& options, SkyArguments& own) {
  options.heading("Space");
  const auto not_for_angles = [&own](const char* text) {
    return [&own, text] { return own.options.kind == PairCountsKind::theta ? text : ""; };
  };
  const auto read_line_of_sight = [&own](const std::string& label, const std::string& text) {
    own.line_of_sight = bench::parse_enum<LineOfSight>(label, text);
  };
  const auto read_box = [&own](const std::string& label, const std::string& text) {
    const std::vector<std::string> parts = parse_list(label, text);
    if (parts.size() != 3)
      throw UsageError(fmt::format("{}: '{}' has {}; three lengths are needed, along the axes x, y and z", label, text,
                                   counted(std::ssize(parts), "number")));
    own.options.box.clear();
    for (const std::string& part : parts) own.options.box.push_back(parse_positive(label, part));
  };
  options.ineffective_if(options.row(sky_row("line_of_sight"), &own.options, read_line_of_sight),
                         not_for_angles("angles are seen from the origin"));
  options.ineffective_if(options.row(sky_row("box"), &own.options, read_box),
                         not_for_angles("angles on the sky take no box"));
}

Action setup_pair_counts(Options& options, Session& session) {
  auto arguments = std::make_shared<SkyArguments>();
  SkyArguments& own = *arguments;
  Options::required(options.file("INPUT", own.input, "INPUT",
                                 "a catalogue with columns x, y, z, or with --sky right ascension, declination and "
                                 "distance; .npy, .csv, .tsv; - for CSV on standard input"));
  add_table_output(options, own.output, "write the counts there, .csv, .npy or .json [CSV on standard output]", true);
  options.file(
      "--cross", own.others, "FILE",
      "count the pairs between the points and the points of this file, whose columns are found by their names");
  options.file("--weights", own.weights, "FILE", "one weight per point; a pair's weight is the product");
  options.ineffective_if(options.file("--cross-weights", own.other_weights, "FILE", "weights of the points of --cross"),
                         [&own] { return own.others.empty() ? "it needs --cross" : ""; });
  options.flag("--sky", own.is_sky,
               "the columns hold right ascension and declination in degrees, and distance (none for "
               "theta)");
  add_reading_options(options, session, own.reading);
  add_column_options(options, own.reading, {});
  add_sky_bins(options, own);
  add_sky_space(options, own);
  return [arguments, &session] {
    SkyArguments own = *arguments;  // the record holds the options as they were given, files of edges by their names
    const auto start = core::Clock::now();
    require_no_gpu(session);
    const std::vector<std::string> inputs{own.input,         own.others, own.weights,
                                          own.other_weights, own.edges,  own.second_edges};
    require_one_standard_input(inputs);
    require_table_for_header(own.reading, inputs, {own.weights, own.other_weights, own.edges, own.second_edges});
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
    require_order(own, points, own.input);
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
