// `gradus check`: verifies the labels and centroids of a k-means result, of this program or of another library.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "cli/block_files.hpp"
#include "cli/input.hpp"
#include "cli/kmeans.hpp"
#include "cli/kmeans_arguments.hpp"
#include "cli/kmeans_certificate.hpp"
#include "cli/kmeans_table.hpp"
#include "cli/output.hpp"
#include "cli/point_files.hpp"
#include "core/checked.hpp"
#include "core/ladder.hpp"
#include "core/phases.hpp"
#include "core/startable.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/row_hash.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "kmeans/check/block_check.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/sizes/limited_sizes.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

struct CheckArguments {
  std::string result;
  std::vector<std::string> inputs;
  std::string labels;
  std::string weights;
  std::optional<double> inertia;
  KMeansCheckOptions options;
  bool strict = false;
  CertifyArguments certify;
  files::ReadOptions reading;
  KMeansMetric metric = KMeansMetric::euclidean;

  bool is_weighted() const { return !weights.empty() || !reading.columns.weight.empty(); }
};

/// The facts that the summary of a folder states. Empty for a result that is a file of centroids.
struct RecordedFacts {
  std::optional<files::ElementType> type;
  std::optional<double> inertia;
  std::optional<std::vector<std::int64_t>> counts;
  std::optional<bool> weighted;
  std::string variant;
  std::string stop_reason;
  KMeansOptions options;                            ///< the limits of sizes; other options have their defaults
  std::map<std::string, std::int64_t> sizes;        ///< n, d and k
  std::map<std::string, std::string> input_hashes;  ///< by role
};

RecordedFacts recorded_facts(const nlohmann::json& summary, const std::string& folder) {
  RecordedFacts facts;
  try {
    facts.type = from_string<files::ElementType>(summary.at("dtype").get<std::string>());
    if (!facts.type)
      throw InputError(fmt::format("'{}': its type is neither f32 nor f64",
                                   (std::filesystem::path(folder) / summary_name).string()));
    if (summary.contains("bisecting"))
      throw UnsupportedError(
          fmt::format("'{}': its labels follow the tree of --bisecting, which the result does not hold",
                      (std::filesystem::path(folder) / summary_name).string()));
    facts.inertia = summary.at("inertia").get<double>();
    facts.counts = summary.at("counts").get<std::vector<std::int64_t>>();
    facts.weighted = summary.at("weighted").get<bool>();
    facts.variant = summary.at("variant").get<std::string>();
    facts.stop_reason = summary.at("stop_reason").get<std::string>();
    for (const char* const size : {"n", "d", "k"}) facts.sizes[size] = summary.at(size).get<std::int64_t>();
    if (const auto options = summary.find("options"); options != summary.end()) {
      facts.options.size_min = options->value("size_min", facts.options.size_min);
      facts.options.size_max = options->value("size_max", facts.options.size_max);
      facts.options.balanced = options->value("balanced", facts.options.balanced);
    }
    if (const auto hashes = summary.find("input_hashes"); hashes != summary.end()) hashes->get_to(facts.input_hashes);
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("'{}': it lacks facts that 'gradus kmeans' writes, such as n, inertia and counts",
                                 (std::filesystem::path(folder) / summary_name).string()));
  }
  return facts;
}

/// One label per point, read in blocks if the file permits it.
class LabelsFile {
 public:
  LabelsFile(std::string path, const files::ReadOptions& reading, std::int64_t clusters)
      : path_(std::move(path)), reading_(files::of_list(reading)), clusters_(clusters) {
    reading_.columns.expected = {"label"};
    reading_.type = files::ElementType::f64;  // holds every label exactly
    if (const auto shape = files::shape_in_rows(path_, reading_); shape && shape->columns == 1) {
      rows_ = shape->rows;
      return;
    }
    const files::Points all = files::read_points(path_, reading_);
    const MatrixView<const double> values = all.view<double>();
    const auto named = std::ranges::find(all.column_names, "label");
    const bool is_row = values.rows() == 1 && values.columns() != 1;
    const std::int64_t column = named == all.column_names.end() ? 0 : named - all.column_names.begin();
    if (values.columns() != 1 && !is_row && named == all.column_names.end())
      throw InputError(
          fmt::format("'{}': rows of {} numbers; one label per row, or a column with the name label is "
                      "expected",
                      path_, values.columns()));
    rows_ = is_row ? values.columns() : values.rows();
    whole_ = labels_of(rows_, 0, [&](std::int64_t row) { return is_row ? values(0, row) : values(row, column); });
    is_whole_ = true;
  }

