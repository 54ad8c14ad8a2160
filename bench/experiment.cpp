#include "bench/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/parse.hpp"
#include "core/names.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Returns the folders that may contain the experiment files: a folder next to the installed program, and a folder in
// the source tree of the build.
std::vector<fs::path> folders() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return {program.parent_path().parent_path() / "share/gradus/experiments", GRADUS_EXPERIMENTS};
}

VariantRun read_run(const json& run) {
  VariantRun result;
  run.at("variants").get_to(result.variants);
  if (run.contains("threads")) run.at("threads").get_to(result.threads);
  if (run.contains("block_sizes")) run.at("block_sizes").get_to(result.block_sizes);
  if (!run.contains("pinning")) return result;
  result.pinnings.clear();
  for (const std::string& name : run.at("pinning").get<std::vector<std::string>>())
    result.pinnings.push_back(parse_enum<Pinning>("pinning", name));
  return result;
}

/// Returns the value as the command line spells it. Lists become comma-separated.
std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const json& part : value) {
    if (!text.empty()) text += ',';
    text += text_of(part);
  }
  return text;
}

/// Sets the axes that the object names. `others` lists the keys of the object that are not axes.
void set_axes(const std::vector<Axis>& axes, const json& object, std::vector<std::string_view> others) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(others, key) != others.end()) continue;
    const auto axis = std::ranges::find_if(
        axes, [&key = key](const Axis& known) { return core::with_underscores(known.name) == key; });
    if (axis != axes.end()) {
      axis->parse("\"" + key + "\"", text_of(value));
      continue;
    }
    std::vector<std::string> names;
    for (const Axis& known : axes) names.push_back(core::with_underscores(known.name));
    others.insert(others.end(), names.begin(), names.end());
    throw InputError("\"" + key + "\" is neither an axis of the problem nor a key of experiments" +
                     core::did_you_mean(key, others));
  }
}

Bench read_part(const ProblemRow& problem, const json& experiment, const json& shape) {
  Bench part;
  part.label = shape.at("label").get<std::string>();
  part.workloads = problem.workloads();
  const std::vector<Axis> axes = part.workloads->axes();
  set_axes(axes, experiment, {"name", "problem", "title", "source", "shapes", "runs", "published", "claims"});
  set_axes(axes, shape, {"label"});
  part.workloads->prepare({});
  return part;
}

std::map<std::string, std::string> settings_of(const json& shape) {
  std::map<std::string, std::string> settings;
  for (const auto& [key, value] : shape.items())
    if (key != "label") settings[key] = text_of(value);
  return settings;
}

void require_measured(const std::string& variant, const Experiment& experiment) {
  variant_info(*experiment.problem, variant);
  for (const Bench& part : experiment.parts)
    for (const VariantRun& run : part.runs)
      if (std::ranges::find(run.variants, variant) != run.variants.end()) return;
  throw InputError("the variant '" + variant + "' is in none of the \"runs\"");
}

/// Throws unless the file has shapes with the claimed value of the axis and shapes with other values. A claim about the
/// best or worst value can only be judged if both are measured.
void require_compared(const Claim& claim, const Experiment& experiment) {
  if (claim.axis.empty()) throw InputError("say which axis is best at what, as in \"tile\": 64");
  bool there = false;
  bool others = false;
  for (const auto& [label, settings] : experiment.settings) {
    const auto found = settings.find(claim.axis);
    if (found == settings.end()) continue;
    if (std::ranges::find(claim.except, found->second) != claim.except.end()) continue;
    (found->second == claim.value ? there : others) = true;
  }
  if (!there || !others)
    throw InputError("\"" + claim.axis + "\": " + claim.value + " is not compared with anything: \"shapes\" have " +
                     (there ? "no other value" : "no such value"));
}

template <class T>
std::optional<T> optional(const json& object, const char* key) {
  return object.contains(key) ? std::optional<T>(object.at(key).get<T>()) : std::nullopt;
}

