// `gradus predict` and `gradus transform`: apply the centroids of an earlier fit to new points.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/destination.hpp"
#include "cli/input.hpp"
#include "cli/kmeans.hpp"
#include "cli/kmeans_table.hpp"
#include "cli/output.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "files/npy.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

struct PredictArguments {
  std::string centroids;
  std::string input;
  std::string output;
  std::string weights;  ///< for predict only
  files::ReadOptions reading;
  KMeansMetric metric = KMeansMetric::euclidean;
};

struct Inputs {
  files::Points centroids;
  files::Points points;
  KMeansMetric metric = KMeansMetric::euclidean;
  KMeansStandardization standardization;
  double read_seconds = 0;
};

/// Reads centroids and points in one type. This is the requested type or, if no type is requested, the wider of the two
/// files' types, which preserves all values.
Inputs read_inputs(const PredictArguments& arguments, const Session& session) {
  const auto start = core::Clock::now();
  files::ReadOptions reading = arguments.reading;
  reading.threads = cpu::thread_count(session.execution);
  FittedFolder fit{
      .centroids = arguments.centroids, .metric = arguments.metric, .column_names = {}, .standardization = {}};
  const bool folder = is_folder(arguments.centroids);
  if (folder) fit = open_fit(arguments.centroids, reading.stop);
  require_one_standard_input({fit.centroids, arguments.input, arguments.weights});
  require_table_for_header(reading, {fit.centroids, arguments.input, arguments.weights});
  std::vector<std::string> inputs{fit.centroids, arguments.input, arguments.weights};
  if (folder)
    for (const std::string_view name : {centroids_name, standardized_name, summary_name})
      inputs.push_back(std::filesystem::path(arguments.centroids) / name);
  require_no_input_overwritten({arguments.output}, inputs);
  if (!folder) {
    require_whole_result("kmeans", arguments.centroids, reading.stop);
    refuse_standardized_file(arguments.centroids);
  }
  files::Points centroids = files::read_points(fit.centroids, files::with_all_columns(reading));
  if (!folder) fit.column_names = centroids.column_names;
  if (reading.columns.taken.empty()) reading.columns.expected = fit.column_names;
  files::Points points = files::read_points(arguments.input, reading);
  files::name_rows_left(points, points.rows());
  if (folder) require_columns_of_fit(points, centroids.columns(), fit, arguments.centroids, arguments.input);
  else require_names_of_centroids(points, arguments.input, fit.column_names, arguments.centroids);
  const files::ElementType type = std::max(centroids.type(), points.type());
  centroids = files::convert(std::move(centroids), type, fit.centroids, reading.stop);
  points = files::convert(std::move(points), type, arguments.input, reading.stop);
  return {std::move(centroids), std::move(points), fit.metric, std::move(fit.standardization),
          core::seconds_since(start)};
}

/// Formats distances as rows of text. If points have names, each row begins with a name.
template <class T>
void put_distances(MatrixView<const T> distances, const files::RowNames& names, const std::stop_token& stop,
                   const std::function<void(std::string_view)>& put) {
  std::string text = heading_of(&names);
  for (std::int64_t column = 0; column < distances.columns(); ++column) text += fmt::format(",distance_{}", column);
  text += '\n';
  core::RarePoll look(stop, "stopped while writing the result");
  constexpr std::size_t bytes_of_a_piece = std::size_t{1} << 18;
  for (std::int64_t row = 0; row < distances.rows(); ++row) {
    look.honour_stop();
    text += row_name(&names, row) + ',' + csv_rows(distances.slice(row, 1));
    if (text.size() < bytes_of_a_piece) continue;
    put(text);
    text.clear();
  }
  put(text);
}

template <class T>
void write_distances(Destination& destination, MatrixView<const T> distances, const files::RowNames* names) {
  if (names && destination.format() == TableFormat::csv)
    put_distances(distances, *names, destination.file().stop(),
                  [&](std::string_view text) { destination.file().write(text); });
  else write_table(destination.file(), destination.format(), distances);
  destination.file().commit();
}

void write_labels(Destination& destination, VectorView<const std::int32_t> labels, const files::RowNames* names) {
  if (destination.format() == TableFormat::npy) files::write_npy(destination.file(), labels);
  else
    put_labels(labels, names, destination.file().stop(),
               [&](std::string_view text) { destination.file().write(text); });
  destination.file().commit();
}

Json facts_of(const PredictArguments& arguments, const Inputs& inputs) {
  return {{"problem", "kmeans"},
          {"input", arguments.input},
          {"centroids", arguments.centroids},
          {"n", inputs.points.rows()},
          {"d", inputs.points.columns()},
          {"k", inputs.centroids.rows()},
          {"dtype", to_string(inputs.points.type())},
          {"metric", to_string(inputs.metric)}};
}

/// If rows have names, adds them to the JSON on standard output.
void add_row_names(Json& facts, const files::RowNames* names) {
  if (!names) return;
  Json& list = facts["ids"] = Json::array();
  for (std::int64_t row = 0; row < names->size(); ++row) list.push_back((*names)[row]);
}

template <class T, class Function>
auto run(const PredictArguments& arguments, const Inputs& inputs, Function&& function) {
  return naming_files({{"points", arguments.input},
                       {"centroids", arguments.centroids},
                       {"weights", arguments.weights.empty() ? arguments.input : arguments.weights}},
                      [&] {
                        return function(
                            KMeansModel<T>{inputs.centroids.view<T>(), inputs.metric, inputs.standardization},
                            inputs.points.view<T>());
                      });
}

