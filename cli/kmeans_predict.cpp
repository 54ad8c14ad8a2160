// `gradus predict` and `gradus transform`: what centroids found before say about new points.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/destination.hpp"
#include "cli/input.hpp"
#include "cli/kmeans.hpp"
#include "cli/output.hpp"
#include "core/phases.hpp"
#include "io/npy.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string centroids;
  std::string input;
  std::string output;
  io::ReadOptions reading;
  Metric metric = Metric::euclidean;
};

struct Inputs {
  io::Points centroids;
  io::Points points;
  double read_seconds = 0;
};

/// Both in one type: the one asked for, or the wider of the files' types, which changes no value.
Inputs read_inputs(const Arguments& arguments) {
  const auto start = core::Clock::now();
  require_one_standard_input({arguments.centroids, arguments.input});
  require_table_for_header(arguments.reading, {arguments.centroids, arguments.input});
  require_no_input_overwritten({arguments.output}, {arguments.centroids, arguments.input});
  require_whole_result("kmeans", arguments.centroids, arguments.reading.stop);
  io::Points centroids = io::read_points(arguments.centroids, arguments.reading);
  io::Points points = io::read_points(arguments.input, arguments.reading);
  const io::ElementType type = std::max(centroids.type(), points.type());
  centroids = io::convert(std::move(centroids), type, arguments.centroids, arguments.reading.stop);
  points = io::convert(std::move(points), type, arguments.input, arguments.reading.stop);
  return {std::move(centroids), std::move(points), core::seconds_since(start)};
}

template <class T>
void write_distances(Destination& destination, MatrixView<const T> distances) {
  write_table(destination.file(), destination.format(), distances);
  destination.file().commit();
}

void write_labels(Destination& destination, VectorView<const std::int32_t> labels) {
  if (destination.format() == TableFormat::npy) io::write_npy(destination.file(), labels);
  else
    write_csv_rows(destination.file(), MatrixView<const std::int32_t>(labels.data(), labels.size(), 1), 0,
                   labels.size());
  destination.file().commit();
}

Json facts_of(const Arguments& arguments, const Inputs& inputs) {
  return {{"problem", "kmeans"},
          {"input", arguments.input},
          {"centroids", arguments.centroids},
          {"n", inputs.points.rows()},
          {"d", inputs.points.columns()},
          {"k", inputs.centroids.rows()},
          {"dtype", io::to_string(inputs.points.type())},
          {"metric", arguments.metric == Metric::cosine ? "cosine" : "euclidean"}};
}

template <class T, class Function>
auto run(const Arguments& arguments, const Inputs& inputs, Function&& function) {
  return naming_files({{"points", arguments.input}, {"centroids", arguments.centroids}},
                      [&] { return function(inputs.centroids.view<T>(), inputs.points.view<T>()); });
}

template <class T>
int predict(const Arguments& arguments, const Session& session, const Inputs& inputs) {
  Destination destination(arguments.output, session.execution.stop);
  destination.expect<std::int32_t>(inputs.points.rows(), 1);
  const auto start = core::Clock::now();
  const KMeansPrediction prediction = run<T>(arguments, inputs, [&](auto centroids, auto points) {
    return kmeans_predict<T>(centroids, points, arguments.metric, session.execution);
  });
  const double seconds = core::seconds_since(start);
  if (destination.is_file()) write_labels(destination, std::as_const(prediction.labels).view());
  const std::int64_t n = inputs.points.rows();
  if (session.json) {
    Json facts = facts_of(arguments, inputs);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(inputs.centroids.rows()));
    for (const std::int32_t label : prediction.labels) ++counts[static_cast<std::size_t>(label)];
    facts["inertia"] = prediction.inertia;
    facts["counts"] = counts;
    if (!destination.is_file()) facts["labels"] = std::vector(prediction.labels.begin(), prediction.labels.end());
    facts["seconds"] = {{"read", inputs.read_seconds}, {"assign", seconds}};
    session.print_json(facts);
  } else if (!destination.is_file()) {
    print_rows(session, MatrixView<const std::int32_t>(prediction.labels.data(), n, 1));
  } else {
    session.note(fmt::format("wrote the label{} of {} to '{}'; inertia {:.8g}", n == 1 ? "" : "s", counted(n, "point"),
                             arguments.output, prediction.inertia));
  }
  return 0;
}

template <class T>
int transform(const Arguments& arguments, const Session& session, const Inputs& inputs) {
  Destination destination(arguments.output, session.execution.stop);
  destination.expect<T>(inputs.points.rows(), inputs.centroids.rows());
  const auto start = core::Clock::now();
  const Matrix<T> distances = run<T>(arguments, inputs, [&](auto centroids, auto points) {
    return kmeans_transform<T>(centroids, points, arguments.metric, session.execution);
  });
  const double seconds = core::seconds_since(start);
  if (destination.is_file()) write_distances(destination, distances.view());
  if (session.json) {
    Json facts = facts_of(arguments, inputs);
    if (!destination.is_file()) {
      facts["distances"] = Json::array();
      for (std::int64_t row = 0; row < distances.rows(); ++row)
        facts["distances"].push_back(std::vector(distances.row(row), distances.row(row) + distances.columns()));
    }
    facts["seconds"] = {{"read", inputs.read_seconds}, {"transform", seconds}};
    session.print_json(facts);
  } else if (!destination.is_file()) {
    print_rows(session, distances.view());
  } else {
    session.note(fmt::format("wrote the distances of {} to {} to '{}'", counted(distances.rows(), "point"),
                             counted(distances.columns(), "centroid"), arguments.output));
  }
  return 0;
}

std::shared_ptr<Arguments> add_arguments(Options& options, const Session& session, const std::string& written) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(options.file("CENTROIDS", arguments->centroids, "CENTROIDS",
                                 "centroids.npy of 'gradus kmeans', or any file with a centroid per row"));
  Options::required(options.file("INPUT", arguments->input, "INPUT",
                                 "points, one per row: .npy, .csv, .tsv; .png or .jpg for its pixels; - for CSV on "
                                 "standard input"));
  add_table_output(options, arguments->output, written + " [text on standard output]");
  add_reading_options(options, session, arguments->reading);
  add_metric_option(options, arguments->metric);
  return arguments;
}

}  // namespace

Action setup_predict(Options& options, Session& session) {
  const auto arguments = add_arguments(options, session, "write the labels there, .npy or .csv");
  return [arguments, &session] {
    const Inputs inputs = read_inputs(*arguments);
    return inputs.points.type() == io::ElementType::f32 ? predict<float>(*arguments, session, inputs)
                                                        : predict<double>(*arguments, session, inputs);
  };
}

Action setup_transform(Options& options, Session& session) {
  const auto arguments = add_arguments(options, session, "write the n x k distances there, .npy or .csv");
  return [arguments, &session] {
    const Inputs inputs = read_inputs(*arguments);
    return inputs.points.type() == io::ElementType::f32 ? transform<float>(*arguments, session, inputs)
                                                        : transform<double>(*arguments, session, inputs);
  };
}

}  // namespace gradus::cli
