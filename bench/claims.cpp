#include "bench/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/names.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

namespace {

using nlohmann::ordered_json;

constexpr std::array kinds{Claim::Kind::stops_at, Claim::Kind::scales_to, Claim::Kind::best_at,
                           Claim::Kind::faster_than};

bool clearly_less(double seconds, double other) { return other > clear_ratio * seconds; }

/// By number of threads the fastest row of the variant, whatever its pinning.
std::map<int, double> by_threads(const Group& group, std::string_view variant, int cores) {
  std::map<int, double> fastest;
  for (const Row& row : group.rows) {
    if (row.variant != variant || !row.trouble.empty() || row.threads > cores) continue;
    const auto [found, is_new] = fastest.emplace(row.threads, row.seconds.median);
    if (!is_new) found->second = std::min(found->second, row.seconds.median);
  }
  return fastest;
}

Finding undecided(std::string because) { return {"", Verdict::undecided, std::move(because), {}}; }
Finding refuted(std::string because) { return {"", Verdict::refuted, std::move(because), {}}; }
Finding confirmed(std::string because) { return {"", Verdict::confirmed, std::move(because), {}}; }

std::string ratio_text(double seconds, double other) { return fmt::format("{:.2f} times as fast", other / seconds); }

Finding stops_at(const std::map<int, double>& times, int threads) {
  const auto here = times.find(threads);
  if (here == times.end()) return undecided(fmt::format("not measured with {} threads", threads));
  const auto best = std::min_element(std::next(here), times.end(),
                                     [](const auto& one, const auto& other) { return one.second < other.second; });
  if (best == times.end()) return undecided(fmt::format("not measured with more than {} threads", threads));
  const std::string text =
      fmt::format("with {} threads {} as with {}", best->first, ratio_text(best->second, here->second), threads);
  return clearly_less(best->second, here->second) ? refuted(text) : confirmed("at best " + text);
}

Finding scales_to(const std::map<int, double>& times, int threads) {
  if (times.empty()) return undecided("not measured");
  for (auto more = std::next(times.begin()); more != times.end() && more->first <= threads; ++more) {
    const auto& [fewer, slower] = *std::prev(more);
    if (!clearly_less(more->second, slower))
      return refuted(
          fmt::format("with {} threads only {} as with {}", more->first, ratio_text(more->second, slower), fewer));
  }
  if (!times.contains(threads) || times.begin()->first == threads)
    return undecided(fmt::format("measured with {} threads",
                                 times.size() == 1
                                     ? fmt::format("{}", times.begin()->first)
                                     : fmt::format("{} to {}", times.begin()->first, times.rbegin()->first)));
  return confirmed(fmt::format("with {} threads {} as with {}", threads,
                               ratio_text(times.at(threads), times.begin()->second), times.begin()->first));
}

/// Times of one variant and of another one.
Finding faster_than(const std::map<int, double>& times, const std::map<int, double>& others, int threads) {
  Finding finding = undecided(fmt::format("not both measured with up to {} threads", threads));
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [team, seconds] : times) {
    const auto other = others.find(team);
    if (team > threads || other == others.end()) continue;
    finding.points.push_back({fmt::format("{}", team), seconds});
    finding.points.push_back({fmt::format("{} (other)", team), other->second});
    least = std::min(least, other->second / seconds);
    if (finding.verdict != Verdict::refuted && !clearly_less(seconds, other->second)) {
      finding.verdict = Verdict::refuted;
      finding.because = fmt::format("with {} threads only {}", team, ratio_text(seconds, other->second));
    }
  }
  if (finding.points.empty() || finding.verdict == Verdict::refuted) return finding;
  if (!times.contains(threads) || !others.contains(threads)) {
    finding.because =
        fmt::format("so far as measured at least {:.2f} times as fast, but not both with {} threads", least, threads);
    return finding;
  }
  finding.verdict = Verdict::confirmed;
  finding.because = fmt::format("at least {:.2f} times as fast", least);
  return finding;
}

std::vector<Point> points_of(const std::map<int, double>& times) {
  std::vector<Point> points;
  for (const auto& [threads, seconds] : times) points.push_back({fmt::format("{}", threads), seconds});
  return points;
}

Finding best_at(const std::vector<Point>& points, const std::string& value) {
  const auto here = std::ranges::find(points, value, &Point::at);
  if (here == points.end()) return undecided("not measured at " + value);
  if (points.size() == 1) return undecided("measured at no other value");
  const auto best = std::ranges::min_element(points, {}, &Point::seconds);
  if (clearly_less(best->seconds, here->seconds))
    return refuted(fmt::format("at {} {}", best->at, ratio_text(best->seconds, here->seconds)));
  if (best == here) return confirmed("the fastest");
  return confirmed(fmt::format("at {} no more than {}", best->at, ratio_text(best->seconds, here->seconds)));
}

