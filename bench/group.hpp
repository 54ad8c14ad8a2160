// What measurements of all problems share: the axes, the rows of a group, who hears of progress, samples, shares of
// ceilings, tables and JSON. A problem adds its own settings and figures: kmeans_bench.hpp, pair_histogram_bench.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/harness.hpp"
#include "bench/points.hpp"
#include "bench/statistics.hpp"
#include "core/ladder.hpp"
#include "cpu/threads.hpp"
#include "execution/machine.hpp"
#include "gradus/execution.hpp"
#include "io/points.hpp"

namespace gradus::bench {

/// Variants that share their settings; the product of all its lists is measured.
struct VariantRun {
  std::vector<std::string> variants;  ///< empty: all that run here
  std::vector<int> threads = {0};     ///< 0: one per core. A sequential variant runs once
  std::vector<Pinning> pinnings = {Pinning::none};
  std::vector<int> block_sizes = {0};  ///< of GPU variants; 0: the variant's own. CPU variants run once
};

/// The settings that every problem's measurement has.
struct Bench {
  std::string label;  ///< of its groups; may be empty
  std::vector<VariantRun> runs = {VariantRun{}};
  std::vector<PointSet> points;
  std::vector<io::ElementType> types;
  Effort effort;
};

/// One line of the table: a variant with its settings, on the points of its group.
struct Row {
  std::string variant;
  int threads = 0;
  Pinning pinning = Pinning::none;
  int block_size = 0;  ///< of a GPU variant; 0: its own choice
  bool on_gpu = false;
  std::string trouble;     ///< why it has no figures, or empty
  bool wrong = false;      ///< the trouble is a wrong result
  bool same_bits = false;  ///< production: identical to the oracle
  std::vector<Sample> samples;
  Summary seconds;
  std::vector<Phase> phases;                  ///< medians
  double speedup = 0;                         ///< over the group's first row
  double fma_share = 0;                       ///< of the rate of such a team or GPU; the problem says of what work
  std::optional<std::uint64_t> memory_bytes;  ///< at its peak, beyond the points
  double rechecked = 0;
};

/// What all rows of a group have in common.
struct GroupHead {
  std::string label;  ///< that of the bench
  std::string points_name;
  std::int64_t n = 0;
  std::int64_t d = 0;
  io::ElementType type = io::ElementType::f32;
  std::string verified;  ///< how, in words
};

/// What the machine can do at most with so many threads, or its GPU.
struct TeamCeilings {
  int threads = 0;
  Pinning pinning = Pinning::none;
  bool on_gpu = false;
  Ceilings ceilings;
};

template <class Group>
struct Report {
  std::vector<TeamCeilings> ceilings;  ///< of every team that a row ran with
  std::vector<Group> groups;

