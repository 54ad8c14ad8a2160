// `gradus kmeans`: reads points, clusters them, and writes centroids, labels and a summary.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "cli/input.hpp"
#include "cli/kmeans.hpp"
#include "cli/kmeans_arguments.hpp"
#include "cli/kmeans_certificate.hpp"
#include "cli/kmeans_checkpoint.hpp"
#include "cli/kmeans_choose.hpp"
#include "cli/kmeans_codebooks.hpp"
#include "cli/kmeans_page.hpp"
#include "cli/kmeans_table.hpp"
#include "cli/output.hpp"
#include "cli/point_files.hpp"
#include "cli/repeat.hpp"
#include "cli/report.hpp"
#include "core/atomic_file.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/row_hash.hpp"
#include "cpu/threads.hpp"
#include "execution/gpu_group.hpp"
#include "execution/request.hpp"
#include "files/file.hpp"
#include "files/image.hpp"
#include "files/npy.hpp"
#include "gradus/kmeans1d.hpp"
#include "gradus/kmeans_batch.hpp"
#include "gradus/kmeans_bisecting.hpp"
#include "gradus/kmeans_gpus.hpp"
#include "kmeans/graph_file.hpp"
#include "kmeans/hierarchy/bisection.hpp"
#include "kmeans/line/borders.hpp"
#include "kmeans/options.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/projection.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view problem_name = "kmeans";

template <class T>
Buffer<std::uint8_t> quantized(const files::PictureShape& shape, const KMeansResult<T>& result,
                               const std::stop_token& stop) {
  Buffer<std::uint8_t> pixels(shape.width * shape.height * shape.channels);
  for (std::int64_t pixel = 0; pixel < result.labels.size(); ++pixel) {
    if (pixel % core::operations_between_polls == 0) core::honour_stop(stop, "stopped while colouring the picture");
    for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
      pixels[pixel * shape.channels + channel] =
          channel_byte(static_cast<double>(result.centroids(result.labels[pixel], channel)));
    }
  }
  return pixels;
}

/// Calls use() with a view of the points in the type of their file, if they are kept in this type, or in type T.
template <class T, class Use>
decltype(auto) with_rows(const files::Points& points, const Use& use) {
  if constexpr (sizeof(T) == sizeof(float))
    if (points.stored.data() != nullptr) return use(points.stored);
  return use(points.view<T>());
}

/// Returns the name of the type of the points in memory.
template <class T>
std::string_view stored_type(const files::Points& points) {
  return points.stored.data() != nullptr ? to_string(points.stored.type()) : to_string(files::element_type_of<T>);
}

template <class T>
int element_bytes(MatrixView<T> /*rows*/) {
  return sizeof(T);
}
int element_bytes(const StoredMatrixView& rows) { return bytes_of(rows.type()); }

template <class T>
Json summary_of(const KMeansArguments& arguments, const files::Points& points, const KMeansResult<T>& result,
                std::uint64_t memory) {
  Json history = Json::array();
  for (const KMeansIteration& iteration : result.history)
    history.push_back({{"inertia", iteration.inertia},
                       {"changed", iteration.changed},
                       {"shift", iteration.shift},
                       {"seconds", iteration.seconds}});
  return {{"problem", problem_name},
          {"input", arguments.inputs.size() == 1 ? Json(arguments.inputs.front()) : Json(arguments.inputs)},
          {"n", result.labels.size()},
          {"d", points.columns()},
          {"k", result.centroids.rows()},
          {"dtype", to_string(files::element_type_of<T>)},
          {"stored_dtype", stored_type<T>(points)},
          {"variant", result.report.variant},
          {"device", result.report.device},
          {"threads", result.report.threads},
          {"iterations", result.iterations},
          {"converged", result.converged},
          {"optimal", arguments.optimal},
          {"stop_reason", arguments.optimal     ? std::string_view("no clustering has less inertia")
                          : arguments.bisecting ? std::string_view("there are k clusters")
                                                : to_string(result.stop_reason)},
          {"inertia", result.inertia},
          {"counts", result.counts},
          {"init", to_string(arguments.options.init)},
          {"seed", arguments.options.seed},
          {"restarts", arguments.options.restarts},
          {"restart", result.restart},
          {"quality_moves", result.quality_moves},
          {"resumed", result.resumed},
          {"metric", to_string(arguments.options.metric)},
          {"weighted", arguments.is_weighted()},
          {"rechecked", result.report.rechecked},
          {"memory_bytes", memory},
          {"history", std::move(history)}};
}

