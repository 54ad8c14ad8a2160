// Tests the harness: its statistics, its engine, its refusals, and the experiment files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/experiment.hpp"
#include "bench/facts.hpp"
#include "bench/group.hpp"
#include "bench/harness.hpp"
#include "bench/points.hpp"
#include "bench/problem.hpp"
#include "bench/statistics.hpp"
#include "bench/verify.hpp"
#include "cpu/thread_sanitizer.hpp"
#include "gradus/error.hpp"

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
  constexpr double claimed = 0.0009765625;  // The time that each run reports. The harness counts only this time.
  std::vector<Job> jobs = {{[] { return Sample{claimed, 1, {{"claimed", claimed}}}; }, {}}};
  measure(jobs, {2, 0.03});
  ASSERT_EQ(jobs[0].samples.size(), 2U);
  for (const Sample& sample : jobs[0].samples) {
    EXPECT_GE(static_cast<double>(sample.runs) * claimed, 0.03);
    EXPECT_DOUBLE_EQ(sample.seconds, claimed);  // sample.seconds and the seconds of the phase are means over the runs
    ASSERT_EQ(sample.phases.size(), 1U);
    EXPECT_DOUBLE_EQ(sample.phases[0].seconds, claimed);
  }
}

TEST(Harness, an_exception_ends_the_measurement) {
  int runs = 0;
  std::vector<Job> jobs = {counting_job(runs, 0.5), {[]() -> Sample { throw InputError("broken"); }, {}}};
  EXPECT_THROW(measure(jobs, {3, 0}), InputError);
  measure(jobs = {counting_job(runs = 0, 0.5)}, {3, 0});  // the next measurement starts from scratch
  EXPECT_EQ(runs, 3);
}

/// A problem for these tests. It has no points, no element types and no shares of ceilings. Its runs report predefined
/// times.
class Ticks : public Workload {
 public:
  explicit Ticks(int ticks) : ticks_(ticks) {}
  std::string title() const override { return std::to_string(ticks_) + " ticks"; }
  nlohmann::ordered_json facts() const override { return {{"ticks", ticks_}}; }
  core::Support support(std::string_view variant) const override {
    return variant == "elsewhere" ? core::Support::no("not on this one") : core::Support::yes();
  }
  std::string verify(std::vector<Row>& rows, const Reporter& report) override {
    for_each_sound(rows, "verify", report, [](Row& row) {
      if (row.variant == "wrong") mark_wrong(row, "one tick is missing");
      if (row.variant == "fast") row.rechecked = 0.25;
    });
    return "by counting";
  }
  Sample run(const Row& row) override {
    return {row.variant == "fast" ? 0.25 : 0.5, 1, {{"tick", 0.125}, {"tock", 0.001}}};
  }
  std::vector<Work> work(const Row&) const override { return {}; }
  std::vector<Figure> figures(const Row& row) const override {
    return {{"ticks_per_second", ticks_ / row.seconds.median, "ticks/s", "some"}, {"colour", "green"}};
  }

 private:
  int ticks_;
};

class TickCounts : public Workloads {
 public:
  std::vector<Axis> axes() override {
    return {{.name = "ticks",
             .letter = "",
             .form = "N",
             .help = "how many",
             .initial = "3",
             .parse = [this](const std::string&, const std::string& text) { ticks_ = std::stoi(text); }}};
  }
  void prepare(const InputCallbacks&) override {}
  void scale(double share) override { ticks_ = static_cast<int>(share * ticks_); }
  void for_each(const InputCallbacks&, const std::function<void(Workload&)>& use) override {
    Ticks ticks(ticks_);
    use(ticks);
  }

 private:
  int ticks_ = 3;
};

const core::Ladder clock_ladder{
    .problem = "clock",
    .variants =
        [] {
          std::vector<core::VariantInfo> variants;
          for (const char* name : {"slow", "fast", "wrong", "elsewhere"})
            variants.push_back({.name = name, .summary = "", .backend = core::Backend::openmp});
          return variants;
        },
    .support = [](std::string_view, const execution::Machine&) { return core::Support::yes(); },
};

const ProblemRow clock_row{
    .name = "clock",
    .summary = "",
    .figures = "",
    .ladder = &clock_ladder,
    .verify = nullptr,
    .cases = nullptr,
    .workloads = []() -> std::unique_ptr<Workloads> { return std::make_unique<TickCounts>(); },
};

Bench of_clock(std::vector<std::string> variants) {
  return {.label = "A",
          .runs = {VariantRun{std::move(variants), {1}}},
          .workloads = clock_row.workloads(),
          .effort = {2, 0}};
}

