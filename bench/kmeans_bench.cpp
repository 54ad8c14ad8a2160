#include "bench/kmeans_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/facts.hpp"
#include "core/phases.hpp"
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

constexpr const char* problem_name = "kmeans";

// Measures the rows of one group on points of one type.
template <class T>
class GroupBench {
 public:
  GroupBench(MatrixView<const T> points, const KMeansBench& bench, const BenchCallbacks& callbacks, KMeansGroup& group)
      : points_(points), bench_(bench), callbacks_(callbacks), report_(callbacks, group.points_name), group_(group) {}

  void run() {
    verify_on_prefix();
    run_once_on_everything();
    time();
    for (KMeansRow& row : group_.rows)
      if (row.trouble.empty()) evaluate(row);
    compare_with_first(group_.rows);
  }

 private:
  KMeansResult<T> fit(const KMeansRow& row, MatrixView<const T> points, int iterations) const {
    KMeansOptions<T> options;
    options.clusters = group_.k;
    options.init = KMeansInit::given;
    options.initial_centroids = points_.slice(0, group_.k);
    options.max_iterations = iterations;
    options.tolerance = 0;
    return kmeans<T>(points, options, execution_of(row, callbacks_));
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
    return core::find_variant(kmeans_detail::variants(), row.variant, problem_name);
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
    report_("verify", 0, std::ssize(group_.rows));
    const KMeansResult<T> truth = oracle(problem);
    for_each_sound(group_.rows, "verify", report_, [&, iterations = iterations](KMeansRow& row) {
      const KMeansResult<T> result = fit(row, prefix, iterations);
      const std::string difference = compare(result, truth, problem, variant_of(row).contract, false);
      if (!difference.empty()) mark_wrong(row, difference);
    });
    group_.verified = count == group_.n ? "all points against the oracle"
                                        : fmt::format("the first {} points against the oracle, {} iteration{}", count,
                                                      iterations, iterations == 1 ? "" : "s");
  }

  // A first, untimed fit of everything: it warms caches and memory up, shows the peak of memory, and lets the
  // production variants be compared with each other, and the others' inertia with theirs.
  void run_once_on_everything() {
    KMeansResult<T> reference;
    const KMeansRow* reference_row = nullptr;
    Problem<T> problem;
    for_each_sound(group_.rows, "warm up", report_, [&](KMeansRow& row) {
      const PeakMemory memory;
      KMeansResult<T> result = fit(row, points_, bench_.iterations);
      row.memory_bytes = memory.bytes();
      row.inertia = result.inertia;
      row.iterations = result.iterations;
      row.rechecked = result.rechecked;
      if (!row.same_bits) return;
      if (reference_row) {
        const std::string difference = compare(result, reference, problem, variant_of(row).contract, false);
        if (!difference.empty()) mark_wrong(row, "unlike " + reference_row->variant + ", " + difference);
      } else {
        problem = problem_of(points_, bench_.iterations);
        reference = std::move(result);
        reference_row = &row;
      }
    });
    if (!reference_row) return;
    group_.verified += "; on all points the production variants agree to the bit";
    for (KMeansRow& row : group_.rows)
      if (row.trouble.empty() && !row.same_bits && !variant_of(row).contract.allows(row.inertia, reference.inertia))
        mark_wrong(row, fmt::format("the inertia is {:.9g} instead of {:.9g}", row.inertia, reference.inertia));
  }

  void time() {
    time_rows(group_.rows, bench_.effort, report_, [this](KMeansRow& row) {
      const auto start = core::Clock::now();
      const KMeansResult<T> result = fit(row, points_, bench_.iterations);
      Sample sample = sample_of(core::seconds_since(start), result.phases);
      for (const KMeansIteration& iteration : result.history) row.iteration_seconds.push_back(iteration.seconds);
      return sample;
    });
  }