template <class T>
std::string cluster_table(const Session& session, const files::Points& points, const KMeansResult<T>& result) {
  constexpr std::int64_t most_rows = 20;
  constexpr std::int64_t most_coordinates = 6;
  const std::int64_t shown = std::min(points.columns(), most_coordinates);
  std::vector<TextTable::Column> columns{{"cluster"}, {"size"}, {"share"}};
  for (std::int64_t dim = 0; dim < shown; ++dim) {
    const auto index = static_cast<std::size_t>(dim);
    columns.push_back({index < points.column_names.size() ? core::without_control(points.column_names[index])
                                                          : fmt::format("x{}", dim)});
  }
  if (shown < points.columns()) columns.push_back({"…", TextTable::Align::left});
  TextTable table(columns);
  const std::int64_t clusters = result.centroids.rows();
  for (std::int64_t cluster = 0; cluster < std::min(clusters, most_rows); ++cluster) {
    const std::int64_t size = result.counts[static_cast<std::size_t>(cluster)];
    std::vector<std::string> cells{
        std::to_string(cluster), grouped(size),
        fmt::format("{:.1f} %", 100.0 * static_cast<double>(size) / static_cast<double>(result.labels.size()))};
    for (std::int64_t dim = 0; dim < shown; ++dim)
      cells.push_back(brief(static_cast<double>(result.centroids(cluster, dim))));
    if (shown < points.columns()) cells.emplace_back();
    table.add(std::move(cells));
  }
  std::string text = table.text(session);
  if (clusters > most_rows)
    text += fmt::format("and {} more; --output DIR writes all of them\n", grouped(clusters - most_rows));
  return text;
}

template <class T>
std::string closing_line(const KMeansArguments& arguments, const files::Points& points, const KMeansResult<T>& result,
                         double seconds, const std::string& threads) {
  const std::string moves = result.quality_moves > 0 ? " after " + counted(result.quality_moves, "move") : "";
  const std::string how = arguments.optimal     ? "the least possible"
                          : arguments.bisecting ? fmt::format("bisecting, {}", to_string(*arguments.bisecting))
                                                : fmt::format("{}{} ({})", counted(result.iterations, "iteration"),
                                                              moves, to_string(result.stop_reason));
  return fmt::format("{} x {} ({}) in {}: inertia {:.8g}, {}, {:.3g} s, {}{}\n", counted(result.labels.size(), "point"),
                     points.columns(), stored_type<T>(points), counted(result.centroids.rows(), "cluster"),
                     result.inertia, how, seconds, arguments.is_plain() ? result.report.variant + ", " : "", threads);
}

const std::vector<std::string>& result_names() {
  static const std::vector<std::string> names{std::string(centroids_name),
                                              "labels.npy",
                                              "centroids.csv",
                                              "labels.csv",
                                              "quantized.png",
                                              "choice.csv",
                                              std::string(standardized_name),
                                              std::string(codebooks_name),
                                              std::string(codes_name),
                                              std::string(summary_name)};
  return names;
}

std::vector<std::string> output_files(const KMeansArguments& arguments, const Session& session) {
  std::vector<std::string> files{kmeans_detail::graph_file(session.execution), arguments.page,
                                 arguments.options.checkpoint.file};
  if (!arguments.output.empty())
    for (const std::string& name : result_names()) files.push_back(std::filesystem::path(arguments.output) / name);
  return files;
}

/// Returns settings for a computation in this process alone, without the other ranks.
Execution without_ranks(const Execution& execution) {
  Execution result = execution;
  result.threads = cpu::thread_count(execution);
  result.communicator = nullptr;
  return result;
}

/// Returns settings for a computation without the other ranks, and on at most one GPU.
Execution alone(const Execution& execution) { return execution::on_first_gpu(without_ranks(execution)); }

/// Returns the result of another algorithm as the result of a fit without iterations.
template <class T, class Other>
KMeansResult<T> as_fit(Other other) {
  KMeansResult<T> result;
  result.centroids = std::move(other.centroids);
  result.labels = std::move(other.labels);
  result.counts = std::move(other.counts);
  result.inertia = other.inertia;
  result.converged = true;
  result.report = std::move(other.report);
  return result;
}

/// Returns a note if the choice of the first centroids probably takes minutes or longer, otherwise "".
std::string note_of_first_centroids(const KMeansArguments& arguments, std::int64_t points) {
  constexpr double minutes = 2e10;  // distances
  const KMeansOptions& options = arguments.options;
  const bool takes_steps = options.init == KMeansInit::kmeans_plus_plus || options.init == KMeansInit::kmeans_parallel;
  const std::int64_t from = options.init_rows > 0 ? std::min(options.init_rows, points) : points;
  if (!arguments.is_plain() || !takes_steps ||
      static_cast<double>(from) * static_cast<double>(options.clusters) < minutes)
    return "";
  return fmt::format(
      "{} chooses {} centroids one after the other, which may take long; --init hierarchical finds them in two levels",
      to_string(options.init), grouped(options.clusters));
}