  std::int64_t rows() const { return rows_; }

  /// Returns the labels of some rows. They are valid until the next call.
  VectorView<const std::int32_t> at(std::int64_t first, std::int64_t rows) {
    if (is_whole_) return {whole_.data() + first, rows};
    const files::Points points = files::read_rows(path_, first, rows, reading_);
    const MatrixView<const double> values = points.view<double>();
    block_ = labels_of(rows, first, [&](std::int64_t row) { return values(row, 0); });
    return {block_.data(), rows};
  }

 private:
  /// Converts numbers to labels. Throws InputError for the first number that is not a label.
  template <class NumberAt>
  std::vector<std::int32_t> labels_of(std::int64_t rows, std::int64_t first, const NumberAt& number_at) const {
    std::vector<std::int32_t> labels(static_cast<std::size_t>(rows));
    std::int64_t fault = rows;
    const int team =
        rows > core::chunk_length(rows, 1, reading_.threads) ? core::startable_threads(reading_.threads) : 1;
#pragma omp parallel for num_threads(team) schedule(static) reduction(min : fault) if (team > 1)
    for (std::int64_t row = 0; row < rows; ++row) {
      const double value = number_at(row);
      const auto label = value >= 0 && value < static_cast<double>(clusters_) ? static_cast<std::int32_t>(value) : -1;
      labels[static_cast<std::size_t>(row)] = label;
      if (static_cast<double>(label) != value) fault = std::min(fault, row);
    }
    if (fault < rows) refuse(number_at(fault), first + fault);
    return labels;
  }

  [[noreturn]] void refuse(double value, std::int64_t row) const {
    throw InputError(fmt::format("'{}': the label in row {} (counted from 0) is {}, but the labels of {} are the "
                                 "integers from 0 to {}",
                                 path_, row, core::number_text(value), counted(clusters_, "centroid"), clusters_ - 1),
                     {.code = error_code::out_of_range,
                      .file = path_,
                      .row = row,
                      .value = core::number_text(value),
                      .allowed = fmt::format("0 to {}", clusters_ - 1)});
  }

  std::string path_;
  files::ReadOptions reading_;
  std::int64_t clusters_;
  std::int64_t rows_ = 0;
  bool is_whole_ = false;
  std::vector<std::int32_t> whole_;
  std::vector<std::int32_t> block_;
};

/// The result to check, and the points.
struct CheckInputs {
  std::optional<RecordedFacts> recorded;  ///< only for a folder
  FittedFolder fit;
  std::string labels;
  files::Points centroids;  ///< converted to the type of the job
  BlockFiles points;
  std::vector<std::string> changed;  ///< files of the folder that are not as they were written
  double read_seconds = 0;

  std::int64_t rows() const { return points.rows(); }
};

void require_weights_of_fit(const CheckArguments& arguments, const CheckInputs& inputs) {
  if (!inputs.recorded || *inputs.recorded->weighted == arguments.is_weighted()) return;
  if (arguments.is_weighted())
    throw UsageError(fmt::format("--weights: the fit in '{}' had no weights; leave them out", arguments.result));
  throw UsageError(
      fmt::format("--weights: the fit in '{}' had weights; give its --weights or --weight-column", arguments.result));
}

/// Opens the files of points. The rows of each file follow the rows of the file before.
void open_points(const CheckArguments& arguments, const files::ReadOptions& reading, CheckInputs& inputs) {
  for (const std::string& path : expanded_inputs(arguments.inputs)) {
    const files::Points& head = inputs.points.add(path, reading);
    if (inputs.recorded) require_columns_of_fit(head, inputs.centroids.columns(), inputs.fit, arguments.result, path);
    else require_names_of_centroids(head, path, inputs.fit.column_names, arguments.result);
    if (head.columns() != inputs.centroids.columns())
      throw InputError(fmt::format("'{}': rows of {}, but the centroids in '{}' have {}", path,
                                   counted(head.columns(), "column"), inputs.fit.centroids, inputs.centroids.columns()),
                       {.code = error_code::shape_mismatch, .file = path});
  }
}

