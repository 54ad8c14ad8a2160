// The harness: its statistics, its engine, what it refuses to print, and the experiment files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/experiment.hpp"
#include "bench/facts.hpp"
#include "bench/group.hpp"
#include "bench/harness.hpp"
#include "bench/kmeans_bench.hpp"
#include "bench/pair_histogram_bench.hpp"
#include "bench/statistics.hpp"
#include "cpu/thread_sanitizer.hpp"
#include "gradus/error.hpp"
#include "kmeans/problem.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::bench {
namespace {

TEST(Statistics, median_of_odd_even_and_unsorted) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({2, 2, 2, 7}), 2);
}

TEST(Statistics, deviation_is_deaf_to_an_outlier) {
  const Summary summary = summarize({10, 11, 9, 10, 1000});
  EXPECT_EQ(summary.median, 10);
  EXPECT_EQ(summary.lowest, 9);
  EXPECT_EQ(summary.highest, 1000);
  EXPECT_EQ(summary.deviation, 1);
}

TEST(Statistics, refuses_no_samples_and_nan) {
  EXPECT_THROW(median({}), Error);
  EXPECT_THROW(median({1, std::numeric_limits<double>::quiet_NaN(), 2}), Error);
}

Job counting_job(int& runs, double seconds) {
  return {[&runs, seconds] {
            ++runs;
            return Sample{seconds, 1, {{"zeta", 0.75 * seconds}, {"alpha", 0.25 * seconds}}};
          },
          {}};
}

TEST(Harness, gives_every_job_its_samples_and_phases_in_order) {
  int first_runs = 0;
  int second_runs = 0;
  std::vector<Job> jobs = {counting_job(first_runs, 0.5), counting_job(second_runs, 0.25)};
  measure(jobs, {4, 0});
  EXPECT_EQ(first_runs, 4);
  EXPECT_EQ(second_runs, 4);
  ASSERT_EQ(jobs[0].samples.size(), 4U);
  ASSERT_EQ(jobs[1].samples.size(), 4U);
  EXPECT_DOUBLE_EQ(jobs[0].samples[3].seconds, 0.5);
  EXPECT_DOUBLE_EQ(jobs[1].samples[0].seconds, 0.25);
  ASSERT_EQ(jobs[0].samples[0].phases.size(), 2U);
  EXPECT_EQ(jobs[0].samples[0].phases[0].name, "zeta");
  EXPECT_DOUBLE_EQ(jobs[0].samples[0].phases[0].seconds, 0.375);
}

TEST(Harness, a_sample_is_made_of_runs_that_fill_the_minimal_time) {
  constexpr double claimed = 0.0009765625;  // what counts is the time that a run says it took
  std::vector<Job> jobs = {{[] { return Sample{claimed, 1, {{"claimed", claimed}}}; }, {}}};
  measure(jobs, {2, 0.03});
  ASSERT_EQ(jobs[0].samples.size(), 2U);
  for (const Sample& sample : jobs[0].samples) {
    EXPECT_GE(static_cast<double>(sample.runs) * claimed, 0.03);
    EXPECT_DOUBLE_EQ(sample.seconds, claimed);  // both are means over the runs
    ASSERT_EQ(sample.phases.size(), 1U);
    EXPECT_DOUBLE_EQ(sample.phases[0].seconds, claimed);
  }
}

TEST(Harness, an_exception_ends_the_measurement) {
  int runs = 0;
  std::vector<Job> jobs = {counting_job(runs, 0.5), {[]() -> Sample { throw InputError("broken"); }, {}}};
  EXPECT_THROW(measure(jobs, {3, 0}), InputError);
  measure(jobs = {counting_job(runs = 0, 0.5)}, {3, 0});  // and the next one starts afresh
  EXPECT_EQ(runs, 3);
}

KMeansBench small_bench() {
  KMeansBench bench;
  bench.runs = {VariantRun{{}, {1, 2}, {Pinning::none}}};
  bench.points = {{"uniform", 3000, 3, ""}};
  bench.clusters = {5, 8};
  bench.types = {io::ElementType::f32, io::ElementType::f64};
  bench.iterations = 4;
  bench.effort = {3, 0};
  return bench;
}