TEST(Measure, a_problem_without_points_types_or_ceilings_is_measured_like_any_other) {
  const Report report = measure(clock_row, {of_clock({"slow", "fast"})}, {});
  EXPECT_TRUE(report.right());
  ASSERT_EQ(report.groups.size(), 1U);
  const Group& group = report.groups.front();
  EXPECT_EQ(group.title, "A: 3 ticks");
  EXPECT_EQ(group.verified, "by counting");
  ASSERT_EQ(group.rows.size(), 2U);
  EXPECT_EQ(group.rows[1].samples.size(), 2U);
  EXPECT_DOUBLE_EQ(group.rows[1].speedup, 2);
  const Table lines = table(group);
  EXPECT_EQ(lines[0], (std::vector<std::string>{"variant", "threads", "pin", "block", "median ms", "spread", "ticks/s",
                                                "speed-up", "tick ms", "rechecked", "memory MiB"}));
  EXPECT_EQ(lines[2], (std::vector<std::string>{"fast", "1", "none", "-", "250.0", "0.0 %", "some", "2.00", "125.0",
                                                "0.25", "-"}));
  const auto json = to_json(report);
  EXPECT_EQ(json["problem"], "clock");
  EXPECT_EQ(json["groups"][0]["ticks"], 3);
  EXPECT_EQ(json["groups"][0]["rows"][1]["ticks_per_second"], 12);
  EXPECT_EQ(json["groups"][0]["rows"][1]["colour"], "green");
  EXPECT_FALSE(json["groups"][0]["rows"][1].contains("iterations"));
}

TEST(Measure, without_names_all_that_run_are_measured) {
  const Report report = measure(clock_row, {of_clock({})}, {});
  EXPECT_EQ(report.groups.front().rows.size(), 3U);
}

TEST(Measure, a_wrong_result_has_no_figure) {
  const Report report = measure(clock_row, {of_clock({"slow", "wrong", "elsewhere"})}, {});
  EXPECT_FALSE(report.right());
  const Table lines = table(report.groups.front());
  ASSERT_EQ(lines.size(), 4U);
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines.front().size());
  EXPECT_EQ(lines[1][4], "500.0");
  EXPECT_EQ(lines[2][4], "");
  EXPECT_EQ(lines[2].back(), "WRONG RESULT: one tick is missing");
  EXPECT_EQ(lines[3].back(), "cannot run here: not on this one");
  const auto rows = to_json(report)["groups"][0]["rows"];
  EXPECT_TRUE(rows[0].contains("seconds"));
  EXPECT_FALSE(rows[1].contains("seconds"));
  EXPECT_EQ(rows[1]["trouble"], "WRONG RESULT: one tick is missing");
}

TEST(Measure, where_nothing_runs_there_is_a_table_all_the_same) {
  const Report report = measure(clock_row, {of_clock({"elsewhere"})}, {});
  EXPECT_TRUE(report.right());
  EXPECT_EQ(table(report.groups.front()).size(), 2U);
}

TEST(Measure, a_misspelt_variant_is_refused_before_anything_runs) {
  EXPECT_THROW(measure(clock_row, {of_clock({"slow"}), of_clock({"slwo"})}, {}), UsageError);
}

TEST(Points, a_shape_may_be_said_in_mebibytes) {
  PointAxes points({.generator = "uniform", .rows = 10, .columns = 2, .file = ""});
  const auto set = [&](const std::string& name, const std::string& text) {
    for (const Axis& axis : points.axes())
      if (axis.name == name) axis.parse(name, text);
  };
  set("shape", "256MiBx16,256MiBx1,7x3");
  set("dtype", "f32,f64");
  const auto sets = points.sets();
  ASSERT_EQ(sets.size(), 6U);
  EXPECT_EQ(sets[0].first.rows, 4194304);   // 16 floats per point
  EXPECT_EQ(sets[1].first.rows, 2097152);   // 16 doubles per point
  EXPECT_EQ(sets[2].first.rows, 67108864);  // one float per point
  EXPECT_EQ(sets[4].first.rows, 7);
  EXPECT_THROW(set("shape", "3"), UsageError);
  EXPECT_THROW(set("shape", "0x3"), UsageError);
  EXPECT_THROW(set("shape", "xMiBx3"), UsageError);
  EXPECT_THROW(set("dtype", "f16"), UsageError);
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

const std::string experiments = GRADUS_SOURCE_DIR "/experiments/";

TEST(Experiments, every_file_is_read_under_its_own_name_and_names_variants_that_exist) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(experiments)) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const Experiment experiment = read_experiment(entry.path());
    EXPECT_EQ(experiment.name, entry.path().stem());
    EXPECT_FALSE(experiment.parts.empty());
    EXPECT_FALSE(experiment.published.empty() && experiment.claims.empty());
    for (const Bench& part : experiment.parts)
      for (const VariantRun& run : part.runs) {
        EXPECT_FALSE(run.variants.empty());
        for (const std::string& name : run.variants) EXPECT_NO_THROW(variant_info(*experiment.problem, name));
      }
    for (const Published& published : experiment.published)
      if (!published.variant.empty()) {
        EXPECT_NO_THROW(variant_info(*experiment.problem, published.variant));
      }
  }
  EXPECT_GE(files, 2);
}

