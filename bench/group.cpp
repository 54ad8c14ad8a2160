#include "bench/group.hpp"

#include <fmt/format.h>

#include "bench/facts.hpp"
#include "bench/gpu_ceilings.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

using nlohmann::ordered_json;

std::string_view to_string(Pinning pinning) {
  switch (pinning) {
    case Pinning::none: return "none";
    case Pinning::compact: return "compact";
    case Pinning::scatter: return "scatter";
  }
  return "?";
}

Pinning pinning_called(std::string_view name) {
  for (const Pinning pinning : {Pinning::none, Pinning::compact, Pinning::scatter})
    if (to_string(pinning) == name) return pinning;
  throw UsageError("there is no pinning '" + std::string(name) + "'; there are none, compact and scatter");
}

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
        row.same_bits = variant.contract == core::Contract::same_bits;
        Execution execution;
        execution.threads = one_thread ? 1 : threads;
        row.threads = cpu::thread_count(execution);
        row.pinning = one_thread || on_gpu ? Pinning::none : pinning;
        row.on_gpu = on_gpu;
        if (!support) {  // once, whatever it should have run with
          row.trouble = "cannot run here: " + support.reason;
          return {row};
        }
        row.block_size = block_size;
        rows.push_back(std::move(row));
      }
  return rows;
}

bool same_settings(const Row& first, const Row& second) {
  return first.variant == second.variant && first.threads == second.threads && first.pinning == second.pinning &&
         first.block_size == second.block_size;
}

void Reporter::operator()(std::string_view phase, std::int64_t done, std::int64_t total) const {
  if (callbacks_.stop.stop_requested()) throw InterruptedError("stopped while measuring");
  if (callbacks_.progress) callbacks_.progress({phase, done, total, points_name_});
}

Execution execution_of(const Row& row, const BenchCallbacks& callbacks) {
  Execution execution;
  execution.variant = row.variant;
  execution.block_size = row.block_size;
  execution.threads = row.threads;
  execution.pinning = row.pinning;
  execution.stop = callbacks.stop;
  return execution;
}

void mark_wrong(Row& row, const std::string& difference) {
  row.trouble = "WRONG RESULT: " + difference;
  row.wrong = true;
}

Sample sample_of(double seconds, const std::vector<Phase>& phases) {
  Sample sample;
  sample.seconds = seconds;
  for (const Phase& phase : phases)
    if (phase.name != "total") sample.phases.push_back(phase);
  return sample;
}

void summarize(Row& row) {
  std::vector<double> seconds;
  for (const Sample& sample : row.samples) seconds.push_back(sample.seconds);
  row.seconds = summarize(seconds);
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

std::string percent(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0); }

std::string milliseconds(double seconds) {
  const double value = 1e3 * seconds;
  return fmt::format("{:.{}f}", value, value < 1 ? 4 : value < 10 ? 3 : value < 1000 ? 1 : 0);
}

std::string mebibytes(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{:.1f}", static_cast<double>(*bytes) / 1048576) : "-";
}

std::vector<std::string> settings_headings() { return {"variant", "threads", "pin", "block", "median ms", "spread"}; }

std::vector<std::string> settings_cells(const Row& row) {
  std::vector<std::string> cells = {row.variant, std::to_string(row.threads), std::string(to_string(row.pinning)),
                                    row.block_size > 0 ? std::to_string(row.block_size) : "-"};
  if (!row.trouble.empty()) return cells;
  cells.push_back(milliseconds(row.seconds.median));
  cells.push_back(fmt::format("{:.1f} %", 100 * row.seconds.deviation / row.seconds.median));
  return cells;
}

std::string points_title(const GroupHead& group) {
  return fmt::format("{}{}{} x {} {} {}", group.label, group.label.empty() ? "" : ": ", group.n, group.d,
                     io::to_string(group.type), group.points_name);
}

ordered_json settings_json(const Row& row) {
  return {{"variant", row.variant},
          {"threads", row.threads},
          {"pinning", to_string(row.pinning)},
          {"block_size", row.block_size},
          {"contract", row.same_bits ? "same bits" : "tolerance"}};
}

ordered_json summary_json(const Summary& seconds) {
  return {{"median", seconds.median},
          {"lowest", seconds.lowest},
          {"highest", seconds.highest},
          {"median_absolute_deviation", seconds.deviation}};
}

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

ordered_json memory_json(const Row& row) {
  return row.memory_bytes ? ordered_json(*row.memory_bytes) : ordered_json(nullptr);
}

ordered_json report_json(std::string_view problem, bool right, const std::vector<TeamCeilings>& ceilings,
                         ordered_json groups) {
  ordered_json teams = ordered_json::array();
  for (const TeamCeilings& team : ceilings)
    teams.push_back({{"device", team.on_gpu ? "gpu" : "cpu"},
                     {"threads", team.threads},
                     {"pinning", to_string(team.pinning)},
                     {"read_bytes_per_second", team.ceilings.read_bytes_per_second},
                     {"copy_bytes_per_second", team.ceilings.copy_bytes_per_second},
                     {"fma_f32_per_second", team.ceilings.fma_f32_per_second},
                     {"fma_f64_per_second", team.ceilings.fma_f64_per_second},
                     {"madd_i16_per_second", team.ceilings.madd_i16_per_second}});
  return {{"problem", problem},
          {"right", right},
          {"facts", facts()},
          {"ceilings", std::move(teams)},
          {"groups", std::move(groups)}};
}

}  // namespace gradus::bench
