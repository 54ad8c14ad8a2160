// `gradus predict` and `gradus transform`: what centroids found before say about new points.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.hpp"
#include "cli/input.hpp"
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
  std::optional<io::ElementType> dtype;
  Metric metric = Metric::euclidean;
};

struct Inputs {
  io::Points centroids;
  io::Points points;
  double read_seconds = 0;
};

/// Both in one type: the one asked for, or the wider of the files' types, which changes no value.
Inputs read_inputs(const Arguments& arguments, const std::stop_token& stop) {
  const auto start = core::Clock::now();
  require_one_standard_input({arguments.centroids, arguments.input});
  io::Points centroids = io::read_points(arguments.centroids, {.type = arguments.dtype, .stop = stop});
  io::Points points = io::read_points(arguments.input, {.type = arguments.dtype, .stop = stop});
  const io::ElementType type = std::max(centroids.type(), points.type());
  centroids = io::convert(std::move(centroids), type, arguments.centroids, stop);
  points = io::convert(std::move(points), type, arguments.input, stop);
  return {std::move(centroids), std::move(points), core::seconds_since(start)};
}

/// Where the result goes: a file, opened before the work, or standard output.
class Destination {
 public:
  Destination(const std::string& path, const std::stop_token& stop) {
    if (path.empty()) return;
    format_ = table_format(path);
    file_.emplace(path, stop);
  }
  bool is_file() const { return file_.has_value(); }

  template <class T>
  void write(MatrixView<const T> matrix) {
    write_table(*file_, format_, matrix);
    file_->commit();
  }
  void write_labels(VectorView<const std::int32_t> labels) {
    if (format_ == TableFormat::npy) io::write_npy(*file_, labels);
    else write_table(*file_, format_, MatrixView<const std::int32_t>(labels.data(), labels.size(), 1));
    file_->commit();
  }

 private:
  TableFormat format_ = TableFormat::csv;
  std::optional<core::AtomicFile> file_;
};

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
  const auto start = core::Clock::now();
  const KMeansPrediction<T> prediction = run<T>(arguments, inputs, [&](auto centroids, auto points) {
    return kmeans_predict<T>(centroids, points, arguments.metric, session.execution);
  });
  const double seconds = core::seconds_since(start);
  if (destination.is_file()) destination.write_labels(prediction.labels.view());
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
    session.note(fmt::format("wrote the labels of {} points to '{}'; inertia {:.8g}", grouped(n), arguments.output,
                             prediction.inertia));
  }
  return 0;
}

template <class T>
int transform(const Arguments& arguments, const Session& session, const Inputs& inputs) {
  Destination destination(arguments.output, session.execution.stop);
  const auto start = core::Clock::now();
  const Matrix<T> distances = run<T>(arguments, inputs, [&](auto centroids, auto points) {
    return kmeans_transform<T>(centroids, points, arguments.metric, session.execution);
  });
  const double seconds = core::seconds_since(start);
  if (destination.is_file()) destination.write(distances.view());
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
    session.note(fmt::format("wrote the distances of {} points to {} centroids to '{}'", grouped(distances.rows()),
                             grouped(distances.columns()), arguments.output));
  }
  return 0;
}

std::shared_ptr<Arguments> add_arguments(Options& options, const std::string& written) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(options.file("CENTROIDS", arguments->centroids, "CENTROIDS",
                                 "centroids.npy of 'gradus kmeans', or any file with a centroid per row"));
  Options::required(options.file("INPUT", arguments->input, "INPUT",
                                 "points, one per row: .npy, .csv, .tsv; .png or .jpg for its pixels; - for CSV on "
                                 "standard input"));
  options.file("-o,--output", arguments->output, "FILE", written + " [text on standard output]");
  add_dtype_option(options, arguments->dtype);
  add_metric_option(options, arguments->metric);
  return arguments;
}

}  // namespace

Action setup_predict(Options& options, Session& session) {
  const auto arguments = add_arguments(options, "write the labels there, .npy or .csv");
  return [arguments, &session] {
    const Inputs inputs = read_inputs(*arguments, session.execution.stop);
    return inputs.points.type() == io::ElementType::f32 ? predict<float>(*arguments, session, inputs)
                                                        : predict<double>(*arguments, session, inputs);
  };
}

Action setup_transform(Options& options, Session& session) {
  const auto arguments = add_arguments(options, "write the n x k distances there, .npy or .csv");
  return [arguments, &session] {
    const Inputs inputs = read_inputs(*arguments, session.execution.stop);
    return inputs.points.type() == io::ElementType::f32 ? transform<float>(*arguments, session, inputs)
                                                        : transform<double>(*arguments, session, inputs);
  };
}

}  // namespace gradus::cli