/// Writes the text to a file, calls the function, and removes the file.
template <class Function>
void with_experiment(const std::string& text, const Function& function) {
  const std::string path = testing::TempDir() + "gradus_tested_experiment.json";
  std::ofstream(path) << text;
  function(path);
  std::filesystem::remove(path);
}

/// Returns an experiment of the first problem. `more` holds additional keys, and `shape` holds the keys of the only
/// shape.
std::string experiment_text(const std::string& more, const std::string& shape = "",
                            const std::string& published = R"("published": [{"shape": "A", "speedup": [1, 2]}])") {
  return R"({"name": "x", "title": "t", "source": "s", "problem": ")" + std::string(problems().front()->name) + "\", " +
         more + R"("shapes": [{"label": "A")" + shape +
         R"(}], "runs": [{"variants": ["sequential"], "threads": [1, 2, 4, 64]}], )" + published + "}";
}

TEST(Experiments, axes_are_those_of_the_command_line) {
  with_experiment(experiment_text(R"("dtype": ["f32", "f64"], )", R"(, "shape": "50x2")"), [](const std::string& path) {
    const Experiment experiment = read_experiment(path);
    EXPECT_EQ(experiment.problem, problems().front());
    ASSERT_EQ(experiment.parts.size(), 1U);
    std::vector<std::string> titles;
    experiment.parts[0].workloads->for_each({}, [&](Workload& workload) { titles.push_back(workload.title()); });
    ASSERT_EQ(titles.size(), 2U);
    EXPECT_TRUE(titles[0].starts_with("50 x 2 f32 ")) << titles[0];
    EXPECT_TRUE(titles[1].starts_with("50 x 2 f64 ")) << titles[1];
  });
}

TEST(Experiments, are_found_by_name) {
  for (const std::string& name : experiment_names()) EXPECT_EQ(read_experiment(find_experiment(name)).name, name);
  EXPECT_EQ(find_experiment("some/file.json"), "some/file.json");
  const std::string name = experiment_names().front();
  try {
    find_experiment(name.substr(0, name.size() - 1));
    FAIL() << "an unknown experiment was found";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean '" + name), std::string::npos) << error.what();
  }
}

TEST(Experiments, threads_beyond_the_cores_are_left_out) {
  with_experiment(experiment_text(""), [](const std::string& path) {
    Experiment experiment = read_experiment(path);
    EXPECT_TRUE(limit_threads(experiment, 4));
    EXPECT_EQ(experiment.parts[0].runs[0].threads, (std::vector<int>{1, 2, 4}));
    EXPECT_FALSE(limit_threads(experiment, 4));
  });
}

TEST(Experiments, a_published_figure_finds_its_counterpart) {
  const auto row = [](const char* variant, int threads, double seconds) {
    Row made;
    made.variant = variant;
    made.threads = threads;
    made.seconds.median = seconds;
    made.speedup = 1 / seconds;
    made.iterations = 10;
    return made;
  };
  Group group;
  group.label = "A";
  group.rows = {row("x", 1, 1.0), row("x", 4, 0.5), row("x", 4, 0.4), row("x", 8, 0.8), row("y", 8, 0.1)};
  const Report report{"clock", {}, {group}};
  Published published;
  published.shape = "A";
  published.variant = "x";
  published.lowest_speedup = published.highest_speedup = 2;
  published.threads = 6;
  ASSERT_NE(counterpart(published, report), nullptr);
  EXPECT_EQ(counterpart(published, report)->seconds.median, 0.4);  // the faster of the two rows with 4 threads
  published.threads = 64;
  // expects the row with 8 threads, although 4 threads are faster
  EXPECT_EQ(counterpart(published, report)->seconds.median, 0.8);
  published.threads.reset();
  EXPECT_EQ(counterpart(published, report)->seconds.median, 0.4);  // the best number of threads
  EXPECT_EQ(published_text(published), "2 x");
  EXPECT_EQ(measured_text(published, *counterpart(published, report), report), "2.5 x");
  published.shape = "B";
  EXPECT_EQ(counterpart(published, report), nullptr);
}