TEST(KMeansBench, measures_every_variant_that_runs) {
  const KMeansBenchReport report = bench_kmeans({small_bench()}, {});
  EXPECT_TRUE(report.right());
  ASSERT_EQ(report.groups.size(), 4U);
  for (const KMeansGroup& group : report.groups) {
    EXPECT_FALSE(group.verified.empty());
    std::set<std::string> names;
    for (const KMeansRow& row : group.rows) {
      names.insert(row.variant);
      EXPECT_EQ(row.trouble, "") << row.variant;
      EXPECT_EQ(row.samples.size(), 3U);
      EXPECT_GT(row.seconds.median, 0);
      EXPECT_LE(row.seconds.lowest, row.seconds.median);
      EXPECT_EQ(row.iterations, 4);
      double phases = 0;
      for (const Phase& phase : row.phases) phases += phase.seconds;
      EXPECT_GT(phases, 0);
    }
    EXPECT_DOUBLE_EQ(group.rows.front().speedup, 1);
    for (const auto& variant : kmeans_detail::variants()) {
      const bool runs = variant.supports({group.n, group.d, group.k, 4, false}, execution::this_machine()).supported;
      EXPECT_EQ(names.contains(std::string(variant.name)), runs) << variant.name;
    }
  }
}

TEST(KMeansBench, a_sequential_variant_has_one_row_for_all_thread_counts) {
  KMeansBench bench = small_bench();
  bench.runs = {VariantRun{{"sequential"}, {1, 2, 4}, {Pinning::none, Pinning::compact}}};
  const KMeansBenchReport report = bench_kmeans({bench}, {});
  EXPECT_EQ(report.groups.front().rows.size(), 1U);
}

TEST(Rows, one_for_each_setting_and_one_for_a_variant_that_cannot_run) {
  const core::VariantInfo variant{.name = "cuda_naive", .summary = "", .backend = core::Backend::cuda};
  const VariantRun run{{}, {1, 2}, {Pinning::none}, {32, 64, 128}};
  EXPECT_EQ(rows_of(variant, core::Support::yes(), run).size(), 3U);
  const std::vector<Row> rows = rows_of(variant, core::Support::no("too hot"), run);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].trouble, "cannot run here: too hot");
  EXPECT_EQ(rows[0].block_size, 0);
}

TEST(KMeansBench, json_is_well_formed_and_whole) {
  KMeansBench bench = small_bench();
  bench.runs = {VariantRun{{"sequential"}, {1}, {Pinning::none}}};
  const auto json = nlohmann::json::parse(to_json(bench_kmeans({bench}, {})).dump());
  EXPECT_EQ(json["problem"], "kmeans");
  EXPECT_EQ(json["groups"].size(), 4U);
  EXPECT_EQ(json["groups"][0]["rows"][0]["samples"].size(), 3U);
  for (const char* key : {"date", "version", "commit", "compiler", "flags", "machine"})
    EXPECT_TRUE(json["facts"].contains(key)) << key;
}

TEST(KMeansBench, a_wrong_result_has_no_figure) {
  KMeansGroup group;
  KMeansRow right;
  right.variant = "sequential";
  right.seconds.median = 0.125;
  right.iterations = 4;
  KMeansRow wrong = right;
  wrong.variant = "broken";
  wrong.wrong = true;
  wrong.trouble = "WRONG RESULT: label 3";
  wrong.seconds.median = 0.0625;
  group.rows = {right, wrong};
  const KMeansBenchReport report{{}, {group}};
  EXPECT_FALSE(report.right());
  const auto lines = table(group);
  ASSERT_EQ(lines.size(), 3U);
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines.front().size());
  EXPECT_EQ(lines[1][4], "125.0");
  EXPECT_EQ(lines[2][4], "");
  EXPECT_EQ(lines[2].back(), "WRONG RESULT: label 3");
  EXPECT_FALSE(to_json(report)["groups"][0]["rows"][1].contains("seconds"));
}

TEST(KMeansBench, misspelt_variants_and_impossible_clusters_are_refused) {
  KMeansBench bench = small_bench();
  bench.runs = {VariantRun{{"sequentail"}, {1}, {Pinning::none}}};
  EXPECT_THROW(bench_kmeans({bench}, {}), UsageError);
  bench = small_bench();
  bench.clusters = {3001};
  EXPECT_THROW(bench_kmeans({bench}, {}), UsageError);
}

TEST(KMeansBench, honours_a_stop_request) {
  std::stop_source source;
  source.request_stop();
  BenchCallbacks callbacks;
  callbacks.stop = source.get_token();
  EXPECT_THROW(bench_kmeans({small_bench()}, callbacks), InterruptedError);
}

