#include "bench/kmeans_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/facts.hpp"
#include "bench/gpu_ceilings.hpp"
#include "bench/points.hpp"
#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "kmeans/cases.hpp"
#include "kmeans/oracle.hpp"
#include "kmeans/statistics.hpp"

namespace gradus::bench {

namespace {

using kmeans_detail::Problem;
using kmeans_detail::Shape;
using kmeans_detail::Variant;

// The oracle is plain; it gets no more multiply-adds than this, and a prefix of the points where there are more.
constexpr double oracle_operations = 2e8;

std::vector<std::string> runnable_variants(const Shape& shape) {
  std::vector<std::string> names;
  for (const Variant& variant : kmeans_detail::variants())
    if (variant.supports(shape, cpu::this_machine())) names.emplace_back(variant.name);
  return names;
}

// The rows of a group, without figures yet; a row that two runs share appears once.
std::vector<KMeansRow> make_rows(const KMeansBench& bench, const Shape& shape) {
  std::vector<KMeansRow> rows;
  for (const KMeansRun& run : bench.runs)
    for (const std::string& name : run.variants.empty() ? runnable_variants(shape) : run.variants) {
      const Variant& variant = core::find_variant(kmeans_detail::variants(), name, "kmeans");
      const bool one_thread = variant.backend == core::Backend::sequential;
      const bool on_gpu = variant.backend == core::Backend::cuda;
      const std::vector<int> every_thread = {0};
      const std::vector<int> no_block = {0};
      for (const Pinning pinning : run.pinnings)
        for (const int threads : on_gpu ? every_thread : run.threads)
          for (const int block_size : on_gpu ? run.block_sizes : no_block) {
            KMeansRow row;
            row.variant = variant.name;
            row.same_bits = variant.contract == core::Contract::same_bits;
            Execution execution;
            execution.threads = one_thread ? 1 : threads;
            row.threads = cpu::thread_count(execution);
            row.pinning = one_thread || on_gpu ? Pinning::none : pinning;
            row.block_size = block_size;
            row.on_gpu = on_gpu;
            if (const core::Support support = variant.supports(shape, cpu::this_machine()); !support)
              row.trouble = "cannot run here: " + support.reason;
            const auto same = [&](const KMeansRow& other) {
              return other.variant == row.variant && other.threads == row.threads && other.pinning == row.pinning &&
                     other.block_size == row.block_size;
            };
            if (std::none_of(rows.begin(), rows.end(), same)) rows.push_back(std::move(row));
          }
    }
  return rows;
}

Ceilings ceilings_of(const KMeansRow& row) {
  return row.on_gpu ? measure_gpu_ceilings(Execution{}.gpu) : measure_ceilings(row.threads, row.pinning);
}

// Measures the rows of one group on points of one type.
template <class T>
class GroupBench {
 public:
  GroupBench(MatrixView<const T> points, const KMeansBench& bench, const BenchCallbacks& callbacks, KMeansGroup& group)
      : points_(points), bench_(bench), callbacks_(callbacks), group_(group) {}

  void run() {
    verify_on_prefix();
    run_once_on_everything();
    time();
    for (KMeansRow& row : group_.rows)
      if (row.trouble.empty()) evaluate(row);
  }

 private:
  KMeansResult<T> fit(const KMeansRow& row, MatrixView<const T> points, int iterations) const {
    KMeansOptions<T> options;
    options.clusters = group_.k;
    options.init = KMeansInit::given;
    options.initial_centroids = points_.slice(0, group_.k);
    options.max_iterations = iterations;
    options.tolerance = 0;
    Execution execution;
    execution.variant = row.variant;
    execution.block_size = row.block_size;
    execution.threads = row.threads;
    execution.pinning = row.pinning;
    execution.stop = callbacks_.stop;
    return kmeans<T>(points, options, execution);
  }

  Problem<T> problem_of(MatrixView<const T> points, int iterations) const {
    Problem<T> problem;
    problem.points = points;
    problem.initial_centroids = points_.slice(0, group_.k);
    problem.max_iterations = iterations;
    problem.statistics = kmeans_detail::examine<T>(points, {}, problem.initial_centroids, cpu::thread_count({}));
    return problem;
  }