/// Reads a claim. A claim about an axis has a key with the name of the axis, as a shape has: "tile": 64.
Claim read_claim(const json& claim, const Experiment& experiment) {
  Claim result;
  claim.at("variant").get_to(result.variant);
  result.kind = claim_kind_called(claim.at("claim").get<std::string>());
  std::vector<std::string_view> others = {"variant", "claim", "threads"};
  const auto read_threads = [&](const char* key) {
    return static_cast<int>(parse_whole(fmt::format("\"{}\"", key), text_of(claim.at(key)), 1, 4096));
  };
  if (!is_about_axis(result.kind) || claim.contains("threads")) result.threads = read_threads("threads");
  if (is_about_axis(result.kind)) {
    if (claim.contains("except")) claim.at("except").get_to(result.except);
    others.emplace_back("except");
    for (const auto& [key, value] : claim.items())
      if (std::ranges::find(others, key) == others.end() && result.axis.empty()) {
        result.axis = key;
        result.value = text_of(value);
      }
    others.emplace_back(result.axis);
    require_compared(result, experiment);
  } else {
    if (claim.contains("shapes")) claim.at("shapes").get_to(result.shapes);
    for (const std::string& shape : result.shapes)
      if (!experiment.settings.contains(shape)) throw InputError("the shape \"" + shape + "\" is not among \"shapes\"");
    others.emplace_back("shapes");
  }
  if (compares_by_threads(result.kind)) {
    if (claim.contains("from")) result.from = read_threads("from");
    if (result.from > result.threads) throw InputError("\"from\" is more than \"threads\"");
    others.emplace_back("from");
  }
  if (names_another(result.kind)) {
    claim.at("than").get_to(result.than);
    require_measured(result.than, experiment);
    others.emplace_back("than");
  }
  if (is_about_figure(result.kind)) {
    claim.at("figure").get_to(result.figure);
    others.emplace_back("figure");
  }
  if (result.kind == Claim::Kind::at_least) {
    claim.at("least").get_to(result.least);
    others.emplace_back("least");
  }
  for (const auto& [key, value] : claim.items())
    if (std::ranges::find(others, key) == others.end())
      throw InputError("\"" + key + "\" is no key of the claim " + std::string(to_string(result.kind)) +
                       core::did_you_mean(key, others));
  require_measured(result.variant, experiment);
  return result;
}

/// Calls read(element) for each element of a list. If read() throws, adds the element's position in the list to the
/// error.
template <class Read>
void for_each_in(const json& file, const std::string& key, const Read& read) {
  const json& list = file.at(key);
  if (!list.is_array()) throw InputError("\"" + key + "\" is no list");
  for (std::size_t index = 0; index < list.size(); ++index) {
    const std::string place = key + "[" + std::to_string(index) + "]: ";
    try {
      read(list[index]);
    } catch (const json::exception& error) {
      throw InputError(place + error.what());
    } catch (const Error& error) {
      throw InputError(place + error.what());
    }
  }
}

Experiment from_json(const json& file) {
  Experiment experiment;
  file.at("name").get_to(experiment.name);
  file.at("title").get_to(experiment.title);
  file.at("source").get_to(experiment.source);
  experiment.problem = &find_problem(file.at("problem").get<std::string>());
  std::vector<VariantRun> runs;
  for_each_in(file, "runs", [&](const json& run) { runs.push_back(read_run(run)); });
  for_each_in(file, "shapes", [&](const json& shape) {
    experiment.parts.push_back(read_part(*experiment.problem, file, shape));
    experiment.parts.back().runs = runs;
    const std::string& label = experiment.parts.back().label;
    if (!experiment.settings.emplace(label, settings_of(shape)).second)
      throw InputError("the label \"" + label + "\" is used by an earlier shape");
  });
  if (!file.contains("published") && !file.contains("claims"))
    throw InputError("it has neither \"published\" figures nor \"claims\"");
  if (file.contains("published"))
    for_each_in(file, "published", [&](const json& figure) {
      experiment.published.push_back(published_of(figure));
      const std::string& shape = experiment.published.back().shape;
      if (!experiment.settings.contains(shape)) throw InputError("the shape \"" + shape + "\" is not among \"shapes\"");
    });
  if (file.contains("claims"))
    for_each_in(file, "claims", [&](const json& claim) { experiment.claims.push_back(read_claim(claim, experiment)); });
  return experiment;
}

}  // namespace

Published published_of(const json& figure) {
  Published result;
  figure.at("shape").get_to(result.shape);
  result.variant = figure.value("variant", "");
  result.threads = optional<int>(figure, "threads");
  if (figure.contains("speedup")) {
    result.lowest_speedup = figure.at("speedup").at(0).get<double>();
    result.highest_speedup = figure.at("speedup").at(1).get<double>();
    result.figure = figure.value("figure", "");
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

std::vector<std::string> experiment_names() {
  std::set<std::string> names;
  for (const fs::path& folder : folders()) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing))
      if (entry.path().extension() == ".json") names.insert(entry.path().stem());
  }
  return {names.begin(), names.end()};
}

