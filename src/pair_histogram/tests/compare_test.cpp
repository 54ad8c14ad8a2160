// Tests compare(), which must accept the correct result and reject every kind of error.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "bench/problem.hpp"
#include "pair_histogram/cases.hpp"

namespace gradus::pair_histogram_detail {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Verify, histograms_are_compared_to_the_bit) {
  PairHistogramResult truth;
  truth.edges = {0, 1, 2};
  truth.counts = {3, 4};
  truth.weighted = {0.5, -0.0};
  truth.below = 1;
  truth.beyond = 2;
  truth.pairs = 10;
  const auto verdict = [&](const std::function<void(PairHistogramResult&)>& change) {
    PairHistogramResult result = truth;
    change(result);
    return compare(result, truth);
  };
  EXPECT_EQ(verdict([](auto&) {}), "");
  EXPECT_NE(verdict([](auto& result) { result.edges[1] = std::nextafter(1.0, 2.0); }), "");
  EXPECT_NE(verdict([](auto& result) { result.counts.pop_back(); }), "");
  EXPECT_NE(verdict([](auto& result) { ++result.counts[1]; }), "");
  EXPECT_NE(verdict([](auto& result) { std::swap(result.counts[0], result.counts[1]); }), "");
  EXPECT_NE(verdict([](auto& result) { ++result.below; }), "");
  EXPECT_NE(verdict([](auto& result) { --result.beyond; }), "");
  EXPECT_NE(verdict([](auto& result) { ++result.pairs; }), "");
  EXPECT_NE(verdict([](auto& result) { result.weighted.clear(); }), "");
  EXPECT_NE(verdict([](auto& result) { result.weighted[0] = nan; }), "");
  EXPECT_NE(verdict([](auto& result) { result.weighted[1] = 0.0; }), "");
  EXPECT_NE(verdict([](auto& result) { result.report.rechecked = nan; }), "");
}

TEST(Verify, every_variant_is_run_with_every_number_of_threads) {
  bench::VerifyOptions options;
  options.cases = {"lattice_3d", "weights", "uniform_0x2"};
  options.threads = {1, 3};
  const bench::VerifyReport report = bench::find_problem("pair_histogram").verify(options, {});
  EXPECT_TRUE(report.right());
  EXPECT_EQ(report.problem, "pair_histogram");
  ASSERT_EQ(report.rows.size(), 2 * variants().size());
  EXPECT_EQ(report.rows.front().checks, 6);
}

}  // namespace
}  // namespace gradus::pair_histogram_detail
