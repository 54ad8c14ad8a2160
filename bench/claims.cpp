#include "bench/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/names.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

namespace {

using nlohmann::ordered_json;

constexpr std::array kinds{Claim::Kind::stops_at, Claim::Kind::scales_to, Claim::Kind::drops_at,
                           Claim::Kind::best_at,  Claim::Kind::worst_at,  Claim::Kind::faster_than,
                           Claim::Kind::like,     Claim::Kind::at_least,  Claim::Kind::less_than};

bool clearly_less(double seconds, double other) { return other > clear_ratio * seconds; }

/// Returns, for each number of threads, the median time of the variant with the fastest pinning.
std::map<int, double> by_threads(const Group& group, std::string_view variant, int most_threads) {
  std::map<int, double> fastest;
  for (const Row& row : group.rows) {
    if (row.variant != variant || !row.trouble.empty() || row.threads > most_threads) continue;
    const auto [found, is_new] = fastest.emplace(row.threads, row.seconds.median);
    if (!is_new) found->second = std::min(found->second, row.seconds.median);
  }
  return fastest;
}

/// Returns, for each number of threads, the figure `key` of the variant. If there are rows with several pinnings, takes
/// the figure of the first row.
std::map<int, double> figures_by_threads(const Group& group, std::string_view variant, const std::string& key,
                                         int most_threads) {
  std::map<int, double> figures;
  for (const Row& row : group.rows) {
    if (row.variant != variant || !row.trouble.empty() || row.threads > most_threads) continue;
    const auto figure = std::ranges::find(row.figures, key, &Figure::key);
    if (figure != row.figures.end() && figure->value.is_number())
      figures.emplace(row.threads, figure->value.get<double>());
  }
  return figures;
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

Finding drops_at(const std::map<int, double>& times, int threads) {
  const auto here = times.find(threads);
  if (here == times.end()) return undecided(fmt::format("not measured with {} threads", threads));
  if (here == times.begin()) return undecided(fmt::format("not measured with fewer than {} threads", threads));
  const auto& [fewer, faster] = *std::prev(here);
  const std::string text =
      fmt::format("with {} threads {} as with {}", threads, ratio_text(here->second, faster), fewer);
  return clearly_less(faster, here->second) ? confirmed(text) : refuted(text);
}

/// Judges the claim at each measured number of threads that the claim covers. For each of these numbers, calls holds()
/// with the number's values in `values` and `others`. holds() returns a reason against the claim, or "". If the claim
/// names no other variant, `others` equals `values`.
template <class Holds>
Finding with_each(const Claim& claim, const std::map<int, double>& values, const std::map<int, double>& others,
                  const Holds& holds) {
  Finding finding = undecided(fmt::format("not measured with {} to {} threads", claim.from, claim.threads));
  for (const auto& [team, value] : values) {
    const auto other = others.find(team);
    if (team < claim.from || team > claim.threads || other == others.end()) continue;
    finding.points.push_back({fmt::format("{}", team), value});
    if (names_another(claim.kind)) finding.points.push_back({fmt::format("{} (other)", team), other->second});
    if (finding.verdict == Verdict::refuted) continue;
    if (const std::string fault = holds(value, other->second); !fault.empty()) {
      finding.verdict = Verdict::refuted;
      finding.because = fmt::format("with {} threads {}", team, fault);
    }
  }
  if (finding.points.empty() || finding.verdict == Verdict::refuted) return finding;
  if (!values.contains(claim.threads) || !others.contains(claim.threads)) {
    finding.because = fmt::format("holds so far as measured, but that is not with {} threads", claim.threads);
    return finding;
  }
  finding.verdict = Verdict::confirmed;
  finding.because = "with each number of threads";
  return finding;
}

Finding compared(const Claim& claim, const Group& group, int cores) {
  if (is_about_figure(claim.kind)) {
    const std::map<int, double> own = figures_by_threads(group, claim.variant, claim.figure, cores);
    if (claim.kind == Claim::Kind::at_least)
      return with_each(claim, own, own, [&](double value, double) {
        return value >= claim.least ? "" : fmt::format("it is {:.3g}", value);
      });
    return with_each(claim, own, figures_by_threads(group, claim.than, claim.figure, cores),
                     [](double value, double other) {
                       return value < other ? "" : fmt::format("it is {:.4g}, and {:.4g}", value, other);
                     });
  }
  const std::map<int, double> own = by_threads(group, claim.variant, cores);
  const std::map<int, double> others = by_threads(group, claim.than, cores);
  if (claim.kind == Claim::Kind::like)
    return with_each(claim, own, others, [](double seconds, double other) {
      const bool alike = seconds <= clear_ratio * other && other <= clear_ratio * seconds;
      return alike ? "" : ratio_text(seconds, other);
    });
  return with_each(claim, own, others, [](double seconds, double other) {
    return clearly_less(seconds, other) ? "" : "only " + ratio_text(seconds, other);
  });
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
  const auto best = std::ranges::min_element(points, {}, &Point::value);
  if (clearly_less(best->value, here->value))
    return refuted(fmt::format("at {} {}", best->at, ratio_text(best->value, here->value)));
  if (best == here) return confirmed("the fastest");
  return confirmed(fmt::format("at {} no more than {}", best->at, ratio_text(best->value, here->value)));
}

Finding worst_at(const std::vector<Point>& points, const std::string& value) {
  const auto here = std::ranges::find(points, value, &Point::at);
  if (here == points.end()) return undecided("not measured at " + value);
  if (points.size() == 1) return undecided("measured at no other value");
  const auto worst = std::ranges::max_element(points, {}, &Point::value);
  const std::string text = fmt::format("{} as at {}", ratio_text(here->value, worst->value), worst->at);
  return clearly_less(here->value, worst->value) ? refuted(text) : confirmed(worst == here ? "the slowest" : text);
}

/// Judges groups that differ only in the axis. Each group supplies the time for its value of the axis. Groups are
/// compared if their shapes set the other axes to the same values, and if the groups have the same index within their
/// shapes. The index is needed because a shape with lists makes several groups.
std::vector<Finding> over_axis(const Claim& claim, const Report& report, const ShapeSettings& shapes, int cores) {
  using Common = std::tuple<std::map<std::string, std::string>, int>;
  // For each input: the settings by which groups are matched, the labels of its groups, and the points.
  std::vector<std::tuple<Common, std::string, std::vector<Point>>> inputs;
  std::map<std::string, int> places;
  for (const Group& group : report.groups) {
    std::map<std::string, std::string> settings = shapes.at(group.label);
    const auto own = settings.extract(claim.axis);
    if (own.empty() || std::ranges::find(claim.except, own.mapped()) != claim.except.end()) continue;
    const Common common{std::move(settings), places[group.label]++};
    auto input = std::ranges::find(inputs, common, [](const auto& known) { return std::get<0>(known); });
    if (input == inputs.end()) input = inputs.insert(inputs.end(), {common, "", {}});
    std::map<int, double> times = by_threads(group, claim.variant, cores);
    if (claim.threads > 0) std::erase_if(times, [&](const auto& time) { return time.first != claim.threads; });
    if (times.empty()) continue;
    auto& [ignored, labels, points] = *input;
    labels += (labels.empty() ? "" : ", ") + group.label;
    points.push_back(
        {own.mapped(), std::ranges::min_element(times, {}, [](const auto& time) { return time.second; })->second});
  }
  std::vector<Finding> findings;
  for (auto& [ignored, labels, points] : inputs) {
    findings.push_back(claim.kind == Claim::Kind::best_at ? best_at(points, claim.value)
                                                          : worst_at(points, claim.value));
    findings.back().input = labels;
    findings.back().points = std::move(points);
  }
  // Drops inputs that were not measured with the claimed value. If this would drop all inputs, keeps all of them.
  const auto tells = [&claim](const Finding& finding) {
    return std::ranges::find(finding.points, claim.value, &Point::at) != finding.points.end();
  };
  if (std::ranges::any_of(findings, tells)) std::erase_if(findings, std::not_fn(tells));
  return findings;
}

}  // namespace

bool is_about_axis(Claim::Kind kind) { return kind == Claim::Kind::best_at || kind == Claim::Kind::worst_at; }
bool is_about_figure(Claim::Kind kind) { return kind == Claim::Kind::at_least || kind == Claim::Kind::less_than; }
bool names_another(Claim::Kind kind) {
  return kind == Claim::Kind::faster_than || kind == Claim::Kind::like || kind == Claim::Kind::less_than;
}
bool compares_by_threads(Claim::Kind kind) { return names_another(kind) || is_about_figure(kind); }

Judgement judge(const Claim& claim, const Report& report, const ShapeSettings& shapes, int cores) {
  Judgement judgement;
  if (is_about_axis(claim.kind)) {
    judgement.findings = over_axis(claim, report, shapes, cores);
  } else {
    for (const Group& group : report.groups) {
      if (!claim.shapes.empty() && std::ranges::find(claim.shapes, group.label) == claim.shapes.end()) continue;
      Finding finding;
      if (compares_by_threads(claim.kind)) {
        finding = compared(claim, group, cores);
      } else {
        const bool drops = claim.kind == Claim::Kind::drops_at;
        const std::map<int, double> times =
            by_threads(group, claim.variant, drops ? std::numeric_limits<int>::max() : cores);
        finding = drops                                 ? drops_at(times, claim.threads)
                  : claim.kind == Claim::Kind::stops_at ? stops_at(times, claim.threads)
                                                        : scales_to(times, claim.threads);
        finding.points = points_of(times);
      }
      finding.input = group.label;
      judgement.findings.push_back(std::move(finding));
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
    case Claim::Kind::drops_at: return "drops_at";
    case Claim::Kind::best_at: return "best_at";
    case Claim::Kind::worst_at: return "worst_at";
    case Claim::Kind::faster_than: return "faster_than";
    case Claim::Kind::like: return "like";
    case Claim::Kind::at_least: return "at_least";
    case Claim::Kind::less_than: return "less_than";
  }
  return "?";
}

Claim::Kind claim_kind_called(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Claim::Kind kind : kinds) {
    if (to_string(kind) == name) return kind;
    names.push_back(to_string(kind));
  }
  throw InputError(fmt::format("there is no claim '{}'{}; there are {}", name, core::did_you_mean(name, names),
                               fmt::join(names, ", ")));
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::confirmed: return "confirmed";
    case Verdict::refuted: return "refuted";
    case Verdict::undecided: return "not decided here";
  }
  return "?";
}