/// If the fit was fast, fits again with more restarts. Returns a hint to use more restarts if the new fit is better,
/// otherwise "". Ignores a failure of the new fit, because the result of the job is already complete.
template <class Rows, class T>
std::string hint_of_restarts(const KMeansArguments& arguments, const Rows& points, const KMeansMemory<T>& memory,
                             const Execution& execution, double inertia, double seconds) {
  constexpr double soon = 0.01;
  constexpr double difference = 1e-3;
  constexpr int restarts = 10;
  if (seconds > soon || arguments.options.restarts != 1 || !why_nothing_is_random(arguments.options.init).empty() ||
      !kmeans_detail::graph_file(execution).empty())
    return "";
  KMeansOptions options = arguments.options;
  options.restarts = restarts;
  options.checkpoint = {};
  double best = inertia;
  try {
    best = kmeans(points, options, memory, execution).inertia;
  } catch (const Error&) {
    return "";
  }
  if (!(best < inertia * (1 - difference))) return "";
  return fmt::format("other seeds lead elsewhere: --restarts {} keeps the best of {}, of inertia {}, {:.2g} % less",
                     restarts, restarts, brief(best), 100 * (1 - best / inertia));
}

template <class T>
files::PointsOf<T> given_centroids(const KMeansArguments& arguments, const files::Points& points,
                                   const Session& session) {
  FittedFolder fit;
  session.ranks().agree([&] {
    if (!arguments.init_folder.empty()) fit = open_fit(arguments.init_folder, arguments.reading.stop);
    require_whole_result(problem_name, arguments.centroids, arguments.reading.stop);
  });
  files::ReadOptions reading = files::with_all_columns(arguments.reading);
  reading.columns.expected = points.column_names;
  files::Points centroids = read_points_for_all<T>(arguments.centroids, reading, session);
  session.ranks().agree([&] {
    if (!arguments.init_folder.empty())
      require_alike(fit, arguments.init_folder, centroids.rows(), arguments.options, points);
    else require_names_of_centroids(points, arguments.inputs.front(), centroids.column_names, arguments.centroids);
  });
  return std::get<files::PointsOf<T>>(std::move(centroids.values));
}

/// Returns the hashes of the inputs of a fit, by role, for the record of the run. Returns nothing if no record is
/// needed. The hashes depend neither on file formats nor on how the data is split into files and ranks.
template <class Rows, class T>
std::map<std::string, std::string> input_hashes(const KMeansArguments& arguments, const Rows& points,
                                                const KMeansMemory<T>& memory, const PointFiles& files,
                                                const Session& session) {
  if (!session.ranks().any([&] { return arguments.is_recorded(session); })) return {};
  constexpr std::array roles{"points", "weights", "initial centroids"};
  const auto hash = [&](const auto& rows, std::int64_t first) {
    return cpu::hash_of_rows(rows, first, cpu::thread_count(session.execution), session.execution.stop);
  };
  const auto write = [&](std::span<std::uint64_t> words) {
    words[0] = hash(points, files.first_row);
    words[1] = hash(MatrixView<const T>(memory.weights.data(), memory.weights.size(), 1), files.first_row);
    words[2] = session.is_first() ? hash(memory.initial_centroids, 0) : 0;
  };
  const std::vector<std::uint64_t> own = session.ranks().sum(roles.size(), write);
  std::map<std::string, std::string> hashes;
  for (std::size_t index = 0; index < own.size(); ++index)
    if (own[index] != 0) hashes[roles[index]] = cpu::hash_text(own[index]);
  return hashes;
}

/// A fit to points that are mapped from a file. If the file is larger than the memory that the job may use, pages of
/// the file are removed from this process's memory while the fit runs.
class MappedFit {
 public:
  /// `needed()` returns the memory of the fit.
  template <class Needed>
  MappedFit(const PointFiles& files, const Session& session, const Needed& needed) : files_(files), session_(session) {
    const Execution& execution = session.execution;
    const bool exceeds = !execution::has_memory(files.mapped_bytes(), execution);
    if (files.mapped == nullptr || (execution.memory_limit == 0 && !exceeds)) return;
    const std::uint64_t of_fit = needed();
    if (!execution::has_memory(of_fit, execution)) return;  // the fit will be refused
    const std::uint64_t left = execution.memory_limit > of_fit ? execution.memory_limit - of_fit : 0;
    if (files.mapped_bytes() > std::max(left, least_resident)) pages_.emplace(std::max(left, least_resident));
    exceeds_ = exceeds;
    if (exceeds_ && session.is_first())
      session.note(
          fmt::format("'{}' is larger than the memory that the job may use; it is mapped, not copied, and each "
                      "pass over its points reads {}",
                      files.mapped->path(), core::size_text(files.mapped_bytes())));
  }