CheckInputs open_inputs(const CheckArguments& arguments, const Session& session) {
  const auto start = core::Clock::now();
  files::ReadOptions reading = arguments.reading;
  reading.threads = cpu::thread_count(session.execution);
  CheckInputs inputs;
  inputs.labels = arguments.labels;
  if (is_folder(arguments.result)) {
    const nlohmann::json summary = summary_of_fit(arguments.result);
    inputs.fit = facts_of_fit(arguments.result, summary);
    if (summary.contains("unfinished")) require_whole_result("kmeans", inputs.fit.centroids, reading.stop);
    inputs.recorded = recorded_facts(summary, arguments.result);
    const std::filesystem::path folder(arguments.result);
    if (inputs.labels.empty()) inputs.labels = folder / "labels.npy";
    if (const auto written = summary.find("files"); written != summary.end() && written->is_object())
      for (const auto& file : written->items())
        if (!std::filesystem::exists(folder / file.key()) ||
            !fault_of_result("kmeans", folder / file.key(), reading.stop).empty())
          inputs.changed.push_back(file.key());
    if (!reading.type) reading.type = inputs.recorded->type;
  } else {
    inputs.fit.centroids = arguments.result;
    inputs.fit.metric = arguments.metric;
    if (!std::filesystem::exists(arguments.result))
      throw InputError("cannot read " + core::excerpt(arguments.result) + ": there is neither a file nor a folder",
                       {.code = error_code::cannot_read, .file = arguments.result});
    if (inputs.labels.empty())
      throw UsageError("--labels: " + core::excerpt(arguments.result) +
                       " is a file of centroids; name the file with the labels, too");
    refuse_standardized_file(arguments.result);
  }
  std::vector<std::string> read{inputs.fit.centroids, inputs.labels, arguments.weights};
  read.insert(read.end(), arguments.inputs.begin(), arguments.inputs.end());
  require_one_standard_input(read);
  require_table_for_header(reading, read, {inputs.labels, arguments.weights});
  require_weights_of_fit(arguments, inputs);
  inputs.centroids = files::read_points(inputs.fit.centroids, files::with_all_columns(reading));
  if (!inputs.recorded) inputs.fit.column_names = inputs.centroids.column_names;
  expect_columns_of_fit(reading, inputs.fit, arguments.result);
  open_points(arguments, reading, inputs);
  const files::ElementType type = std::max(inputs.centroids.type(), inputs.points.type());
  inputs.centroids = files::convert(std::move(inputs.centroids), type, inputs.fit.centroids, reading.stop);
  inputs.read_seconds = core::seconds_since(start);
  return inputs;
}

/// The findings, in the order of the text.
struct Findings {
  KMeansCheck check;
  std::optional<bool> inertia_matches;  ///< empty if there is no inertia to compare with
  double given_inertia = 0;
  std::int64_t wrong_count = -1;            ///< first cluster whose recorded count is incorrect
  std::vector<std::string> wrong_sizes;     ///< "k is 4, not 3"
  std::vector<std::string> changed_files;   ///< names
  std::vector<std::string> changed_inputs;  ///< "the points have the hash …, not …"
  std::int64_t not_restored = -1;           ///< first row of centroids.npy that is not the standardized centroid
  bool has_record = false;                  ///< the result is a folder with a summary
  bool stopped_early = false;               ///< the summary says that the fit ended before its labels settled
  std::optional<kmeans_detail::SizeLimits> limits;  ///< the summary says that the fit had these limits of size
  std::int64_t beyond_limits = -1;                  ///< first cluster whose size is not within the limits
  bool strict = false;
  std::optional<Json> certificate;

  bool labels_passed() const { return check.labels.incorrect == 0 || limits.has_value(); }
  bool means_passed() const { return check.means.incorrect == 0 || (stopped_early && !strict); }
  bool record_passed() const {
    return inertia_matches.value_or(true) && wrong_count < 0 && wrong_sizes.empty() && changed_files.empty() &&
           changed_inputs.empty() && not_restored < 0 && beyond_limits < 0;
  }
  bool passed() const {
    return labels_passed() && means_passed() && check.reference_differences == 0 && record_passed();
  }
};