std::string find_experiment(const std::string& name) {
  if (name.ends_with(".json")) return name;
  for (const fs::path& folder : folders()) {
    const fs::path file = folder / (with_hyphens(name) + ".json");
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file;
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
  if (!stream || fs::is_directory(path, ignored)) throw InputError("cannot read the experiment '" + path + "'");
  try {
    return from_json(json::parse(stream));
  } catch (const json::exception& error) {
    throw InputError("'" + path + "' is not an experiment: " + error.what());
  } catch (const Error& error) {
    throw InputError("'" + path + "' is not an experiment: " + error.what());
  }
}

void scale(Experiment& experiment, double share) {
  for (Bench& part : experiment.parts) part.workloads->scale(share);
}

bool limit_threads(Experiment& experiment, int most) {
  bool limited = false;
  for (Bench& part : experiment.parts)
    for (VariantRun& run : part.runs) {
      const int least = *std::min_element(run.threads.begin(), run.threads.end());
      limited |= std::erase_if(run.threads, [&](int threads) { return threads > most && threads > least; }) > 0;
    }
  return limited;
}

const Row* counterpart(const Published& published, const Report& report) {
  const Row* best = nullptr;
  for (const Group& group : report.groups) {
    if (group.label != published.shape) continue;
    for (const Row& row : group.rows) {
      if (row.variant != published.variant || !row.trouble.empty()) continue;
      if (published.threads && row.threads > *published.threads) continue;
      const bool more_threads = published.threads && best && row.threads > best->threads;
      const bool fewer_threads = published.threads && best && row.threads < best->threads;
      if (!best || more_threads || (!fewer_threads && row.seconds.median < best->seconds.median)) best = &row;
    }
  }
  return best;
}

std::string published_text(const Published& published) {
  constexpr double long_time = 10;
  if (published.highest_seconds) {
    const bool is_long = *published.seconds >= long_time;
    const double unit = is_long ? 1 : 1e3;
    const std::string least = fmt::format("{:.4g}", unit * *published.seconds);
    const std::string most = fmt::format("{:.4g}", unit * *published.highest_seconds);
    return fmt::format("{}{} {}", least, least == most ? "" : "-" + most, is_long ? "s" : "ms");
  }
  if (published.seconds) return fmt::format("{:.4g} ms/iteration", 1e3 * *published.seconds / published.iterations);
  if (*published.lowest_speedup == *published.highest_speedup) return fmt::format("{:g} x", *published.lowest_speedup);
  return fmt::format("{:g}-{:g} x", *published.lowest_speedup, *published.highest_speedup);
}

std::optional<double> measured_speedup(const Published& published, const Row& row, const Report& report) {
  if (published.figure.empty()) return row.speedup;
  const auto rate_of = [&published](const Row& one) -> std::optional<double> {
    const auto figure = std::ranges::find(one.figures, published.figure, &Figure::key);
    const bool known = figure != one.figures.end() && figure->value.is_number();
    return known ? std::optional<double>(figure->value.get<double>()) : std::nullopt;
  };
  for (const Group& group : report.groups) {
    if (group.label != published.shape) continue;
    const auto first = std::ranges::find_if(group.rows, [](const Row& one) { return one.trouble.empty(); });
    if (first == group.rows.end()) continue;
    const std::optional<double> base = rate_of(*first);
    const std::optional<double> own = rate_of(row);
    if (base && own && *base > 0) return *own / *base;
  }
  return std::nullopt;
}

std::string measured_text(const Published& published, const Row& row, const Report& report) {
  if (!published.seconds) {
    const std::optional<double> speedup = measured_speedup(published, row, report);
    return speedup ? fmt::format("{:.3g} x", *speedup) : "-";
  }
  if (published.iterations > 0 && row.iterations > 0)
    return fmt::format("{:.4g} ms/iteration", 1e3 * row.seconds.median / row.iterations);
  return fmt::format("{:.4g} ms", 1e3 * row.seconds.median);
}

Finding judge(const Published& published, const Report& report, bool full_size) {
  const Row* const row = counterpart(published, report);
  Finding finding{published.shape, Verdict::undecided, "not measured", {}};
  if (row == nullptr) return finding;
  if (!full_size) {
    finding.because = "the inputs here are smaller";
  } else if (published.seconds) {
    finding.because = "a time of another machine says nothing of this one";
  } else if (const std::optional<double> speedup = measured_speedup(published, *row, report)) {
    finding.verdict = *speedup * clear_ratio >= *published.lowest_speedup ? Verdict::confirmed : Verdict::refuted;
    const bool is_more = *speedup > clear_ratio * *published.highest_speedup;
    finding.because = fmt::format("{}{:.3g} x",
                                  finding.verdict == Verdict::refuted ? "only "
                                  : is_more                           ? "more: "
                                                                      : "",
                                  *speedup);
  }
  return finding;
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
    if (!published.figure.empty()) figure["figure"] = published.figure;
    if (!published.note.empty()) figure["note"] = published.note;
    figures.push_back(std::move(figure));
  }
  return {{"name", experiment.name},
          {"title", experiment.title},
          {"source", experiment.source},
          {"published", std::move(figures)}};
}

}  // namespace gradus::bench
