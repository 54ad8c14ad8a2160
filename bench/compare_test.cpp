// Tests the comparison of two measurements with simulated noise of known distributions, and its refusals.
#include "bench/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/facts.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {
namespace {

constexpr double common_doubt = 0.01;

TEST(RatioOf, is_the_median_of_all_ratios_between_bounds_of_some_rank) {
  const std::vector<double> ones(5, 1.0);
  EXPECT_EQ(ratio_of({2, 3, 4, 5, 100}, ones, common_doubt).estimate, 4);
  // Ten samples, five of each run, have 252 orders. Two of these orders separate the runs completely, with a
  // probability of 2/252. 2/252 < 0.01 < 4/252, so the interval must extend from the least ratio to the greatest ratio.
  const Ratio ratio = ratio_of({2, 3, 4, 5, 100}, {1, 1, 1, 1, 1}, common_doubt);
  EXPECT_EQ(ratio.low, 2);
  EXPECT_EQ(ratio.high, 100);
  // With a doubt of 0.02, the interval excludes the least ratio and the greatest ratio.
  EXPECT_EQ(ratio_of({2, 3, 4, 5, 100}, {1, 1, 1, 1, 1.5}, common_doubt).low, 2 / 1.5);
  EXPECT_EQ(ratio_of({2, 3, 4, 5, 100}, {1, 1, 1, 1, 1.5}, 0.02).low, 2);
  EXPECT_EQ(ratio_of({2, 3, 4, 5, 100}, {1, 1.5, 1.5, 1.5, 1.5}, common_doubt).high, 100);
  EXPECT_EQ(ratio_of({2, 3, 4, 5, 100}, {1, 1.5, 1.5, 1.5, 1.5}, 0.02).high, 100 / 1.5);
}

TEST(RatioOf, has_no_bounds_with_too_few_samples) {
  const Ratio ratio = ratio_of({2, 3, 4}, {1, 1, 1}, common_doubt);
  EXPECT_EQ(ratio.estimate, 3);
  EXPECT_EQ(ratio.low, 0);
  EXPECT_EQ(ratio.high, std::numeric_limits<double>::infinity());
  EXPECT_EQ(fewest_samples(common_doubt), 5);
  EXPECT_EQ(fewest_samples(2.0 / 70), 4);  // 4 + 4 samples have 70 orders; two of these separate the runs
  EXPECT_EQ(fewest_samples(1.9 / 70), 5);
}

TEST(RatioOf, refuses_what_is_no_time) {
  EXPECT_THROW(ratio_of({1, 0}, {1, 1}, common_doubt), Error);
  EXPECT_THROW(ratio_of({1, 1}, {1, std::numeric_limits<double>::quiet_NaN()}, common_doubt), Error);
  EXPECT_THROW(ratio_of({}, {1}, common_doubt), Error);
}

/// Draws times of about 1. The noise has Student's distribution with two degrees of freedom. The variance of this
/// distribution is infinite. The deviation of about one sample in twenty is five times the median deviation.
/// Kind::added simulates a busy machine, on which noise only adds time.
class Noise {
 public:
  enum class Kind : std::uint8_t { both_ways, added };
  explicit Noise(std::uint64_t seed, Kind kind = Kind::both_ways) : engine_(seed), kind_(kind) {}
  /// `loaded` is the share of samples during which other work uses the CPU. These samples take 1.8 times as long.
  std::vector<double> samples(std::size_t count, double factor, double loaded = 0) {
    std::vector<double> all;
    while (all.size() < count) {
      const double noise = distribution_(engine_);
      const double load = std::bernoulli_distribution(loaded)(engine_) ? 1.8 : 1;
      all.push_back(factor * load * std::exp(0.01 * (kind_ == Kind::added ? std::abs(noise) : noise)));
    }
    return all;
  }

 private:
  std::mt19937_64 engine_;
  std::student_t_distribution<double> distribution_{2};
  Kind kind_;
};

TEST(RatioOf, misses_the_true_ratio_as_rarely_as_it_says) {
  Noise noise(1);
  int missed = 0;
  constexpr int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    const Ratio ratio = ratio_of(noise.samples(12, 1.5), noise.samples(9, 1), 0.05);
    if (!(ratio.low <= 1.5 && ratio.high >= 1.5)) ++missed;
  }
  EXPECT_LT(missed, 0.06 * trials);
  EXPECT_GT(missed, 0.03 * trials);  // an interval that misses the true ratio less often than this is too wide
}