/// Compares what was computed with what the summary states.
template <class T>
void compare_with_record(const CheckArguments& arguments, const CheckInputs& inputs, Findings& found) {
  const RecordedFacts& recorded = *inputs.recorded;
  const std::map<std::string, std::int64_t> sizes{
      {"n", inputs.rows()}, {"d", inputs.centroids.columns()}, {"k", inputs.centroids.rows()}};
  for (const auto& [name, size] : sizes)
    if (recorded.sizes.at(name) != size)
      found.wrong_sizes.push_back(fmt::format("{} is {}, not {}", name, size, recorded.sizes.at(name)));
  for (std::size_t cluster = 0; cluster < found.check.counts.size() && found.wrong_count < 0; ++cluster)
    if (cluster >= recorded.counts->size() || (*recorded.counts)[cluster] != found.check.counts[cluster])
      found.wrong_count = static_cast<std::int64_t>(cluster);
  if (kmeans_detail::has_size_limits(recorded.options)) {
    KMeansOptions options = recorded.options;
    options.clusters = inputs.centroids.rows();
    try {
      found.limits = kmeans_detail::size_limits(options, inputs.rows());
    } catch (const UsageError&) {
      throw InputError(fmt::format("'{}': no clustering of these points is within its limits of size",
                                   (std::filesystem::path(arguments.result) / summary_name).string()));
    }
    const auto beyond = std::ranges::find_if(found.check.counts, [&](std::int64_t count) {
      return count < found.limits->least || count > found.limits->most;
    });
    if (beyond != found.check.counts.end()) found.beyond_limits = beyond - found.check.counts.begin();
  }
  found.changed_files = inputs.changed;
  constexpr KMeansStopReason settled = KMeansStopReason::labels_unchanged;
  found.stopped_early = recorded.stop_reason != to_string(settled);
  if (inputs.fit.standardization.empty()) return;
  const std::string path = std::filesystem::path(arguments.result) / centroids_name;
  const files::PointsOf<T> shown = read_matrix_as<T>(path, files::with_all_columns(arguments.reading));
  const Matrix<T> restored = kmeans_restore(inputs.centroids.view<T>(), inputs.fit.standardization);
  for (std::int64_t cluster = 0; cluster < restored.rows() && found.not_restored < 0; ++cluster)
    if (cluster >= shown.view.rows() || shown.view.columns() != restored.columns() ||
        std::memcmp(shown.view.row(cluster), restored.row(cluster),
                    static_cast<std::size_t>(restored.columns()) * sizeof(T)) != 0)
      found.not_restored = cluster;
}

void compare_hash(const std::string& role, std::uint64_t hash, const CheckInputs& inputs, Findings& found) {
  const auto recorded = inputs.recorded->input_hashes.find(role);
  if (recorded == inputs.recorded->input_hashes.end() || recorded->second == cpu::hash_text(hash)) return;
  found.changed_inputs.push_back(fmt::format("these are not the {} of the fit (their hash is {}, not {})", role,
                                             cpu::hash_text(hash), core::without_control(recorded->second)));
}

void compare_inertia(const CheckArguments& arguments, const CheckInputs& inputs, Findings& found) {
  const std::optional<double>& stated =
      arguments.inertia || !inputs.recorded ? arguments.inertia : inputs.recorded->inertia;
  if (!stated.has_value()) return;
  found.given_inertia = stated.value();
  found.inertia_matches = std::abs(found.given_inertia - found.check.inertia) <=
                          arguments.options.tolerance * std::abs(found.check.inertia);
}

std::string counted_of(std::int64_t number, std::int64_t all, std::string_view noun) {
  return fmt::format("{} of {}", grouped(number), counted(all, noun));
}

std::string text_of_labels(const Findings& found, std::int64_t points) {
  const KMeansLabelCheck& labels = found.check.labels;
  std::string text;
  if (found.limits && labels.incorrect > 0)
    text = fmt::format(
        "{} {} the label of a centroid that is not the nearest\nthe fit limited the sizes of clusters; "
        "that no assignment within the limits is better was not checked\n",
        counted_of(labels.incorrect, points, "point"), labels.incorrect == 1 ? "has" : "have");
  else if (labels.incorrect == 0) text = "correct: every point has the label of its nearest centroid\n";
  else {
    text = fmt::format("INCORRECT: {} {} the label of a centroid that is not the nearest\n",
                       counted_of(labels.incorrect, points, "point"), labels.incorrect == 1 ? "has" : "have");
    text += fmt::format("the first is row {} with label {}, at the squared distance {}; ", labels.row, labels.label,
                        core::number_text(labels.distance));
    if (labels.distance == labels.nearest_distance)
      text += fmt::format("centroid {} is equally near, and the lower number counts\n", labels.nearest);
    else
      text += fmt::format("the nearest is centroid {}, at {}\n", labels.nearest,
                          core::number_text(labels.nearest_distance));
    text += fmt::format("largest excess: {:.2g} of the squared distance\n", labels.largest_excess);
  }
  if (labels.within_tolerance > 0)
    text += fmt::format("{} {} not nearest, but within the tolerance (largest excess {:.2g})\n",
                        counted(labels.within_tolerance, "further label"), labels.within_tolerance == 1 ? "is" : "are",
                        labels.largest_excess);
  return text;
}