  /// Reports the speed of a pass over all points that took this time.
  void note_pass(double seconds) const {
    if (exceeds_ && session_.is_first())
      session_.note(fmt::format("the first pass took {:.3g} s ({:.3g} GB/s)", seconds,
                                static_cast<double>(files_.mapped_bytes()) / seconds / 1e9));
  }

  /// Throws InputError on all ranks if the file, or a mapped file with an element of `others`, has changed since it was
  /// mapped. Collective.
  void require_unchanged(std::initializer_list<const void*> others) const {
    session_.ranks().agree([&] {
      if (files_.mapped != nullptr) files_.mapped->require_unchanged();
      for (const void* const element : others)
        if (const files::MappedFile* const file = files::mapped_file_at(element)) file->require_unchanged();
    });
  }

 private:
  static constexpr std::uint64_t least_resident = std::uint64_t{64} << 20;

  const PointFiles& files_;
  const Session& session_;
  bool exceeds_ = false;
  std::optional<files::ResidentLimit> pages_;
};

/// The files of a result and the file of its page. All files are opened before the work starts, so that the command
/// fails early if a folder cannot be written.
class ResultFiles {
 public:
  template <class T>
  void open(const KMeansArguments& arguments, const PointFiles& files, const Session& session) {
    const files::Points& points = files.points;
    const std::int64_t most_clusters = arguments.choice.clusters.back();
    if (!arguments.output.empty()) {
      outputs_.emplace(arguments.output, result_names(), session.execution.stop);
      centroids_ = &outputs_->add(centroids_name, files::npy_size<T>(most_clusters, points.columns()));
      labels_ = &outputs_->add("labels.npy", files::npy_size<std::int32_t>(files.rows));
      if (points.picture && arguments.options.metric == KMeansMetric::euclidean)
        picture_ = &outputs_->add("quantized.png");
      if (arguments.options.standardize)
        standardized_ = &outputs_->add(standardized_name, files::npy_size<T>(most_clusters, points.columns()));
      if (points.from_text || points.row_names) text_.emplace(*outputs_, points);
      if (arguments.chooses()) choice_ = &outputs_->add("choice.csv");
      summary_ = &outputs_->add(summary_name);
      outputs_->set_seal(*summary_, unfinished_summary(problem_name));
    }
    if (!arguments.page.empty()) page_.emplace(arguments.page, session.execution.stop);
  }

  explicit operator bool() const { return outputs_.has_value(); }
  core::AtomicFile* page() { return page_ ? &*page_ : nullptr; }

  /// Writes all files except the summary.
  template <class T>
  void write(const KMeansChoice<T>& choice, const files::Points& points, const std::stop_token& stop) {
    if (!outputs_) return;
    const KMeansResult<T>& result = choice.result;
    if (standardized_) files::write_npy(*standardized_, result.standardized_centroids.view());
    if (text_) text_->write(result);
    files::write_npy(*centroids_, result.centroids.view());
    files::write_npy(*labels_, result.labels.view());
    if (picture_) {
      const Buffer<std::uint8_t> pixels = quantized(*points.picture, result, stop);
      files::write_png(*picture_, *points.picture, {pixels.data(), static_cast<std::size_t>(pixels.size())});
    }
    if (choice_) choice_->write(choice_csv(choice.candidates));
    for (core::AtomicFile* file : {centroids_, labels_, picture_, standardized_, choice_})
      if (file) file->finish();
  }

  /// Adds the lengths and checksums of the files to the summary, writes the summary, and publishes all files.
  void commit(Json& summary) {
    if (!outputs_) return;
    std::vector<const core::AtomicFile*> files{centroids_, labels_, picture_, standardized_, choice_};
    if (text_) files.insert(files.end(), {&text_->centroids(), &text_->labels()});
    summary["files"] = facts_of_files(files);
    summary_->write(json_text(summary));
    outputs_->commit();
  }

  std::string note(const std::string& folder) const {
    return fmt::format("wrote centroids.npy, labels.npy, {}{}{}{}summary.json to '{}'",
                       text_ ? "centroids.csv, labels.csv, " : "", standardized_ ? "standardized_centroids.npy, " : "",
                       picture_ ? "quantized.png, " : "", choice_ ? "choice.csv, " : "", folder);
  }

 private:
  std::optional<core::OutputSet> outputs_;
  core::AtomicFile* centroids_ = nullptr;
  core::AtomicFile* labels_ = nullptr;
  core::AtomicFile* picture_ = nullptr;
  core::AtomicFile* standardized_ = nullptr;
  core::AtomicFile* choice_ = nullptr;
  core::AtomicFile* summary_ = nullptr;
  std::optional<TextResult> text_;
  std::optional<core::AtomicFile> page_;
};