constexpr int tries = 20;
constexpr std::size_t samples_of_each = 15;

ResultFile measured(Noise& noise, int rows, double factor_of_row_7, double machine = 1, double loaded = 0,
                    std::size_t samples = samples_of_each) {
  ResultFile result{"simulated.json", {{"facts", facts()}}, {}};
  result.report.problem = "kmeans";
  TeamCeilings team{.threads = 2, .ceilings = {}};
  team.ceilings.read_bytes_per_second = 1e10 / machine;
  team.ceilings.fma_f32_per_second = 1e11 / machine;
  result.report.ceilings.push_back(team);
  Group group;
  group.label = "simulated";
  for (int index = 0; index < rows; ++index) {
    Row row;
    row.variant = "rung_" + std::to_string(index);
    row.threads = 2;
    for (const double seconds : noise.samples(samples, machine * (index == 7 ? factor_of_row_7 : 1), loaded))
      row.samples.push_back({seconds, 1, {}});
    group.rows.push_back(row);
  }
  result.report.groups.push_back(group);
  return result;
}

TEST(Compare, marks_nothing_where_nothing_changed) {
  for (const Noise::Kind kind : {Noise::Kind::both_ways, Noise::Kind::added})
    for (int attempt = 0; attempt < tries; ++attempt) {
      Noise noise(100 + static_cast<std::uint64_t>(attempt), kind);
      const ResultFile before = measured(noise, 40, 1);
      const ResultFile after = measured(noise, 40, 1);
      const Comparison comparison = compare(before, after);
      ASSERT_EQ(comparison.changes.size(), 40U);
      for (const Change& change : comparison.changes) EXPECT_EQ(change.mark, Mark::none) << attempt;
    }
}

// Other work slows down 5 % of the samples of one run and 90 % of the samples of the other run. A comparison of only
// the intervals would mark the rows.
TEST(Compare, marks_nothing_where_the_load_differs_from_run_to_run) {
  int beyond_by_ranks = 0;
  for (int attempt = 0; attempt < tries; ++attempt) {
    Noise noise(300 + static_cast<std::uint64_t>(attempt), Noise::Kind::added);
    const ResultFile before = measured(noise, 3, 1, 1, 0.05, 60);
    const ResultFile after = measured(noise, 3, 1, 1, 0.9, 60);
    for (const Change& change : compare(before, after).changes) {
      EXPECT_EQ(change.mark, Mark::none) << attempt;
      beyond_by_ranks += change.ratio.low > negligible_ratio ? 1 : 0;
    }
  }
  EXPECT_GT(beyond_by_ranks, 50);
}

TEST(Compare, marks_the_row_that_became_a_tenth_slower_and_no_other) {
  for (int attempt = 0; attempt < tries; ++attempt) {
    Noise noise(200 + static_cast<std::uint64_t>(attempt), Noise::Kind::added);
    const ResultFile before = measured(noise, 40, 1);
    const ResultFile after = measured(noise, 40, 1.1);
    for (const Change& change : compare(before, after).changes)
      EXPECT_EQ(change.mark, change.after->variant == "rung_7" ? Mark::slower : Mark::none) << attempt;
    for (const Change& change : compare(after, before).changes)
      EXPECT_EQ(change.mark, change.after->variant == "rung_7" ? Mark::faster : Mark::none) << attempt;
  }
}

struct InTurns {
  std::vector<ResultFile> before;
  std::vector<ResultFile> after;
};

/// Makes pairs of measurements on a busy machine. In most rows, other load slows down every sample except one, by a
/// factor of up to two.
InTurns measured_in_turns(std::uint64_t seed, int pairs, double factor_of_row_7) {
  Noise noise(seed, Noise::Kind::added);
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> load(1, 2);
  const auto busy = [&](double factor) {
    ResultFile file = measured(noise, 10, factor);
    for (Row& row : file.report.groups[0].rows)
      for (std::size_t sample = load(engine) < 1.7 ? 1 : 0; sample < row.samples.size(); ++sample)
        row.samples[sample].seconds *= load(engine);
    return file;
  };
  InTurns files;
  for (int pair = 0; pair < pairs; ++pair) {
    files.before.push_back(busy(1));
    files.after.push_back(busy(factor_of_row_7));
  }
  return files;
}