std::string text_of_means(const Findings& found, std::int64_t clusters, const std::string& stop_reason) {
  const KMeansMeanCheck& means = found.check.means;
  std::string text;
  if (means.incorrect == 0)
    text = means.within_tolerance == 0 ? "correct: every centroid is the mean of its points, rounded once\n"
                                       : fmt::format("correct within the tolerance: {} differ from the mean\n",
                                                     counted_of(means.within_tolerance, clusters, "centroid"));
  else {
    text = fmt::format("{}{} {} not the mean of {} points\n",
                       found.means_passed() ? "" : "INCORRECT: ", counted_of(means.incorrect, clusters, "centroid"),
                       means.incorrect == 1 ? "is" : "are", means.incorrect == 1 ? "its" : "their");
    text += fmt::format("the first is centroid {}: column {} is {}, but the mean is {} ({:.6g} ulp{})\n", means.cluster,
                        means.column, core::number_text(means.value), core::number_text(means.mean), means.ulps,
                        means.ulps == 1 ? "" : "s");
    text += fmt::format("largest difference: {:.3g}", means.largest_deviation);
    if (means.excess_inertia > 0 && found.check.inertia > 0)
      text += fmt::format("; one more iteration lowers the inertia by at least {:.2g} %",
                          100 * means.excess_inertia / found.check.inertia);
    text += '\n';
    if (found.stopped_early)
      text += fmt::format(
          "the fit ended early ({}): its centroids are the means of the labels\n"
          "of its last iteration, and the labels were assigned to them after that\n",
          core::without_control(stop_reason));
  }
  if (means.incorrect > 0 && !found.has_record && found.check.labels.incorrect == 0)
    text += "all labels are correct: so ends a fit that stops at a tolerance or a limit of iterations\n";
  if (means.without_mean > 0)
    text += fmt::format("{} without a mean, as {} no points with weight or no direction\n",
                        counted(means.without_mean, "cluster"), means.without_mean == 1 ? "it has" : "they have");
  return text;
}

std::string text_of_counts(const Findings& found, const std::optional<RecordedFacts>& recorded) {
  const std::vector<std::int64_t>& counts = found.check.counts;
  const auto empty = std::ranges::count(counts, 0);
  std::string text = empty == 0 ? "no cluster is empty\n" : counted(empty, "cluster") + " empty\n";
  if (!recorded) return text;
  if (found.wrong_count < 0) return "correct: " + text;
  const auto cluster = static_cast<std::size_t>(found.wrong_count);
  return fmt::format("INCORRECT: cluster {} has {}, but the summary says {}\n", cluster,
                     counted(counts[cluster], "point"),
                     cluster < recorded->counts->size() ? std::to_string((*recorded->counts)[cluster]) : "nothing") +
         text;
}

std::string text_of_record(const Findings& found) {
  std::string text;
  for (const std::string& size : found.wrong_sizes) text += fmt::format("INCORRECT: {}, as the summary says\n", size);
  for (const std::string& name : found.changed_files)
    text +=
        fmt::format("INCORRECT: {} is missing, or is not the file that the fit wrote\n", core::without_control(name));
  if (found.not_restored >= 0)
    text +=
        fmt::format("INCORRECT: row {} of centroids.npy is not the standardized centroid in the units of the data\n",
                    found.not_restored);
  if (found.beyond_limits >= 0)
    text += fmt::format("INCORRECT: cluster {} is not within the limits of size, which are {} to {}\n",
                        found.beyond_limits, found.limits->least, found.limits->most);
  for (const std::string& input : found.changed_inputs) text += "INCORRECT: " + input + '\n';
  return text.empty() ? "correct: files, points and sizes are as the fit recorded them\n" : text;
}