TEST(Experiments, a_published_speed_up_is_confirmed_or_refuted) {
  Row base;
  base.variant = "base";
  base.figures = {{"rate", 2.0}};
  Row row = base;
  row.variant = "x";
  row.speedup = 2;
  row.figures = {{"rate", 12.0}};
  Group group;
  group.label = "A";
  group.rows = {base, row};
  const Report report{"clock", {}, {group}};
  Published published;
  published.shape = "A";
  published.variant = "x";
  const auto verdict = [&](double least, double most) {
    published.lowest_speedup = least;
    published.highest_speedup = most;
    return judge(published, report, true).verdict;
  };
  EXPECT_EQ(verdict(2, 3), Verdict::confirmed);
  EXPECT_EQ(verdict(2.1, 3), Verdict::confirmed);  // within the allowance of 10 %
  EXPECT_EQ(verdict(2.3, 3), Verdict::refuted);
  EXPECT_EQ(judge(published, report, true).because, "only 2 x");
  EXPECT_EQ(judge(published, report, false).verdict, Verdict::undecided);
  published.figure = "rate";  // the rate is 6 times the rate of the first row
  EXPECT_EQ(verdict(2.3, 3), Verdict::confirmed);
  EXPECT_EQ(judge(published, report, true).because, "more: 6 x");
  EXPECT_EQ(measured_text(published, row, report), "6 x");
  published.figure = "another";
  EXPECT_EQ(verdict(1, 1), Verdict::undecided);
  published = Published{};
  published.shape = "A";
  published.variant = "x";
  published.seconds = 1;
  EXPECT_EQ(judge(published, report, true).verdict, Verdict::undecided);
}

TEST(Experiments, seconds_are_compared_with_seconds) {
  Row row;
  row.seconds.median = 0.5;
  Published published;
  published.seconds = 1;
  EXPECT_EQ(measured_text(published, row, Report{}), "500 ms");
  published.highest_seconds = 1.5;
  EXPECT_EQ(published_text(published), "1000-1500 ms");
  published.seconds = published.highest_seconds = 173.6;
  EXPECT_EQ(published_text(published), "173.6 s");
  published.seconds = 1;
  published.highest_seconds.reset();
  published.iterations = 4;
  row.iterations = 10;
  EXPECT_EQ(published_text(published), "250 ms/iteration");
  EXPECT_EQ(measured_text(published, row, Report{}), "50 ms/iteration");
}

TEST(Experiments, broken_files_are_refused_by_name) {
  for (const std::string& text :
       {std::string(""), std::string("{"), std::string("[]"), std::string(R"({"name": "x"})"),
        std::string(R"({"name": "x", "title": "", "source": "", "problem": "y"})"),
        experiment_text(R"("dtype": "f16", )"), experiment_text("", R"(, "shape": "0x2")"),
        experiment_text("", R"(, "shap": "50x2")"), experiment_text(R"("chapter": 3, )"),
        std::string(R"({"name": "x", "title": "", "source": "", "problem": ")") +
            std::string(problems().front()->name) +
            R"(", "runs": [], "shapes": [], "published": [{"shape": "A", "speedup": [1, 1]}]})"})
    with_experiment(text, [&](const std::string& path) {
      try {
        read_experiment(path);
        ADD_FAILURE() << "accepted: " << text;
      } catch (const Error& error) {
        EXPECT_EQ(error.exit_status(), InputError("").exit_status()) << error.what();
        EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
      }
    });
  EXPECT_THROW(read_experiment(testing::TempDir() + "gradus_no_such_experiment.json"), InputError);
}

/// Returns an experiment with one claim.
std::string claim_text_in_file(const std::string& claim) {
  return experiment_text("", R"(, "dtype": "f32"}, {"label": "B", "dtype": "f64")", R"("claims": [)" + claim + "]");
}