TEST(Compare, pairs_in_turns_mark_on_a_busy_machine_what_one_pair_does_not) {
  int by_one = 0;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const auto seed = 500 + static_cast<std::uint64_t>(attempt);
    const InTurns same = measured_in_turns(seed, 40, 1);
    for (const Change& change : compare(same.before, same.after).changes) EXPECT_EQ(change.mark, Mark::none) << attempt;
    const InTurns files = measured_in_turns(seed, 40, 1.1);
    const Comparison comparison = compare(files.before, files.after);
    ASSERT_EQ(comparison.changes.size(), 10U);
    for (const Change& change : comparison.changes)
      EXPECT_EQ(change.mark, change.after->variant == "rung_7" ? Mark::slower : Mark::none) << attempt;
    by_one += compare(files.before.front(), files.after.front()).changes[7].mark == Mark::slower ? 1 : 0;
  }
  EXPECT_LT(by_one, tries / 2);
}

TEST(Compare, pairs_must_be_enough_and_have_the_same_rows) {
  InTurns files = measured_in_turns(1, fewest_pairs(doubt_of_all_rows / 10) - 1, 3);
  for (const Change& change : compare(files.before, files.after).changes) EXPECT_EQ(change.mark, Mark::few);
  files.after[2].report.groups[0].rows[4].trouble = "wrong";
  EXPECT_EQ(compare(files.before, files.after).changes[4].mark, Mark::broken);
  files.before[1].path = "the second.json";
  files.before[1].report.groups[0].rows.pop_back();
  try {
    compare(files.before, files.after);
    FAIL() << "a row is missing";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'the second.json': it has not the row of the other results: "),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find("rung_9, 2 threads"), std::string::npos);
  }
}

TEST(MedianRatio, is_between_bounds_of_the_sign_test) {
  // The median of eight ratios is outside the range from the second-lowest to the second-highest ratio with a
  // probability of 2 (1 + 8) / 2^8 = 0.07.
  const Ratio ratio = median_ratio({5, 1, 2, 4, 3, 6, 8, 7}, 0.08);
  EXPECT_EQ(ratio.estimate, 4.5);
  EXPECT_EQ(ratio.low, 2);
  EXPECT_EQ(ratio.high, 7);
  EXPECT_EQ(median_ratio({5, 1, 2, 4, 3, 6, 8, 7}, 0.07).low, 1);
  // 2 / 256 exceeds 0.007, so even the interval from the least ratio to the greatest ratio is too short.
  EXPECT_EQ(median_ratio({5, 1, 2, 4, 3, 6, 8, 7}, 0.007).low, 0);
  EXPECT_EQ(fewest_pairs(0.01), 8);
  EXPECT_EQ(fewest_pairs(0.05), 6);
}

TEST(Compare, marks_nothing_where_the_machine_became_slower) {
  Noise noise(3);
  const ResultFile before = measured(noise, 40, 1);
  const ResultFile after = measured(noise, 40, 1, 1.3);
  for (const Change& change : compare(before, after).changes) {
    EXPECT_NEAR(change.machine, 1.3, 1e-9);
    EXPECT_EQ(change.mark, Mark::none);
  }
  for (const Change& change : compare(after, before).changes) EXPECT_EQ(change.mark, Mark::none);
}

TEST(Compare, tells_of_rows_without_a_counterpart_or_a_time) {
  Noise noise(4);
  ResultFile before = measured(noise, 3, 1);
  ResultFile after = measured(noise, 3, 1);
  before.report.groups[0].rows[0].trouble = "wrong";
  after.report.groups[0].rows[1].trouble = "wrong";
  before.report.groups[0].rows[2].threads = 1;
  const Comparison comparison = compare(before, after);
  ASSERT_EQ(comparison.changes.size(), 2U);
  EXPECT_EQ(comparison.changes[0].mark, Mark::mended);
  EXPECT_EQ(comparison.changes[1].mark, Mark::broken);
  ASSERT_EQ(comparison.only_before.size(), 1U);
  EXPECT_NE(comparison.only_before[0].find("rung_2, 1 thread"), std::string::npos);
  EXPECT_EQ(comparison.only_after.size(), 1U);
  after.report.groups[0].facts["n"] = 5;
  EXPECT_THROW(compare(before, after), InputError);
  after.report.problem = "life";
  EXPECT_THROW(compare(before, after), InputError);
}