/// Groups that differ in the axis only, as times at its values, by what they have in common: the other axes that their
/// shapes set, and the place among the groups of a shape, of which lists make several.
std::vector<Finding> best_at(const Claim& claim, const Report& report, const ShapeSettings& shapes, int cores) {
  using Common = std::tuple<std::map<std::string, std::string>, int>;
  std::vector<std::tuple<Common, std::string, std::vector<Point>>> inputs;  // with their labels
  std::map<std::string, int> places;
  for (const Group& group : report.groups) {
    std::map<std::string, std::string> settings = shapes.at(group.label);
    const auto own = settings.extract(claim.axis);
    if (own.empty()) continue;
    const Common common{std::move(settings), places[group.label]++};
    auto input = std::ranges::find(inputs, common, [](const auto& known) { return std::get<0>(known); });
    if (input == inputs.end()) input = inputs.insert(inputs.end(), {common, "", {}});
    const std::map<int, double> times = by_threads(group, claim.variant, cores);
    if (times.empty()) continue;
    auto& [ignored, labels, points] = *input;
    labels += (labels.empty() ? "" : ", ") + group.label;
    points.push_back(
        {own.mapped(), std::ranges::min_element(times, {}, [](const auto& time) { return time.second; })->second});
  }
  std::vector<Finding> findings;
  for (auto& [ignored, labels, points] : inputs) {
    findings.push_back(best_at(points, claim.value));
    findings.back().input = labels;
    findings.back().points = std::move(points);
  }
  return findings;
}

}  // namespace

Judgement judge(const Claim& claim, const Report& report, const ShapeSettings& shapes, int cores) {
  Judgement judgement;
  if (claim.kind == Claim::Kind::best_at) {
    judgement.findings = best_at(claim, report, shapes, cores);
  } else {
    for (const Group& group : report.groups) {
      if (!claim.shapes.empty() && std::ranges::find(claim.shapes, group.label) == claim.shapes.end()) continue;
      const std::map<int, double> times = by_threads(group, claim.variant, cores);
      if (claim.kind == Claim::Kind::faster_than) {
        judgement.findings.push_back(faster_than(times, by_threads(group, claim.than, cores), claim.threads));
        judgement.findings.back().input = group.label;
        continue;
      }
      judgement.findings.push_back(claim.kind == Claim::Kind::stops_at ? stops_at(times, claim.threads)
                                                                       : scales_to(times, claim.threads));
      judgement.findings.back().input = group.label;
      judgement.findings.back().points = points_of(times);
    }
  }
  const auto all = [&](Verdict verdict) {
    return !judgement.findings.empty() && std::ranges::all_of(judgement.findings, [verdict](const Finding& finding) {
      return finding.verdict == verdict;
    });
  };
  if (std::ranges::find(judgement.findings, Verdict::refuted, &Finding::verdict) != judgement.findings.end())
    judgement.verdict = Verdict::refuted;
  else if (all(Verdict::confirmed)) judgement.verdict = Verdict::confirmed;
  return judgement;
}

std::string_view to_string(Claim::Kind kind) {
  switch (kind) {
    case Claim::Kind::stops_at: return "stops_at";
    case Claim::Kind::scales_to: return "scales_to";
    case Claim::Kind::best_at: return "best_at";
    case Claim::Kind::faster_than: return "faster_than";
  }
  return "?";
}

Claim::Kind claim_kind_called(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Claim::Kind kind : kinds) {
    if (to_string(kind) == name) return kind;
    names.push_back(to_string(kind));
  }
  throw InputError("there is no claim '" + std::string(name) + "'" + core::did_you_mean(name, names) +
                   "; there are stops_at, scales_to, best_at and faster_than");
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::confirmed: return "confirmed";
    case Verdict::refuted: return "refuted";
    case Verdict::undecided: return "not decided here";
  }
  return "?";
}

std::string claim_text(const Claim& claim) {
  switch (claim.kind) {
    case Claim::Kind::stops_at: return fmt::format("stops at {} threads", claim.threads);
    case Claim::Kind::scales_to: return fmt::format("scales to {} threads", claim.threads);
    case Claim::Kind::best_at: return fmt::format("best at {} {}", claim.axis, claim.value);
    case Claim::Kind::faster_than: return fmt::format("faster than {} up to {} threads", claim.than, claim.threads);
  }
  return "?";
}

std::string rule_text(const Claim& claim) {
  const std::string clearly = fmt::format("more than {:.0f} % faster", 100 * (clear_ratio - 1));
  switch (claim.kind) {
    case Claim::Kind::stops_at:
      return fmt::format("with no greater number of threads {} than with {}", clearly, claim.threads);
    case Claim::Kind::scales_to:
      return fmt::format("{} with each number of threads than with the next lower one, up to {}", clearly,
                         claim.threads);
    case Claim::Kind::best_at:
      return fmt::format("at no other {} {}, each with its best number of threads", claim.axis, clearly);
    case Claim::Kind::faster_than:
      return fmt::format("{} than {} with each number of threads, up to {}", clearly, claim.than, claim.threads);
  }
  return "?";
}

std::string points_text(const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points)
    text += fmt::format("{}{}: {:.4g} ms", text.empty() ? "" : ", ", point.at, 1e3 * point.seconds);
  return text;
}

ordered_json to_json(const Claim& claim, const Judgement& judgement) {
  ordered_json json = {{"variant", claim.variant}, {"claim", to_string(claim.kind)}};
  if (claim.kind == Claim::Kind::best_at) json[claim.axis] = claim.value;
  else json["threads"] = claim.threads;
  if (claim.kind == Claim::Kind::faster_than) json["than"] = claim.than;
  json["rule"] = rule_text(claim);
  json["verdict"] = to_string(judgement.verdict);
  json["inputs"] = ordered_json::array();
  for (const Finding& finding : judgement.findings) {
    ordered_json seconds = ordered_json::object();
    for (const Point& point : finding.points) seconds[point.at] = point.seconds;
    json["inputs"].push_back({{"label", finding.input},
                              {"verdict", to_string(finding.verdict)},
                              {"because", finding.because},
                              {"seconds", std::move(seconds)}});
  }
  return json;
}

}  // namespace gradus::bench
