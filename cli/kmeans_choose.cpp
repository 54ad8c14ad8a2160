#include "cli/kmeans_choose.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<Criterion, std::string_view>, 3> criteria{
    {{Criterion::silhouette, "silhouette"},
     {Criterion::calinski_harabasz, "calinski-harabasz"},
     {Criterion::davies_bouldin, "davies-bouldin"}}};

std::string_view name_of(Criterion criterion) { return criteria[static_cast<std::size_t>(criterion)].second; }

std::optional<double> value_of(const Candidate& candidate, Criterion criterion) {
  if (!candidate.criteria) return std::nullopt;
  switch (criterion) {
    case Criterion::silhouette: return candidate.criteria->silhouette;
    case Criterion::calinski_harabasz: return candidate.criteria->calinski_harabasz;
    case Criterion::davies_bouldin: break;
  }
  return candidate.criteria->davies_bouldin;
}

std::string shown(std::optional<double> value) { return value ? brief(*value) : "-"; }

Json json_of(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

/// Criteria, where a fit has any.
template <class T>
void add_criteria(const KMeansOptions& options, const ChoiceOptions& wanted, const Session& session,
                  MatrixView<const T> rows, const std::vector<KMeansResult<T>>& results, Choice<T>& choice) {
  std::vector<VectorView<const std::int32_t>> labelings;
  std::vector<std::size_t> owners;
  for (std::size_t index = 0; index < results.size(); ++index) {
    const auto used = std::ranges::count_if(results[index].counts, [](std::int64_t count) { return count > 0; });
    if (used < 2 || used >= rows.rows()) continue;
    labelings.push_back(results[index].labels.view());
    owners.push_back(index);
  }
  const KMeansCriteriaResult found = kmeans_criteria(
      rows, labelings, {.metric = options.metric, .silhouette_points = wanted.silhouette_points, .seed = options.seed},
      session.execution);
  for (std::size_t index = 0; index < owners.size(); ++index)
    choice.candidates[owners[index]].criteria = found.labelings[index];
  choice.silhouette_points = found.silhouette_points;
}

}  // namespace

template <class T>
Choice<T> fit_all(const KMeansOptions& options, const ChoiceOptions& wanted, const Session& session,
                  const Fitting<T>& fitting) {
  Choice<T> choice;
  if (wanted.cluster_counts.size() < 2) {
    choice.result = fitting.fit(options);
    return choice;
  }
  std::vector<KMeansResult<T>> results;
  KMeansOptions of_fit = options;
  for (const std::int64_t clusters : wanted.cluster_counts) {
    const auto start = core::Clock::now();
    of_fit.clusters = clusters;
    results.push_back(fitting.fit(of_fit));
    const KMeansResult<T>& result = results.back();
    choice.candidates.push_back({clusters, result.inertia, result.iterations, core::seconds_since(start), {}});
  }
  add_criteria(options, wanted, session, fitting.rows, results, choice);
  choice.chosen = taken_by(choice.candidates, wanted.criterion).value_or(0);
  choice.result = std::move(results[choice.chosen]);
  return choice;
}

template Choice<float> fit_all(const KMeansOptions&, const ChoiceOptions&, const Session&, const Fitting<float>&);
template Choice<double> fit_all(const KMeansOptions&, const ChoiceOptions&, const Session&, const Fitting<double>&);

std::vector<std::int64_t> parse_cluster_counts(const std::string& text) {
  constexpr std::size_t most_fits = 1000;
  const auto number = [](const std::string& word) {
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

std::optional<std::size_t> taken_by(const std::vector<Candidate>& candidates, Criterion criterion) {
  std::optional<std::size_t> best;
  for (std::size_t index = 0; index < candidates.size(); ++index) {
    const std::optional<double> value = value_of(candidates[index], criterion);
    if (!value) continue;
    if (best) {
      const double least = *value_of(candidates[*best], criterion);
      if (!(criterion == Criterion::davies_bouldin ? *value < least : *value > least)) continue;
    }
    best = index;
  }
  return best;
}

std::string choice_text(const Session& session, const std::vector<Candidate>& candidates, std::size_t chosen,
                        Criterion criterion, std::int64_t sample, std::int64_t points) {
  TextTable table({{"k"},
                   {"inertia"},
                   {"silhouette"},
                   {"Calinski-Harabasz"},
                   {"Davies-Bouldin"},
                   {"iterations"},
                   {"seconds"},
                   {"", TextTable::Align::left}});
  for (std::size_t index = 0; index < candidates.size(); ++index) {
    const Candidate& candidate = candidates[index];
    table.add({std::to_string(candidate.clusters), brief(candidate.inertia),
               shown(value_of(candidate, Criterion::silhouette)),
               shown(value_of(candidate, Criterion::calinski_harabasz)),
               shown(value_of(candidate, Criterion::davies_bouldin)), std::to_string(candidate.iterations),
               fmt::format("{:.3g}", candidate.seconds), index == chosen ? "<- kept" : ""});
  }
  std::string text = table.text(session) + "\n";
  if (sample < points)
    text += fmt::format("The silhouette is that of {} of the {} among themselves, drawn by the seed.\n",
                        grouped(sample), counted(points, "point"));
  std::string takes;
  for (const auto& [one, name] : criteria) {
    const std::optional<std::size_t> best = taken_by(candidates, one);
    takes += fmt::format("{}{} {}", takes.empty() ? "" : ", ", name,
                         best ? fmt::format("takes k = {}", candidates[*best].clusters) : "says nothing");
  }
  return text +
         fmt::format("{}; k = {} is kept, by {} (--choose)\n", takes, candidates[chosen].clusters, name_of(criterion));
}

std::string choice_csv(const std::vector<Candidate>& candidates) {
  const auto cell = [](std::optional<double> value) { return value ? fmt::format("{}", *value) : std::string(); };
  std::string text = "k,inertia,silhouette,calinski_harabasz,davies_bouldin,iterations,seconds\n";
  for (const Candidate& candidate : candidates)
    text += fmt::format("{},{},{},{},{},{},{}\n", candidate.clusters, candidate.inertia,
                        cell(value_of(candidate, Criterion::silhouette)),
                        cell(value_of(candidate, Criterion::calinski_harabasz)),
                        cell(value_of(candidate, Criterion::davies_bouldin)), candidate.iterations, candidate.seconds);
  return text;
}

Json choice_json(const std::vector<Candidate>& candidates, Criterion criterion, std::int64_t sample) {
  Json fits = Json::array();
  for (const Candidate& candidate : candidates)
    fits.push_back({{"k", candidate.clusters},
                    {"inertia", candidate.inertia},
                    {"silhouette", json_of(value_of(candidate, Criterion::silhouette))},
                    {"calinski_harabasz", json_of(value_of(candidate, Criterion::calinski_harabasz))},
                    {"davies_bouldin", json_of(value_of(candidate, Criterion::davies_bouldin))},
                    {"iterations", candidate.iterations},
                    {"seconds", candidate.seconds}});
  Json takes = Json::object();
  for (const auto& [one, name] : criteria) {
    const std::optional<std::size_t> best = taken_by(candidates, one);
    takes[std::string(name)] = best ? Json(candidates[*best].clusters) : Json(nullptr);
  }
  return {{"by", name_of(criterion)}, {"silhouette_points", sample}, {"takes", takes}, {"fits", std::move(fits)}};
}

}  // namespace gradus::cli