  void evaluate(KMeansRow& row) const {
    summarize(row);
    const Shape shape{group_.n, group_.d, group_.k, static_cast<int>(sizeof(T)), false};
    const Ceilings ceilings = ceilings_of(row);
    // The last pass labels the final centroids' points. On a GPU the copies before and after would drown the passes.
    const double passes = row.on_gpu ? 1.0 : row.iterations + 1.0;
    const double passes_take = row.on_gpu ? median(row.iteration_seconds) : row.seconds.median;
    row.read_share = shape.bytes() * passes / passes_take / ceilings.read_bytes_per_second;
    row.fma_share = shape.operations() * passes / passes_take /
                    (sizeof(T) == 4 ? ceilings.fma_f32_per_second : ceilings.fma_f64_per_second);
  }

  MatrixView<const T> points_;
  const KMeansBench& bench_;
  const BenchCallbacks& callbacks_;
  Reporter report_;
  KMeansGroup& group_;
};

nlohmann::ordered_json to_json(const KMeansRow& row) {
  nlohmann::ordered_json json = settings_json(row);
  if (!row.trouble.empty()) {
    json["trouble"] = row.trouble;
    return json;
  }
  json["seconds"] = summary_json(row.seconds);
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
  json["peak_memory_bytes"] = memory_json(row);
  json["rechecked"] = row.rechecked;
  json["inertia"] = row.inertia;
  json["samples"] = samples_json(row);
  return json;
}

// One group for each number of clusters.
template <class T>
void bench_points(MatrixView<const T> points, const PointSet& set, const KMeansBench& bench,
                  const BenchCallbacks& callbacks, KMeansBenchReport& report) {
  for (const std::int64_t k : bench.clusters) {
    if (k < 1 || k > points.rows())
      throw UsageError(fmt::format("{} clusters cannot be made of {} points", k, points.rows()));
    KMeansGroup group;
    static_cast<GroupHead&>(group) = head_of(bench, set, points);
    group.k = k;
    group.iterations = bench.iterations;
    group.rows = make_rows<KMeansRow>(bench, kmeans_detail::variants(), problem_name,
                                      Shape{group.n, group.d, k, static_cast<int>(sizeof(T)), false});
    GroupBench<T>(points, bench, callbacks, group).run();
    note_ceilings(group.rows, report.ceilings);
    if (callbacks.group_done) callbacks.group_done({title(group), group.verified, table(group)});
    report.groups.push_back(std::move(group));
  }
}

}  // namespace

KMeansBenchReport bench_kmeans(const std::vector<KMeansBench>& benches, const BenchCallbacks& callbacks) {
  for (const KMeansBench& bench : benches) check_names(bench, kmeans_detail::variants(), problem_name);
  KMeansBenchReport report;
  for_each_point_set(benches, callbacks, [&](auto view, const PointSet& set, const KMeansBench& bench) {
    bench_points(view, set, bench, callbacks, report);
  });
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
  return report_json(problem_name, report.right(), report.ceilings, std::move(groups));
}

Table table(const KMeansGroup& group) {
  using Columns = std::vector<Column<KMeansRow>>;
  Columns columns = {
      {"ms/iteration", [](const KMeansRow& row) { return milliseconds(row.seconds.median / row.iterations); }},
      {"in one",
       [](const KMeansRow& row) {
         return row.iteration_seconds.empty() ? "-" : milliseconds(median(row.iteration_seconds));
       }},
      {"speed-up", [](const KMeansRow& row) { return fmt::format("{:.2f}", row.speedup); }}};
  const Columns phases = phase_columns(group.rows);
  columns.insert(columns.end(), phases.begin(), phases.end());
  columns.push_back({"read", [](const KMeansRow& row) { return percent(row.read_share); }});
  columns.push_back({"fma", [](const KMeansRow& row) { return percent(row.fma_share); }});
  columns.push_back({"memory MiB", [](const KMeansRow& row) { return mebibytes(row.memory_bytes); }});
  return table_of(group.rows, columns);
}

std::string title(const KMeansGroup& group) {
  return fmt::format("{}, k = {}, at most {} iterations", points_title(group), group.k, group.iterations);
}

}  // namespace gradus::bench
