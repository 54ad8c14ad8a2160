// Every variant of the table, on every case, in both types, against the oracle: a new row is tested by its row alone.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "cpu/forced_target.hpp"
#include "kmeans/cases.hpp"
#include "kmeans/integer_filter.hpp"
#include "tests/ladder_test.hpp"

namespace gradus::kmeans_detail {
namespace {

[[maybe_unused]] const bool registered = tests::register_ladder<Trial>();

// The loop itself: what it must not let pass.
Variant row_called(std::string_view name) { return core::find_variant(variants(), name, Room::name); }

TEST(LadderLoop, runs_a_row_on_what_it_promises_and_takes) {
  const tests::RowOutcome outcome = tests::run_row<Trial>(row_called("sequential"));
  const auto promised = std::ranges::count_if(cases(), [](const Case& one) { return one.make(1).well_conditioned; });
  EXPECT_EQ(outcome.ran, 2 * promised);
  EXPECT_TRUE(outcome.differences.empty());
}

TEST(LadderLoop, a_row_that_takes_no_case_fails) {
  Variant planted = row_called("simd_small_dim");
  planted.supports = [](const Shape&, const execution::Machine&) { return core::Support::no("not today"); };
  const tests::RowOutcome outcome = tests::run_row<Trial>(planted);
  EXPECT_EQ(outcome.ran, 0);
  EXPECT_NONFATAL_FAILURE(tests::judge(planted, outcome), "simd_small_dim ran no case: not today");
}

TEST(LadderLoop, a_wrong_result_fails_and_is_named) {
  Variant planted = row_called("sequential");
  planted.contract = {core::Contract::same_bits};
  const tests::RowOutcome outcome = tests::run_row<Trial>(planted);
  ASSERT_FALSE(outcome.differences.empty());
  tests::RowOutcome first = outcome;
  first.differences.resize(1);
  EXPECT_NONFATAL_FAILURE(tests::judge(planted, first), "sequential, " + outcome.differences.front());
}

TEST(LadderLoop, an_error_is_a_difference) {
  Variant planted = row_called("simd_small_dim");
  planted.supports = [](const Shape& shape, const execution::Machine&) {
    return shape.dimensions > 60 ? core::Support::yes() : core::Support::no("few columns");
  };
  const tests::RowOutcome outcome = tests::run_row<Trial>(planted);
  ASSERT_FALSE(outcome.differences.empty());
  EXPECT_TRUE(tests::contains(outcome.differences.front(), "it failed: ")) << outcome.differences.front();
}

TEST(LadderLoop, where_a_gpu_is_required_its_absence_fails) {
  ASSERT_EQ(setenv("GRADUS_REQUIRE_GPU", "1", 1), 0);
  EXPECT_FATAL_FAILURE(tests::skip_for_want_of_gpu("there is none"), "GRADUS_REQUIRE_GPU is set, but there is none");
  ASSERT_EQ(unsetenv("GRADUS_REQUIRE_GPU"), 0);
}

// The filters for many columns, on every instruction set that this machine has, with dot-product instructions and
// without.
class IntegerFilterTargets : public testing::TestWithParam<Case> {};

template <class T>
void check_targets(const Case& data) {
  const PreparedCase<T> prepared(data.make(2));
  Execution execution;
  execution.threads = 1;
  for (const bool dot : {true, false})
    for (const std::int64_t target : cpu::compiled_targets()) {
      const cpu::ForcedTarget forced(target);
      dot_instructions_allowed = dot;
      for (const Variant& variant : variants())
        if (variant.name == "simd_large_dim" || variant.name == "simd_bounds") {
          EXPECT_EQ(prepared.check(variant, execution), "")
              << variant.name << " on " << hwy::TargetName(target) << (dot ? "" : " without dot products");
        }
      dot_instructions_allowed = true;
    }
}

TEST_P(IntegerFilterTargets, float_equals_oracle) { check_targets<float>(GetParam()); }
TEST_P(IntegerFilterTargets, double_equals_oracle) { check_targets<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(kmeans, IntegerFilterTargets, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gradus::kmeans_detail