/// Adds a paragraph with its heading in front of the first line.
void add_paragraph(std::string& text, std::string_view heading, const std::string& lines) {
  std::size_t begin = 0;
  for (std::size_t end = lines.find('\n'); end != std::string::npos; begin = end + 1, end = lines.find('\n', begin)) {
    text += fmt::format("{:<11}{}\n", begin == 0 ? heading : "", lines.substr(begin, end - begin));
  }
}

std::string text_of(const Findings& found, const CheckInputs& inputs) {
  const KMeansCheck& check = found.check;
  std::string text;
  add_paragraph(text, "labels", text_of_labels(found, inputs.rows()));
  add_paragraph(text, "centroids",
                text_of_means(found, inputs.centroids.rows(), inputs.recorded ? inputs.recorded->stop_reason : ""));
  add_paragraph(text, "inertia",
                !found.inertia_matches ? core::number_text(check.inertia) + '\n'
                : *found.inertia_matches
                    ? "correct: " + core::number_text(check.inertia) + '\n'
                    : fmt::format("INCORRECT: {} was stated, but it is {}\n", core::number_text(found.given_inertia),
                                  core::number_text(check.inertia)));
  add_paragraph(text, "counts", text_of_counts(found, inputs.recorded));
  if (inputs.recorded) add_paragraph(text, "record", text_of_record(found));
  if (check.reference_rows > 0)
    add_paragraph(
        text, "reference",
        check.reference_differences == 0
            ? fmt::format("{} searched again by a plain loop: no difference\n", counted(check.reference_rows, "row"))
            : fmt::format("INCORRECT: in {}, Gradus itself found another centroid than a plain loop; please "
                          "report this fault\n",
                          counted(check.reference_differences, "row")));
  text += !found.passed()              ? "\nThe result is INCORRECT.\n"
          : check.labels.incorrect > 0 ? "\nThe result is correct within the limits of size.\n"
          : check.means.incorrect == 0 ? "\nThe result is correct.\n"
                                       : "\nThe result is correct for a fit that ended early.\n";
  return text;
}

Json json_of(const Findings& found, const CheckArguments& arguments, const CheckInputs& inputs) {
  const KMeansLabelCheck& labels = found.check.labels;
  const KMeansMeanCheck& means = found.check.means;
  Json label = nullptr;
  if (labels.row >= 0)
    label = {{"row", labels.row},
             {"label", labels.label},
             {"nearest", labels.nearest},
             {"squared_distance", labels.distance},
             {"nearest_squared_distance", labels.nearest_distance}};
  Json mean = nullptr;
  if (means.cluster >= 0)
    mean = {{"cluster", means.cluster},
            {"column", means.column},
            {"value", means.value},
            {"mean", means.mean},
            {"ulps", means.ulps}};
  Json facts{{"problem", "kmeans"},
             {"result", arguments.result},
             {"input", arguments.inputs.size() == 1 ? Json(arguments.inputs.front()) : Json(arguments.inputs)},
             {"n", inputs.rows()},
             {"d", inputs.centroids.columns()},
             {"k", inputs.centroids.rows()},
             {"dtype", to_string(inputs.centroids.type())},
             {"metric", to_string(inputs.fit.metric)},
             {"variant", found.check.report.variant},
             {"tolerance", arguments.options.tolerance},
             {"passed", found.passed()},
             {"labels",
              {{"correct", found.labels_passed()},
               {"incorrect", labels.incorrect},
               {"within_tolerance", labels.within_tolerance},
               {"largest_excess", labels.largest_excess},
               {"first", label}}},
             {"centroids",
              {{"correct", means.incorrect == 0},
               {"incorrect", means.incorrect},
               {"within_tolerance", means.within_tolerance},
               {"without_mean", means.without_mean},
               {"largest_deviation", means.largest_deviation},
               {"excess_inertia", means.excess_inertia},
               {"first", mean}}},
             {"inertia", found.check.inertia},
             {"counts", found.check.counts},
             {"reference", {{"rows", found.check.reference_rows}, {"differences", found.check.reference_differences}}}};
  if (found.certificate) facts["certificate"] = *found.certificate;
  if (found.inertia_matches) {
    facts["stated_inertia"] = found.given_inertia;
    facts["inertia_correct"] = *found.inertia_matches;
  }
  if (inputs.recorded)
    facts["record"] = {{"correct", found.record_passed()},           {"stopped_early", found.stopped_early},
                       {"counts_correct", found.wrong_count < 0},    {"sizes", found.wrong_sizes},
                       {"changed_files", found.changed_files},       {"changed_inputs", found.changed_inputs},
                       {"restored_correct", found.not_restored < 0}, {"within_limits", found.beyond_limits < 0}};
  return facts;
}