PairHistogramBench small_pair_bench() {
  PairHistogramBench bench;
  bench.runs = {VariantRun{{}, {1, 2}, {Pinning::none}}};
  bench.points = {{"uniform", 900, 3, ""}, {"uniform", 1000, 2, ""}};
  bench.types = {io::ElementType::f32, io::ElementType::f64};
  bench.bins.bin_width = 0.5;
  bench.bins.bins = 8;
  bench.effort = {3, 0};
  return bench;
}

TEST(PairHistogramBench, measures_every_variant_that_runs) {
  const PairHistogramBenchReport report = bench_pair_histogram({small_pair_bench()}, {});
  EXPECT_TRUE(report.right());
  ASSERT_EQ(report.groups.size(), 4U);
  EXPECT_FALSE(report.ceilings.empty());
  for (const PairHistogramGroup& group : report.groups) {
    EXPECT_EQ(group.verified, "all points against the oracle");
    EXPECT_EQ(group.pairs, static_cast<std::uint64_t>(group.n * (group.n - 1) / 2));
    EXPECT_GT(group.counted, 0U);
    EXPECT_LT(group.counted, group.pairs);
    std::set<std::string> names;
    for (const PairHistogramRow& row : group.rows) {
      names.insert(row.variant);
      EXPECT_EQ(row.trouble, "") << row.variant;
      EXPECT_EQ(row.samples.size(), 3U);
      EXPECT_DOUBLE_EQ(row.pairs_per_second * row.seconds.median, static_cast<double>(group.pairs));
      EXPECT_DOUBLE_EQ(row.counted_per_second * row.seconds.median, static_cast<double>(group.counted));
      EXPECT_GT(row.fma_share, 0);
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
  PairHistogramBench bench = small_pair_bench();
  bench.points = {{"uniform", 900, 3, ""}};
  bench.box = {10, 10, 10};
  bench.bins.cutoff = 0.7;
  const PairHistogramBenchReport report = bench_pair_histogram({bench}, {});
  EXPECT_TRUE(report.right());
  EXPECT_EQ(title(report.groups.front()), "900 x 3 f32 uniform, 8 bins of 0.5, cutoff 0.7, periodic 10 x 10 x 10");
  const double expected = 900.0 * 899 / 2 * 4 / 3 * 3.14159 * 0.7 * 0.7 * 0.7 / 1000;
  EXPECT_NEAR(static_cast<double>(report.groups.front().counted), expected, 6 * std::sqrt(expected));
}

TEST(PairHistogramBench, too_many_points_for_the_oracle_are_compared_with_a_verified_variant) {
  PairHistogramBench bench = small_pair_bench();
  bench.runs = {VariantRun{{"sequential"}, {1}, {Pinning::none}}};
  bench.points = {{"uniform", 15000, 1, ""}};
  bench.types = {io::ElementType::f32};
  bench.effort = {1, 0};
  const PairHistogramBenchReport report = bench_pair_histogram({bench}, {});
  EXPECT_TRUE(report.right());
  const PairHistogramGroup& group = report.groups.front();
  EXPECT_TRUE(
      group.verified.starts_with("the first 14142 points against the oracle; all points against the counts of "))
      << group.verified;
  EXPECT_EQ(group.rows.size(), 1U);
  EXPECT_EQ(group.pairs, 112492500U);
}

TEST(PairHistogramBench, json_is_well_formed_and_whole) {
  PairHistogramBench bench = small_pair_bench();
  bench.runs = {VariantRun{{"sequential", "openmp_privatized"}, {2}, {Pinning::none}}};
  const auto json = nlohmann::json::parse(to_json(bench_pair_histogram({bench}, {})).dump());
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

TEST(PairHistogramBench, a_wrong_result_has_no_figure) {
  PairHistogramGroup group;
  PairHistogramRow right;
  right.variant = "sequential";
  right.seconds.median = 0.125;
  right.pairs_per_second = 4e9;
  PairHistogramRow wrong = right;
  wrong.variant = "broken";
  mark_wrong(wrong, "the count of bin 3 is 7 instead of 8");
  group.rows = {right, wrong};
  group.bins.edges = {1, 2, 4};
  const PairHistogramBenchReport report{{}, {group}};
  EXPECT_FALSE(report.right());
  const Table lines = table(group);
  ASSERT_EQ(lines.size(), 3U);
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines.front().size());
  EXPECT_EQ(lines[1][6], "4.00");
  EXPECT_EQ(lines[2][6], "");
  EXPECT_EQ(lines[2].back(), "WRONG RESULT: the count of bin 3 is 7 instead of 8");
  EXPECT_FALSE(to_json(report)["groups"][0]["rows"][1].contains("seconds"));
  EXPECT_EQ(to_json(report)["groups"][0]["bins"]["edges"].size(), 3U);
}

TEST(PairHistogramBench, what_cannot_be_counted_is_refused) {
  PairHistogramBench bench = small_pair_bench();
  bench.runs = {VariantRun{{"sequentail"}, {1}, {Pinning::none}}};
  EXPECT_THROW(bench_pair_histogram({bench}, {}), UsageError);
  bench = small_pair_bench();
  bench.bins.bins = 0;
  EXPECT_THROW(bench_pair_histogram({bench}, {}), UsageError);
  bench = small_pair_bench();
  bench.points = {{"uniform", 1, 3, ""}};
  EXPECT_THROW(bench_pair_histogram({bench}, {}), UsageError);
  bench = small_pair_bench();
  bench.box = {5, 5, 5};  // the points lie in [0, 10)
  bench.bins.bins = 4;
  EXPECT_THROW(bench_pair_histogram({bench}, {}), InputError);
}

TEST(PairHistogramBench, honours_a_stop_request) {
  std::stop_source source;
  source.request_stop();
  BenchCallbacks callbacks;
  callbacks.stop = source.get_token();
  EXPECT_THROW(bench_pair_histogram({small_pair_bench()}, callbacks), InterruptedError);
}

const std::string experiments = GRADUS_SOURCE_DIR "/experiments/";

TEST(Experiments, every_file_is_read_under_its_own_name_and_names_variants_that_exist) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(experiments)) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const Experiment experiment = read_experiment(entry.path());
    EXPECT_EQ(experiment.name, entry.path().stem());
    EXPECT_NE(experiment.parts.empty(), experiment.pair_parts.empty());
    EXPECT_FALSE(experiment.published.empty());
    const auto check_name = [&](const std::string& name) {
      if (experiment.pair_parts.empty()) core::find_variant(kmeans_detail::variants(), name, "kmeans");
      else core::find_variant(pair_histogram_detail::variants(), name, "pair_histogram");
    };
    const auto check_part = [&](const Bench& part) {
      for (const VariantRun& run : part.runs) {
        EXPECT_FALSE(run.variants.empty());
        for (const std::string& name : run.variants) EXPECT_NO_THROW(check_name(name));
      }
    };
    for (const KMeansBench& part : experiment.parts) check_part(part);
    for (const PairHistogramBench& part : experiment.pair_parts) check_part(part);
    for (const Published& published : experiment.published)
      if (!published.variant.empty()) {
        EXPECT_NO_THROW(check_name(published.variant));
      }
  }
  EXPECT_GE(files, 2);
}

