#include "bench/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gradus/error.hpp"

namespace gradus::bench {

using nlohmann::ordered_json;

namespace {

bool same_input(const Group& one, const Group& other) { return one.label == other.label && one.facts == other.facts; }

std::string row_text(const Group& group, const Row& row) {
  std::string text = group.title + ": " + row.variant + fmt::format(", {} threads", row.threads);
  if (row.ranks > 1) text += fmt::format(" on each of {} ranks", row.ranks);
  if (row.pinning != Pinning::none) text += fmt::format(", {}", to_string(row.pinning));
  if (row.block_size > 0) text += fmt::format(", blocks of {}", row.block_size);
  return text;
}

/// Returns the time on the second machine divided by the time on the first one, estimated from the ceilings of both
/// machines. Returns 1 if the ceilings are unknown.
double machine_ratio(const Row& row, const Report& before, const Report& after) {
  const auto team_of = [&row](const Report& report) {
    return std::ranges::find_if(report.ceilings, [&row](const TeamCeilings& team) {
      return team.on_gpu == row.on_gpu && (row.on_gpu || (team.threads == row.threads && team.pinning == row.pinning));
    });
  };
  const auto old_team = team_of(before);
  const auto new_team = team_of(after);
  if (old_team == before.ceilings.end() || new_team == after.ceilings.end()) return 1;
  std::vector<double> ratios;
  for (const auto& [key, rate] : ceiling_rates)
    if (old_team->ceilings.*rate > 0 && new_team->ceilings.*rate > 0)
      ratios.push_back(old_team->ceilings.*rate / new_team->ceilings.*rate);
  return ratios.empty() ? 1 : median(ratios);
}

std::vector<double> seconds_of(const Row& row) {
  std::vector<double> seconds;
  for (const Sample& sample : row.samples) seconds.push_back(sample.seconds);
  return seconds;
}

double least_of(const std::vector<double>& samples) { return *std::ranges::min_element(samples); }

double upper_quartile(std::vector<double> samples) {
  const auto place = samples.begin() + static_cast<std::ptrdiff_t>(3 * samples.size() / 4);
  std::ranges::nth_element(samples, place);
  return *place;
}

void judge(Change& change, double doubt) {
  const bool had = change.before->trouble.empty();
  const bool has = change.after->trouble.empty();
  if (!had || !has) {
    change.mark = had ? Mark::broken : has ? Mark::mended : Mark::without;
    return;
  }
  const std::vector<double> before = seconds_of(*change.before);
  const std::vector<double> after = seconds_of(*change.after);
  change.ratio = ratio_of(after, before, doubt);
  const double most = negligible_ratio * std::max(1.0, change.machine);
  const double least = std::min(1.0, change.machine) / negligible_ratio;
  if (change.ratio.low == 0) change.mark = Mark::few;
  else if (change.ratio.low > most && least_of(after) > most * upper_quartile(before)) change.mark = Mark::slower;
  else if (change.ratio.high < least && upper_quartile(after) < least * least_of(before)) change.mark = Mark::faster;
}

}  // namespace

Comparison compare(const ResultFile& before, const ResultFile& after) {
  if (before.report.problem != after.report.problem)
    throw InputError(fmt::format("'{}': problem is {}, but the problem of '{}' is {}", after.path, after.report.problem,
                                 before.path, before.report.problem));
  Comparison comparison;
  std::vector<const Row*> met;
  for (const Group& group : after.report.groups)
    for (const Row& row : group.rows) {
      const Row* counterpart = nullptr;
      for (const Group& other : before.report.groups) {
        if (counterpart != nullptr || !same_input(other, group)) continue;
        const auto found = std::ranges::find_if(other.rows, [&](const Row& old_row) {
          return same_settings(old_row, row) && std::ranges::find(met, &old_row) == met.end();
        });
        if (found != other.rows.end()) counterpart = &*found;
      }
      if (counterpart == nullptr) {
        comparison.only_after.push_back(row_text(group, row));
        continue;
      }
      met.push_back(counterpart);
      comparison.changes.push_back({&group, counterpart, &row, {}, machine_ratio(row, before.report, after.report)});
    }
  if (comparison.changes.empty())
    throw InputError(fmt::format(
        "'{}' and '{}' have no row in common: none of the same variant with the same settings on the same input",
        before.path, after.path));
  for (const Group& group : before.report.groups)
    for (const Row& row : group.rows)
      if (std::ranges::find(met, &row) == met.end()) comparison.only_before.push_back(row_text(group, row));
  comparison.doubt = doubt_of_all_rows / static_cast<double>(comparison.changes.size());
  for (Change& change : comparison.changes) judge(change, comparison.doubt);
  return comparison;
}

Comparison compare(const std::vector<ResultFile>& before, const std::vector<ResultFile>& after) {
  Comparison comparison = compare(before.front(), after.front());
  if (before.size() == 1) return comparison;
  for (Change& change : comparison.changes) {
    const auto row_of = [&change](const ResultFile& file) {
      for (const Group& group : file.report.groups)
        if (same_input(group, *change.group))
          for (const Row& row : group.rows)
            if (same_settings(row, *change.after)) return &row;
      throw InputError(fmt::format("'{}': it has not the row of the other results: {}", file.path,
                                   row_text(*change.group, *change.after)));
    };
    std::vector<double> ratios;
    std::vector<double> machines;
    bool had = true;
    bool has = true;
    for (std::size_t pair = 0; pair < before.size(); ++pair) {
      const Row& old_row = *row_of(before[pair]);
      const Row& new_row = *row_of(after[pair]);
      had &= old_row.trouble.empty();
      has &= new_row.trouble.empty();
      if (!had || !has) continue;
      ratios.push_back(least_of(seconds_of(new_row)) / least_of(seconds_of(old_row)));
      machines.push_back(machine_ratio(new_row, before[pair].report, after[pair].report));
    }
    change.mark = had && has ? Mark::none : had ? Mark::broken : has ? Mark::mended : Mark::without;
    if (!had || !has) continue;
    change.ratio = median_ratio(std::move(ratios), comparison.doubt);
    change.machine = median(std::move(machines));
    if (change.ratio.low == 0) change.mark = Mark::few;
    else if (change.ratio.low > negligible_ratio * std::max(1.0, change.machine)) change.mark = Mark::slower;
    else if (change.ratio.high < std::min(1.0, change.machine) / negligible_ratio) change.mark = Mark::faster;
  }
  return comparison;
}

std::string difference_of_machines(const ResultFile& before, const ResultFile& after) {
  const ordered_json& old_machine = before.json.at("facts").at("machine");
  const ordered_json& new_machine = after.json.at("facts").at("machine");
  for (const char* fact : {"processor", "cores", "physical_cores", "packages", "memory_nodes", "l1_bytes", "l2_bytes",
                           "l3_bytes", "gpus"}) {
    const ordered_json one = old_machine.value(fact, ordered_json());
    const ordered_json other = new_machine.value(fact, ordered_json());
    if (one == other) continue;
    const auto text = [](const ordered_json& json) {
      return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    };
    return fmt::format("facts.machine.{} is {} in '{}' and {} in '{}'", fact, text(one), before.path, text(other),
                       after.path);
  }
  return "";
}

std::string_view to_string(Mark mark) {
  switch (mark) {
    case Mark::none: return "";
    case Mark::slower: return "slower";
    case Mark::faster: return "faster";
    case Mark::few: return "too few samples";
    case Mark::broken: return "no result any more";
    case Mark::mended: return "no result before";
    case Mark::without: return "no result";
  }
  return "?";
}

ordered_json to_json(const Comparison& comparison) {
  ordered_json rows = ordered_json::array();
  for (const Change& change : comparison.changes) {
    ordered_json row = {{"label", change.group->label},
                        {"title", change.group->title},
                        {"variant", change.after->variant},
                        {"threads", change.after->threads},
                        {"pinning", to_string(change.after->pinning)},
                        {"block_size", change.after->block_size}};
    if (change.before->trouble.empty()) row["old_seconds"] = change.before->seconds.median;
    if (change.after->trouble.empty()) row["new_seconds"] = change.after->seconds.median;
    if (change.before->trouble.empty() && change.after->trouble.empty()) {
      const bool bounded = change.mark != Mark::few;
      row["ratio"] = change.ratio.estimate;
      row["low"] = bounded ? ordered_json(change.ratio.low) : ordered_json(nullptr);
      row["high"] = bounded ? ordered_json(change.ratio.high) : ordered_json(nullptr);
      row["machine"] = change.machine;
    }
    row["mark"] = to_string(change.mark);
    rows.push_back(std::move(row));
  }
  return {{"confidence_of_all_rows", 1 - doubt_of_all_rows},
          {"rows", std::move(rows)},
          {"only_old", comparison.only_before},
          {"only_new", comparison.only_after}};
}

}  // namespace gradus::bench
