// Every variant of the table, on every case, in both types, against the oracle: a new row is tested by its row alone.
#include <gtest/gtest.h>

#include "cpu/forced_target.hpp"
#include "kmeans/cases.hpp"
#include "kmeans/integer_filter.hpp"

namespace gradus::kmeans_detail {
namespace {

struct Row {
  const Variant* variant;
  const Case* data;
};

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const Case& data : cases()) {
    // Where ties or cancellation decide, the textbook's arithmetic makes no promise.
    const bool tolerable = data.make(1).well_conditioned;
    for (const Variant& variant : variants())
      if (tolerable || variant.contract == core::Contract::same_bits) all.push_back({&variant, &data});
  }
  return all;
}

class Ladder : public testing::TestWithParam<Row> {};

template <class T>
void check(const Row& row) {
  const PreparedCase<T> prepared(row.data->make(1));
  if (const core::Support support = row.variant->supports(prepared.shape(), execution::this_machine()); !support)
    GTEST_SKIP() << support.reason;
  for (const execution::Way& way : execution::ways_to_run(*row.variant, {1, 2, 3, 7, 16}))
    EXPECT_EQ(prepared.check(*row.variant, way.execution), "") << way.text;
}

TEST_P(Ladder, float_equals_oracle) { check<float>(GetParam()); }
TEST_P(Ladder, double_equals_oracle) { check<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(kmeans, Ladder, testing::ValuesIn(rows()), [](const auto& info) {
  return std::string(info.param.variant->name) + "__" + info.param.data->name;
});

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
