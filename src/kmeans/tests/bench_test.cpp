// Tests the k-means part of the benchmark harness: the contents of measurements, and the rejection of incorrect
// results.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bench/experiment.hpp"
#include "execution/machine.hpp"
#include "gradus/error.hpp"
#include "kmeans/problem.hpp"
#include "tests/axes.hpp"

namespace gradus::bench {
namespace {

const ProblemRow& kmeans_row() { return find_problem("kmeans"); }

const tests::Values small{{"shape", "3000x3"}, {"clusters", "5,8"}, {"dtype", "f32,f64"}, {"iterations", "4"}};

Report measured(const tests::Values& values, VariantRun run) {
  return measure(kmeans_row(), {tests::bench_of(kmeans_row(), values, std::move(run))}, {});
}

TEST(KMeansBench, measures_every_variant_that_runs) {
  const Report report = measured(small, {{}, {1, 2}, {Pinning::none}});
  EXPECT_TRUE(report.right());
  ASSERT_EQ(report.groups.size(), 4U);
  for (const Group& group : report.groups) {
    EXPECT_FALSE(group.verified.empty());
    std::set<std::string> names;
    for (const Row& row : group.rows) {
      names.insert(row.variant);
      EXPECT_EQ(row.trouble, "") << row.variant;
      EXPECT_EQ(row.samples.size(), 3U);
      EXPECT_GT(row.seconds.median, 0);
      EXPECT_LE(row.seconds.lowest, row.seconds.median);
      EXPECT_EQ(row.iterations, 4);
      EXPECT_EQ(row.shares.size(), 2U);
      EXPECT_GT(tests::figure(row, "inertia").value.get<double>(), 0);
      double phases = 0;
      for (const Phase& phase : row.phases) phases += phase.seconds;
      EXPECT_GT(phases, 0);
    }
    EXPECT_DOUBLE_EQ(group.rows.front().speedup, 1);
    for (const auto& variant : kmeans_detail::variants()) {
      const bool runs =
          variant.supports({group.facts["n"], group.facts["d"], group.facts["k"], 4, false}, execution::this_machine())
              .supported;
      EXPECT_EQ(names.contains(std::string(variant.name)), runs) << variant.name;
    }
  }
}

TEST(KMeansBench, a_sequential_variant_has_one_row_for_all_thread_counts) {
  const Report report = measured(small, {{"sequential"}, {1, 2, 4}, {Pinning::none, Pinning::compact}});
  EXPECT_EQ(report.groups.front().rows.size(), 1U);
}

TEST(KMeansBench, json_is_well_formed_and_whole) {
  const auto json = nlohmann::json::parse(to_json(measured(small, {{"sequential"}, {1}, {Pinning::none}})).dump());
  EXPECT_EQ(json["problem"], "kmeans");
  EXPECT_EQ(json["groups"].size(), 4U);
  EXPECT_EQ(json["groups"][0]["rows"][0]["samples"].size(), 3U);
  for (const char* key : {"date", "version", "commit", "compiler", "flags", "machine"})
    EXPECT_TRUE(json["facts"].contains(key)) << key;
}

TEST(KMeansBench, misspelt_variants_and_impossible_clusters_are_refused) {
  EXPECT_THROW(measured(small, {{"sequentail"}, {1}, {Pinning::none}}), UsageError);
  EXPECT_THROW(measured({{"shape", "3000x3"}, {"clusters", "3001"}}, {}), UsageError);
  EXPECT_THROW(measured({{"clusters", "0"}}, {}), UsageError);
  EXPECT_THROW(measured({{"iterations", "none"}}, {}), UsageError);
}

TEST(KMeansBench, honours_a_stop_request) {
  std::stop_source source;
  source.request_stop();
  BenchCallbacks callbacks;
  callbacks.stop = source.get_token();
  EXPECT_THROW(measure(kmeans_row(), {tests::bench_of(kmeans_row(), small, {})}, callbacks), InterruptedError);
}

TEST(KMeansBench, scaling_shrinks_points_and_long_fits_only) {
  const auto title_of_half = [](const tests::Values& values, double share) {
    const Bench bench = tests::bench_of(kmeans_row(), values, {});
    bench.workloads->scale(share);
    std::string title;
    bench.workloads->for_each({}, [&](Workload& workload) { title = workload.title(); });
    return title;
  };
  EXPECT_EQ(title_of_half({{"shape", "3000x3"}}, 0.5), "1500 x 3 f32 uniform, k = 16, at most 10 iterations");
  EXPECT_EQ(title_of_half({{"shape", "10x2"}, {"clusters", "4"}, {"iterations", "1000"}}, 0.1),
            "8 x 2 f32 uniform, k = 4, at most 100 iterations");
  EXPECT_EQ(title_of_half({{"shape", "1MiBx4"}, {"iterations", "100"}}, 1e-3),
            "65 x 4 f32 uniform, k = 16, at most 10 iterations");
}

TEST(KMeansBench, experiments_have_the_sizes_of_the_publications) {
  Experiment openmp = read_experiment(find_experiment("kmeans_openmp"));
  ASSERT_EQ(openmp.parts.size(), 2U);
  scale(openmp, 1e-4);  // the publication measured 256 MiB of rows of 16 floats, and 256 MiB of rows of one float
  std::vector<std::string> titles;
  for (const Bench& part : openmp.parts)
    part.workloads->for_each({}, [&](Workload& workload) { titles.push_back(workload.title()); });
  EXPECT_EQ(titles, (std::vector<std::string>{"419 x 16 f32 lab-points, k = 16, at most 10 iterations",
                                              "6710 x 1 f32 lab-points, k = 4, at most 10 iterations"}));
}

}  // namespace
}  // namespace gradus::bench
