// Puts the summary of a job on a page, without knowledge of the problem. Single values become facts, and lists of
// numbers become charts.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/parse.hpp"
#include "cli/page/sections.hpp"
#include "core/text.hpp"

namespace gradus::cli {

namespace {

using bench::JsonValue;

/// Returns true for a list of integers, and for a list of more than three numbers of any kind. Shorter lists, such as a
/// vector in space, are shown as text.
bool is_list_of_numbers(const nlohmann::ordered_json& json) {
  constexpr std::size_t dimensions = 3;
  if (!json.is_array() || json.size() < 2) return false;
  const bool counts = std::ranges::all_of(json, [](const auto& element) { return element.is_number_integer(); });
  return (counts || json.size() > dimensions) &&
         std::ranges::all_of(json, [](const auto& element) { return element.is_number() || element.is_null(); }) &&
         std::ranges::any_of(json, [](const auto& element) { return element.is_number(); });
}

bool is_list_of_objects(const nlohmann::ordered_json& json) {
  return json.is_array() && !json.empty() &&
         std::ranges::all_of(json, [](const auto& element) { return element.is_object(); });
}

std::vector<std::optional<double>> numbers_of(const nlohmann::ordered_json& list) {
  std::vector<std::optional<double>> numbers;
  for (const auto& element : list)
    numbers.push_back(element.is_number() ? std::optional<double>(element.get<double>()) : std::nullopt);
  return numbers;
}

/// The x axis of a list of numbers. It shows the centres of bins or, if there are no bins, the index.
struct Places {
  std::string name;
  std::vector<std::string> labels;
};

Places places_of(std::size_t count, const nlohmann::ordered_json& edges) {
  Places places{"number", {}};
  if (is_list_of_numbers(edges) && edges.size() == count + 1) {
    places.name = "distance, middle of the bin";
    for (std::size_t bin = 0; bin < count; ++bin)
      places.labels.push_back(fmt::format("{:.6g}", 0.5 * (edges[bin].get<double>() + edges[bin + 1].get<double>())));
  } else {
    for (std::size_t index = 0; index < count; ++index) places.labels.push_back(fmt::format("{}", index));
  }
  return places;
}

void add_seconds(Page& page, const JsonValue& seconds) {
  Chart chart{.title = "where the time went", .values_name = "seconds", .series = {{.name = "seconds"}}};
  for (const auto& [part, value] : seconds.members()) {
    chart.places.push_back(with_spaces(part));
    chart.series.front().values.emplace_back(value.number());
  }
  if (!chart.places.empty()) page.chart(chart);
}

/// Lists of numbers by name, from a summary or its parts. Each chart shows the lists of one name as lines.
using Lists = std::vector<std::pair<std::string, std::vector<Series>>>;

void add_to(Lists& lists, const std::string& key, Series series) {
  auto known = std::ranges::find(lists, key, &Lists::value_type::first);
  if (known == lists.end()) known = lists.insert(lists.end(), {key, {}});
  known->second.push_back(std::move(series));
}

void add_lists(Page& page, const Lists& lists, const nlohmann::ordered_json& edges) {
  constexpr std::size_t most_bars = 60;
  for (const auto& [key, series] : lists) {
    std::size_t length = 0;
    for (const Series& one : series) length = std::max(length, one.values.size());
    const Places places = places_of(length, edges);
    const bool lines = places.name != "number" || length > most_bars || series.size() > 1;
    Chart chart{.kind = lines ? Chart::Kind::lines : Chart::Kind::bars,
                .title = with_spaces(key),
                .places_name = places.name,
                .values_name = with_spaces(key),
                .places = places.labels,
                .series = series};
    for (Series& one : chart.series) one.values.resize(length);
    page.chart(chart);
  }
}

/// Returns true if the member `key` of each row is an integer and if these integers ascend. Such integers, for example
/// numbers of clusters or generations, identify the rows.
bool counts_up(const JsonValue& list, const std::string& key) {
  std::int64_t last = -1;
  for (const JsonValue& row : list.elements()) {
    if (!row.has(key) || !row[key].json().is_number_integer() || row[key].json().get<std::int64_t>() <= last)
      return false;
    last = row[key].json().get<std::int64_t>();
  }
  return true;
}

void add_rows(Page& page, const std::string& name, const JsonValue& list) {
  PageTable table{{{"", true}}, {}};
  std::vector<std::string> keys;
  for (const JsonValue& row : list.elements())
    for (const auto& [key, value] : row.members())
      if (value.json().is_primitive() && std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  for (const std::string& key : keys) table.columns.push_back({with_spaces(key)});
  std::vector<std::string> labels;
  for (const JsonValue& row : list.elements()) {
    labels.push_back(fmt::format("{}", labels.size() + 1));
    table.rows.push_back({labels.back()});
    for (const std::string& key : keys) table.rows.back().emplace_back(row.has(key) ? plain_text(row[key].json()) : "");
  }
  std::string places_name = name == "history" ? "iteration" : name;
  if (!keys.empty() && counts_up(list, keys.front()))
    for (std::size_t row = 0; row < labels.size(); ++row) {
      places_name = keys.front();
      labels[row] = table.rows[row][1].text;
    }
  for (const std::string& key : keys) {
    Chart chart{.kind = Chart::Kind::lines,
                .title = fmt::format("{} by {}", with_spaces(key), with_spaces(places_name)),
                .places_name = with_spaces(places_name),
                .values_name = with_spaces(key),
                .places = labels,
                .series = {{.name = key}}};
    bool any = false;
    for (const JsonValue& row : list.elements()) {
      const bool there = row.has(key) && row[key].json().is_number();
      any |= there;
      chart.series.front().values.push_back(there ? std::optional<double>(row[key].number()) : std::nullopt);
    }
    if (any && labels.size() > 1 && key != places_name) page.chart(chart);
  }
  page.long_table(with_spaces(name), table);
}

/// Adds the members of an object. `where` prefixes the names of nested members.
void add_members(Page& page, const JsonValue& object, const std::string& where, const nlohmann::ordered_json& edges) {
  PageFacts facts;
  Lists lists;
  std::vector<std::pair<std::string, JsonValue>> tables;
  std::vector<std::pair<std::string, JsonValue>> inner;
  for (const auto& [key, value] : object.members()) {
    if (key == "edges" || (where.empty() && (key == "seconds" || key == "files"))) continue;
    // "box" is a fact and not a list, although a box may consist of nine numbers, the components of three vectors.
    if (is_list_of_numbers(value.json()) && key != "box")
      add_to(lists, key, {.name = with_spaces(key), .values = numbers_of(value.json())});
    else if (is_list_of_objects(value.json())) tables.emplace_back(key, value);
    else if (value.json().is_object()) inner.emplace_back(key, value);
    else if (!value.json().is_null()) facts.emplace_back(with_spaces(where + key), plain_text(value.json()));
  }
  page.facts(facts);
  add_lists(page, lists, edges);
  for (const auto& [key, value] : tables) {
    // Lists with the same name are shown in one chart. For example, a chart shows the histograms of all kinds of pairs.
    Lists of_parts;
    for (const JsonValue& part : value.elements()) {
      std::string name;
      if (part.has("kinds"))
        for (const JsonValue& kind : part["kinds"].elements())
          name += (name.empty() ? "" : "-") + plain_text(kind.json());
      else name = fmt::format("{}", of_parts.size() + 1);
      for (const auto& [inner_key, list] : part.members())
        if (is_list_of_numbers(list.json()))
          add_to(of_parts, inner_key, {.name = name, .values = numbers_of(list.json())});
    }
    page.heading(3, with_spaces(key));
    add_lists(page, of_parts, edges);
    if (of_parts.empty()) add_rows(page, key, value);
  }
  for (const auto& [key, value] : inner) {
    page.heading(3, with_spaces(key));
    add_members(page, value, key + ".", edges);
  }
  if (where.empty()) add_seconds(page, object["seconds"]);
}

}  // namespace

void add_summary(Page& page, const JsonValue& summary) {
  const std::string problem = summary["problem"].text();
  std::string title = with_spaces(problem);
  if (summary.has("input") && summary["input"].json().is_string()) title += " of " + summary["input"].text();
  summary["seconds"].members();  // every summary has "seconds"; this call throws if the member is missing
  page.heading(2, title);
  add_members(page, summary, "", summary.has("edges") ? summary["edges"].json() : nlohmann::ordered_json());
}

}  // namespace gradus::cli