TEST(Experiments, what_is_wrong_is_told_with_its_place) {
  const std::map<std::string, std::vector<std::string>> cases = {
      {experiment_text("", "", R"("claim": [])"), {"\"claim\""}},
      {R"({"name": "x", "title": "", "source": "", "problem": ")" + std::string(problems().front()->name) +
           R"(", "runs": [], "shapes": [{"label": "A"}]})",
       {"\"published\"", "\"claims\""}},
      {experiment_text("", R"(}, {"label": "A")"), {"shapes[1]", "earlier"}},
      {experiment_text("", R"(}, {"label": "B", "shap": "50x2")"), {"shapes[1]", "shap"}},
      {experiment_text("", "", R"("published": [{"shape": "A", "speedup": [1]}])"), {"published[0]"}},
      {experiment_text("", "", R"("published": {})"), {"published"}},
      {experiment_text("", "", R"("claims": 3)"), {"\"claims\""}},
      {claim_text_in_file(R"({})"), {"claims[0]", "variant"}},
      {claim_text_in_file(R"({"variant": "sequential"})"), {"claims[0]", "claim"}},
      {claim_text_in_file(R"({"variant": "sequential", "claim": "stop_at", "threads": 2})"),
       {"claims[0]", "did you mean 'stops_at'"}},
      {claim_text_in_file(R"({"variant": "sequential", "claim": "stops_at"})"), {"claims[0]", "threads"}},
      {claim_text_in_file(R"({"variant": "sequential", "claim": "stops_at", "threads": 0})"), {"claims[0]", "threads"}},
      {claim_text_in_file(R"({"variant": "sequential", "claim": "scales_to", "threads": 4096.5})"),
       {"claims[0]", "threads"}},
      {claim_text_in_file(R"({"variant": "sequential", "claim": "scales_to", "threads": 2, "dtype": "f32"})"),
       {"claims[0]", "dtype"}},
      {claim_text_in_file(R"({"variant": "sequentiel", "claim": "stops_at", "threads": 2})"),
       {"claims[0]", "did you mean 'sequential'"}},
      {claim_text_in_file(R"({"variant": "openmp_reduce", "claim": "stops_at", "threads": 2})"),
       {"claims[0]", "openmp_reduce", "runs"}},
      {claim_text_in_file(R"({"variant": "sequential", "claim": "best_at"})"), {"claims[0]", "axis"}},
      {claim_text_in_file(R"({"variant": "sequential", "claim": "best_at", "tile": 3})"), {"claims[0]", "tile"}},
      {claim_text_in_file(R"({"variant": "sequential", "claim": "best_at", "dtype": "f16"})"), {"claims[0]", "f16"}},
      {claim_text_in_file(R"({"variant": "sequential", "claim": "best_at", "dtype": "f32", "shape": "9x9"})"),
       {"claims[0]", "shape"}},
      {experiment_text("", R"(, "dtype": "f32")",
                       R"("claims": [{"variant": "sequential", "claim": "best_at", "dtype": "f32"}])"),
       {"claims[0]", "no other value"}},
  };
  for (const auto& one : cases)
    with_experiment(one.first, [&one](const std::string& path) {
      try {
        read_experiment(path);
        ADD_FAILURE() << "accepted: " << one.first;
      } catch (const InputError& error) {
        for (const std::string& word : one.second)
          EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << word << " is not in: " << error.what();
      }
    });
  with_experiment(claim_text_in_file(R"({"variant": "sequential", "claim": "best_at", "dtype": "f32"})"),
                  [](const std::string& path) {
                    const Experiment experiment = read_experiment(path);
                    ASSERT_EQ(experiment.claims.size(), 1U);
                    EXPECT_EQ(claim_text(experiment.claims.front()), "best at dtype f32");
                    EXPECT_EQ(experiment.settings.at("B").at("dtype"), "f64");
                  });
}

/// Returns a group of one shape with rows of the variant x. `seconds` lists the number of threads and the time of each
/// row.
Group timed_group(const std::string& label, const std::vector<std::pair<int, double>>& seconds) {
  Group group;
  group.label = label;
  for (const auto& [threads, median] : seconds) {
    Row row;
    row.variant = "x";
    row.threads = threads;
    row.seconds.median = median;
    group.rows.push_back(row);
  }
  return group;
}

Verdict verdict_of(const Claim& claim, const std::vector<std::pair<int, double>>& seconds, int cores = 64) {
  const Judgement judgement = judge(claim, Report{"clock", {}, {timed_group("A", seconds)}}, {{"A", {}}}, cores);
  EXPECT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings.front().verdict, judgement.verdict);
  return judgement.verdict;
}

TEST(Claims, stops_at_is_refuted_where_more_threads_help) {
  const Claim claim{.variant = "x", .kind = Claim::Kind::stops_at, .threads = 2};
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 6}, {4, 5.6}, {8, 7}}), Verdict::confirmed);
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 6}, {4, 5.4}, {8, 7}}), Verdict::refuted);
  // The claim is also refuted if the time drops only at a later number of threads.
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 6}, {4, 6}, {8, 3}}), Verdict::refuted);
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 6}}), Verdict::undecided);
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {4, 6}}), Verdict::undecided);
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 6}, {4, 1}}, 2), Verdict::undecided);  // 4 threads on 2 cores
  EXPECT_EQ(verdict_of(claim, {}), Verdict::undecided);
}