  const Variant& variant_of(const KMeansRow& row) const {
    return core::find_variant(kmeans_detail::variants(), row.variant, "kmeans");
  }

  void mark_wrong(KMeansRow& row, const std::string& difference) const {
    row.trouble = "WRONG RESULT: " + difference;
    row.wrong = true;
  }

  // How many of the points, and for how many iterations, the oracle can follow in a moment.
  std::pair<std::int64_t, int> oracle_share() const {
    const double row_operations = static_cast<double>(group_.k) * static_cast<double>(group_.d);
    int iterations = bench_.iterations;
    std::int64_t prefix = static_cast<std::int64_t>(oracle_operations / row_operations / (iterations + 1));
    const std::int64_t least = std::min(group_.n, 2 * group_.k);
    if (prefix < least) {
      prefix = least;
      const double passes = oracle_operations / row_operations / static_cast<double>(prefix);
      iterations = std::clamp(static_cast<int>(passes) - 1, std::min(2, iterations), iterations);
    }
    prefix = std::min(prefix, group_.n);
    while (prefix < group_.n && !distinct_enough(prefix)) prefix = std::min(group_.n, 4 * prefix);
    return {prefix, iterations};
  }

  bool distinct_enough(std::int64_t prefix) const {
    try {
      kmeans_detail::require_distinct<T>(points_.slice(0, prefix), {}, group_.k);
      return true;
    } catch (const InputError&) {
      return false;
    }
  }

  void verify_on_prefix() {
    const auto [count, iterations] = oracle_share();
    const MatrixView<const T> prefix = points_.slice(0, count);
    const Problem<T> problem = problem_of(prefix, iterations);
    report("verify", 0, static_cast<std::int64_t>(group_.rows.size()));
    const KMeansResult<T> truth = oracle(problem);
    std::int64_t done = 0;
    for (KMeansRow& row : group_.rows) {
      report("verify", done++, static_cast<std::int64_t>(group_.rows.size()));
      if (!row.trouble.empty()) continue;
      const KMeansResult<T> result = fit(row, prefix, iterations);
      const std::string difference =
          row.same_bits ? compare(result, truth, problem, variant_of(row)) : textbook_difference(result, truth, row);
      if (!difference.empty()) mark_wrong(row, difference);
    }
    group_.verified = count == group_.n ? "all points against the oracle"
                                        : fmt::format("the first {} points against the oracle, {} iteration{}", count,
                                                      iterations, iterations == 1 ? "" : "s");
  }

  // The textbook's rounding sends a point between two clusters to the other one now and then, and its centroids follow.
  // What it does promise is an inertia as good as the oracle's, and labels and counts that belong together.
  std::string textbook_difference(const KMeansResult<T>& result, const KMeansResult<T>& truth,
                                  const KMeansRow& row) const {
    if (result.labels.size() != truth.labels.size()) return "the number of labels";
    std::vector<std::int64_t> counts(static_cast<std::size_t>(group_.k));
    for (const std::int32_t label : result.labels) {
      if (label < 0 || label >= group_.k) return "a label of " + std::to_string(label);
      ++counts[static_cast<std::size_t>(label)];
    }
    if (counts != result.counts) return "the counts are not those of the labels";
    return inertia_difference(result.inertia, truth.inertia, row);
  }

  std::string inertia_difference(double inertia, double truth, const KMeansRow& row) const {
    if (std::abs(inertia - truth) <= variant_of(row).tolerance * std::abs(truth)) return "";
    return fmt::format("the inertia is {:.9g} instead of {:.9g}", inertia, truth);
  }

