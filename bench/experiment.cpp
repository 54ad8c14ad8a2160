#include "bench/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/names.hpp"
#include "cpu/threads.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

namespace {

namespace files = std::filesystem;
using nlohmann::json;

// Where the files may lie: beside the installed program, or in the source tree that it was built from.
std::vector<files::path> folders() {
  std::error_code ignored;
  const files::path program = files::read_symlink("/proc/self/exe", ignored);
  return {program.parent_path().parent_path() / "share/gradus/experiments", GRADUS_EXPERIMENTS};
}

std::string with_hyphens(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

VariantRun read_run(const json& run) {
  VariantRun result;
  run.at("variants").get_to(result.variants);
  if (run.contains("threads")) run.at("threads").get_to(result.threads);
  if (run.contains("block_sizes")) run.at("block_sizes").get_to(result.block_sizes);
  if (!run.contains("pinning")) return result;
  result.pinnings.clear();
  for (const std::string& name : run.at("pinning").get<std::vector<std::string>>())
    result.pinnings.push_back(pinning_called(name));
  return result;
}

// What the parts of all problems have in common.
void read_bench(Bench& part, const json& experiment, const json& shape) {
  const auto type_name = experiment.at("dtype").get<std::string>();
  if (type_name != "f32" && type_name != "f64") throw InputError("\"dtype\" must be f32 or f64, not " + type_name);
  const io::ElementType type = type_name == "f32" ? io::ElementType::f32 : io::ElementType::f64;
  part.label = shape.at("label").get<std::string>();
  PointSet points;
  points.generator = experiment.at("points").get<std::string>();
  points.columns = shape.at("dimensions").get<std::int64_t>();
  const std::int64_t row_bytes = points.columns * (type == io::ElementType::f32 ? 4 : 8);
  if (points.columns < 1) throw InputError("\"dimensions\" must be at least 1");
  points.rows = shape.contains("rows") ? shape.at("rows").get<std::int64_t>()
                                       : shape.at("mebibytes").get<std::int64_t>() * (1 << 20) / row_bytes;
  part.points = {points};
  part.types = {type};
  part.runs.clear();
  for (const json& run : experiment.at("runs")) part.runs.push_back(read_run(run));
}

KMeansBench read_part(const json& experiment, const json& shape) {
  KMeansBench part;
  read_bench(part, experiment, shape);
  part.clusters = {shape.at("clusters").get<std::int64_t>()};
  part.iterations = shape.at("iterations").get<int>();
  if (part.points.front().rows < part.clusters.front() || part.clusters.front() < 1 || part.iterations < 1)
    throw InputError("shape " + part.label +
                     ": clusters and iterations must be at least 1, and points be as many as "
                     "clusters");
  return part;
}

PairHistogramBench read_pair_part(const json& experiment, const json& shape) {
  PairHistogramBench part;
  read_bench(part, experiment, shape);
  if (part.points.front().rows < 2) throw InputError("shape " + part.label + ": there must be two points at least");
  experiment.at("bin_width").get_to(part.bins.bin_width);
  experiment.at("bins").get_to(part.bins.bins);
  return part;
}

template <class T>
std::optional<T> optional(const json& object, const char* key) {
  return object.contains(key) ? std::optional<T>(object.at(key).get<T>()) : std::nullopt;
}

Published read_published(const json& figure) {
  Published result;
  figure.at("shape").get_to(result.shape);
  result.variant = figure.value("variant", "");
  result.threads = optional<int>(figure, "threads");
  if (figure.contains("speedup")) {
    result.lowest_speedup = figure.at("speedup").at(0).get<double>();
    result.highest_speedup = figure.at("speedup").at(1).get<double>();
  } else if (figure.at("seconds").is_array()) {
    result.seconds = figure.at("seconds").at(0).get<double>();
    result.highest_seconds = figure.at("seconds").at(1).get<double>();
  } else {
    result.seconds = figure.at("seconds").get<double>();
    result.iterations = figure.at("iterations").get<int>();
  }
  result.note = figure.value("note", "");
  return result;
}

Experiment from_json(const json& file) {
  Experiment experiment;
  file.at("name").get_to(experiment.name);
  file.at("title").get_to(experiment.title);
  file.at("source").get_to(experiment.source);
  const auto problem = file.at("problem").get<std::string>();
  if (problem != "kmeans" && problem != "pair_histogram")
    throw InputError("\"problem\" must be kmeans or pair_histogram, not " + problem);
  std::set<std::string> labels;
  for (const json& shape : file.at("shapes")) {
    if (problem == "kmeans") experiment.parts.push_back(read_part(file, shape));
    else experiment.pair_parts.push_back(read_pair_part(file, shape));
    labels.insert(shape.at("label").get<std::string>());
  }
  for (const json& figure : file.at("published")) {
    experiment.published.push_back(read_published(figure));
    if (!labels.contains(experiment.published.back().shape))
      throw InputError("a published figure is of the shape " + experiment.published.back().shape +
                       ", which is not among \"shapes\"");
  }
  return experiment;
}

}  // namespace

std::vector<std::string> experiment_names() {
  std::set<std::string> names;
  for (const files::path& folder : folders()) {
    std::error_code missing;
    for (const auto& entry : files::directory_iterator(folder, missing))
      if (entry.path().extension() == ".json") names.insert(entry.path().stem());
  }
  return {names.begin(), names.end()};
}

std::string find_experiment(const std::string& name) {
  if (name.ends_with(".json")) return name;
  for (const files::path& folder : folders()) {
    const files::path file = folder / (with_hyphens(name) + ".json");
    std::error_code ignored;
    if (files::is_regular_file(file, ignored)) return file;
  }
  const std::vector<std::string> names = experiment_names();
  std::string all;
  for (const std::string& known : names) all += (all.empty() ? "" : ", ") + known;
  throw UsageError("there is no experiment '" + name + "'" +
                   core::did_you_mean(with_hyphens(name), std::vector<std::string_view>(names.begin(), names.end())) +
                   (all.empty() ? "; no experiment files were found" : "; there are " + all));
}

Experiment read_experiment(const std::string& path) {
  std::ifstream stream(path);
  std::error_code ignored;
  if (!stream || files::is_directory(path, ignored)) throw InputError("cannot read the experiment '" + path + "'");
  try {
    return from_json(json::parse(stream));
  } catch (const json::exception& error) {
    throw InputError("'" + path + "' is not an experiment: " + error.what());
  } catch (const InputError& error) {
    throw InputError("'" + path + "' is not an experiment: " + error.what());
  }
}

void scale(Experiment& experiment, double share) {
  constexpr int few_iterations = 10;  // so few are not scaled
  for (KMeansBench& part : experiment.parts) {
    for (PointSet& points : part.points)
      points.rows = std::max(static_cast<std::int64_t>(share * static_cast<double>(points.rows)),
                             std::min(points.rows, 2 * part.clusters.front()));
    part.iterations = std::max(static_cast<int>(share * part.iterations), std::min(part.iterations, few_iterations));
  }
  for (PairHistogramBench& part : experiment.pair_parts)
    for (PointSet& points : part.points)
      points.rows = std::max<std::int64_t>(2, static_cast<std::int64_t>(share * static_cast<double>(points.rows)));
}

bool limit_threads(Experiment& experiment, int most) {
  bool limited = false;
  const auto limit = [&](Bench& part) {
    for (VariantRun& run : part.runs) {
      const int least = *std::min_element(run.threads.begin(), run.threads.end());
      limited |= std::erase_if(run.threads, [&](int threads) { return threads > most && threads > least; }) > 0;
    }
  };
  for (KMeansBench& part : experiment.parts) limit(part);
  for (PairHistogramBench& part : experiment.pair_parts) limit(part);
  return limited;
}

std::string published_text(const Published& published) {
  if (published.highest_seconds)
    return fmt::format("{:.4g}-{:.4g} ms", 1e3 * *published.seconds, 1e3 * *published.highest_seconds);
  if (published.seconds) return fmt::format("{:.4g} ms/iteration", 1e3 * *published.seconds / published.iterations);
  if (*published.lowest_speedup == *published.highest_speedup) return fmt::format("{:g} x", *published.lowest_speedup);
  return fmt::format("{:g}-{:g} x", *published.lowest_speedup, *published.highest_speedup);
}

std::string measured_text(const Published& published, const KMeansRow& row) {
  if (published.seconds) return fmt::format("{:.4g} ms/iteration", 1e3 * row.seconds.median / row.iterations);
  return fmt::format("{:.3g} x", row.speedup);
}

std::string measured_text(const Published& published, const PairHistogramRow& row) {
  if (published.seconds) return fmt::format("{:.4g} ms", 1e3 * row.seconds.median);
  return fmt::format("{:.3g} x", row.speedup);
}

nlohmann::ordered_json to_json(const Experiment& experiment) {
  nlohmann::ordered_json figures = nlohmann::ordered_json::array();
  for (const Published& published : experiment.published) {
    nlohmann::ordered_json figure = {{"shape", published.shape}};
    if (!published.variant.empty()) figure["variant"] = published.variant;
    if (published.threads) figure["threads"] = *published.threads;
    if (published.highest_seconds) figure["seconds"] = {*published.seconds, *published.highest_seconds};
    else if (published.seconds) figure["seconds"] = *published.seconds, figure["iterations"] = published.iterations;
    if (published.lowest_speedup) figure["speedup"] = {*published.lowest_speedup, *published.highest_speedup};
    if (!published.note.empty()) figure["note"] = published.note;
    figures.push_back(std::move(figure));
  }
  return {{"name", experiment.name},
          {"title", experiment.title},
          {"source", experiment.source},
          {"published", std::move(figures)}};
}

}  // namespace gradus::bench
