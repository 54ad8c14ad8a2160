#include "bench/pair_histogram_bench.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/facts.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "pair_histogram/bins.hpp"
#include "pair_histogram/cases.hpp"
#include "pair_histogram/oracle.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::bench {

namespace {

using pair_histogram_detail::Problem;
using pair_histogram_detail::Variant;

// The oracle is plain; it gets no more pairs than this, and a prefix of the points where there are more.
constexpr double oracle_pairs = 1e8;

constexpr const char* problem_name = "pair_histogram";

// Measures the rows of one group on points of one type.
template <class T>
class GroupBench {
 public:
  GroupBench(MatrixView<const T> points, const PairHistogramBench& bench, const BenchCallbacks& callbacks,
             PairHistogramGroup& group)
      : points_(points), bench_(bench), callbacks_(callbacks), report_(callbacks, group.points_name), group_(group) {
    options_.bins = bench.bins;
    options_.box = bench.box;
    problem_ = pair_histogram_detail::prepare(points, options_, Execution{});
    group.rows = make_rows<PairHistogramRow>(bench, pair_histogram_detail::variants(), problem_name, problem_.shape());
  }

  void run() {
    verify_on_prefix();
    run_once_on_everything();
    time_rows(group_.rows, bench_.effort, report_, [this](const PairHistogramRow& row) {
      const auto start = core::Clock::now();
      const PairHistogramResult result = count(row, points_);
      return sample_of(core::seconds_since(start), result.phases);
    });
    for (PairHistogramRow& row : group_.rows)
      if (row.trouble.empty()) evaluate(row);
    compare_with_first(group_.rows);
  }

 private:
  PairHistogramResult count(const Row& row, MatrixView<const T> points) const {
    return pair_histogram<T>(points, options_, execution_of(row, callbacks_));
  }

  void verify_on_prefix() {
    const auto most = static_cast<std::int64_t>(std::sqrt(2 * oracle_pairs));
    const MatrixView<const T> prefix = points_.slice(0, std::min(group_.n, most));
    report_("verify", 0, std::ssize(group_.rows));
    truth_ = oracle(pair_histogram_detail::prepare(prefix, options_, Execution{}));
    for_each_sound(group_.rows, "verify", report_,
                   [&](PairHistogramRow& row) { check(row, count(row, prefix), truth_, ""); });
    if (prefix.rows() == group_.n) {
      group_.verified = "all points against the oracle";
    } else {
      group_.verified = fmt::format("the first {} points against the oracle", prefix.rows());
      truth_ = reference(prefix);
    }
  }

  // The counts of all points by the variant that runs unless another is asked for, itself verified on the prefix.
  PairHistogramResult reference(MatrixView<const T> prefix) {
    const Variant& variant = pair_histogram_detail::choose(problem_.shape(), execution::this_machine(), Device::cpu);
    if (std::ranges::all_of(group_.rows, [&](const Row& row) { return row.variant == variant.name; })) {
      group_.verified += fmt::format("; on all points only {} ran", variant.name);
      return {};
    }
    Row row;
    row.variant = variant.name;
    const std::string difference = pair_histogram_detail::compare(count(row, prefix), truth_);
    if (!difference.empty()) {
      group_.verified += fmt::format("; no more, for there {} is wrong: {}", variant.name, difference);
      return {};
    }
    group_.verified += fmt::format("; all points against the counts of {}, verified likewise", variant.name);
    return count(row, points_);
  }

  static void check(PairHistogramRow& row, const PairHistogramResult& result, const PairHistogramResult& truth,
                    const std::string& whom) {
    const std::string difference = pair_histogram_detail::compare(result, truth);
    if (!difference.empty()) mark_wrong(row, whom + difference);
  }

  // A first, untimed count of everything: it warms caches and memory up, shows the peak of memory, and is compared.
  void run_once_on_everything() {
    for_each_sound(group_.rows, "warm up", report_, [&](PairHistogramRow& row) {
      const PeakMemory memory;
      const PairHistogramResult result = count(row, points_);
      row.memory_bytes = memory.bytes();
      row.rechecked = result.rechecked;
      if (truth_.edges.empty()) truth_ = result;  // only one variant runs; it must agree with itself
      check(row, result, truth_, "on all points, ");
      group_.pairs = truth_.pairs;
      group_.counted = truth_.pairs - truth_.below - truth_.beyond;
    });
  }

  void evaluate(PairHistogramRow& row) const {
    summarize(row);
    const auto pairs = static_cast<double>(group_.pairs);
    row.pairs_per_second = pairs / row.seconds.median;
    row.counted_per_second = static_cast<double>(group_.counted) / row.seconds.median;
    const double operations = 2 * static_cast<double>(group_.d) * pairs;
    row.fma_share = operations / row.seconds.median / ceilings_of(row).fma_f32_per_second;
  }