  // A first, untimed fit of everything: it warms caches and memory up, shows the peak of memory, and lets the
  // production variants be compared with each other, and the others' inertia with theirs.
  void run_once_on_everything() {
    KMeansResult<T> reference;
    const KMeansRow* reference_row = nullptr;
    Problem<T> problem;
    std::int64_t done = 0;
    for (KMeansRow& row : group_.rows) {
      report("warm up", done++, static_cast<std::int64_t>(group_.rows.size()));
      if (!row.trouble.empty()) continue;
      const PeakMemory memory;
      KMeansResult<T> result = fit(row, points_, bench_.iterations);
      row.memory_bytes = memory.bytes();
      row.inertia = result.inertia;
      row.iterations = result.iterations;
      row.rechecked = result.rechecked;
      if (!row.same_bits) continue;
      if (reference_row) {
        const std::string difference = compare(result, reference, problem, variant_of(row));
        if (!difference.empty()) mark_wrong(row, "unlike " + reference_row->variant + ", " + difference);
      } else {
        problem = problem_of(points_, bench_.iterations);
        reference = std::move(result);
        reference_row = &row;
      }
    }
    if (!reference_row) return;
    group_.verified += "; on all points the production variants agree to the bit";
    for (KMeansRow& row : group_.rows)
      if (row.trouble.empty() && !row.same_bits) {
        const std::string difference = inertia_difference(row.inertia, reference.inertia, row);
        if (!difference.empty()) mark_wrong(row, difference);
      }
  }

  void time() {
    std::vector<Job> jobs;
    std::vector<KMeansRow*> rows;
    for (KMeansRow& row : group_.rows) {
      if (!row.trouble.empty()) continue;
      rows.push_back(&row);
      jobs.push_back({[this, &row] {
                        const auto start = core::Clock::now();
                        const KMeansResult<T> result = fit(row, points_, bench_.iterations);
                        Sample sample;
                        sample.seconds = core::seconds_since(start);
                        for (const Phase& phase : result.phases)
                          if (phase.name != "total") sample.phases.push_back(phase);
                        for (const KMeansIteration& iteration : result.history)
                          row.iteration_seconds.push_back(iteration.seconds);
                        return sample;
                      },
                      {}});
    }
    measure(jobs, bench_.effort, [this](std::int64_t done, std::int64_t total) { report("measure", done, total); });
    for (std::size_t index = 0; index < rows.size(); ++index) rows[index]->samples = std::move(jobs[index].samples);
  }

  void evaluate(KMeansRow& row) const {
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
    const Shape shape{group_.n, group_.d, group_.k, static_cast<int>(sizeof(T)), false};
    const Ceilings ceilings = ceilings_of(row);
    // The last pass labels the final centroids' points. On a GPU the copies before and after would drown the passes.
    const double passes = row.on_gpu ? 1.0 : row.iterations + 1.0;
    const double passes_take = row.on_gpu ? median(row.iteration_seconds) : row.seconds.median;
    row.read_share = shape.bytes() * passes / passes_take / ceilings.read_bytes_per_second;
    row.fma_share = shape.operations() * passes / passes_take /
                    (sizeof(T) == 4 ? ceilings.fma_f32_per_second : ceilings.fma_f64_per_second);
    for (const KMeansRow& base : group_.rows)
      if (base.trouble.empty() && !base.samples.empty()) {
        row.speedup = base.seconds.median / row.seconds.median;
        break;
      }
  }

  void report(std::string_view phase, std::int64_t done, std::int64_t total) const {
    if (callbacks_.stop.stop_requested()) throw InterruptedError("stopped while measuring");
    if (callbacks_.progress) callbacks_.progress({phase, done, total, group_.points_name});
  }

  MatrixView<const T> points_;
  const KMeansBench& bench_;
  const BenchCallbacks& callbacks_;
  KMeansGroup& group_;
};

std::string percent(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0); }

nlohmann::ordered_json phases_json(const std::vector<Phase>& phases) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Phase& phase : phases) json[phase.name] = phase.seconds;
  return json;
}