/// A copy of all points and labels, which a certificate needs at the same time.
template <class T>
struct PointsToCertify {
  Matrix<T> points;
  Buffer<std::int32_t> labels;

  PointsToCertify() = default;
  PointsToCertify(const CheckInputs& inputs, const Execution& execution) {
    const std::int64_t columns = inputs.centroids.columns();
    execution::check_memory(
        core::checked_multiply(static_cast<std::uint64_t>(inputs.rows()),
                               static_cast<std::uint64_t>(columns) * sizeof(T) + sizeof(int), "points"),
        execution, "without --certify the points are read in blocks");
    points = Matrix<T>(inputs.rows(), columns);
    labels = Buffer<std::int32_t>(inputs.rows());
  }

  void keep(MatrixView<const T> rows, VectorView<const std::int32_t> of_rows, std::int64_t first) {
    for (std::int64_t row = 0; row < rows.rows(); ++row)
      std::copy_n(rows.row(row), rows.columns(), points.row(first + row));
    std::copy_n(of_rows.data(), of_rows.size(), labels.data() + first);
  }
};

template <class T>
int check(const CheckArguments& arguments, const Session& session, CheckInputs& inputs) {
  constexpr files::ElementType type = files::element_type_of<T>;
  const auto start = core::Clock::now();
  const std::int64_t clusters = inputs.centroids.rows();
  const int threads = cpu::thread_count(session.execution);
  const std::stop_token& stop = session.execution.stop;
  files::ReadOptions reading = arguments.reading;
  reading.threads = threads;
  LabelsFile labels(inputs.labels, reading, clusters);
  if (labels.rows() != inputs.rows())
    throw InputError(fmt::format("'{}': there are {}, but there are {}; one label for each point is needed",
                                 inputs.labels, counted(labels.rows(), "label"), counted(inputs.rows(), "point")),
                     {.code = error_code::shape_mismatch, .file = inputs.labels});
  const std::vector<T> weights = inputs.points.weights<T>(arguments.weights, arguments.reading);
  const VectorView<const T> weights_view(weights.data(), std::ssize(weights));
  const auto naming = [&](const auto& function) -> decltype(auto) {
    return inputs.points.places().naming([&]() -> decltype(auto) {
      return naming_files({{"centroids", inputs.fit.centroids},
                           {"labels", inputs.labels},
                           {"weights", arguments.weights.empty() ? arguments.inputs.front() : arguments.weights}},
                          function);
    });
  };
  const KMeansModel<T> model{inputs.centroids.view<T>(), inputs.fit.metric, inputs.fit.standardization};
  const bool hashes = inputs.recorded && !inputs.recorded->input_hashes.empty();
  std::uint64_t hash = 0;
  double computed = 0;
  Findings found;
  PointsToCertify<T> all;
  if (arguments.certify.is_wanted) all = PointsToCertify<T>(inputs, session.execution);
  naming([&] {
    kmeans_detail::BlockCheck<T> check(model, weights_view, inputs.rows(), arguments.options);
    // Several steps read a block, so it should fit in the cache that the cores share. The sums of a block are worth
    // their cost if a cluster has some hundred rows in it.
    const std::uint64_t few_rows = 256 * sizeof(T) * static_cast<std::uint64_t>(clusters * inputs.centroids.columns());
    const std::uint64_t bytes = std::min(block_bytes(session), std::max(std::uint64_t{16} << 20, few_rows));
    constexpr std::uint64_t result_bytes = sizeof(double) + 2 * sizeof(std::int32_t);
    inputs.points.for_each(bytes, type, result_bytes, [&](const files::Points& points, std::int64_t first) {
      if (points.rows() == 0) return;
      const auto begin = core::Clock::now();
      const MatrixView<const T> view = points.view<T>();
      const VectorView<const std::int32_t> own = labels.at(first, view.rows());
      check.add(view, own, of_block(session.execution, first, inputs.rows()));
      if (arguments.certify.is_wanted) all.keep(view, own, first);
      if (hashes) hash += cpu::hash_of_rows(view, first, threads, stop);
      computed += core::seconds_since(begin);
    });
    found.check = check.result(session.execution);
    if (arguments.certify.is_wanted)
      found.certificate =
          certificate_json(model, std::as_const(all.points).view(), std::as_const(all.labels).view(), weights_view,
                           found.check.inertia, session.execution, arguments.certify.effort);
  });
  session.end_progress();
  found.strict = arguments.strict;
  found.has_record = inputs.recorded.has_value();
  if (inputs.recorded) compare_with_record<T>(arguments, inputs, found);
  if (hashes) compare_hash("points", hash, inputs, found);
  if (hashes && !weights.empty()) {
    const MatrixView<const T> column(weights.data(), std::ssize(weights), 1);
    compare_hash("weights", cpu::hash_of_rows(column, 0, threads, stop), inputs, found);
  }
  compare_inertia(arguments, inputs, found);
  if (session.json) {
    Json facts = json_of(found, arguments, inputs);
    const double all = core::seconds_since(start);
    facts["seconds"] = {{"read", inputs.read_seconds + all - computed}, {"check", computed}};
    session.print_json(facts);
  } else
    session.print(text_of(found, inputs) + (found.certificate ? certificate_text(*found.certificate, clusters) : ""));
  if (!found.passed() && inputs.recorded && arguments.options.tolerance == 0)
    for (const kmeans_detail::Variant& variant : kmeans_detail::variants())
      if (variant.name == inputs.recorded->variant && variant.contract.kind != core::Contract::same_bits)
        session.note(
            fmt::format("the variant of this fit, {}, computes with the textbook's arithmetic; --tolerance "
                        "permits its rounding errors",
                        variant.name));
  return found.passed() ? 0 : VerificationError("").exit_status();
}

}  // namespace