TEST(Experiments, sizes_are_those_of_the_publications) {
  const Experiment openmp = read_experiment(experiments + "kmeans-openmp.json");
  ASSERT_EQ(openmp.parts.size(), 2U);
  EXPECT_EQ(openmp.parts[0].points[0].rows, 4194304);   // 256 MiB of 16 floats each
  EXPECT_EQ(openmp.parts[1].points[0].rows, 67108864);  // and of one
  EXPECT_EQ(openmp.parts[1].clusters[0], 4);
  const Experiment graph = read_experiment(experiments + "kmeans-task-graph.json");
  ASSERT_EQ(graph.parts.size(), 5U);
  EXPECT_EQ(graph.parts[4].points[0].rows, 100000);
  EXPECT_EQ(graph.parts[4].iterations, 100000);
  const Experiment pairs = read_experiment(experiments + "pair-histogram-cuda.json");
  ASSERT_EQ(pairs.pair_parts.size(), 2U);
  EXPECT_EQ(pairs.pair_parts[1].points[0].rows, 512000);
  EXPECT_EQ(pairs.pair_parts[1].bins.bins, 80);
  EXPECT_EQ(published_text(pairs.published.front()), "32.5-34.4 ms");
}

TEST(Experiments, are_found_by_name) {
  EXPECT_EQ(read_experiment(find_experiment("kmeans_openmp")).name, "kmeans-openmp");
  EXPECT_EQ(find_experiment("some/file.json"), "some/file.json");
  try {
    find_experiment("kmeans-opnmp");
    FAIL() << "an unknown experiment was found";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'kmeans-openmp'"), std::string::npos) << error.what();
  }
}

