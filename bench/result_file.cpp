#include "bench/result_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "bench/parse.hpp"
#include "core/text.hpp"
#include "files/file.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

using nlohmann::ordered_json;

JsonValue JsonValue::operator[](const std::string& key) const {
  if (!json_->is_object()) fail("is not an object");
  const auto found = json_->find(key);
  const std::string place = place_.empty() ? key : place_ + "." + key;
  if (found == json_->end()) JsonValue(*json_, path_, place).fail("is missing");
  return {*found, path_, place};
}

std::vector<JsonValue> JsonValue::elements() const {
  if (!json_->is_array()) fail("is not a list");
  std::vector<JsonValue> all;
  for (const ordered_json& element : *json_)
    all.push_back({element, path_, place_ + "[" + std::to_string(all.size()) + "]"});
  return all;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members() const {
  if (!json_->is_object()) fail("is not an object");
  std::vector<std::pair<std::string, JsonValue>> all;
  for (const auto& [key, value] : json_->items())
    all.emplace_back(key, JsonValue(value, path_, place_.empty() ? key : place_ + "." + key));
  return all;
}

std::string JsonValue::text() const {
  if (!json_->is_string()) fail("is not a text");
  return json_->get<std::string>();
}

double JsonValue::number() const {
  if (!json_->is_number()) fail("is not a number");
  return json_->get<double>();
}

double JsonValue::positive() const {
  const double value = number();
  if (!(value > 0 && std::isfinite(value))) fail("is not a positive number");
  return value;
}

int JsonValue::whole() const {
  const double value = number();
  constexpr double most = 1 << 30;
  if (!(value >= 0 && value <= most && std::trunc(value) == value)) fail("is not an integer from 0 to 2^30");
  return static_cast<int>(value);
}

bool JsonValue::truth() const {
  if (!json_->is_boolean()) fail("is neither true nor false");
  return json_->get<bool>();
}

void JsonValue::fail(const std::string& complaint) const {
  throw InputError("'" + *path_ + "': " + (place_.empty() ? "the file" : place_) + " " + complaint);
}

ordered_json read_json(const std::string& path) {
  const files::MappedFile file(path);
  const auto* begin = reinterpret_cast<const char*>(file.bytes().data());
  try {
    return ordered_json::parse(begin, begin + file.bytes().size());
  } catch (const ordered_json::parse_error& error) {
    const bool ended = error.byte >= file.bytes().size();
    throw InputError("'" + path + "' is not JSON: " +
                     (ended ? "it ends too early, at byte " : "the error is at byte ") + std::to_string(error.byte));
  } catch (const ordered_json::exception& error) {
    throw InputError("'" + path + "' is not JSON: " + error.what());
  }
}

namespace {

/// The keys of a row that correspond to members of Row.
constexpr std::array row_keys{"variant", "threads", "ranks",  "pinning", "block_size", "contract", "trouble",
                              "seconds", "speedup", "phases", "samples", "iterations", "rechecked"};
constexpr std::array group_keys{"label", "title", "verified", "rows"};

Pinning pinning_of(const JsonValue& value) {
  try {
    return parse_enum<Pinning>("pinning", value.text());
  } catch (const UsageError& error) {
    value.fail("is invalid: " + std::string(error.what()));
  }
}

std::vector<Phase> phases_of(const JsonValue& value) {
  std::vector<Phase> phases;
  for (const auto& [name, seconds] : value.members()) phases.push_back({name, seconds.number()});
  return phases;
}

Row row_of(const JsonValue& value, const ProblemRow& problem) {
  Row row;
  row.variant = value["variant"].text();
  row.threads = value["threads"].whole();
  if (value.has("ranks")) row.ranks = value["ranks"].whole();
  row.pinning = pinning_of(value["pinning"]);
  // The key is absent in files that were written before GPUs were supported.
  if (value.has("block_size")) row.block_size = value["block_size"].whole();
  const std::span<const core::VariantInfo> ladder = problem.ladder->variants();
  const auto known = std::ranges::find(ladder, row.variant, &core::VariantInfo::name);
  row.on_gpu = known != ladder.end() && known->backend == core::Backend::cuda;
  if (value.has("trouble")) {
    row.trouble = value["trouble"].text();
    return row;
  }
  const JsonValue seconds = value["seconds"];
  row.seconds = {seconds["median"].positive(), seconds["lowest"].positive(), seconds["highest"].positive(),
                 seconds["median_absolute_deviation"].number()};
  for (const JsonValue& sample : value["samples"].elements())
    row.samples.push_back({sample["seconds"].positive(), sample["runs"].whole(), {}});
  if (row.samples.empty()) value["samples"].fail("is empty");
  row.phases = phases_of(value["phases"]);
  row.speedup = value["speedup"].positive();
  if (value.has("iterations")) row.iterations = value["iterations"].whole();
  if (value.has("rechecked")) row.rechecked = value["rechecked"].number();
  for (const auto& [key, figure] : value.members())
    if (std::ranges::find(row_keys, key) == row_keys.end()) row.figures.push_back({.key = key, .value = figure.json()});
  return row;
}

Group group_of(const JsonValue& value, const ProblemRow& problem) {
  Group group;
  group.label = value["label"].text();
  group.verified = value["verified"].text();
  std::string facts;
  for (const auto& [key, fact] : value.members()) {
    if (std::ranges::find(group_keys, key) != group_keys.end()) continue;
    group.facts[key] = fact.json();
    if (fact.json().is_primitive() && !fact.json().is_null())
      facts += (facts.empty() ? "" : ", ") + key + " " +
               (fact.json().is_string() ? fact.text()
                                        : fact.json().dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  }
  group.title = value.has("title") ? value["title"].text() : group.label + (group.label.empty() ? "" : ": ") + facts;
  for (const JsonValue& row : value["rows"].elements()) {
    group.rows.push_back(row_of(row, problem));
    group.rows.back().index = group.rows.size() - 1;
  }
  return group;
}

TeamCeilings ceilings_of(const JsonValue& value) {
  TeamCeilings team;
  team.on_gpu = value.has("device") && value["device"].text() == "gpu";
  team.threads = value["threads"].whole();
  team.pinning = pinning_of(value["pinning"]);
  for (const auto& [key, rate] : ceiling_rates)  // files of older versions may lack some of these ceilings
    if (value.has(std::string(key))) team.ceilings.*rate = value[std::string(key)].number();
  return team;
}

const ProblemRow& problem_of(const JsonValue& file) {
  const std::string name = file["problem"].text();
  for (const ProblemRow* problem : problems())
    if (problem->name == name) return *problem;
  file["problem"].fail("is " + core::excerpt(name) + ", which is none of Gradus's problems");
}

}  // namespace

bool is_result(const ordered_json& json) { return json.is_object() && json.contains("groups"); }

Report report_of(const JsonValue& file) {
  const ProblemRow& problem = problem_of(file);
  Report report;
  report.problem = problem.name;
  for (const JsonValue& team : file["ceilings"].elements()) report.ceilings.push_back(ceilings_of(team));
  for (const JsonValue& group : file["groups"].elements()) report.groups.push_back(group_of(group, problem));
  for (const char* fact : {"date", "command", "version", "commit", "compiler", "flags"}) file["facts"][fact].text();
  file["facts"]["machine"]["processor"].text();
  return report;
}

ResultFile read_result(const std::string& path) {
  ResultFile result{path, read_json(path), {}};
  result.report = report_of(JsonValue(result.json, result.path));
  return result;
}

}  // namespace gradus::bench