/// Throws UsageError if the inputs differ from the recorded ones.
void require_recorded_inputs(const KMeansArguments& arguments, const std::map<std::string, std::string>& hashes,
                             const Session& session) {
  if (!session.record) return;
  session.ranks().agree([&] {
    for (const auto& [role, option, path] :
         {std::tuple{"points", "INPUT...", arguments.inputs.front()},
          {"weights", arguments.weights.empty() ? "INPUT..." : "--weights", arguments.file_of_weights()},
          {"initial centroids", "--init", arguments.centroids}})
      if (hashes.contains(role)) session.record->require_same(role, option, hashes.at(role), path);
  });
}

/// Returns the options of the projection on the page of --report.
KMeansProjectionOptions projection_on_page(const KMeansArguments& arguments) {
  return {.seed = arguments.options.seed};
}

/// Returns the shape of a subspace.
KMeansShape shape_of_subspace(KMeansShape shape, std::int64_t subspaces) {
  if (shape.dimensions % subspaces != 0)
    throw UsageError(fmt::format("--subspaces {}: the {} must form groups of equal size; give a divisor of {}",
                                 subspaces, counted(shape.dimensions, "column"), shape.dimensions));
  shape.dimensions /= subspaces;
  return shape;
}

/// Returns the memory of one fit, of its optimum, or of the fits of all subspaces.
MemoryEstimate memory_of_fit(const KMeansArguments& arguments, const KMeansShape& shape, const Session& session) {
  const Execution execution = without_ranks(session.execution);
  if (arguments.bisecting) return {.host = kmeans_detail::bisecting_bytes(shape, arguments.options, execution)};
  if (arguments.subspaces > 0)
    return kmeans_batch_memory(shape_of_subspace(shape, arguments.subspaces), arguments.subspaces, arguments.options,
                               session.execution);
  if (!arguments.optimal) return kmeans_memory(shape, arguments.options, execution);
  return {.host = kmeans_detail::bytes_of_line(static_cast<std::uint64_t>(shape.points),
                                               static_cast<std::uint64_t>(arguments.options.clusters), shape.weighted)};
}

/// Returns the host memory, in bytes, that the job needs in addition to its points: the larger one of the memory of the
/// fits and the memory of the page.
std::uint64_t memory_of_job(const KMeansArguments& arguments, const KMeansShape& shape, const Session& session) {
  const KMeansOptions& options = arguments.options;
  const Execution execution = without_ranks(session.execution);
  const MemoryEstimate fits = arguments.chooses() ? kmeans_choose_memory(shape, options, arguments.choice, execution)
                                                  : memory_of_fit(arguments, shape, session);
  if (arguments.page.empty()) return fits.host;
  return std::max(fits.host,
                  kmeans_detail::projection_bytes(shape.points, shape.dimensions, projection_on_page(arguments)));
}

template <class T>
void write_result_page(core::AtomicFile& page, const Json& summary, const KMeansArguments& arguments,
                       const files::Points& points, const KMeansResult<T>& result, const Session& session) {
  const KMeansOptions& options = arguments.options;
  const auto add_answer = [&](Page& answer) {
    const std::stop_token& stop = session.execution.stop;
    if (points.picture && options.metric == KMeansMetric::euclidean)
      answer.pictures(before_and_after(*points.picture, points.view<T>(), result, stop));
    const KMeansProjection projection = with_rows<T>(points, [&](const auto& rows) {
      return kmeans_detail::projection_of<T>(rows, result.standardization, projection_on_page(arguments),
                                             alone(session.execution));
    });
    answer.chart(projection_chart(projection, result.labels.view(), options.clusters));
  };
  write_page(page, summary, add_answer, session);
}

/// Returns the facts of a fit of codebooks that are known before the fit.
Json codebook_summary(const KMeansArguments& arguments, const files::Points& points, std::string_view stored,
                      std::uint64_t memory) {
  return {{"problem", problem_name},
          {"input", arguments.inputs.size() == 1 ? Json(arguments.inputs.front()) : Json(arguments.inputs)},
          {"n", points.rows()},
          {"d", points.columns()},
          {"k", arguments.options.clusters},
          {"subspaces", arguments.subspaces},
          {"dtype", to_string(points.type())},
          {"stored_dtype", stored},
          {"init", to_string(arguments.options.init)},
          {"seed", arguments.options.seed},
          {"restarts", arguments.options.restarts},
          {"metric", to_string(arguments.options.metric)},
          {"weighted", arguments.is_weighted()},
          {"memory_bytes", memory}};
}

