// `gradus predict` and `gradus transform`: apply the centroids of an earlier fit to new points.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/block_files.hpp"
#include "cli/destination.hpp"
#include "cli/input.hpp"
#include "cli/kmeans.hpp"
#include "cli/kmeans_arguments.hpp"
#include "cli/kmeans_codebooks.hpp"
#include "cli/kmeans_table.hpp"
#include "cli/output.hpp"
#include "core/npz.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "kmeans/api/blocks.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

struct PredictArguments {
  std::string centroids;
  std::vector<std::string> inputs;
  std::string output;
  std::string weights;  ///< only used by `gradus predict`
  files::ReadOptions reading;
  KMeansMetric metric = KMeansMetric::euclidean;
};

struct Inputs {
  files::Points centroids;     ///< converted to the type of the job
  std::int64_t subspaces = 0;  ///< number of codebooks in `centroids`; 0: the centroids of one fit
  BlockFiles points;
  KMeansMetric metric = KMeansMetric::euclidean;
  KMeansStandardization standardization;
  double read_seconds = 0;

  template <class T>
  KMeansModel<T> model() const {
    return {centroids.view<T>(), metric, standardization};
  }
  /// Returns the model of a subspace.
  template <class T>
  KMeansModel<T> model(std::int64_t subspace) const {
    const std::int64_t clusters = centroids.rows() / subspaces;
    return {centroids.view<T>().slice(subspace * clusters, clusters), metric, {}};
  }
};

/// Opens centroids and points. The type of the job is the requested type or, if none is requested, the wider of the
/// files' types, which preserves all values.
Inputs read_inputs(const PredictArguments& arguments, const Session& session, SupportsCodebooks supports) {
  const auto start = core::Clock::now();
  files::ReadOptions reading = arguments.reading;
  reading.threads = cpu::thread_count(session.execution);
  FittedFolder fit{
      .centroids = arguments.centroids, .metric = arguments.metric, .column_names = {}, .standardization = {}};
  const bool folder = is_folder(arguments.centroids);
  if (folder) fit = open_fit(arguments.centroids, reading.stop, supports);
  const std::vector<std::string> files = expanded_inputs(arguments.inputs);
  std::vector<std::string> inputs{fit.centroids, arguments.weights};
  inputs.insert(inputs.end(), files.begin(), files.end());
  require_one_standard_input(inputs);
  require_table_for_header(reading, inputs, {arguments.weights});
  if (folder)
    for (const std::string_view name : {centroids_name, standardized_name, codebooks_name, codes_name, summary_name})
      inputs.push_back(std::filesystem::path(arguments.centroids) / name);
  require_no_input_overwritten({arguments.output}, inputs);
  if (!folder) {
    require_whole_result("kmeans", arguments.centroids, reading.stop);
    refuse_standardized_file(arguments.centroids);
  }
  files::Points centroids = fit.subspaces > 0 ? read_codebooks(fit.centroids, fit.subspaces, reading.stop)
                                              : files::read_points(fit.centroids, files::with_all_columns(reading));
  if (!folder) fit.column_names = centroids.column_names;
  expect_columns_of_fit(reading, fit, arguments.centroids);
  BlockFiles points;
  for (const std::string& file : files) {
    const files::Points& head = points.add(file, reading);
    if (folder)
      require_columns_of_fit(head, centroids.columns() * std::max<std::int64_t>(1, fit.subspaces), fit,
                             arguments.centroids, file);
    else require_names_of_centroids(head, file, fit.column_names, arguments.centroids);
  }
  const files::ElementType type = std::max(centroids.type(), points.type());
  centroids = files::convert(std::move(centroids), type, fit.centroids, reading.stop);
  return {std::move(centroids),      fit.subspaces, std::move(points), fit.metric, std::move(fit.standardization),
          core::seconds_since(start)};
}

/// Calls the function. If it throws an error about an argument, adds the name of the argument's file to the error.
template <class Function>
decltype(auto) naming(const PredictArguments& arguments, const Inputs& inputs, Function&& function) {
  return inputs.points.places().naming([&]() -> decltype(auto) {
    return naming_files({{"centroids", arguments.centroids},
                         {"weights", arguments.weights.empty() ? arguments.inputs.front() : arguments.weights}},
                        std::forward<Function>(function));
  });
}

