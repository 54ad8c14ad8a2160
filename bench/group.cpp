#include "bench/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/facts.hpp"
#include "bench/gpu_ceilings.hpp"
#include "cpu/threads.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

using nlohmann::ordered_json;

namespace {

/// A ceiling. `key` names a row's share of this ceiling in JSON, and `heading` is the heading of the column with the
/// shares.
struct CeilingName {
  double Ceilings::*rate;
  std::string_view key;
  std::string_view heading;
};

constexpr CeilingName ceiling_names[] = {
    {&Ceilings::read_bytes_per_second, "share_of_read_bandwidth", "read"},
    {&Ceilings::copy_bytes_per_second, "share_of_copy_bandwidth", "copy"},
    {&Ceilings::fma_f32_per_second, "share_of_fma_rate", "fma"},
    {&Ceilings::fma_f64_per_second, "share_of_fma_rate", "fma"},
    {&Ceilings::add_min_i32_per_second, "share_of_add_min_rate", "add+min"},
    {&Ceilings::add_min_i64_per_second, "share_of_add_min_rate", "add+min"},
    {&Ceilings::add_min_f32_per_second, "share_of_add_min_rate", "add+min"},
    {&Ceilings::add_min_f64_per_second, "share_of_add_min_rate", "add+min"},
    {&Ceilings::madd_i16_per_second, "share_of_madd_rate", "madd"},
};

const CeilingName& name_of(double Ceilings::*ceiling) {
  return *std::ranges::find(ceiling_names, ceiling, &CeilingName::rate);
}

/// Returns the rows of a group, still without figures. A row that belongs to several runs appears once.
std::vector<Row> make_rows(const ProblemRow& problem, const Workload& workload, const std::vector<VariantRun>& runs) {
  std::vector<Row> rows;
  for (const VariantRun& run : runs) {
    std::vector<std::string> names = run.variants;
    if (names.empty())
      for (const std::string& name : variant_names(problem))
        if (workload.support(name)) names.push_back(name);
    for (const std::string& name : names) {
      const core::VariantInfo variant = variant_info(problem, name);
      for (Row& row : rows_of(variant, workload.support(variant.name), run)) {
        if (std::ranges::any_of(rows, [&](const Row& other) { return same_settings(other, row); })) continue;
        row.index = rows.size();
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

/// Repeatedly runs the rows whose `trouble` is empty, in random order.
void time_rows(Workload& workload, std::vector<Row>& rows, const Effort& effort, const Reporter& report) {
  std::vector<Job> jobs;
  std::vector<Row*> timed;
  for (Row& row : rows) {
    if (!row.trouble.empty()) continue;
    timed.push_back(&row);
    jobs.push_back({[&workload, &row] { return workload.run(row); }, {}});
  }
  if (jobs.empty()) return;
  measure(jobs, effort, [&](std::int64_t done, std::int64_t total) { report("measure", done, total); });
  for (std::size_t index = 0; index < timed.size(); ++index) timed[index]->samples = std::move(jobs[index].samples);
}

void summarize(Row& row) {
  std::vector<double> seconds;
  for (const Sample& sample : row.samples) seconds.push_back(sample.seconds);
  row.seconds = bench::summarize(seconds);
  for (const Phase& phase : row.samples.front().phases) {
    std::vector<double> parts;
    for (const Sample& sample : row.samples)
      for (const Phase& other : sample.phases)
        if (other.name == phase.name) parts.push_back(other.seconds);
    row.phases.push_back({phase.name, median(std::move(parts))});
  }
}

Ceilings ceilings_of(const Row& row) {
  return row.on_gpu ? measure_gpu_ceilings(Execution{}.gpu) : measure_ceilings(row.threads, row.pinning);
}

void note_ceilings(const std::vector<Row>& rows, std::vector<TeamCeilings>& all) {
  for (const Row& row : rows) {
    const auto same = [&](const TeamCeilings& team) {
      return team.on_gpu == row.on_gpu && (row.on_gpu || (team.threads == row.threads && team.pinning == row.pinning));
    };
    if (row.trouble.empty() && std::ranges::none_of(all, same))
      all.push_back({row.threads, row.pinning, row.on_gpu, ceilings_of(row)});
  }
}

void measure_group(const ProblemRow& problem, Workload& workload, const Bench& bench, const BenchCallbacks& callbacks,
                   Report& report) {
  Group group;
  group.label = bench.label;
  group.title = fmt::format("{}{}{}", bench.label, bench.label.empty() ? "" : ": ", workload.title());
  group.rows = make_rows(problem, workload, bench.runs);
  const Reporter reporter(callbacks.progress, callbacks.stop, group.title);
  group.verified = workload.verify(group.rows, reporter);
  time_rows(workload, group.rows, bench.effort, reporter);
  const Row* first = nullptr;
  for (Row& row : group.rows) {
    if (!row.trouble.empty()) continue;
    summarize(row);
    if (first == nullptr) first = &row;
    row.speedup = first->seconds.median / row.seconds.median;
    row.figures = workload.figures(row);
    for (const Work& work : workload.work(row)) {
      // the ceiling is 0 if it is not measured on the row's device
      const double ceiling = ceilings_of(row).*work.ceiling;
      row.shares.emplace_back(
          work.ceiling, ceiling > 0 ? work.amount / work.seconds / ceiling : std::numeric_limits<double>::quiet_NaN());
    }
  }
  note_ceilings(group.rows, report.ceilings);
  group.facts = workload.facts();
  if (callbacks.group_done) callbacks.group_done(group);
  report.groups.push_back(std::move(group));
}

// --- tables ---------------------------------------------------------------------------------------------------------

struct Column {
  std::string heading;
  std::function<std::string(const Row&)> cell;
};

std::string percent(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0);
}

std::string mebibytes(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{:.1f}", static_cast<double>(*bytes) / 1048576) : "-";
}

/// Adds a column for each phase that takes at least 1 % of some row's time. Columns are in the order in which phases
/// first occur.
void add_phase_columns(const std::vector<Row>& rows, std::vector<Column>& columns) {
  for (const Row& row : rows)
    for (const Phase& phase : row.phases) {
      const std::string heading = phase.name + " ms";
      const auto known = [&](const Column& column) { return column.heading == heading; };
      if (!(phase.seconds >= 0.01 * row.seconds.median) || std::ranges::any_of(columns, known)) continue;
      columns.push_back({heading, [name = phase.name](const Row& any) -> std::string {
                           const auto found = std::ranges::find(any.phases, name, &Phase::name);
                           return found == any.phases.end() ? "-" : milliseconds(found->seconds);
                         }});
    }
}

std::vector<Column> columns_of(const std::vector<Row>& rows) {
  std::vector<Column> columns;
  const auto sound = std::ranges::find_if(rows, [](const Row& row) { return row.trouble.empty(); });
  if (sound == rows.end()) return columns;
  for (std::size_t index = 0; index < sound->figures.size(); ++index)
    if (const std::string& heading = sound->figures[index].heading; !heading.empty())
      columns.push_back({heading, [index](const Row& row) { return row.figures[index].text; }});
  columns.push_back({"speed-up", [](const Row& row) { return fmt::format("{:.2f}", row.speedup); }});
  add_phase_columns(rows, columns);
  for (std::size_t index = 0; index < sound->shares.size(); ++index)
    columns.push_back({std::string(heading_of(sound->shares[index].first)),
                       [index](const Row& row) { return percent(row.shares[index].second); }});
  if (std::ranges::any_of(rows, [](const Row& row) { return row.rechecked > 0; }))
    columns.push_back({"rechecked", [](const Row& row) { return fmt::format("{:.2g}", row.rechecked); }});
  columns.push_back({"memory MiB", [](const Row& row) { return mebibytes(row.memory_bytes); }});
  return columns;
}

std::vector<std::string> settings_cells(const Row& row) {
  std::vector<std::string> cells = {row.variant, std::to_string(row.threads), std::string(to_string(row.pinning)),
                                    row.block_size > 0 ? std::to_string(row.block_size) : "-"};
  if (!row.trouble.empty()) return cells;
  cells.push_back(milliseconds(row.seconds.median));
  cells.push_back(fmt::format("{:.1f} %", 100 * row.seconds.deviation / row.seconds.median));
  return cells;
}

// --- as JSON --------------------------------------------------------------------------------------------------------

ordered_json phases_json(const std::vector<Phase>& phases) {
  ordered_json json = ordered_json::object();
  for (const Phase& phase : phases) json[phase.name] = phase.seconds;
  return json;
}

ordered_json samples_json(const Row& row) {
  ordered_json samples = ordered_json::array();
  for (const Sample& sample : row.samples)
    samples.push_back({{"seconds", sample.seconds}, {"runs", sample.runs}, {"phases", phases_json(sample.phases)}});
  return samples;
}

ordered_json to_json(const Row& row) {
  ordered_json json = {{"variant", row.variant},
                       {"threads", row.threads},
                       {"pinning", to_string(row.pinning)},
                       {"block_size", row.block_size},
                       {"contract", core::kind_text(row.contract)}};
  if (!row.trouble.empty()) {
    json["trouble"] = row.trouble;
    return json;
  }
  json["seconds"] = {{"median", row.seconds.median},
                     {"lowest", row.seconds.lowest},
                     {"highest", row.seconds.highest},
                     {"median_absolute_deviation", row.seconds.deviation}};
  if (row.iterations > 0) json["iterations"] = row.iterations;
  for (const Figure& figure : row.figures)
    if (!figure.heading.empty()) json[figure.key] = figure.value;
  json["speedup"] = row.speedup;
  json["phases"] = phases_json(row.phases);
  for (const auto& [ceiling, share] : row.shares)
    if (!std::isnan(share)) json[std::string(name_of(ceiling).key)] = share;
  json["peak_memory_bytes"] = row.memory_bytes ? ordered_json(*row.memory_bytes) : ordered_json(nullptr);
  json["rechecked"] = row.rechecked;
  for (const Figure& figure : row.figures)
    if (figure.heading.empty()) json[figure.key] = figure.value;
  json["samples"] = samples_json(row);
  return json;
}

ordered_json to_json(const Group& group) {
  ordered_json json = {{"label", group.label}, {"title", group.title}};
  json.update(group.facts);
  json["verified"] = group.verified;
  json["rows"] = ordered_json::array();
  for (const Row& row : group.rows) json["rows"].push_back(to_json(row));
  return json;
}

}  // namespace

bool same_settings(const Row& first, const Row& second) {
  return first.variant == second.variant && first.threads == second.threads && first.ranks == second.ranks &&
         first.pinning == second.pinning && first.block_size == second.block_size;
}

std::string_view heading_of(double Ceilings::*ceiling) { return name_of(ceiling).heading; }

std::vector<Row> rows_of(const core::VariantInfo& variant, const core::Support& support, const VariantRun& run) {
  const bool one_thread = variant.backend == core::Backend::sequential;
  const bool on_gpu = variant.backend == core::Backend::cuda;
  const std::vector<int> every_thread = {0};
  const std::vector<int> no_block = {0};
  std::vector<Row> rows;
  for (const Pinning pinning : run.pinnings)
    for (const int threads : on_gpu ? every_thread : run.threads)
      for (const int block_size : on_gpu ? run.block_sizes : no_block) {
        Row row;
        row.variant = variant.name;
        row.contract = variant.contract;
        Execution execution;
        execution.threads = one_thread ? 1 : threads;
        row.threads = cpu::thread_count(execution);
        row.pinning = one_thread || on_gpu ? Pinning::none : pinning;
        row.on_gpu = on_gpu;
        if (!support) {  // returns one row instead of a row for each combination of settings
          row.trouble = "cannot run here: " + support.reason;
          return {row};
        }
        row.block_size = block_size;
        rows.push_back(std::move(row));
      }
  return rows;
}

bool Report::right() const {
  for (const Group& group : groups)
    for (const Row& row : group.rows)
      if (row.wrong) return false;
  return true;
}

Report measure(const ProblemRow& problem, const std::vector<Bench>& benches, const BenchCallbacks& callbacks) {
  // Reports misspelt names of variants before the first measurement.
  for (const Bench& bench : benches)
    for (const VariantRun& run : bench.runs)
      for (const std::string& name : run.variants) variant_info(problem, name);
  Report report;
  report.problem = problem.name;
  for (const Bench& bench : benches)
    bench.workloads->for_each(callbacks,
                              [&](Workload& workload) { measure_group(problem, workload, bench, callbacks, report); });
  return report;
}

Table table(const Group& group) {
  const std::vector<Column> columns = columns_of(group.rows);
  const bool troubled = std::ranges::any_of(group.rows, [](const Row& row) { return !row.trouble.empty(); });
  Table lines = {{"variant", "threads", "pin", "block", "median ms", "spread"}};
  for (const Column& column : columns) lines.front().push_back(column.heading);
  if (troubled) lines.front().emplace_back("");
  const std::size_t width = lines.front().size();
  for (const Row& row : group.rows) {
    std::vector<std::string> line = settings_cells(row);
    if (row.trouble.empty())
      for (const Column& column : columns) line.push_back(column.cell(row));
    line.resize(width);
    if (troubled) line.back() = row.trouble;
    lines.push_back(std::move(line));
  }
  return lines;
}

ordered_json to_json(const Report& report) {
  ordered_json teams = ordered_json::array();
  for (const TeamCeilings& team : report.ceilings) {
    teams.push_back(
        {{"device", team.on_gpu ? "gpu" : "cpu"}, {"threads", team.threads}, {"pinning", to_string(team.pinning)}});
    for (const auto& [key, rate] : ceiling_rates) teams.back()[std::string(key)] = team.ceilings.*rate;
  }
  ordered_json groups = ordered_json::array();
  for (const Group& group : report.groups) groups.push_back(to_json(group));
  return {{"problem", report.problem},
          {"right", report.right()},
          {"facts", facts()},
          {"ceilings", std::move(teams)},
          {"groups", std::move(groups)}};
}

}  // namespace gradus::bench