/// Completes and publishes the result of a fit of codebooks, and prints it.
int finish_codebooks(CodebookFiles& outputs, const CodebookFacts& facts, Json summary, std::string_view type,
                     double seconds, const KMeansArguments& arguments, const Session& session) {
  add_facts(summary, facts);
  outputs.commit(summary);
  if (session.json) session.print_json(summary);
  else if (!outputs || !session.quiet)
    session.print(codebook_line(facts, type, seconds, threads_text(session, facts.report.threads)));
  if (outputs && !session.json)
    session.note(fmt::format("wrote {}, {}, {} to '{}'", codebooks_name, codes_name, summary_name, arguments.output));
  return 0;
}

template <class T>
int cluster(KMeansArguments& given, const Session& session, const PointFiles& files,
            std::optional<execution::GpuStart>& gpu_start, core::Clock::time_point start) {
  const files::Points& points = files.points;
  KMeansArguments arguments = given;
  KMeansOptions& options = arguments.options;
  KMeansMemory<T> memory;
  files::PointsOf<T> initial;
  files::VectorOf<T> weights;
  if (!arguments.centroids.empty()) initial = given_centroids<T>(arguments, points, session);
  if (!arguments.weights.empty())
    weights = read_values_of_rows<T>(arguments.weights, arguments.per_rank(), files, arguments.reading, session);
  else if (arguments.is_weighted())
    session.ranks().agree([&] { weights = files::weights_as<T>(points, arguments.inputs.front()); });
  memory.weights = weights.view;
  const double read = core::seconds_since(start);
  const std::vector<std::pair<std::string_view, std::string>> roles{{"weights", arguments.file_of_weights()},
                                                                    {"initial centroids", arguments.centroids}};
  const auto naming = [&](const auto& function) -> decltype(auto) {
    return files.naming([&]() -> decltype(auto) { return naming_files(roles, function); });
  };
  memory.initial_centroids = initial.view;
  const KMeansShape shape{.points = std::max(points.rows(), options.clusters),
                          .dimensions = points.columns(),
                          .element_bytes = with_rows<T>(points, [](const auto& rows) { return element_bytes(rows); }),
                          .weighted = !memory.weights.empty()};
  const auto needed = [&] { return memory_of_fit(arguments, shape, session).host; };
  const MappedFit mapped(files, session, needed);
  const auto hash_start = core::Clock::now();
  const std::map<std::string, std::string> hashes =
      with_rows<T>(points, [&](const auto& rows) { return input_hashes(arguments, rows, memory, files, session); });
  if (!hashes.empty()) mapped.note_pass(core::seconds_since(hash_start));
  require_recorded_inputs(arguments, hashes, session);

  if (arguments.subspaces > 0) {
    CodebookFiles codebooks(arguments.output, result_names(), shape_of_subspace(shape, arguments.subspaces),
                            arguments.subspaces, options.clusters, session.execution.stop);
    KMeansBatchMemory<T> inputs;
    if (!memory.weights.empty()) inputs.weights = {memory.weights.data(), 1, memory.weights.size()};
    const KMeansBatchResult<T> fit = naming([&] {
      return with_rows<T>(points, [&](const auto& rows) {
        return kmeans_batch(column_groups(rows, arguments.subspaces), options, inputs, session.execution);
      });
    });
    mapped.require_unchanged({memory.weights.data()});
    session.end_progress();
    const auto write_start = core::Clock::now();
    codebooks.write(fit, session.execution.stop);
    Json summary = codebook_summary(arguments, points, stored_type<T>(points), needed());
    add_table_facts(summary, points, {});
    add_record(summary, session, core::option_rows<KMeansOptions>, &options, hashes);
    const double seconds = core::seconds_since(start);
    summary["seconds"] = seconds_of(read, "fit", fit.report.phases, core::seconds_since(write_start), seconds);
    return finish_codebooks(codebooks, facts_of(fit), std::move(summary), stored_type<T>(points), seconds, arguments,
                            session);
  }

  // The library checks the memory of the fits. The page and the certificate are made after them.
  if (!arguments.page.empty())
    execution::check_memory(memory_of_job(arguments, shape, session), session.execution,
                            "without --report it may need less");

  if (arguments.certify.is_wanted)
    require_memory_of_certificate(points.rows(), points.columns(), options.clusters, session.execution);

  ResultFiles outputs;
  session.ranks().agree([&] {
    if (session.is_first()) outputs.open<T>(arguments, files, session);
  });

  gpu_start.reset();  // destroying the object waits until the GPUs are ready
  if (const std::string note = note_of_first_centroids(arguments, points.rows()); !note.empty()) session.note(note);
  const auto fit_start = core::Clock::now();
  KMeansChoice<T> choice = naming([&]() -> KMeansChoice<T> {
    if (arguments.optimal) return {.result = as_fit<T>(kmeans1d(points.view<T>(), options, memory, session.execution))};
    if (arguments.bisecting)
      return {.result = as_fit<T>(
                  kmeans_bisecting(points.view<T>(), options, *arguments.bisecting, memory, session.execution))};
    return with_rows<T>(points, [&](const auto& rows) -> KMeansChoice<T> {
      if (arguments.chooses()) return kmeans_choose(rows, options, arguments.choice, memory, session.execution);
      return {.result = kmeans(rows, options, memory, session.execution)};
    });
  });
  double fit_seconds = core::seconds_since(fit_start);
  for (const Phase& phase : choice.result.report.phases)
    if (phase.name == "standardize") fit_seconds -= phase.seconds;
  KMeansResult<T>& result = choice.result;
  options.clusters = result.centroids.rows();
  // The record names the number of moves, because another run would make other moves in the same time.
  if (options.restarts == 0 && !arguments.chooses())
    options.restarts = result.restart + 1;  // the best one is found again
  if (std::exchange(options.quality, false)) options.quality_moves = result.quality_moves;
  given.options.restarts = options.restarts;
  given.options.quality = options.quality;
  given.options.quality_moves = options.quality_moves;
  mapped.require_unchanged({memory.weights.data(), memory.initial_centroids.data()});
  session.end_progress();
  std::optional<Json> certificate;
  if (arguments.certify.is_wanted)
    certificate = certificate_json(kmeans_model(result), points.view<T>(), std::as_const(result.labels).view(),
                                   memory.weights, result.inertia, session.execution, arguments.certify.effort);
  if (session.job) bring_to_first(session.ranks(), result.labels);
  const std::string threads = threads_text(session, result.report.threads);
  if (!session.is_first()) return 0;  // only the first rank writes; the other ranks are done

  const auto write_start = core::Clock::now();
  outputs.write(choice, points, session.execution.stop);
  Json summary = summary_of(arguments, points, result, needed());
  if (arguments.bisecting) summary["bisecting"] = to_string(*arguments.bisecting);
  add_table_facts(summary, points, result.standardization);
  const double seconds = core::seconds_since(start);
  if (certificate) summary["certificate"] = *certificate;
  if (arguments.chooses())
    summary["choice"] = choice_json(choice.candidates, arguments.choice.criterion, choice.silhouette_points);
  add_record(summary, session, core::option_rows<KMeansOptions>, &options, hashes);
  summary["seconds"] = seconds_of(read, "fit", result.report.phases, core::seconds_since(write_start), seconds);
  outputs.commit(summary);
  if (outputs.page()) write_result_page(*outputs.page(), summary, arguments, points, result, session);
  if (session.json) {
    session.print_json(summary);
    return 0;
  }
  if (!outputs || !session.quiet) {  // if no files are written, the result is printed even with --quiet
    if (arguments.chooses())
      session.print(choice_text(session, choice.candidates, choice.chosen, arguments.choice.criterion,
                                choice.silhouette_points, files.rows) +
                    "\n");
    session.print(cluster_table(session, points, result) + "\n" +
                  closing_line(arguments, points, result, seconds, threads));
    if (certificate) session.print(certificate_text(*certificate, result.centroids.rows()));
  }
  if (outputs) session.note(outputs.note(arguments.output));
  if (session.quiet || arguments.chooses() || !arguments.is_plain() || options.quality_moves > 0 || session.job)
    return 0;
  const std::string hint = with_rows<T>(points, [&](const auto& rows) {
    if (points.columns() == 1 && options.metric == KMeansMetric::euclidean)
      return std::string("the points have one column: --optimal finds the least possible inertia");
    return hint_of_restarts(arguments, rows, memory, session.execution, result.inertia, fit_seconds);
  });
  if (!hint.empty()) session.note(hint);
  return 0;
}