/// Calls compute(points, number of the first row, settings) and then write(result, number of the first row) for each
/// block. A row of the result takes `result_bytes` bytes. Returns the time of reading and the time of computing, in
/// seconds.
template <class T, class Compute, class Write>
Json for_blocks(const PredictArguments& arguments, const Session& session, Inputs& inputs, std::string_view computing,
                std::uint64_t result_bytes, const Compute& compute, const Write& write) {
  const std::uint64_t bytes = block_bytes(session);
  constexpr files::ElementType type = files::element_type_of<T>;
  double computed = 0;
  double written = 0;
  const auto start = core::Clock::now();
  inputs.points.for_each(bytes, type, result_bytes, [&](const files::Points& points, std::int64_t first) {
    const auto begin = core::Clock::now();
    const auto result = naming(arguments, inputs, [&] {
      return compute(points.view<T>(), first, of_block(session.execution, first, inputs.points.rows()));
    });
    const double seconds = core::seconds_since(begin);
    write(result, first);
    computed += seconds;
    written += core::seconds_since(begin) - seconds;
  });
  return {{"read", inputs.read_seconds + core::seconds_since(start) - computed - written}, {computing, computed}};
}

/// The destination of the rows of a result: a file, or text or JSON on standard output. The rows arrive in blocks, in
/// order.
class ResultRows {
 public:
  ResultRows(const PredictArguments& arguments, const Session& session, const Inputs& inputs)
      : destination_(arguments.output, session.execution.stop), session_(session), names_(inputs.points.names()),
        all_rows_(inputs.points.rows()), listed_(session.json && !destination_.is_file()) {}

  Destination& destination() { return destination_; }

  void add(VectorView<const std::int32_t> labels, std::int64_t first_row) {
    if (listed_)
      for (std::int64_t row = 0; row < labels.size(); ++row) list_.push_back(labels[row]);
    else if (destination_.is_file() && destination_.format() == TableFormat::npy)
      write_npy(MatrixView<const std::int32_t>(labels.data(), labels.size(), 1), std::array{all_rows_}, first_row);
    else if (destination_.is_file() || names_ != nullptr) put_labels(labels, first_row, names_.get(), stop(), put());
    else print_rows(session_, MatrixView<const std::int32_t>(labels.data(), labels.size(), 1));
  }

  template <class T>
  void add(MatrixView<const T> distances, std::int64_t first_row) {
    if (destination_.is_file() && destination_.format() == TableFormat::npy)
      write_npy(distances, std::array{all_rows_, distances.columns()}, first_row);
    else add_text(distances, first_row, "distance");
  }

  /// Adds the codes of points by codebooks of `clusters` centroids.
  void add_codes(MatrixView<const std::int32_t> codes, std::int64_t clusters, std::int64_t first_row) {
    if (!destination_.is_file() || destination_.format() != TableFormat::npy) return add_text(codes, first_row, "code");
    if (!codes_) codes_.emplace(destination_.file(), all_rows_, codes.columns(), clusters);
    codes_->add(codes);
  }

  /// Gives the file its name. If the result is listed in the JSON on standard output, adds the rows and their names.
  void finish(Json& facts, const char* key) {
    if (destination_.is_file()) destination_.file().commit();
    if (!listed_) return;
    if (names_ != nullptr) {
      Json& names = facts["ids"] = Json::array();
      for (std::int64_t row = 0; row < names_->size(); ++row) names.push_back((*names_)[row]);
    }
    facts[key] = std::move(list_);
  }

 private:
  const std::stop_token& stop() const { return session_.execution.stop; }

  std::function<void(std::string_view)> put() {
    if (destination_.is_file()) return [this](std::string_view text) { destination_.file().write(text); };
    return [this](std::string_view text) { session_.print(text); };
  }

  template <class T>
  void write_npy(MatrixView<const T> rows, std::span<const std::int64_t> shape, std::int64_t first_row) {
    if (first_row == 0) destination_.file().write(core::npy_header(core::npy_descr<T>(), shape));
    destination_.file().write(
        std::as_bytes(std::span(rows.data(), static_cast<std::size_t>(rows.rows() * rows.columns()))));
  }

  /// Adds rows of numbers to the text or to the JSON. `word` describes a number.
  template <class T>
  void add_text(MatrixView<const T> rows, std::int64_t first_row, std::string_view word) {
    if (listed_)
      for (std::int64_t row = 0; row < rows.rows(); ++row)
        list_.push_back(std::vector(rows.row(row), rows.row(row) + rows.columns()));
    else if (names_ != nullptr) put_named(rows, first_row, word);
    else if (destination_.is_file())
      write_csv_rows(destination_.file(), rows, first_row, all_rows_, session_.execution);
    else print_rows(session_, rows);
  }