  MatrixView<const T> points_;
  const PairHistogramBench& bench_;
  const BenchCallbacks& callbacks_;
  Reporter report_;
  PairHistogramGroup& group_;
  PairHistogramOptions<T> options_;
  Problem<T> problem_;
  PairHistogramResult truth_;  ///< of the prefix, later of all points
};

nlohmann::ordered_json to_json(const PairHistogramRow& row) {
  nlohmann::ordered_json json = settings_json(row);
  if (!row.trouble.empty()) {
    json["trouble"] = row.trouble;
    return json;
  }
  json["seconds"] = summary_json(row.seconds);
  json["pairs_per_second"] = row.pairs_per_second;
  json["counted_pairs_per_second"] = row.counted_per_second;
  json["speedup"] = row.speedup;
  json["phases"] = phases_json(row.phases);
  json["share_of_fma_rate"] = row.fma_share;
  json["peak_memory_bytes"] = memory_json(row);
  json["rechecked"] = row.rechecked;
  json["samples"] = samples_json(row);
  return json;
}

nlohmann::ordered_json to_json(const PairBins& bins) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (bins.edges.empty()) json = {{"bin_width", bins.bin_width}, {"bins", bins.bins}};
  else json["edges"] = bins.edges;
  json["cutoff"] = bins.cutoff > 0 ? nlohmann::ordered_json(bins.cutoff) : nlohmann::ordered_json(nullptr);
  return json;
}

std::string bins_title(const PairBins& bins) {
  const std::string cutoff = bins.cutoff > 0 ? ", cutoff " + core::number_text(bins.cutoff) : "";
  if (bins.edges.empty()) return fmt::format("{} bins of {}{}", bins.bins, core::number_text(bins.bin_width), cutoff);
  return fmt::format("{} bins from {} to {}{}", bins.edges.size() - 1, core::number_text(bins.edges.front()),
                     core::number_text(bins.edges.back()), cutoff);
}

std::string box_title(const std::vector<double>& box) {
  std::string text;
  for (const double length : box) text += (text.empty() ? ", periodic " : " x ") + core::number_text(length);
  return text;
}

std::string giga(double rate) { return fmt::format("{:.{}f}", 1e-9 * rate, rate < 1e9 ? 4 : rate < 1e11 ? 2 : 0); }

template <class T>
void bench_points(MatrixView<const T> points, const PointSet& set, const PairHistogramBench& bench,
                  const BenchCallbacks& callbacks, PairHistogramBenchReport& report) {
  if (points.rows() < 2) throw UsageError(fmt::format("{} points have no pairs to count", points.rows()));
  PairHistogramGroup group;
  static_cast<GroupHead&>(group) = head_of(bench, set, points);
  group.bins = bench.bins;
  group.box = bench.box;
  GroupBench<T>(points, bench, callbacks, group).run();
  note_ceilings(group.rows, report.ceilings);
  if (callbacks.group_done) callbacks.group_done({title(group), group.verified, table(group)});
  report.groups.push_back(std::move(group));
}

}  // namespace

PairHistogramBenchReport bench_pair_histogram(const std::vector<PairHistogramBench>& benches,
                                              const BenchCallbacks& callbacks) {
  for (const PairHistogramBench& bench : benches) {
    check_names(bench, pair_histogram_detail::variants(), problem_name);
    pair_histogram_detail::Bins::bytes(bench.bins);  // so are bins of which there cannot be so many,
    (void)pair_histogram_detail::Bins(bench.bins);   // and impossible ones
  }
  PairHistogramBenchReport report;
  for_each_point_set(benches, callbacks, [&](auto view, const PointSet& set, const PairHistogramBench& bench) {
    bench_points(view, set, bench, callbacks, report);
  });
  return report;
}

nlohmann::ordered_json to_json(const PairHistogramBenchReport& report) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const PairHistogramGroup& group : report.groups) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const PairHistogramRow& row : group.rows) rows.push_back(to_json(row));
    groups.push_back({{"label", group.label},
                      {"points", group.points_name},
                      {"n", group.n},
                      {"d", group.d},
                      {"dtype", io::to_string(group.type)},
                      {"bins", to_json(group.bins)},
                      {"box", group.box.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(group.box)},
                      {"pairs", group.pairs},
                      {"counted", group.counted},
                      {"verified", group.verified},
                      {"rows", std::move(rows)}});
  }
  return report_json(problem_name, report.right(), report.ceilings, std::move(groups));
}

Table table(const PairHistogramGroup& group) {
  using Columns = std::vector<Column<PairHistogramRow>>;
  Columns columns = {{"pairs G/s", [](const PairHistogramRow& row) { return giga(row.pairs_per_second); }},
                     {"counted G/s", [](const PairHistogramRow& row) { return giga(row.counted_per_second); }},
                     {"speed-up", [](const PairHistogramRow& row) { return fmt::format("{:.2f}", row.speedup); }}};
  const Columns phases = phase_columns(group.rows);
  columns.insert(columns.end(), phases.begin(), phases.end());
  columns.push_back({"fma", [](const PairHistogramRow& row) { return percent(row.fma_share); }});
  columns.push_back({"rechecked", [](const PairHistogramRow& row) { return fmt::format("{:.2g}", row.rechecked); }});
  columns.push_back({"memory MiB", [](const PairHistogramRow& row) { return mebibytes(row.memory_bytes); }});
  return table_of(group.rows, columns);
}

std::string title(const PairHistogramGroup& group) {
  return fmt::format("{}, {}{}", points_title(group), bins_title(group.bins), box_title(group.box));
}

}  // namespace gradus::bench