Action setup_check(Options& options, Session& session) {
  const auto arguments = std::make_shared<CheckArguments>();
  Options::required(options.file("RESULT", arguments->result, "RESULT",
                                 "the folder that 'gradus kmeans' wrote; or any file with a centroid per row, with "
                                 "--labels"));
  Options::required(options.files("INPUT", arguments->inputs, "INPUT...",
                                  points_help() + "; several files are read one after the other, as by the fit"));
  options.file("--labels", arguments->labels, "FILE",
               "one label per point, from 0, .npy or .csv [labels.npy of the folder]");
  options.file("--weights", arguments->weights, "FILE", "one weight per point, .npy or .csv, as for the fit");
  options.value("--inertia", "X", "inertia to compare with [the one in the folder]",
                [arguments = arguments.get()](const std::string& text) {
                  arguments->inertia = parse_real("--inertia", text, 0, std::numeric_limits<double>::max());
                });
  options.real(
      "--tolerance", arguments->options.tolerance,
      "largest relative error of distances, centroids and inertia that passes, for results of other arithmetic", 0, 1);
  options.value(
      "--reference", "N|all",
      "search the nearest centroid of N rows, spread evenly, by a plain loop, too; all: compute everything by "
      "plain loops, which is slow [0]",
      [arguments = arguments.get()](const std::string& text) {
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        arguments->options.reference_rows = text == "all" ? most : parse_whole("--reference", text, 0, 0x7fffffff);
      });
  options.flag("--strict", arguments->strict,
               "fail also if a fit that ended early has centroids that are not the means of its labels");
  add_certify_options(
      options, arguments->certify,
      "also prove a lower bound for the inertia of every clustering into as many clusters; needs all points in "
      "memory");
  add_metric_option(options, arguments->metric, [arguments = arguments.get()] {
    return is_folder(arguments->result) ? "the folder of RESULT says which metric its fit had" : "";
  });
  add_reading_options(options, session, arguments->reading);
  add_column_options(options, arguments->reading,
                     {.id = true, .weight = true, .why_no_weight = [arguments = arguments.get()] {
                        return arguments->weights.empty() ? "" : "--weights names a file of weights";
                      }});
  return [arguments, &session] {
    CheckInputs inputs = open_inputs(*arguments, session);
    return inputs.centroids.type() == files::ElementType::f32 ? check<float>(*arguments, session, inputs)
                                                              : check<double>(*arguments, session, inputs);
  };
}

}  // namespace gradus::cli