  /// Writes rows of numbers as text. Each row begins with the name of the point.
  template <class T>
  void put_named(MatrixView<const T> rows, std::int64_t first_row, std::string_view word) {
    std::string text;
    if (first_row == 0) {
      text = heading_of(names_.get());
      for (std::int64_t column = 0; column < rows.columns(); ++column) text += fmt::format(",{}_{}", word, column);
      text += '\n';
    }
    core::RarePoll look(stop(), "stopped while writing the result");
    constexpr std::size_t bytes_of_a_piece = std::size_t{1} << 18;
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      look.honour_stop();
      text += row_name(names_.get(), first_row + row) + ',' + csv_rows(rows.slice(row, 1));
      if (text.size() < bytes_of_a_piece) continue;
      put()(text);
      text.clear();
    }
    put()(text);
  }

  Destination destination_;
  const Session& session_;
  std::shared_ptr<const files::RowNames> names_;
  std::int64_t all_rows_;
  bool listed_;
  Json list_ = Json::array();
  std::optional<CodesFile> codes_;
};

Json facts_of(const PredictArguments& arguments, const Inputs& inputs) {
  Json facts{{"problem", "kmeans"},
             {"input", arguments.inputs.size() == 1 ? Json(arguments.inputs.front()) : Json(arguments.inputs)},
             {"centroids", arguments.centroids},
             {"n", inputs.points.rows()},
             {"d", inputs.points.columns()},
             {"k", inputs.centroids.rows() / std::max<std::int64_t>(1, inputs.subspaces)},
             {"dtype", to_string(inputs.centroids.type())},
             {"metric", to_string(inputs.metric)}};
  if (inputs.subspaces > 0) facts["subspaces"] = inputs.subspaces;
  return facts;
}

template <class T>
int predict(const PredictArguments& arguments, const Session& session, Inputs& inputs) {
  const std::int64_t n = inputs.points.rows();
  ResultRows rows(arguments, session, inputs);
  rows.destination().expect<std::int32_t>(n, 1);
  const std::vector<T> weights = inputs.points.weights<T>(arguments.weights, arguments.reading);
  const VectorView<const T> weights_view(weights.data(), std::ssize(weights));
  auto prediction =
      naming(arguments, inputs, [&] { return kmeans_detail::BlockPrediction<T>(inputs.model<T>(), weights_view, n); });
  std::vector<std::int64_t> counts(static_cast<std::size_t>(inputs.centroids.rows()));
  const Json seconds = for_blocks<T>(
      arguments, session, inputs, "assign", sizeof(std::int32_t),
      [&](MatrixView<const T> points, std::int64_t, const Execution& execution) {
        return prediction.add(points, execution);
      },
      [&](const Buffer<std::int32_t>& labels, std::int64_t first) {
        for (const std::int32_t label : labels) ++counts[static_cast<std::size_t>(label)];
        rows.add(labels.view(), first);
      });
  Json facts = facts_of(arguments, inputs);
  facts["inertia"] = prediction.inertia();
  facts["counts"] = counts;
  rows.finish(facts, "labels");
  facts["seconds"] = seconds;
  if (session.json) session.print_json(facts);
  else if (rows.destination().is_file())
    session.note(fmt::format("wrote the label{} of {} to '{}'; inertia {:.8g}", n == 1 ? "" : "s", counted(n, "point"),
                             arguments.output, prediction.inertia()));
  return 0;
}

/// Writes the codes of all points: the nearest centroid of each codebook.
template <class T>
int encode(const PredictArguments& arguments, const Session& session, Inputs& inputs) {
  const std::int64_t n = inputs.points.rows();
  const std::int64_t subspaces = inputs.subspaces;
  const std::int64_t clusters = inputs.centroids.rows() / subspaces;
  ResultRows rows(arguments, session, inputs);
  if (rows.destination().format() != TableFormat::npy) rows.destination().expect<std::int32_t>(n, subspaces);
  const std::vector<T> weights = inputs.points.weights<T>(arguments.weights, arguments.reading);
  const VectorView<const T> weights_view(weights.data(), std::ssize(weights));
  std::vector<kmeans_detail::BlockPrediction<T>> predictions;
  naming(arguments, inputs, [&] {
    for (std::int64_t subspace = 0; subspace < subspaces; ++subspace)
      predictions.emplace_back(inputs.model<T>(subspace), weights_view, n);
  });
  const Json seconds = for_blocks<T>(
      arguments, session, inputs, "encode", static_cast<std::uint64_t>(subspaces) * sizeof(std::int32_t),
      [&](MatrixView<const T> points, std::int64_t, const Execution& execution) {
        Matrix<std::int32_t> codes(points.rows(), subspaces);
        const auto groups = column_groups(points, subspaces);
        for (std::int64_t subspace = 0; subspace < subspaces; ++subspace) {
          const MatrixView<const T> group(groups.first.data() + subspace * groups.stride, points.rows(),
                                          groups.first.columns(), points.row_stride());
          const Buffer<std::int32_t> labels = predictions[static_cast<std::size_t>(subspace)].add(group, execution);
          for (std::int64_t row = 0; row < points.rows(); ++row) codes(row, subspace) = labels[row];
        }
        return codes;
      },
      [&](const Matrix<std::int32_t>& codes, std::int64_t first) { rows.add_codes(codes.view(), clusters, first); });
  double inertia = 0;
  for (const kmeans_detail::BlockPrediction<T>& one : predictions) inertia += one.inertia();
  Json facts = facts_of(arguments, inputs);
  facts["inertia"] = inertia;
  rows.finish(facts, "codes");
  facts["seconds"] = seconds;
  if (session.json) session.print_json(facts);
  else if (rows.destination().is_file())
    session.note(fmt::format("wrote the codes of {} by {} to '{}'; inertia {:.8g}", counted(n, "point"),
                             counted(subspaces, "codebook"), arguments.output, inertia));
  return 0;
}