template <class T>
int predict(const PredictArguments& arguments, const Session& session, const Inputs& inputs) {
  Destination destination(arguments.output, session.execution.stop);
  destination.expect<std::int32_t>(inputs.points.rows(), 1);
  files::VectorOf<T> weights;
  if (!arguments.weights.empty())
    weights = files::of_rows_left(read_vector_as<T>(arguments.weights, arguments.reading), inputs.points.dropped,
                                  inputs.points.rows(), arguments.weights);
  else if (!arguments.reading.columns.weight.empty()) weights = files::weights_as<T>(inputs.points, arguments.input);
  const auto start = core::Clock::now();
  const KMeansPrediction prediction = run<T>(arguments, inputs, [&](const auto& model, auto points) {
    return kmeans_predict(model, points, {.weights = weights.view}, session.execution);
  });
  const double seconds = core::seconds_since(start);
  const VectorView<const std::int32_t> labels = prediction.labels.view();
  const files::RowNames* const names = inputs.points.row_names.get();
  if (destination.is_file()) write_labels(destination, labels, names);
  const std::int64_t n = inputs.points.rows();
  if (session.json) {
    Json facts = facts_of(arguments, inputs);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(inputs.centroids.rows()));
    for (const std::int32_t label : prediction.labels) ++counts[static_cast<std::size_t>(label)];
    facts["inertia"] = prediction.inertia;
    facts["counts"] = counts;
    if (!destination.is_file()) {
      add_row_names(facts, names);
      facts["labels"] = std::vector(prediction.labels.begin(), prediction.labels.end());
    }
    facts["seconds"] = {{"read", inputs.read_seconds}, {"assign", seconds}};
    session.print_json(facts);
  } else if (!destination.is_file() && names) {
    put_labels(labels, names, session.execution.stop, [&](std::string_view text) { session.print(text); });
  } else if (!destination.is_file()) {
    print_rows(session, MatrixView<const std::int32_t>(labels.data(), n, 1));
  } else {
    session.note(fmt::format("wrote the label{} of {} to '{}'; inertia {:.8g}", n == 1 ? "" : "s", counted(n, "point"),
                             arguments.output, prediction.inertia));
  }
  return 0;
}

template <class T>
int transform(const PredictArguments& arguments, const Session& session, const Inputs& inputs) {
  Destination destination(arguments.output, session.execution.stop);
  destination.expect<T>(inputs.points.rows(), inputs.centroids.rows());
  const auto start = core::Clock::now();
  const Matrix<T> distances = run<T>(arguments, inputs, [&](const auto& model, auto points) {
    return kmeans_transform(model, points, session.execution);
  });
  const double seconds = core::seconds_since(start);
  const files::RowNames* const names = inputs.points.row_names.get();
  if (destination.is_file()) write_distances(destination, distances.view(), names);
  if (session.json) {
    Json facts = facts_of(arguments, inputs);
    if (!destination.is_file()) {
      add_row_names(facts, names);
      facts["distances"] = Json::array();
      for (std::int64_t row = 0; row < distances.rows(); ++row)
        facts["distances"].push_back(std::vector(distances.row(row), distances.row(row) + distances.columns()));
    }
    facts["seconds"] = {{"read", inputs.read_seconds}, {"transform", seconds}};
    session.print_json(facts);
  } else if (!destination.is_file() && names) {
    put_distances(distances.view(), *names, session.execution.stop,
                  [&](std::string_view text) { session.print(text); });
  } else if (!destination.is_file()) {
    print_rows(session, distances.view());
  } else {
    session.note(fmt::format("wrote the distances of {} to {} to '{}'", counted(distances.rows(), "point"),
                             counted(distances.columns(), "centroid"), arguments.output));
  }
  return 0;
}

std::shared_ptr<PredictArguments> add_arguments(Options& options, const Session& session, const std::string& written,
                                                bool weighted) {
  auto arguments = std::make_shared<PredictArguments>();
  Options::required(
      options.file("CENTROIDS", arguments->centroids, "CENTROIDS",
                   "the folder that 'gradus kmeans' wrote, with its metric and standardization; or any file "
                   "with a centroid per row"));
  Options::required(options.file("INPUT", arguments->input, "INPUT",
                                 "points, one per row: .npy, .npz (file.npz:array), .csv, .tsv; .png or .jpg for its "
                                 "pixels; - for CSV on standard input"));
  add_table_output(options, arguments->output, written + " [text on standard output]");
  add_reading_options(options, session, arguments->reading);
  add_column_options(options, arguments->reading,
                     {.id = true, .weight = weighted, .why_no_weight = [arguments = arguments.get()] {
                        return arguments->weights.empty() ? "" : "--weights names a file of weights";
                      }});
  add_metric_option(options, arguments->metric, [arguments = arguments.get()] {
    return is_folder(arguments->centroids) ? "the folder of CENTROIDS says which metric its fit had" : "";
  });
  return arguments;
}

}  // namespace

Action setup_predict(Options& options, Session& session) {
  const auto arguments = add_arguments(options, session, "write the labels there, .npy or .csv", true);
  options.file("--weights", arguments->weights, "FILE", "one weight per point, .npy or .csv: for the inertia");
  return [arguments, &session] {
    const Inputs inputs = read_inputs(*arguments, session);
    return inputs.points.type() == files::ElementType::f32 ? predict<float>(*arguments, session, inputs)
                                                           : predict<double>(*arguments, session, inputs);
  };
}

Action setup_transform(Options& options, Session& session) {
  const auto arguments = add_arguments(options, session, "write the n x k distances there, .npy or .csv", false);
  return [arguments, &session] {
    const Inputs inputs = read_inputs(*arguments, session);
    return inputs.points.type() == files::ElementType::f32 ? transform<float>(*arguments, session, inputs)
                                                           : transform<double>(*arguments, session, inputs);
  };
}

}  // namespace gradus::cli