TEST(Claims, scales_to_is_refuted_at_the_first_step_that_does_not_help) {
  const Claim claim{.variant = "x", .kind = Claim::Kind::scales_to, .threads = 8};
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 6}, {4, 4}, {8, 3}, {16, 4}}), Verdict::confirmed);
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 6}, {4, 5.9}, {8, 3}}), Verdict::refuted);
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 6}, {4, 4}, {8, 3.9}}), Verdict::refuted);
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 6}, {4, 4}}), Verdict::undecided);
  // The time for 8 threads is not needed for this verdict.
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 9.9}, {4, 9.8}}), Verdict::refuted);
  EXPECT_EQ(verdict_of(claim, {{1, 10}, {2, 6}, {4, 4}, {8, 3}}, 4), Verdict::undecided);
  EXPECT_EQ(verdict_of(claim, {{8, 3}}), Verdict::undecided);
  EXPECT_EQ(verdict_of(claim, {}), Verdict::undecided);
}

TEST(Claims, faster_than_is_refuted_with_the_first_number_of_threads_that_is_not_clearly_faster) {
  const Claim claim{.variant = "x", .kind = Claim::Kind::faster_than, .threads = 4, .than = "y"};
  using Times = std::vector<std::pair<int, double>>;
  const auto judged = [&](const Times& ours, const Times& others, int cores = 8) {
    Group group = timed_group("A", ours);
    for (Row row : timed_group("A", others).rows) {
      row.variant = "y";
      group.rows.push_back(std::move(row));
    }
    return judge(claim, Report{"clock", {}, {group}}, {{"A", {}}}, cores).verdict;
  };
  EXPECT_EQ(judged({{1, 10}, {2, 6}, {4, 4}}, {{1, 12}, {2, 7}, {4, 5}}), Verdict::confirmed);
  EXPECT_EQ(judged({{1, 10}, {2, 6}, {4, 4}, {8, 9}}, {{1, 12}, {2, 7}, {4, 5}, {8, 1}}), Verdict::confirmed);
  EXPECT_EQ(judged({{1, 10}, {2, 6}, {4, 4}}, {{1, 12}, {2, 6.3}, {4, 5}}), Verdict::refuted);
  // refuted because of 1 thread, although 4 threads were not measured
  EXPECT_EQ(judged({{1, 10}, {2, 6}}, {{1, 9}, {2, 7}}), Verdict::refuted);
  EXPECT_EQ(judged({{1, 10}, {2, 6}}, {{1, 12}, {2, 7}}), Verdict::undecided);
  EXPECT_EQ(judged({{1, 10}, {2, 6}, {4, 4}}, {{1, 12}, {2, 7}, {4, 5}}, 2), Verdict::undecided);
  EXPECT_EQ(judged({{1, 10}}, {}), Verdict::undecided);
  Claim elsewhere = claim;
  elsewhere.shapes = {"B"};
  EXPECT_EQ(
      judge(elsewhere, Report{"clock", {}, {timed_group("A", {{1, 1}})}}, {{"A", {}}, {"B", {}}}, 8).findings.size(),
      0U);
}

TEST(Claims, faster_than_looks_at_no_fewer_threads_than_it_says) {
  Claim claim{.variant = "x", .kind = Claim::Kind::faster_than, .threads = 4, .from = 2, .than = "y"};
  using Times = std::vector<std::pair<int, double>>;
  const auto judged = [&](const Times& ours, const Times& others) {
    Group group = timed_group("A", ours);
    for (Row row : timed_group("A", others).rows) {
      row.variant = "y";
      group.rows.push_back(std::move(row));
    }
    return judge(claim, Report{"clock", {}, {group}}, {{"A", {}}}, 8).verdict;
  };
  EXPECT_EQ(judged({{1, 10}, {2, 6}, {4, 4}}, {{1, 9}, {2, 7}, {4, 5}}), Verdict::confirmed);
  EXPECT_EQ(judged({{1, 10}, {2, 6}, {4, 4}}, {{1, 9}, {2, 6}, {4, 5}}), Verdict::refuted);
  EXPECT_EQ(judged({{1, 10}}, {{1, 20}}), Verdict::undecided);
  claim.kind = Claim::Kind::like;
  EXPECT_EQ(judged({{1, 10}, {2, 6}, {4, 4}}, {{1, 90}, {2, 6.3}, {4, 3.8}}), Verdict::confirmed);
  EXPECT_EQ(judged({{2, 6}, {4, 4}}, {{2, 6}, {4, 5}}), Verdict::refuted);
  EXPECT_EQ(judged({{2, 6}, {4, 4}}, {{2, 6}, {4, 3}}), Verdict::refuted);
}