  bool right() const {
    for (const Group& group : groups)
      for (const Row& row : group.rows)
        if (row.wrong) return false;
    return true;
  }
};

/// A line of headings, then a line for each row. Rows without figures have only the settings, and the reason in the
/// last column.
using Table = std::vector<std::vector<std::string>>;

/// A group for a person.
struct GroupText {
  std::string title;  ///< what its rows have in common
  std::string verified;
  Table table;
};

struct BenchCallbacks {
  std::function<void(const Progress&)> progress;
  std::function<void(const GroupText&)> group_done;  ///< after each group, so that a person sees figures early
  std::stop_token stop;
  io::ReadOptions reading;  ///< of a file of points; all but the type and the stop request
};

std::string_view to_string(Pinning pinning);
/// UsageError where there is none of this name.
Pinning pinning_called(std::string_view name);

// --- before a measurement -------------------------------------------------------------------------------------------

/// A misspelt name is better found before the first minute than after it.
template <class Variant>
void check_names(const Bench& bench, std::span<const Variant> variants, std::string_view problem) {
  for (const VariantRun& run : bench.runs)
    for (const std::string& name : run.variants) core::find_variant(variants, name, problem);
  for (const PointSet& set : bench.points)
    if (!set.generator.empty()) generator_called(set.generator);
}

template <class Variant, class Shape>
std::vector<std::string> runnable_variants(std::span<const Variant> variants, const Shape& shape) {
  std::vector<std::string> names;
  for (const Variant& variant : variants)
    if (variant.supports(shape, execution::this_machine())) names.emplace_back(variant.name);
  return names;
}

/// The rows of one variant in a run, without figures yet; just one, with the reason, if it cannot run here.
std::vector<Row> rows_of(const core::VariantInfo& variant, const core::Support& support, const VariantRun& run);
bool same_settings(const Row& first, const Row& second);

/// The rows of a group, without figures yet; a row that two runs share appears once. `ProblemRow` derives from Row.
template <class ProblemRow, class Variant, class Shape>
std::vector<ProblemRow> make_rows(const Bench& bench, std::span<const Variant> variants, std::string_view problem,
                                  const Shape& shape) {
  std::vector<ProblemRow> rows;
  for (const VariantRun& run : bench.runs)
    for (const std::string& name : run.variants.empty() ? runnable_variants(variants, shape) : run.variants) {
      const Variant& variant = core::find_variant(variants, name, problem);
      for (Row& settings : rows_of(variant, variant.supports(shape, execution::this_machine()), run)) {
        if (std::ranges::any_of(rows, [&](const Row& other) { return same_settings(other, settings); })) continue;
        ProblemRow row;
        static_cast<Row&>(row) = std::move(settings);
        rows.push_back(std::move(row));
      }
    }
  return rows;
}

template <class T>
GroupHead head_of(const Bench& bench, const PointSet& set, MatrixView<const T> points) {
  return {bench.label,
          set.generator.empty() ? set.file : set.generator,
          points.rows(),
          points.columns(),
          sizeof(T) == 4 ? io::ElementType::f32 : io::ElementType::f64,
          ""};
}

/// function(points as a view, their set, bench) for all points of all benches, in all their types.
template <class ProblemBench, class Function>
void for_each_point_set(const std::vector<ProblemBench>& benches, const BenchCallbacks& callbacks,
                        const Function& function) {
  for (const ProblemBench& bench : benches)
    for (const PointSet& set : bench.points)
      for (const io::ElementType type : bench.types) {
        if (callbacks.progress) callbacks.progress({"make points", 0, 1, set.generator + set.file});
        io::ReadOptions reading = callbacks.reading;
        reading.stop = callbacks.stop;
        const io::Points points = make_points(set, type, std::move(reading));
        points.visit([&](auto view) { function(view, set, bench); });
      }
}

// --- while a group is measured --------------------------------------------------------------------------------------

/// Tells how far a group is. InterruptedError after a stop request.
class Reporter {
 public:
  Reporter(const BenchCallbacks& callbacks, std::string points_name)
      : callbacks_(callbacks), points_name_(std::move(points_name)) {}
  void operator()(std::string_view phase, std::int64_t done, std::int64_t total) const;