template <class T>
int transform(const PredictArguments& arguments, const Session& session, Inputs& inputs) {
  const std::int64_t n = inputs.points.rows();
  const std::int64_t clusters = inputs.centroids.rows();
  ResultRows rows(arguments, session, inputs);
  rows.destination().expect<T>(n, clusters);
  const KMeansModel<T> model = inputs.model<T>();
  const Json seconds = for_blocks<T>(
      arguments, session, inputs, "transform", static_cast<std::uint64_t>(clusters) * sizeof(T),
      [&](MatrixView<const T> points, std::int64_t first, const Execution& execution) {
        return kmeans_detail::transform_block(model, points, first, execution);
      },
      [&](const Matrix<T>& distances, std::int64_t first) { rows.add(distances.view(), first); });
  Json facts = facts_of(arguments, inputs);
  rows.finish(facts, "distances");
  facts["seconds"] = seconds;
  if (session.json) session.print_json(facts);
  else if (rows.destination().is_file())
    session.note(fmt::format("wrote the distances of {} to {} to '{}'", counted(n, "point"),
                             counted(clusters, "centroid"), arguments.output));
  return 0;
}

std::shared_ptr<PredictArguments> add_arguments(Options& options, const Session& session, const std::string& written,
                                                bool weighted) {
  auto arguments = std::make_shared<PredictArguments>();
  Options::required(
      options.file("CENTROIDS", arguments->centroids, "CENTROIDS",
                   "the folder that 'gradus kmeans' wrote, with its metric and standardization; or any file "
                   "with a centroid per row"));
  Options::required(
      options.files("INPUT", arguments->inputs, "INPUT...",
                    points_help() + "; several files, or a quoted pattern of names, are read one after the other"));
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

std::uint64_t block_bytes(const Session& session) {
  constexpr std::uint64_t usual_bytes = std::uint64_t{64} << 20;
  const std::uint64_t limit = session.execution.memory_limit;
  return limit == 0 ? usual_bytes : std::min(usual_bytes, limit / 4);
}

Execution of_block(const Execution& execution, std::int64_t first_row, std::int64_t all_rows) {
  Execution result = execution;
  if (execution.progress)
    result.progress = [&execution, first_row, all_rows](const Progress& progress) {
      execution.progress({progress.phase, first_row + progress.done, all_rows, progress.detail});
    };
  return result;
}

Action setup_predict(Options& options, Session& session) {
  const auto arguments = add_arguments(options, session, "write the labels or codes there, .npy or .csv", true);
  options.file("--weights", arguments->weights, "FILE", "one weight per point, .npy or .csv: for the inertia");
  return [arguments, &session] {
    Inputs inputs = read_inputs(*arguments, session, SupportsCodebooks::yes);
    const bool narrow = inputs.centroids.type() == files::ElementType::f32;
    if (inputs.subspaces > 0)
      return narrow ? encode<float>(*arguments, session, inputs) : encode<double>(*arguments, session, inputs);
    return narrow ? predict<float>(*arguments, session, inputs) : predict<double>(*arguments, session, inputs);
  };
}

Action setup_transform(Options& options, Session& session) {
  const auto arguments = add_arguments(options, session, "write the n x k distances there, .npy or .csv", false);
  return [arguments, &session] {
    Inputs inputs = read_inputs(*arguments, session, SupportsCodebooks::no);
    return inputs.centroids.type() == files::ElementType::f32 ? transform<float>(*arguments, session, inputs)
                                                              : transform<double>(*arguments, session, inputs);
  };
}

}  // namespace gradus::cli