/// Returns the GPUs of `--gpus auto`.
std::vector<int> gpus_that_pay(const KMeansArguments& arguments, const files::Points& points,
                               const Execution& execution) {
  return kmeans_gpus({.points = points.rows(),
                      .dimensions = points.columns(),
                      .element_bytes = points.type() == files::ElementType::f32 ? 4 : 8,
                      .weighted = arguments.is_weighted()},
                     arguments.options, execution);
}

int run_kmeans(KMeansArguments& arguments, Session& session) {
  const auto start = core::Clock::now();
  take_checkpoint_requests(arguments.options.checkpoint, session);
  arguments.reading.threads = cpu::thread_count(session.execution);
  std::vector<std::string> read = arguments.inputs;
  read.insert(read.end(), {arguments.weights, arguments.centroids});
  if (!arguments.init_folder.empty()) read.push_back(std::filesystem::path(arguments.init_folder) / summary_name);
  if (session.job && arguments.input_per_rank)
    for (int rank = 0; rank < session.job->size(); ++rank) read.push_back(file_of_rank(arguments.weights, rank));
  session.ranks().agree([&] {
    require_names(arguments);
    require_checkpoint_name(arguments.options.checkpoint);
    require_one_standard_input(read);
    require_table_for_header(arguments.reading, read, {arguments.weights});
  });
  prepare_session(arguments, session);
  std::optional<execution::GpuStart> gpu_start(std::in_place, session.execution);
  session.ranks().agree([&] { require_no_input_overwritten(output_files(arguments, session), read); });
  const auto memory_needed = [&](const files::PointsShape& shape) {
    return memory_of_job(arguments,
                         {.points = std::max(shape.rows, arguments.options.clusters),
                          .dimensions = shape.columns,
                          .element_bytes = bytes_in_memory(shape),
                          .weighted = arguments.is_weighted()},
                         session);
  };
  files::ReadOptions reading = arguments.reading;
  reading.keep_stored = arguments.is_plain() && !arguments.certify.is_wanted;  // the others read the type of the job
  const PointFiles files = read_point_files(arguments.inputs, arguments.per_rank(), reading, memory_needed, session);
  session.ranks().agree([&] {
    for (const FileRows& file : files.files)
      require_no_input_overwritten(output_files(arguments, session), {file.path});
  });
  if (session.chooses_gpus) session.execution.gpus = gpus_that_pay(arguments, files.points, session.execution);
  try {
    return files.points.type() == files::ElementType::f32
               ? cluster<float>(arguments, session, files, gpu_start, start)
               : cluster<double>(arguments, session, files, gpu_start, start);
  } catch (const InterruptedError& stop) {
    throw with_checkpoint(stop, arguments.options.checkpoint);
  }
}