namespace {

/// Returns a text such as "up to 16 threads" or "with 2 to 16 threads".
std::string teams_text(const Claim& claim) {
  if (claim.from == claim.threads) return fmt::format("with {} threads", claim.threads);
  if (claim.from > 1) return fmt::format("with {} to {} threads", claim.from, claim.threads);
  return fmt::format("up to {} threads", claim.threads);
}

std::string value_text(const Claim& claim) {
  std::string text = fmt::format("{} {}", claim.axis, claim.value);
  if (claim.threads > 0) text += fmt::format(" with {} threads", claim.threads);
  if (!claim.except.empty()) text += fmt::format(", but for {}", fmt::join(claim.except, ", "));
  return text;
}

}  // namespace

std::string claim_text(const Claim& claim) {
  switch (claim.kind) {
    case Claim::Kind::stops_at: return fmt::format("stops at {} threads", claim.threads);
    case Claim::Kind::scales_to: return fmt::format("scales to {} threads", claim.threads);
    case Claim::Kind::drops_at: return fmt::format("drops at {} threads", claim.threads);
    case Claim::Kind::best_at: return "best at " + value_text(claim);
    case Claim::Kind::worst_at: return "worst at " + value_text(claim);
    case Claim::Kind::faster_than: return fmt::format("faster than {} {}", claim.than, teams_text(claim));
    case Claim::Kind::like: return fmt::format("like {} {}", claim.than, teams_text(claim));
    case Claim::Kind::at_least: return fmt::format("{} at least {:g} {}", claim.figure, claim.least, teams_text(claim));
    case Claim::Kind::less_than: return fmt::format("less {} than {} {}", claim.figure, claim.than, teams_text(claim));
  }
  return "?";
}