TEST(Claims, drops_at_is_about_more_threads_than_cores_too) {
  const Claim claim{.variant = "x", .kind = Claim::Kind::drops_at, .threads = 8};
  EXPECT_EQ(verdict_of(claim, {{2, 6}, {4, 4}, {8, 5}}, 4), Verdict::confirmed);
  EXPECT_EQ(verdict_of(claim, {{2, 6}, {4, 4}, {8, 4.2}}, 4), Verdict::refuted);
  EXPECT_EQ(verdict_of(claim, {{2, 6}, {4, 4}}, 4), Verdict::undecided);
  EXPECT_EQ(verdict_of(claim, {{8, 4}}, 4), Verdict::undecided);
}

TEST(Claims, figures_are_compared_with_a_bound_or_with_another_variant) {
  const auto with = [](const std::string& variant, const std::vector<std::pair<int, nlohmann::ordered_json>>& figures) {
    std::vector<Row> rows;
    for (const auto& [threads, figure] : figures) {
      Row row;
      row.variant = variant;
      row.threads = threads;
      row.figures = {{"share", figure}};
      rows.push_back(std::move(row));
    }
    return rows;
  };
  const auto judged = [](const Claim& claim, std::vector<Row> rows, const std::vector<Row>& others) {
    Group group;
    group.label = "A";
    group.rows = std::move(rows);
    group.rows.insert(group.rows.end(), others.begin(), others.end());
    return judge(claim, Report{"clock", {}, {group}}, {{"A", {}}}, 8).verdict;
  };
  Claim claim{.variant = "x", .kind = Claim::Kind::at_least, .threads = 4, .from = 2, .figure = "share", .least = 0.9};
  EXPECT_EQ(judged(claim, with("x", {{1, 0.1}, {2, 0.95}, {4, 0.9}}), {}), Verdict::confirmed);
  EXPECT_EQ(judged(claim, with("x", {{2, 0.95}, {4, 0.89}}), {}), Verdict::refuted);
  EXPECT_EQ(judged(claim, with("x", {{2, 0.95}}), {}), Verdict::undecided);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(judged(claim, with("x", {{2, 0.95}, {4, nan}}), {}), Verdict::refuted);
  EXPECT_EQ(judged(claim, with("x", {{2, "much"}, {4, "more"}}), {}), Verdict::undecided);
  claim.figure = "colour";
  EXPECT_EQ(judged(claim, with("x", {{2, 0.95}, {4, 0.95}}), {}), Verdict::undecided);
  claim = {.variant = "x", .kind = Claim::Kind::less_than, .threads = 2, .than = "y", .figure = "share"};
  EXPECT_EQ(judged(claim, with("x", {{1, 1}, {2, 2}}), with("y", {{1, 2}, {2, 3}})), Verdict::confirmed);
  EXPECT_EQ(judged(claim, with("x", {{1, 1}, {2, 3}}), with("y", {{1, 2}, {2, 3}})), Verdict::refuted);
}

TEST(Claims, best_at_compares_shapes_that_differ_in_the_axis_only) {
  const ShapeSettings shapes = {{"A", {{"n", "1"}, {"tile", "32"}}}, {"B", {{"n", "1"}, {"tile", "64"}}},
                                {"C", {{"n", "2"}, {"tile", "32"}}}, {"D", {{"n", "2"}, {"tile", "64"}}},
                                {"E", {{"n", "3"}, {"tile", "64"}}}, {"F", {{"n", "3"}}}};
  const auto judged = [&](const std::string& value, double first, double second) {
    const Claim claim{.variant = "x", .kind = Claim::Kind::best_at, .axis = "tile", .value = value};
    return judge(claim,
                 Report{"clock",
                        {},
                        {timed_group("A", {{1, 20}, {2, first}}), timed_group("B", {{1, second}, {2, 50}}),
                         timed_group("C", {{1, 3}}), timed_group("D", {{1, 2}}), timed_group("F", {{1, 1}})}},
                 shapes, 64);
  };
  Judgement judgement = judged("64", 10, 8);
  EXPECT_EQ(judgement.verdict, Verdict::confirmed);
  ASSERT_EQ(judgement.findings.size(), 2U);
  EXPECT_EQ(judgement.findings[0].input, "A, B");
  EXPECT_EQ(points_text({.variant = "x", .kind = Claim::Kind::best_at}, judgement.findings[0].points),
            "32: 1e+04 ms, 64: 8000 ms");
  EXPECT_EQ(judged("64", 10, 10.9).verdict, Verdict::confirmed);
  judgement = judged("64", 10, 11.1);
  EXPECT_EQ(judgement.verdict, Verdict::refuted);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::refuted);
  EXPECT_EQ(judgement.findings[0].because, "at 32 1.11 times as fast");
  EXPECT_EQ(judgement.findings[1].verdict, Verdict::confirmed);
  EXPECT_EQ(judged("32", 10, 8).verdict, Verdict::refuted);
  EXPECT_EQ(judged("128", 10, 8).verdict, Verdict::undecided);
}