 private:
  const BenchCallbacks& callbacks_;
  std::string points_name_;
};

Execution execution_of(const Row& row, const BenchCallbacks& callbacks);
void mark_wrong(Row& row, const std::string& difference);

/// function(row) for the rows that are without trouble.
template <class ProblemRow, class Function>
void for_each_sound(std::vector<ProblemRow>& rows, std::string_view phase, const Reporter& report,
                    const Function& function) {
  std::int64_t done = 0;
  for (ProblemRow& row : rows) {
    report(phase, done++, std::ssize(rows));
    if (row.trouble.empty()) function(row);
  }
}

/// Repeated runs of the rows without trouble, in random turns: `once(row)` does the whole job and returns its phases.
template <class ProblemRow, class Once>
void time_rows(std::vector<ProblemRow>& rows, const Effort& effort, const Reporter& report, const Once& once) {
  std::vector<Job> jobs;
  std::vector<Row*> timed;
  for (ProblemRow& row : rows) {
    if (!row.trouble.empty()) continue;
    timed.push_back(&row);
    jobs.push_back({[&once, &row] { return once(row); }, {}});
  }
  measure(jobs, effort, [&](std::int64_t done, std::int64_t total) { report("measure", done, total); });
  for (std::size_t index = 0; index < timed.size(); ++index) timed[index]->samples = std::move(jobs[index].samples);
}

/// A run as a sample; the phase "total" is the sample itself.
Sample sample_of(double seconds, const std::vector<Phase>& phases);

/// The row's seconds and phases, from its samples.
void summarize(Row& row);

/// The speed-ups over the first row that has figures.
template <class ProblemRow>
void compare_with_first(std::vector<ProblemRow>& rows) {
  const Row* base = nullptr;
  for (Row& row : rows) {
    if (!row.trouble.empty() || row.samples.empty()) continue;
    if (base == nullptr) base = &row;
    row.speedup = base->seconds.median / row.seconds.median;
  }
}

/// Of the team that the row ran with, or of its GPU.
Ceilings ceilings_of(const Row& row);

template <class ProblemRow>
void note_ceilings(const std::vector<ProblemRow>& rows, std::vector<TeamCeilings>& all) {
  for (const Row& row : rows) {
    const auto same = [&](const TeamCeilings& team) {
      return team.on_gpu == row.on_gpu && (row.on_gpu || (team.threads == row.threads && team.pinning == row.pinning));
    };
    if (row.trouble.empty() && std::ranges::none_of(all, same))
      all.push_back({row.threads, row.pinning, row.on_gpu, ceilings_of(row)});
  }
}

// --- for a person ---------------------------------------------------------------------------------------------------

template <class ProblemRow>
struct Column {
  std::string heading;
  std::function<std::string(const ProblemRow&)> cell;
};

std::string percent(double share);
std::string milliseconds(double seconds);
std::string mebibytes(const std::optional<std::uint64_t>& bytes);
/// Headings and cells of what a row is asked for, and of its median.
std::vector<std::string> settings_headings();
std::vector<std::string> settings_cells(const Row& row);

/// A column for each phase that takes at least a hundredth of some row's time, in the order of their first use.
template <class ProblemRow>
std::vector<Column<ProblemRow>> phase_columns(const std::vector<ProblemRow>& rows) {
  std::vector<Column<ProblemRow>> columns;
  for (const Row& row : rows)
    for (const Phase& phase : row.phases) {
      const std::string heading = phase.name + " ms";
      const auto known = [&](const Column<ProblemRow>& column) { return column.heading == heading; };
      if (!(phase.seconds >= 0.01 * row.seconds.median) || std::ranges::any_of(columns, known)) continue;
      columns.push_back({heading, [name = phase.name](const Row& any) -> std::string {
                           const auto found = std::ranges::find(any.phases, name, &Phase::name);
                           return found == any.phases.end() ? "-" : milliseconds(found->seconds);
                         }});
    }
  return columns;
}

/// The settings, the median and its spread, then these columns.
template <class ProblemRow>
Table table_of(const std::vector<ProblemRow>& rows, const std::vector<Column<ProblemRow>>& columns) {
  const bool troubled = std::ranges::any_of(rows, [](const Row& row) { return !row.trouble.empty(); });
  Table lines = {settings_headings()};
  for (const Column<ProblemRow>& column : columns) lines.front().push_back(column.heading);
  if (troubled) lines.front().emplace_back("");
  const std::size_t width = lines.front().size();
  for (const ProblemRow& row : rows) {
    std::vector<std::string> line = settings_cells(row);
    if (row.trouble.empty())
      for (const Column<ProblemRow>& column : columns) line.push_back(column.cell(row));
    line.resize(width);
    if (troubled) line.back() = row.trouble;
    lines.push_back(std::move(line));
  }
  return lines;
}

/// "label: 1000 x 3 f32 uniform"
std::string points_title(const GroupHead& group);

// --- as JSON --------------------------------------------------------------------------------------------------------

nlohmann::ordered_json settings_json(const Row& row);
nlohmann::ordered_json summary_json(const Summary& seconds);
nlohmann::ordered_json phases_json(const std::vector<Phase>& phases);
nlohmann::ordered_json samples_json(const Row& row);
nlohmann::ordered_json memory_json(const Row& row);
nlohmann::ordered_json report_json(std::string_view problem, bool right, const std::vector<TeamCeilings>& ceilings,
                                   nlohmann::ordered_json groups);

}  // namespace gradus::bench