std::string rule_text(const Claim& claim) {
  const std::string clearly = fmt::format("more than {:.0f} % faster", 100 * (clear_ratio - 1));
  const std::string team = claim.threads > 0 ? "" : ", each with its best number of threads";
  switch (claim.kind) {
    case Claim::Kind::stops_at:
      return fmt::format("with no greater number of threads {} than with {}", clearly, claim.threads);
    case Claim::Kind::scales_to:
      return fmt::format("{} with each number of threads than with the next lower one, up to {}", clearly,
                         claim.threads);
    case Claim::Kind::drops_at:
      return fmt::format("with the number of threads next below {} {} than with these", claim.threads, clearly);
    case Claim::Kind::best_at: return fmt::format("at no other {} {}{}", claim.axis, clearly, team);
    case Claim::Kind::worst_at: return fmt::format("{} than at no other {}{}", clearly, claim.axis, team);
    case Claim::Kind::faster_than:
      return fmt::format("{} than {} with each number of threads, {}", clearly, claim.than, teams_text(claim));
    case Claim::Kind::like:
      return fmt::format("neither it nor {} is {} with any number of threads, {}", claim.than, clearly,
                         teams_text(claim));
    case Claim::Kind::at_least:
    case Claim::Kind::less_than: return "with each number of threads";
  }
  return "?";
}

std::string points_text(const Claim& claim, const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points) {
    text += fmt::format("{}{}: ", text.empty() ? "" : ", ", point.at);
    text +=
        is_about_figure(claim.kind) ? fmt::format("{:.4g}", point.value) : fmt::format("{:.4g} ms", 1e3 * point.value);
  }
  return text;
}

ordered_json to_json(const Claim& claim, const Judgement& judgement) {
  ordered_json json = {
      {"variant", claim.variant}, {"claim", to_string(claim.kind)}, {"text", claim.variant + " " + claim_text(claim)}};
  if (is_about_axis(claim.kind)) json[claim.axis] = claim.value;
  if (!claim.except.empty()) json["except"] = claim.except;
  if (claim.threads > 0) json["threads"] = claim.threads;
  if (claim.from > 1) json["from"] = claim.from;
  if (names_another(claim.kind)) json["than"] = claim.than;
  if (is_about_figure(claim.kind)) json["figure"] = claim.figure;
  if (claim.kind == Claim::Kind::at_least) json["least"] = claim.least;
  json["rule"] = rule_text(claim);
  json["verdict"] = to_string(judgement.verdict);
  json["inputs"] = ordered_json::array();
  for (const Finding& finding : judgement.findings) {
    ordered_json values = ordered_json::object();
    for (const Point& point : finding.points) values[point.at] = point.value;
    json["inputs"].push_back({{"label", finding.input},
                              {"verdict", to_string(finding.verdict)},
                              {"because", finding.because},
                              {is_about_figure(claim.kind) ? "figures" : "seconds", std::move(values)}});
  }
  return json;
}

}  // namespace gradus::bench
