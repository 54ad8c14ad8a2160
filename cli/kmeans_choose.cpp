#include "cli/kmeans_choose.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "core/names.hpp"
#include "core/text.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string shown(std::optional<double> value) { return value ? brief(*value) : "-"; }

std::string key_of(const EnumName<KMeansCriterion>& criterion) { return core::with_underscores(criterion.name); }

Json json_of(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

/// Returns a suggestion if the word is a range with another mark between its numbers, such as 2-5.
std::string meant_range(const std::string& word) {
  constexpr const char* digits = "0123456789";
  const std::size_t mark = word.find_first_not_of(digits);
  if (mark == 0 || mark == std::string::npos) return "";
  const std::size_t last = word.find_first_not_of("-:. ", mark);
  if (last == mark || last == std::string::npos || word.find_first_not_of(digits, last) != std::string::npos) return "";
  return fmt::format(" (did you mean {}..{}?)", word.substr(0, mark), word.substr(last));
}

}  // namespace

std::vector<std::int64_t> parse_cluster_counts(const std::string& text) {
  constexpr std::size_t most_fits = 1000;
  const auto number = [&text](const std::string& word) {
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos)
      throw UsageError(
          fmt::format("-k: {} is neither a number of clusters, such as 8, nor several, such as 2..20 or 4,8,16{}",
                      core::excerpt(text), meant_range(word)));
    return parse_whole("-k", word, 1, std::numeric_limits<std::int32_t>::max());
  };
  std::vector<std::int64_t> counts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    at = comma + 1;
    const std::size_t dots = part.find("..");
    const std::int64_t first = number(part.substr(0, dots));
    const std::int64_t last = dots == std::string::npos ? first : number(part.substr(dots + 2));
    if (last < first)
      throw UsageError(
          fmt::format("-k: {} ends before it begins; ranges go from the lesser number to the larger one, "
                      "as {}..{}",
                      core::excerpt(part), last, first));
    if (static_cast<std::uint64_t>(last - first) >= most_fits - std::min(counts.size(), most_fits))
      throw UsageError(
          fmt::format("-k: {} stands for more than {} fits; name fewer of them", core::excerpt(text), most_fits));
    for (std::int64_t count = first; count <= last; ++count) counts.push_back(count);
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::string choice_text(const Session& session, const std::vector<KMeansCandidate>& candidates, std::size_t chosen,
                        KMeansCriterion criterion, std::int64_t sample, std::int64_t points) {
  std::vector<TextTable::Column> columns{{"k"}, {"inertia"}};
  for (const EnumName<KMeansCriterion>& one : enum_names<KMeansCriterion>) columns.push_back({std::string(one.name)});
  columns.insert(columns.end(), {{"iterations"}, {"seconds"}, {"", TextTable::Align::left}});
  TextTable table(std::move(columns));
  for (std::size_t index = 0; index < candidates.size(); ++index) {
    const KMeansCandidate& candidate = candidates[index];
    std::vector<std::string> cells{std::to_string(candidate.clusters), brief(candidate.inertia)};
    for (const EnumName<KMeansCriterion>& one : enum_names<KMeansCriterion>)
      cells.push_back(shown(kmeans_criterion(candidate, one.value)));
    cells.insert(cells.end(), {std::to_string(candidate.iterations), fmt::format("{:.3g}", candidate.seconds),
                               index == chosen ? "<- kept" : ""});
    table.add(std::move(cells));
  }
  std::string text = table.text(session) + "\n";
  if (sample < points)
    text += fmt::format("The silhouette uses a random sample of {} of the {}, drawn by the seed.\n", grouped(sample),
                        counted(points, "point"));
  std::string takes;
  for (const EnumName<KMeansCriterion>& one : enum_names<KMeansCriterion>) {
    const std::optional<std::size_t> best = kmeans_recommended(candidates, one.value);
    takes += fmt::format("{}{} {}", takes.empty() ? "" : ", ", one.name,
                         best ? fmt::format("chooses k = {}", candidates[*best].clusters) : "chooses none");
  }
  const bool is_chosen = kmeans_recommended(candidates, criterion).has_value();
  return text + fmt::format("{}; k = {} is kept, {} (--choose {})\n", takes, candidates[chosen].clusters,
                            is_chosen ? "by this criterion" : "the first one, because this criterion chooses none",
                            to_string(criterion));
}

std::string choice_csv(const std::vector<KMeansCandidate>& candidates) {
  std::string text = "k,inertia";
  for (const EnumName<KMeansCriterion>& one : enum_names<KMeansCriterion>) text += ',' + key_of(one);
  text += ",iterations,seconds\n";
  for (const KMeansCandidate& candidate : candidates) {
    text += fmt::format("{},{}", candidate.clusters, candidate.inertia);
    for (const EnumName<KMeansCriterion>& one : enum_names<KMeansCriterion>) {
      const std::optional<double> value = kmeans_criterion(candidate, one.value);
      text += value ? fmt::format(",{}", *value) : ",";
    }
    text += fmt::format(",{},{}\n", candidate.iterations, candidate.seconds);
  }
  return text;
}

Json choice_json(const std::vector<KMeansCandidate>& candidates, KMeansCriterion criterion, std::int64_t sample) {
  Json fits = Json::array();
  for (const KMeansCandidate& candidate : candidates) {
    Json& fit = fits.emplace_back(Json{{"k", candidate.clusters}, {"inertia", candidate.inertia}});
    for (const EnumName<KMeansCriterion>& one : enum_names<KMeansCriterion>)
      fit[key_of(one)] = json_of(kmeans_criterion(candidate, one.value));
    fit["iterations"] = candidate.iterations;
    fit["seconds"] = candidate.seconds;
  }
  Json takes = Json::object();
  for (const EnumName<KMeansCriterion>& one : enum_names<KMeansCriterion>) {
    const std::optional<std::size_t> best = kmeans_recommended(candidates, one.value);
    takes[std::string(one.name)] = best ? Json(candidates[*best].clusters) : Json(nullptr);
  }
  return {{"by", to_string(criterion)}, {"silhouette_points", sample}, {"takes", takes}, {"fits", std::move(fits)}};
}

}  // namespace gradus::cli
