// Tests the parts of `gradus verify` that all problems share.
#include "bench/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/problem.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {
namespace {

/// Returns options that select the first case of the problem and one thread.
VerifyOptions little(const ProblemRow& problem) {
  VerifyOptions options;
  options.cases = {problem.cases().front()};
  options.threads = {1};
  return options;
}

TEST(Verify, knows_every_problem) {
  for (const ProblemRow* problem : problems()) {
    const VerifyReport report = problem->verify(little(*problem), {});
    EXPECT_TRUE(report.right()) << problem->name;
    EXPECT_EQ(report.problem, problem->name);
    for (const std::string& name : variant_names(*problem)) {
      const auto of_variant = [&](const VerifyRow& row) { return row.variant == name; };
      EXPECT_TRUE(std::ranges::any_of(report.rows, of_variant)) << problem->name << ": " << name;
    }
  }
  EXPECT_THROW(find_problem("sorting"), UsageError);
}

TEST(Verify, a_report_is_right_only_if_something_ran_and_all_of_it_passed) {
  VerifyReport report;
  EXPECT_FALSE(report.right());
  VerifyRow row;
  row.checks = row.cases = row.cases_passed = 2;
  report.rows = {row};
  EXPECT_TRUE(report.right());
  report.rows[0].cases_passed = 1;
  EXPECT_FALSE(report.right());
}

TEST(Verify, unknown_names_are_refused_with_a_suggestion) {
  for (const ProblemRow* problem : problems()) {
    VerifyOptions options = little(*problem);
    options.variants = {"no_such_variant"};
    EXPECT_THROW(problem->verify(options, {}), UsageError) << problem->name;
    options = little(*problem);
    const std::string name = options.cases.front();
    options.cases = {name + "x"};
    try {
      problem->verify(options, {});
      ADD_FAILURE() << "an unknown case was accepted: " << problem->name;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("did you mean '" + name), std::string::npos) << error.what();
    }
  }
}

TEST(Verify, json_holds_every_row) {
  const ProblemRow& problem = *problems().front();
  const VerifyReport report = problem.verify(little(problem), {});
  const nlohmann::json json = to_json(report);
  EXPECT_EQ(json["problem"], problem.name);
  EXPECT_EQ(json["right"], true);
  EXPECT_EQ(json["variants"].size(), report.rows.size());
}

}  // namespace
}  // namespace gradus::bench