TEST(Compare, knows_machines_apart) {
  Noise noise(5);
  const ResultFile before = measured(noise, 1, 1);
  ResultFile after = measured(noise, 1, 1);
  EXPECT_EQ(difference_of_machines(before, after), "");
  after.json["facts"]["machine"]["system"] = "a newer kernel";
  EXPECT_EQ(difference_of_machines(before, after), "");
  after.json["facts"]["machine"]["processor"] = "another";
  EXPECT_NE(difference_of_machines(before, after).find("facts.machine.processor"), std::string::npos);
}

/// Returns a result in the format of `gradus bench`. It has one group, and the group has one row.
nlohmann::ordered_json written() {
  Report report;
  report.problem = "kmeans";
  report.ceilings.push_back({.threads = 1, .ceilings = {.read_bytes_per_second = 5}});
  Group group;
  group.label = "small";
  group.title = "small: 10 x 2";
  group.facts = {{"n", 10}, {"dtype", "f32"}};
  group.verified = "all";
  Row row;
  row.variant = "sequential";
  row.threads = 1;
  row.samples = {{2, 1, {{"assign", 1.5}}}, {4, 3, {{"assign", 3.5}}}};
  row.seconds = {3, 2, 4, 1};
  row.phases = {{"assign", 2.5}};
  row.iterations = 7;
  row.speedup = 1;
  row.figures = {{"inertia", 12.5}};
  group.rows = {row, row};
  group.rows[1].variant = "openmp_reduce";
  group.rows[1].trouble = "wrong";
  report.groups.push_back(group);
  return to_json(report);
}

ResultFile read_back(const std::string& text) {
  const std::string path = testing::TempDir() + "gradus_result.json";
  std::ofstream(path) << text;
  return read_result(path);
}

TEST(ResultFile, reads_what_was_written) {
  const Report report = read_back(written().dump()).report;
  EXPECT_EQ(report.problem, "kmeans");
  EXPECT_EQ(report.ceilings.at(0).ceilings.read_bytes_per_second, 5);
  const Group& group = report.groups.at(0);
  EXPECT_EQ(group.title, "small: 10 x 2");
  EXPECT_EQ(group.facts, (nlohmann::ordered_json{{"n", 10}, {"dtype", "f32"}}));
  const Row& row = group.rows.at(0);
  EXPECT_EQ(row.variant, "sequential");
  EXPECT_EQ(row.seconds.median, 3);
  EXPECT_EQ(row.samples.at(1).seconds, 4);
  EXPECT_EQ(row.phases.at(0).name, "assign");
  EXPECT_EQ(row.iterations, 7);
  const auto inertia = std::ranges::find(row.figures, "inertia", &Figure::key);
  ASSERT_NE(inertia, row.figures.end());
  EXPECT_EQ(inertia->value, 12.5);
  EXPECT_EQ(group.rows.at(1).trouble, "wrong");
}

TEST(ResultFile, names_file_and_key_of_what_is_wrong) {
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      read_back(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing";
  };
  const std::string whole = written().dump();
  EXPECT_NE(complaint(whole.substr(0, whole.size() / 2)).find("ends too early"), std::string::npos);
  EXPECT_NE(complaint("{\"a\": x}").find("at byte 7"), std::string::npos);
  EXPECT_NE(complaint("[1, 2]").find("gradus_result.json': the file is not an object"), std::string::npos);
  EXPECT_NE(complaint("{}").find("gradus_result.json': problem is missing"), std::string::npos);
  const auto changed = [&](const char* place, const nlohmann::ordered_json& value) {
    nlohmann::ordered_json json = written();
    json[nlohmann::ordered_json::json_pointer(place)] = value;
    return complaint(json.dump());
  };
  EXPECT_NE(changed("/problem", "toy").find("problem is 'toy'"), std::string::npos);
  EXPECT_NE(changed("/groups", 5).find("groups is not a list"), std::string::npos);
  const std::string row = "groups[0].rows[0].";
  EXPECT_NE(changed("/groups/0/rows/0/threads", -1).find(row + "threads"), std::string::npos);
  EXPECT_NE(changed("/groups/0/rows/0/pinning", "loose").find(row + "pinning"), std::string::npos);
  EXPECT_NE(changed("/groups/0/rows/0/samples/1/seconds", 0).find(row + "samples[1].seconds is not a positive"),
            std::string::npos);
  EXPECT_NE(changed("/groups/0/rows/0/samples", nlohmann::ordered_json::array()).find(row + "samples is empty"),
            std::string::npos);
  EXPECT_NE(changed("/facts", {{"date", "today"}}).find("facts.command is missing"), std::string::npos);
}

}  // namespace
}  // namespace gradus::bench