Action setup_kmeans(Options& options, Session& session) {
  const auto arguments = std::make_shared<KMeansArguments>();
  add_kmeans_options(options, arguments, session);
  return [arguments, &session] { return run_kmeans(*arguments, session); };
}

}  // namespace

ProblemCommands kmeans_commands();
ProblemCommands kmeans_commands() {
  return {
      .commands = {{"demo", "cluster handwritten digits and show them", "gradus demo", Common::job, problem_name,
                    setup_demo, "gradus demo", "cluster handwritten digits and show them"},
                   {"kmeans",
                    "cluster points into k groups",
                    "gradus kmeans points.npy -k 16 -o clusters\n"
                    "gradus kmeans photo.png -k 8 -o photo-in-8-colours\n"
                    "gradus kmeans table.csv -k 2..20 -o best\n"
                    "gradus kmeans table.csv -k 5 --drop-columns 1 --standardize\n"
                    "gradus kmeans table.csv -k 5 --columns 2 --optimal\n"
                    "gradus kmeans vectors.npy -k 256 --subspaces 8 -o codebooks",
                    Common::job,
                    problem_name,
                    setup_kmeans,
                    "gradus kmeans points.npy -k 16 -o clusters",
                    "cluster your own points",
                    {{"centroids.npy", "k x d, of the points' type; written by gradus kmeans --output"},
                     {"labels.npy", "n values of type int32: the cluster of each point"},
                     {"centroids.csv", "for a table: the same centroids with column names"},
                     {"labels.csv", "for a table: row number or name, and label"},
                     {"standardized_centroids.npy", "with --standardize: the centroids in standardized units"},
                     {"summary.json", "what was done: shape, variant, iterations, inertia, history, seconds"},
                     {"quantized.png", "for a picture: the picture in its k colours"},
                     {"choice.csv", "for several -k: inertia, criteria, iterations and seconds of each"},
                     {"codebooks.npy", "with --subspaces M, for the centroids: M x k x d/M"},
                     {"codes.npy", "with --subspaces M, for the labels: n x M, bytes if k is at most 256, else int32"}},
                    true,
                    true},
                   {"predict", "label new points by the nearest of given centroids",
                    "gradus predict clusters more.npy -o labels.npy", Common::job, problem_name, setup_predict},
                   {"check", "verify labels and centroids of a k-means result",
                    "gradus check clusters points.npy\n"
                    "gradus check centroids.npy points.npy --labels labels.npy --tolerance 1e-5",
                    Common::job, problem_name, setup_check},
                   {"transform", "distances of points to given centroids",
                    "gradus transform clusters points.npy -o distances.npy", Common::place, "", setup_transform}},
      .examples = {{"list", "gradus list kmeans"},
                   {"verify", "gradus verify kmeans"},
                   {"bench", "gradus bench kmeans --shape 20000x3 -k 64 --threads 1,2 --json bench.json"},
                   {"bench", "gradus bench --experiment kmeans-openmp --scale 0.01"}}};
}

}  // namespace gradus::cli
