// Every variant of the table, on every case, in both types, against the oracle: a new row is tested by its row alone.
#include <gtest/gtest.h>

#include "pair_histogram/cases.hpp"

namespace gradus::pair_histogram_detail {
namespace {

struct Row {
  const Variant* variant;
  const Case* data;
};

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const Case& data : cases())
    for (const Variant& variant : variants()) all.push_back({&variant, &data});
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

INSTANTIATE_TEST_SUITE_P(pair_histogram, Ladder, testing::ValuesIn(rows()), [](const auto& info) {
  return std::string(info.param.variant->name) + "__" + info.param.data->name;
});

}  // namespace
}  // namespace gradus::pair_histogram_detail