nlohmann::ordered_json to_json(const KMeansRow& row) {
  nlohmann::ordered_json json = {{"variant", row.variant},
                                 {"threads", row.threads},
                                 {"pinning", to_string(row.pinning)},
                                 {"block_size", row.block_size},
                                 {"contract", row.same_bits ? "same bits" : "tolerance"}};
  if (!row.trouble.empty()) {
    json["trouble"] = row.trouble;
    return json;
  }
  json["seconds"] = {{"median", row.seconds.median},
                     {"lowest", row.seconds.lowest},
                     {"highest", row.seconds.highest},
                     {"median_absolute_deviation", row.seconds.deviation}};
  json["iterations"] = row.iterations;
  json["milliseconds_per_iteration"] = 1e3 * row.seconds.median / row.iterations;
  // Without reading, examining, copying to a device and the last labelling, which the line above shares out.
  json["median_milliseconds_in_an_iteration"] = row.iteration_seconds.empty()
                                                    ? nlohmann::ordered_json(nullptr)
                                                    : nlohmann::ordered_json(1e3 * median(row.iteration_seconds));
  json["speedup"] = row.speedup;
  json["phases"] = phases_json(row.phases);
  json["share_of_read_bandwidth"] = row.read_share;
  json["share_of_fma_rate"] = row.fma_share;
  json["peak_memory_bytes"] =
      row.memory_bytes ? nlohmann::ordered_json(*row.memory_bytes) : nlohmann::ordered_json(nullptr);
  json["rechecked"] = row.rechecked;
  json["inertia"] = row.inertia;
  json["samples"] = nlohmann::ordered_json::array();
  for (const Sample& sample : row.samples)
    json["samples"].push_back(
        {{"seconds", sample.seconds}, {"runs", sample.runs}, {"phases", phases_json(sample.phases)}});
  return json;
}

// Names of phases that take at least a hundredth of some row's time, in the order of their first use.
std::vector<std::string> telling_phases(const KMeansGroup& group) {
  std::vector<std::string> names;
  for (const KMeansRow& row : group.rows)
    for (const Phase& phase : row.phases)
      if (phase.seconds >= 0.01 * row.seconds.median &&
          std::find(names.begin(), names.end(), phase.name) == names.end())
        names.push_back(phase.name);
  return names;
}

std::string milliseconds(double seconds) {
  const double value = 1e3 * seconds;
  return fmt::format("{:.{}f}", value, value < 1 ? 4 : value < 10 ? 3 : value < 1000 ? 1 : 0);
}

// A misspelt name is better found before the first minute than after it.
void check_names(const KMeansBench& bench) {
  for (const KMeansRun& run : bench.runs)
    for (const std::string& name : run.variants) core::find_variant(kmeans_detail::variants(), name, "kmeans");
  for (const PointSet& set : bench.points)
    if (!set.generator.empty()) generator_called(set.generator);
}

void note_ceilings(const KMeansGroup& group, std::vector<TeamCeilings>& all) {
  for (const KMeansRow& row : group.rows) {
    const auto same = [&](const TeamCeilings& team) {
      return team.on_gpu == row.on_gpu && (row.on_gpu || (team.threads == row.threads && team.pinning == row.pinning));
    };
    if (row.trouble.empty() && std::none_of(all.begin(), all.end(), same))
      all.push_back({row.threads, row.pinning, row.on_gpu, ceilings_of(row)});
  }
}

// One group for each number of clusters.
template <class T>
void bench_points(MatrixView<const T> points, const PointSet& set, const KMeansBench& bench,
                  const BenchCallbacks& callbacks, KMeansBenchReport& report) {
  for (const std::int64_t k : bench.clusters) {
    if (k < 1 || k > points.rows())
      throw UsageError(fmt::format("{} clusters cannot be made of {} points", k, points.rows()));
    KMeansGroup group;
    group.label = bench.label;
    group.points_name = set.generator.empty() ? set.file : set.generator;
    group.n = points.rows();
    group.d = points.columns();
    group.k = k;
    group.type = sizeof(T) == 4 ? io::ElementType::f32 : io::ElementType::f64;
    group.iterations = bench.iterations;
    group.rows = make_rows(bench, {group.n, group.d, k, static_cast<int>(sizeof(T)), false});
    GroupBench<T>(points, bench, callbacks, group).run();
    note_ceilings(group, report.ceilings);
    if (callbacks.group_done) callbacks.group_done(group);
    report.groups.push_back(std::move(group));
  }
}

}  // namespace

bool KMeansBenchReport::right() const {
  for (const KMeansGroup& group : groups)
    for (const KMeansRow& row : group.rows)
      if (row.wrong) return false;
  return true;
}

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