TEST(Claims, best_and_worst_may_be_of_one_number_of_threads_and_of_some_values) {
  const ShapeSettings shapes = {{"A", {{"lock", "none"}}}, {"B", {{"lock", "one"}}}, {"C", {{"lock", "two"}}}};
  const Report report{
      "clock",
      {},
      {timed_group("A", {{1, 1}, {4, 1}}), timed_group("B", {{1, 5}, {4, 2}}), timed_group("C", {{1, 2}, {4, 3}})}};
  const auto judged = [&](Claim::Kind kind, const std::string& value, int threads, std::vector<std::string> except) {
    const Claim claim{
        .variant = "x", .kind = kind, .threads = threads, .axis = "lock", .value = value, .except = std::move(except)};
    return judge(claim, report, shapes, 8).verdict;
  };
  EXPECT_EQ(judged(Claim::Kind::best_at, "one", 4, {}), Verdict::refuted);
  EXPECT_EQ(judged(Claim::Kind::best_at, "one", 4, {"none"}), Verdict::confirmed);
  EXPECT_EQ(judged(Claim::Kind::best_at, "one", 1, {"none"}), Verdict::refuted);
  EXPECT_EQ(judged(Claim::Kind::best_at, "one", 16, {"none"}), Verdict::undecided);
  EXPECT_EQ(judged(Claim::Kind::best_at, "one", 4, {"none", "two"}), Verdict::undecided);
  EXPECT_EQ(judged(Claim::Kind::worst_at, "two", 4, {}), Verdict::confirmed);
  EXPECT_EQ(judged(Claim::Kind::worst_at, "two", 1, {}), Verdict::refuted);
  EXPECT_EQ(judged(Claim::Kind::worst_at, "none", 4, {}), Verdict::refuted);
}

TEST(Claims, an_input_without_the_value_says_nothing_where_another_has_it) {
  const ShapeSettings shapes = {
      {"A", {{"lock", "none"}, {"locked", "point"}}}, {"B", {{"lock", "one"}}}, {"C", {{"lock", "two"}}}};
  const Report report{
      "clock", {}, {timed_group("A", {{1, 1}}), timed_group("B", {{1, 5}}), timed_group("C", {{1, 2}})}};
  const auto judged = [&](const std::string& value) {
    return judge({.variant = "x", .kind = Claim::Kind::worst_at, .axis = "lock", .value = value}, report, shapes, 8);
  };
  EXPECT_EQ(judged("one").verdict, Verdict::confirmed);
  EXPECT_EQ(judged("one").findings.size(), 1U);
  EXPECT_EQ(judged("two").verdict, Verdict::refuted);
  EXPECT_EQ(judged("none").verdict, Verdict::undecided);  // no shape with the same `locked` has another value of `lock`
  EXPECT_EQ(judged("three").verdict, Verdict::undecided);
  EXPECT_EQ(judged("three").findings.size(), 2U);
}

TEST(Claims, rows_that_tell_nothing_are_left_out) {
  const Claim claim{.variant = "x", .kind = Claim::Kind::stops_at, .threads = 2};
  Group group = timed_group("A", {{2, 6}, {2, 9}, {4, 1}, {4, 8}});
  group.rows[2].trouble = "wrong";
  const Report report{"clock", {}, {group}};
  const Judgement judgement = judge(claim, report, {{"A", {}}}, 64);
  EXPECT_EQ(judgement.verdict, Verdict::confirmed);
  EXPECT_EQ(points_text(claim, judgement.findings.front().points), "2: 6000 ms, 4: 8000 ms");
  const nlohmann::ordered_json json = to_json(claim, judgement);
  EXPECT_EQ(json["verdict"], "confirmed");
  EXPECT_EQ(json["inputs"][0]["seconds"]["4"], 8);
  EXPECT_NE(json["rule"].get<std::string>().find("10 %"), std::string::npos);
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
  // The address sanitizer needs another eighth of the 64 MiB for its shadow memory.
  EXPECT_LE(*bytes, std::uint64_t{80} << 20);
}

}  // namespace
}  // namespace gradus::bench
