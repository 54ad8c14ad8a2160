// Puts a measurement of `gradus bench` on a page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/experiment.hpp"
#include "cli/page/sections.hpp"

namespace gradus::cli {

namespace {

using bench::Group;
using bench::JsonValue;
using bench::Report;
using bench::Row;
using Rows = std::vector<const Row*>;

constexpr double milliseconds_per_second = 1e3;

double milliseconds(double seconds) { return milliseconds_per_second * seconds; }

Rows sound_rows(const Group& group) {
  Rows rows;
  for (const Row& row : group.rows)
    if (row.trouble.empty()) rows.push_back(&row);
  return rows;
}

/// Returns the fastest row of each variant. The rows are in the order in which the variants were measured.
Rows best_rows(const Group& group) {
  Rows best;
  for (const Row* row : sound_rows(group)) {
    const auto known = std::ranges::find(best, row->variant, &Row::variant);
    if (known == best.end()) best.push_back(row);
    else if (row->seconds.median < (*known)->seconds.median) *known = row;
  }
  return best;
}

std::string settings_text(const Row& row) {
  if (row.on_gpu) return row.block_size > 0 ? fmt::format("blocks of {}", row.block_size) : "GPU";
  const std::string ranks = row.ranks > 1 ? fmt::format("{} ranks, ", row.ranks) : std::string();
  return fmt::format("{}{} thread{}{}", ranks, row.threads, row.threads == 1 ? "" : "s",
                     row.pinning == Pinning::none ? "" : fmt::format(", {}", to_string(row.pinning)));
}

std::string title_of_row(const Row& row) { return fmt::format("{} ({})", row.variant, settings_text(row)); }

/// Returns true if the times differ enough for a logarithmic axis.
bool differ_much(const std::vector<Series>& series) {
  double least = INFINITY;
  double most = 0;
  for (const Series& one : series)
    for (const std::optional<double>& value : one.values)
      if (value && *value > 0) {
        least = std::min(least, *value);
        most = std::max(most, *value);
      }
  constexpr double much = 30;
  return most > much * least;
}

void add_time(Series& series, const Row* row) {
  const auto add = [row](std::vector<std::optional<double>>& values, double bench::Summary::*figure) {
    values.push_back(row == nullptr ? std::nullopt : std::optional<double>(milliseconds(row->seconds.*figure)));
  };
  add(series.values, &bench::Summary::median);
  add(series.low, &bench::Summary::lowest);
  add(series.high, &bench::Summary::highest);
}

void add_best_times(Page& page, const Rows& best) {
  if (best.size() < 2) return;
  Chart chart{.title = "least time of each variant",
              .values_name = "median of the whole job, ms",
              .series = {{.name = "time, ms"}}};
  for (const Row* row : best) {
    chart.places.push_back(title_of_row(*row));
    add_time(chart.series.front(), row);
  }
  chart.logarithmic = differ_much(chart.series);
  page.chart(chart);
}

/// Plots time and speed-up over a setting. Each variant (and pinning) that was measured at several values of the
/// setting has a line.
void add_over(Page& page, const Rows& rows, const std::string& name, int Row::*setting, bool of_gpu) {
  std::set<int> values;
  std::vector<std::pair<std::string, Rows>> lines;
  std::set<Pinning> pinnings;
  for (const Row* row : rows)
    if (row->on_gpu == of_gpu) pinnings.insert(row->pinning);
  for (const Row* row : rows) {
    if (row->on_gpu != of_gpu || row->*setting == 0) continue;
    std::string line = row->variant;
    if (!of_gpu && pinnings.size() > 1) line += fmt::format(", {}", to_string(row->pinning));
    auto known = std::ranges::find(lines, line, &std::pair<std::string, Rows>::first);
    if (known == lines.end()) known = lines.insert(lines.end(), {line, {}});
    known->second.push_back(row);
    values.insert(row->*setting);
  }
  const bool any_line = std::ranges::any_of(lines, [](const auto& line) { return line.second.size() > 1; });
  if (values.size() < 2 || !any_line) return;
  Chart time{.kind = Chart::Kind::lines, .title = "time by " + name, .places_name = name, .values_name = "median, ms"};
  Chart speedup{.kind = Chart::Kind::lines,
                .title = "speed-up by " + name,
                .places_name = name,
                .values_name = "speed-up over the first row"};
  for (const int value : values) time.places.push_back(fmt::format("{}", value));
  speedup.places = time.places;
  for (const auto& [line, members] : lines) {
    Series times{.name = line};
    Series speedups{.name = line};
    for (const int value : values) {
      const auto found = std::ranges::find_if(members, [&](const Row* row) { return row->*setting == value; });
      add_time(times, found == members.end() ? nullptr : *found);
      speedups.values.push_back(found == members.end() ? std::nullopt : std::optional<double>((*found)->speedup));
    }
    time.series.push_back(std::move(times));
    speedup.series.push_back(std::move(speedups));
  }
  time.logarithmic = differ_much(time.series);
  page.chart(time);
  page.chart(speedup);
}

void add_phases(Page& page, const Rows& best) {
  Chart chart{
      .kind = Chart::Kind::stacked, .title = "where the time goes", .values_name = "share of the phases' time, %"};
  for (const Row* row : best)
    for (const Phase& phase : row->phases)
      if (phase.seconds >= 0.01 * row->seconds.median &&
          std::ranges::find(chart.series, phase.name, &Series::name) == chart.series.end())
        chart.series.push_back({phase.name, {}});
  if (chart.series.size() < 2) return;
  for (const Row* row : best) {
    double all = 0;
    for (const Phase& phase : row->phases) all += phase.seconds;
    if (!(all > 0)) continue;
    chart.places.push_back(title_of_row(*row));
    for (Series& series : chart.series) {
      const auto found = std::ranges::find(row->phases, series.name, &Phase::name);
      series.values.emplace_back(found == row->phases.end() ? 0 : 100 * found->seconds / all);
    }
  }
  page.chart(chart);
}

std::optional<double> figure_of(const Row& row, const std::string& key) {
  const auto found = std::ranges::find(row.figures, key, &bench::Figure::key);
  return found == row.figures.end() || !found->value.is_number() ? std::nullopt
                                                                 : std::optional<double>(found->value.get<double>());
}

constexpr std::string_view share = "share_of_";

std::vector<std::string> shares_of(const Rows& rows) {
  std::vector<std::string> keys;
  for (const Row* row : rows)
    for (const bench::Figure& figure : row->figures)
      if (figure.key.starts_with(share) && std::ranges::find(keys, figure.key) == keys.end())
        keys.push_back(figure.key);
  return keys;
}

/// Shows the speed-up of each rung over the previous rung, and the rung's share of each ceiling and of the roofline.
/// According to the roofline model, a job takes at least the time to move its bytes at the measured bandwidth, and at
/// least the time to compute its operations at the measured rate. The longer of the two times limits the job. The
/// largest share of a ceiling is therefore the share of the roofline.
void add_ladder(Page& page, const Rows& best) {
  if (best.size() < 2) return;
  const std::vector<std::string> shares = shares_of(best);
  PageTable table{{{"rung", true}, {"time, ms"}, {"gain over the rung before"}, {"speed-up over the first"}}, {}};
  Chart gains{.title = "gain over the rung before",
              .values_name = "time of the rung before by its own",
              .series = {{.name = "gain"}}};
  Chart ceilings{.title = "share of each ceiling", .values_name = "% of the ceiling measured in the same run"};
  for (const std::string& key : shares) {
    table.columns.push_back({with_spaces(key)});
    ceilings.series.push_back({with_spaces(key.substr(share.size())), {}});
  }
  if (!shares.empty()) table.columns.push_back({"the roof", true});
  for (std::size_t index = 0; index < best.size(); ++index) {
    const Row& row = *best[index];
    const std::optional<double> gain =
        index == 0 ? std::nullopt : std::optional<double>(best[index - 1]->seconds.median / row.seconds.median);
    table.rows.push_back({title_of_row(row), fmt::format("{:.6g}", milliseconds(row.seconds.median)),
                          gain ? fmt::format("{:.2f} x", *gain) : "",
                          fmt::format("{:.2f} x", best.front()->seconds.median / row.seconds.median)});
    if (gain) {
      gains.places.push_back(title_of_row(row));
      gains.series.front().values.push_back(gain);
    }
    ceilings.places.push_back(title_of_row(row));
    std::optional<double> roof;
    std::string limit;
    for (std::size_t column = 0; column < shares.size(); ++column) {
      const std::optional<double> value = figure_of(row, shares[column]);
      table.rows.back().emplace_back(value ? fmt::format("{:.1f} %", 100 * *value) : "");
      ceilings.series[column].values.push_back(value ? std::optional<double>(100 * *value) : std::nullopt);
      if (!value || (roof && *roof >= *value)) continue;
      roof = value;
      limit = ceilings.series[column].name;
    }
    if (!shares.empty()) table.rows.back().emplace_back(roof ? fmt::format("{:.1f} %, by {}", 100 * *roof, limit) : "");
  }
  page.heading(4, "the rungs");
  page.table(table);
  gains.logarithmic = differ_much(gains.series);
  page.chart(gains);
  if (!ceilings.series.empty()) page.chart(ceilings);
}

/// Adds a chart for each figure that is a rate in the units of the problem.
void add_rates(Page& page, const Rows& best) {
  if (best.size() < 2) return;
  std::vector<std::string> keys;
  for (const Row* row : best)
    for (const bench::Figure& figure : row->figures)
      if ((figure.key.ends_with("_per_second") || figure.key.starts_with("gflops")) && figure.value.is_number() &&
          std::ranges::find(keys, figure.key) == keys.end())
        keys.push_back(figure.key);
  for (const std::string& key : keys) {
    const std::string name = key == "gflops"         ? "GFLOP/s"
                             : key == "gflops_there" ? "GFLOP/s without copies"
                                                     : with_spaces(key);
    Chart chart{.title = name, .values_name = name, .series = {{.name = name}}};
    for (const Row* row : best) {
      chart.places.push_back(title_of_row(*row));
      chart.series.front().values.push_back(figure_of(*row, key));
    }
    chart.logarithmic = differ_much(chart.series);
    page.chart(chart);
  }
}

void add_rows(Page& page, const Group& group) {
  PageTable table{{{"variant", true},
                   {"threads"},
                   {"ranks"},
                   {"pin"},
                   {"block"},
                   {"median ms"},
                   {"lowest"},
                   {"highest"},
                   {"deviation"},
                   {"samples"},
                   {"speed-up"}},
                  {}};
  std::vector<std::string> figures;
  bool troubled = false;
  for (const Row& row : group.rows) {
    troubled |= !row.trouble.empty();
    for (const bench::Figure& figure : row.figures)
      if (figure.value.is_number() && !figure.key.starts_with(share) &&
          std::ranges::find(figures, figure.key) == figures.end())
        figures.push_back(figure.key);
  }
  for (const std::string& figure : figures) table.columns.push_back({with_spaces(figure)});
  if (troubled) table.columns.push_back({"", true});
  for (const Row& row : group.rows) {
    std::vector<PageTable::Cell>& cells = table.rows.emplace_back();
    cells = {row.variant, fmt::format("{}", row.threads), row.ranks > 1 ? fmt::format("{}", row.ranks) : "-",
             std::string(to_string(row.pinning)), row.block_size > 0 ? fmt::format("{}", row.block_size) : "-"};
    if (row.trouble.empty()) {
      for (const double seconds : {row.seconds.median, row.seconds.lowest, row.seconds.highest})
        cells.emplace_back(fmt::format("{:.6g}", milliseconds(seconds)));
      cells.emplace_back(fmt::format("{:.1f} %", 100 * row.seconds.deviation / row.seconds.median));
      cells.emplace_back(fmt::format("{}", row.samples.size()));
      cells.emplace_back(fmt::format("{:.2f}", row.speedup));
      for (const std::string& key : figures) {
        const std::optional<double> value = figure_of(row, key);
        cells.emplace_back(value ? fmt::format("{:.6g}", *value) : "");
      }
    }
    if (!troubled) continue;
    cells.resize(table.columns.size() - 1, "");
    cells.emplace_back(row.trouble, PageTable::Tone::bad);
  }
  page.long_table(fmt::format("all {} rows", group.rows.size()), table);
}

/// Returns a name for the input: its label or, if it has none, the facts that distinguish it from the other inputs of
/// the report.
std::string input_name(const Report& report, const Group& group) {
  if (!group.label.empty()) return group.label;
  std::string name;
  for (const auto& fact : group.facts.items()) {
    const bool differs = std::ranges::any_of(report.groups, [&](const Group& other) {
      return !other.facts.contains(fact.key()) || other.facts[fact.key()] != fact.value();
    });
    if (differs && fact.value().is_primitive())
      name += fmt::format("{}{} {}", name.empty() ? "" : ", ", with_spaces(fact.key()), plain_text(fact.value()));
  }
  return name.empty() ? group.title : name;
}

/// If there are several inputs, plots the least time of each variant over the inputs.
void add_inputs(Page& page, const Report& report) {
  if (report.groups.size() < 2) return;
  Chart chart{.kind = Chart::Kind::lines,
              .title = "least time of each variant by input",
              .places_name = "input",
              .values_name = "median of the whole job, ms"};
  for (const Group& group : report.groups) {
    chart.places.push_back(input_name(report, group));
    for (const Row* row : best_rows(group))
      if (std::ranges::find(chart.series, row->variant, &Series::name) == chart.series.end())
        chart.series.push_back({row->variant, {}});
  }
  for (Series& series : chart.series)
    for (const Group& group : report.groups) {
      const Rows best = best_rows(group);
      const auto found = std::ranges::find(best, series.name, &Row::variant);
      add_time(series, found == best.end() ? nullptr : *found);
    }
  chart.logarithmic = differ_much(chart.series);
  page.chart(chart);
}

// ---- Published figures and claims ----

PageTable::Cell verdict_cell(std::string_view verdict) {
  const PageTable::Tone tone = verdict == to_string(bench::Verdict::confirmed) ? PageTable::Tone::good
                               : verdict == to_string(bench::Verdict::refuted) ? PageTable::Tone::bad
                                                                               : PageTable::Tone::plain;
  return {std::string(verdict), tone};
}

/// Returns the published figures of the experiment. Reads them from the experiment's file, because an older result may
/// lack some of them. If the file does not exist, takes them from the result.
std::vector<bench::Published> published_of(const JsonValue& experiment) {
  const std::string name = experiment["name"].text();
  const std::vector<std::string> names = bench::experiment_names();
  if (std::ranges::find(names, name) != names.end())
    return bench::read_experiment(bench::find_experiment(name)).published;
  std::vector<bench::Published> all;
  for (const JsonValue& value : experiment["published"].elements()) {
    try {
      all.push_back(bench::published_of(nlohmann::json(value.json())));
    } catch (const nlohmann::json::exception& error) {
      value.fail(fmt::format("is no published figure: {}", error.what()));
    }
  }
  return all;
}

void add_published(Page& page, const JsonValue& experiment, const Report& report, bool full_size) {
  PageTable table{{{"input", true},
                   {"variant", true},
                   {"published"},
                   {"threads"},
                   {"here"},
                   {"as"},
                   {"verdict", true},
                   {"because", true},
                   {"note", true}},
                  {}};
  Chart chart{.title = "published speed-ups, and here",
              .values_name = "speed-up over the first row",
              .series = {{.name = "published"}, {.name = "here"}}};
  for (const bench::Published& published : published_of(experiment)) {
    const Row* const row = bench::counterpart(published, report);
    const bench::Finding finding = bench::judge(published, report, full_size);
    table.rows.push_back({published.shape, published.variant.empty() ? "-" : published.variant,
                          bench::published_text(published),
                          published.threads ? fmt::format("{}", *published.threads) : "-",
                          row != nullptr ? bench::measured_text(published, *row, report) : "-",
                          row != nullptr ? settings_text(*row) : "-", verdict_cell(to_string(finding.verdict)),
                          finding.because, published.note});
    if (published.seconds) continue;
    chart.places.push_back(fmt::format("{} · {}{}", published.shape, published.variant,
                                       published.threads ? fmt::format(" · {} threads", *published.threads) : ""));
    const double least = *published.lowest_speedup;
    const double most = *published.highest_speedup;
    chart.series[0].values.emplace_back(0.5 * (least + most));
    chart.series[0].low.emplace_back(least);
    chart.series[0].high.emplace_back(most);
    chart.series[1].values.push_back(row != nullptr ? bench::measured_speedup(published, *row, report) : std::nullopt);
  }
  if (table.rows.empty()) return;
  page.heading(3, "Published, and here");
  if (!chart.places.empty()) page.chart(chart);
  page.table(table);
}

/// Judges the claims that are now in the experiment's file. If the file is missing, returns the claims and verdicts
/// from the result.
nlohmann::ordered_json claims_of(const JsonValue& file, const Report& report) {
  const std::string name = file["experiment"]["name"].text();
  const std::vector<std::string> names = bench::experiment_names();
  if (std::ranges::find(names, name) == names.end())
    return file.has("claims") ? file["claims"].json() : nlohmann::ordered_json::array();
  const bench::Experiment experiment = bench::read_experiment(bench::find_experiment(name));
  const JsonValue machine = file["facts"]["machine"];
  Report known = report;  // contains only inputs that the experiment's file still names; an older result may have more
  std::erase_if(known.groups, [&](const Group& group) { return !experiment.settings.contains(group.label); });
  nlohmann::ordered_json claims = nlohmann::ordered_json::array();
  for (const bench::Claim& claim : experiment.claims)
    claims.push_back(
        bench::to_json(claim, bench::judge(claim, known, experiment.settings, std::max(1, machine["cores"].whole()))));
  return claims;
}

/// Returns the text of a claim. If the result does not contain the text, makes it from the claim's fields.
std::string claim_text(const JsonValue& claim) {
  if (claim.has("text")) return claim["text"].text();
  std::string text = claim["variant"].text() + " " + with_spaces(claim["claim"].text());
  for (const auto& [key, value] : claim.members())
    if (key != "variant" && key != "claim" && key != "rule" && key != "verdict" && key != "inputs")
      text += fmt::format(", {} {}", key, plain_text(value.json()));
  return text;
}

void add_claims(Page& page, const JsonValue& claims) {
  PageTable table{{{"claim", true}, {"verdict", true}, {"because", true}, {"inputs", true}, {"rule", true}}, {}};
  PageTable findings{{{"claim", true}, {"input", true}, {"verdict", true}, {"because", true}}, {}};
  for (const JsonValue& claim : claims.elements()) {
    const std::string text = claim_text(claim);
    const std::string judgement = claim["verdict"].text();
    std::string because;  // the reason of the first input that has the same verdict as the claim
    int confirmed = 0;
    int refuted = 0;
    const std::vector<JsonValue> inputs = claim["inputs"].elements();
    for (const JsonValue& input : inputs) {
      const std::string verdict = input["verdict"].text();
      confirmed += verdict == to_string(bench::Verdict::confirmed) ? 1 : 0;
      refuted += verdict == to_string(bench::Verdict::refuted) ? 1 : 0;
      if (because.empty() && verdict == judgement)
        because = fmt::format("{}: {}", input["label"].text(), input["because"].text());
      findings.rows.push_back({text, input["label"].text(), verdict_cell(verdict), input["because"].text()});
    }
    table.rows.push_back({text, verdict_cell(judgement), because,
                          fmt::format("{} confirm it, {} refute it, of {}", confirmed, refuted, inputs.size()),
                          claim["rule"].text()});
  }
  if (table.rows.empty()) return;
  page.heading(3, "Claims");
  page.table(table);
  page.long_table("what each input says", findings);
}

// ---- Conditions of the measurement ----

void add_facts(Page& page, const bench::ResultFile& result) {
  page.heading(3, "Measured");
  const JsonValue file(result.json, result.path);
  PageFacts facts;
  if (!result.path.empty()) facts.emplace_back("file", result.path);
  const JsonValue known = file["facts"];
  for (const char* key : {"date", "command", "version", "commit", "compiler", "flags"})
    facts.emplace_back(key, known[key].text());
  for (const auto& [key, value] : known["machine"].members())
    facts.emplace_back(with_spaces(key), plain_text(value.json()));
  std::set<std::string> verified;
  for (const Group& group : result.report.groups) verified.insert(group.verified);
  facts.emplace_back("verified", fmt::format("{}", fmt::join(verified, "; ")));
  page.facts(facts);
  PageTable table{{{"ceilings of", true}, {"threads"}, {"pin"}}, {}};
  for (const auto& [key, rate] : bench::ceiling_rates) table.columns.push_back({with_spaces(std::string(key))});
  for (const bench::TeamCeilings& team : result.report.ceilings) {
    table.rows.push_back(
        {team.on_gpu ? "GPU" : "CPU", fmt::format("{}", team.threads), std::string(to_string(team.pinning))});
    for (const auto& [key, rate] : bench::ceiling_rates)
      table.rows.back().emplace_back(team.ceilings.*rate > 0 ? fmt::format("{:.4g}", team.ceilings.*rate) : "");
  }
  page.long_table("the machine's ceilings, measured in the same run", table);
}

}  // namespace

std::string with_spaces(std::string text) {
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string plain_text(const nlohmann::ordered_json& json) {
  if (json.is_array() && std::ranges::all_of(json, [](const auto& element) { return element.is_string(); })) {
    std::string text;
    for (const auto& element : json) text += (text.empty() ? "" : ", ") + element.template get<std::string>();
    return text;
  }
  return json.is_string() ? json.get<std::string>()
                          : json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void add_measurement(Page& page, const bench::ResultFile& result) {
  const JsonValue file(result.json, result.path);
  const Report& report = result.report;
  const bool of_experiment = file.has("experiment");
  page.heading(2, of_experiment
                      ? file["experiment"]["title"].text()
                      : fmt::format("{}: measured {}", with_spaces(report.problem), file["facts"]["date"].text()));
  if (of_experiment) {
    page.faint(file["experiment"]["source"].text());
    const double scale = file.has("scale") ? file["scale"].positive() : 1;
    if (scale < 1)
      page.paragraph(fmt::format("Inputs at a scale of {:g}; published figures are for the full size.", scale));
    add_published(page, file["experiment"], report, scale == 1);
    const nlohmann::ordered_json claims = claims_of(file, report);
    add_claims(page,
               file.has("claims") && claims == file["claims"].json() ? file["claims"] : JsonValue(claims, result.path));
  }
  const bool of_scaling = file.has("scaling");  // true if the inputs differ only in the number of ranks or GPUs
  if (of_scaling) add_scaling(page, file["scaling"]);
  else add_inputs(page, report);
  for (const Group& group : report.groups) {
    page.heading(3, group.title);
    page.faint("verified: " + group.verified);
    if (of_scaling) {
      add_rows(page, group);
      continue;
    }
    const Rows rows = sound_rows(group);
    const Rows best = best_rows(group);
    add_best_times(page, best);
    add_over(page, rows, "threads", &Row::threads, false);
    add_over(page, rows, "block size", &Row::block_size, true);
    add_phases(page, best);
    add_ladder(page, best);
    add_rates(page, best);
    add_rows(page, group);
  }
  add_facts(page, result);
}

}  // namespace gradus::cli
