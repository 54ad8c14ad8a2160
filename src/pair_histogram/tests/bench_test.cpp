// Tests what the benchmark harness reports and rejects for pair-distance histograms.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/experiment.hpp"
#include "gradus/error.hpp"
#include "pair_histogram/problem.hpp"
#include "tests/axes.hpp"

namespace gradus::bench {
namespace {

const ProblemRow& pair_row() { return find_problem("pair-histogram"); }

const tests::Values small{
    {"data", "uniform"}, {"shape", "900x3,1000x2"}, {"dtype", "f32,f64"}, {"bin-width", "0.5"}, {"bins", "8"}};

tests::Values with(tests::Values values, const tests::Values& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

Report measured(const tests::Values& values, VariantRun run, Effort effort = {3, 0}) {
  return measure(pair_row(), {tests::bench_of(pair_row(), values, std::move(run), effort)}, {});
}

TEST(PairHistogramBench, measures_every_variant_that_runs) {
  const Report report = measured(small, {{}, {1, 2}, {Pinning::none}});
  EXPECT_TRUE(report.right());
  ASSERT_EQ(report.groups.size(), 4U);
  EXPECT_FALSE(report.ceilings.empty());
  for (const Group& group : report.groups) {
    EXPECT_EQ(group.verified, "all points against the oracle");
    const auto n = group.facts["n"].get<std::int64_t>();
    const auto pairs = group.facts["pairs"].get<std::int64_t>();
    const auto counted = group.facts["counted"].get<std::int64_t>();
    EXPECT_EQ(pairs, n * (n - 1) / 2);
    EXPECT_GT(counted, 0);
    EXPECT_LT(counted, pairs);
    std::set<std::string> names;
    for (const Row& row : group.rows) {
      names.insert(row.variant);
      EXPECT_EQ(row.trouble, "") << row.variant;
      EXPECT_EQ(row.samples.size(), 3U);
      const auto rate = [&](const char* key) { return tests::figure(row, key).value.get<double>(); };
      EXPECT_DOUBLE_EQ(rate("pairs_per_second") * row.seconds.median, static_cast<double>(pairs));
      EXPECT_DOUBLE_EQ(rate("counted_pairs_per_second") * row.seconds.median, static_cast<double>(counted));
      ASSERT_EQ(row.shares.size(), 1U);
      EXPECT_GT(row.shares.front().second, 0);
    }
    EXPECT_DOUBLE_EQ(group.rows.front().speedup, 1);
    const auto all = pair_histogram_detail::variants();
    EXPECT_TRUE(std::ranges::all_of(names, [&](const std::string& name) {
      return std::ranges::any_of(all, [&](const auto& variant) { return variant.name == name; });
    }));
    EXPECT_TRUE(names.contains("sequential"));
  }
}

TEST(PairHistogramBench, counts_in_a_periodic_box_up_to_a_cutoff) {
  const Report report =
      measured(with(small, {{"shape", "900x3"}, {"box", "10,10,10"}, {"cutoff", "0.7"}}), {{}, {1, 2}});
  EXPECT_TRUE(report.right());
  EXPECT_EQ(report.groups.front().title, "900 x 3 f32 uniform, 8 bins of 0.5, cutoff 0.7, periodic 10 x 10 x 10");
  const double expected = 900.0 * 899 / 2 * 4 / 3 * 3.14159 * 0.7 * 0.7 * 0.7 / 1000;
  EXPECT_NEAR(report.groups.front().facts["counted"].get<double>(), expected, 6 * std::sqrt(expected));
}

TEST(PairHistogramBench, too_many_points_for_the_oracle_are_compared_with_a_verified_variant) {
  const Report report = measured(with(small, {{"shape", "15000x1"}, {"dtype", "f32"}}), {{"sequential"}, {1}}, {1, 0});
  EXPECT_TRUE(report.right());
  const Group& group = report.groups.front();
  EXPECT_TRUE(
      group.verified.starts_with("the first 14142 points against the oracle; all points against the counts of "))
      << group.verified;
  EXPECT_EQ(group.rows.size(), 1U);
  EXPECT_EQ(group.facts["pairs"], 112492500U);
}

TEST(PairHistogramBench, json_is_well_formed_and_whole) {
  const auto json = nlohmann::json::parse(to_json(measured(small, {{"sequential", "openmp_privatized"}, {2}})).dump());
  EXPECT_EQ(json["problem"], "pair_histogram");
  EXPECT_EQ(json["groups"].size(), 4U);
  const auto& group = json["groups"][0];
  EXPECT_EQ(group["bins"]["bins"], 8);
  EXPECT_TRUE(group["box"].is_null());
  EXPECT_EQ(group["rows"][1]["samples"].size(), 3U);
  for (const char* key : {"seconds", "pairs_per_second", "counted_pairs_per_second", "speedup", "phases",
                          "share_of_fma_rate", "peak_memory_bytes", "rechecked"})
    EXPECT_TRUE(group["rows"][0].contains(key)) << key;
}

TEST(PairHistogramBench, what_cannot_be_counted_is_refused) {
  EXPECT_THROW(measured(small, {{"sequentail"}, {1}}), UsageError);
  EXPECT_THROW(measured(with(small, {{"bins", "0"}}), {}), UsageError);
  EXPECT_THROW(measured({{"data", "uniform"}}, {}), UsageError);  // bins are missing
  EXPECT_THROW(measured(with(small, {{"shape", "1x3"}}), {}), UsageError);
  // The points are in [0, 10), so some are outside this box.
  EXPECT_THROW(measured(with(small, {{"shape", "900x3"}, {"box", "5,5,5"}, {"bins", "4"}}), {}), InputError);
}

TEST(PairHistogramBench, honours_a_stop_request) {
  std::stop_source source;
  source.request_stop();
  BenchCallbacks callbacks;
  callbacks.stop = source.get_token();
  EXPECT_THROW(measure(pair_row(), {tests::bench_of(pair_row(), small, {})}, callbacks), InterruptedError);
}

TEST(PairHistogramBench, the_experiment_has_the_sizes_of_the_publication) {
  Experiment experiment = read_experiment(find_experiment("pair_histogram_cuda"));
  EXPECT_EQ(published_text(experiment.published.front()), "32.5-34.4 ms");
  scale(experiment, 1e-3);
  std::vector<std::string> titles;
  for (const Bench& part : experiment.parts)
    part.workloads->for_each({}, [&](Workload& workload) { titles.push_back(workload.title()); });
  EXPECT_EQ(titles, (std::vector<std::string>{"10 x 3 f64 lab-atoms, 80 bins of 500",
                                              "512 x 3 f64 lab-atoms, 80 bins of 500"}));
}

}  // namespace
}  // namespace gradus::bench