TEST(Experiments, scaling_shrinks_points_and_long_fits_only) {
  Experiment openmp = read_experiment(experiments + "kmeans-openmp.json");
  scale(openmp, 0.5);
  EXPECT_EQ(openmp.parts[0].points[0].rows, 2097152);
  EXPECT_EQ(openmp.parts[0].iterations, 10);
  Experiment graph = read_experiment(experiments + "kmeans-task-graph.json");
  scale(graph, 1e-6);
  for (const KMeansBench& part : graph.parts) {
    EXPECT_GE(part.points[0].rows, part.clusters[0]);
    EXPECT_EQ(part.iterations, 10);
  }
}

TEST(Experiments, threads_beyond_the_cores_are_left_out) {
  Experiment openmp = read_experiment(experiments + "kmeans-openmp.json");
  EXPECT_TRUE(limit_threads(openmp, 4));
  EXPECT_EQ(openmp.parts[0].runs[1].threads, (std::vector<int>{1, 2, 4}));
  EXPECT_FALSE(limit_threads(openmp, 4));
}

TEST(Experiments, a_published_figure_finds_its_counterpart) {
  const auto row = [](const char* variant, int threads, double seconds) {
    KMeansRow made;
    made.variant = variant;
    made.threads = threads;
    made.seconds.median = seconds;
    made.speedup = 1 / seconds;
    made.iterations = 10;
    return made;
  };
  KMeansGroup group;
  group.label = "A";
  group.rows = {row("x", 1, 1.0), row("x", 4, 0.5), row("x", 4, 0.4), row("x", 8, 0.8), row("y", 8, 0.1)};
  const KMeansBenchReport report{{}, {group}};
  Published published;
  published.shape = "A";
  published.variant = "x";
  published.lowest_speedup = published.highest_speedup = 2;
  published.threads = 6;
  ASSERT_NE(counterpart(published, report), nullptr);
  EXPECT_EQ(counterpart(published, report)->seconds.median, 0.4);  // 4 threads, the faster of the two
  published.threads = 64;
  EXPECT_EQ(counterpart(published, report)->seconds.median, 0.8);  // more threads, though slower
  published.threads.reset();
  EXPECT_EQ(counterpart(published, report)->seconds.median, 0.4);  // the best of all
  EXPECT_EQ(published_text(published), "2 x");
  EXPECT_EQ(measured_text(published, *counterpart(published, report)), "2.5 x");
  published.shape = "B";
  EXPECT_EQ(counterpart(published, report), nullptr);
}

TEST(Experiments, broken_files_are_refused_by_name) {
  const std::string path = testing::TempDir() + "gradus_broken_experiment.json";
  for (const char* text :
       {"", "{", "[]", R"({"name": "x"})", R"({"name": "x", "title": "", "source": "", "problem": "y"})",
        R"({"name": "x", "title": "", "source": "", "problem": "kmeans", "dtype": "f16",
                               "points": "uniform", "shapes": [{"label": ""}], "runs": [], "published": []})",
        R"({"name": "x", "title": "", "source": "", "problem": "kmeans", "dtype": "f32",
                               "points": "uniform", "runs": [], "published": [], "shapes": [{"label": "", "rows": 3,
                               "dimensions": 0, "clusters": 2, "iterations": 1}]})",
        R"({"name": "x", "title": "", "source": "", "problem": "kmeans", "dtype": "f32",
                               "points": "uniform", "runs": [], "shapes": [], "published": [{"shape": "A",
                               "speedup": [1, 1]}]})"}) {
    std::ofstream(path) << text;
    try {
      read_experiment(path);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
  std::filesystem::remove(path);
  EXPECT_THROW(read_experiment(path), InputError);
}

TEST(PeakMemory, sees_what_was_touched_and_freed) {
#ifdef GRADUS_THREAD_SANITIZER
  GTEST_SKIP() << "the thread sanitizer keeps more for a byte than the byte";
#endif
  const PeakMemory memory;
  {
    Buffer<char> block(64 << 20);
    for (std::int64_t byte = 0; byte < block.size(); byte += 4096) block[byte] = 1;
    asm volatile("" : : "r"(block.data()) : "memory");
  }
  const auto bytes = memory.bytes();
  if (!bytes) GTEST_SKIP() << "this system does not let a process reset its high-water mark";
  EXPECT_GE(*bytes, std::uint64_t{63} << 20);
  // The address sanitizer touches an eighth of it again, for its shadow.
  EXPECT_LE(*bytes, std::uint64_t{80} << 20);
}

}  // namespace
}  // namespace gradus::bench