KMeansBenchReport bench_kmeans(const std::vector<KMeansBench>& benches, const BenchCallbacks& callbacks) {
  for (const KMeansBench& bench : benches) check_names(bench);
  KMeansBenchReport report;
  for (const KMeansBench& bench : benches)
    for (const PointSet& set : bench.points)
      for (const io::ElementType type : bench.types) {
        if (callbacks.progress) callbacks.progress({"make points", 0, 1, set.generator + set.file});
        const io::Points points = make_points(set, type, callbacks.stop);
        points.visit([&](auto view) { bench_points(view, set, bench, callbacks, report); });
      }
  return report;
}

nlohmann::ordered_json to_json(const KMeansBenchReport& report) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const KMeansGroup& group : report.groups) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const KMeansRow& row : group.rows) rows.push_back(to_json(row));
    groups.push_back({{"label", group.label},
                      {"points", group.points_name},
                      {"n", group.n},
                      {"d", group.d},
                      {"k", group.k},
                      {"dtype", io::to_string(group.type)},
                      {"iterations", group.iterations},
                      {"verified", group.verified},
                      {"rows", std::move(rows)}});
  }
  nlohmann::ordered_json ceilings = nlohmann::ordered_json::array();
  for (const TeamCeilings& team : report.ceilings)
    ceilings.push_back({{"device", team.on_gpu ? "gpu" : "cpu"},
                        {"threads", team.threads},
                        {"pinning", to_string(team.pinning)},
                        {"read_bytes_per_second", team.ceilings.read_bytes_per_second},
                        {"copy_bytes_per_second", team.ceilings.copy_bytes_per_second},
                        {"fma_f32_per_second", team.ceilings.fma_f32_per_second},
                        {"fma_f64_per_second", team.ceilings.fma_f64_per_second},
                        {"madd_i16_per_second", team.ceilings.madd_i16_per_second}});
  return {{"problem", "kmeans"},
          {"right", report.right()},
          {"facts", facts()},
          {"ceilings", std::move(ceilings)},
          {"groups", std::move(groups)}};
}

std::vector<std::vector<std::string>> table(const KMeansGroup& group) {
  const std::vector<std::string> phases = telling_phases(group);
  const bool troubled =
      std::any_of(group.rows.begin(), group.rows.end(), [](const KMeansRow& row) { return !row.trouble.empty(); });
  std::vector<std::vector<std::string>> lines = {
      {"variant", "threads", "pin", "block", "median ms", "spread", "ms/iteration", "in one", "speed-up"}};
  std::vector<std::string>& headings = lines.front();
  for (const std::string& phase : phases) headings.push_back(phase + " ms");
  for (const char* name : {"read", "fma", "memory MiB"}) headings.emplace_back(name);
  if (troubled) headings.emplace_back("");
  const std::size_t columns = headings.size();
  for (const KMeansRow& row : group.rows) {
    std::vector<std::string> line = {row.variant, std::to_string(row.threads), std::string(to_string(row.pinning)),
                                     row.block_size > 0 ? std::to_string(row.block_size) : "-"};
    if (row.trouble.empty()) {
      line.push_back(milliseconds(row.seconds.median));
      line.push_back(fmt::format("{:.1f} %", 100 * row.seconds.deviation / row.seconds.median));
      line.push_back(milliseconds(row.seconds.median / row.iterations));
      line.push_back(row.iteration_seconds.empty() ? "-" : milliseconds(median(row.iteration_seconds)));
      line.push_back(fmt::format("{:.2f}", row.speedup));
      for (const std::string& name : phases) {
        const auto found =
            std::find_if(row.phases.begin(), row.phases.end(), [&](const Phase& phase) { return phase.name == name; });
        line.push_back(found == row.phases.end() ? "-" : milliseconds(found->seconds));
      }
      line.push_back(percent(row.read_share));
      line.push_back(percent(row.fma_share));
      line.push_back(row.memory_bytes ? fmt::format("{:.1f}", static_cast<double>(*row.memory_bytes) / 1048576) : "-");
    }
    line.resize(columns);
    if (troubled) line.back() = row.trouble;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string title(const KMeansGroup& group) {
  return fmt::format("{}{}{} x {} {} {}, k = {}, at most {} iterations", group.label, group.label.empty() ? "" : ": ",
                     group.n, group.d, io::to_string(group.type), group.points_name, group.k, group.iterations);
}

}  // namespace gradus::bench
