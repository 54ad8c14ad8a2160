// Tests the public call: its result, its report and its errors.
#include <gtest/gtest.h>

#include <vector>

#include "gradus/error.hpp"
#include "gradus/skeleton.hpp"
#include "skeleton/oracle.hpp"

namespace gradus::skeleton_detail {
namespace {

TEST(Skeleton, GivesTheOraclesSum) {
  const std::vector<std::uint64_t> values = {1, 2, ~std::uint64_t{0}};
  const SkeletonResult result = skeleton(values, {.start = 5});
  EXPECT_EQ(result.sum, oracle(values, 5));
  EXPECT_EQ(result.report.variant, "sequential");
  EXPECT_EQ(result.report.phases.back().name, "total");
  EXPECT_EQ(skeleton_memory({.values = 3}).device, 0u);
}

TEST(Skeleton, RefusesWhatCannotBe) {
  EXPECT_THROW(skeleton(VectorView<const std::uint64_t>(nullptr, 3)), UsageError);
  EXPECT_THROW(skeleton({}, {}, {.variant = "sequental"}), UsageError);
  EXPECT_THROW(skeleton({}, {}, {.device = Device::gpu}), Error);
  EXPECT_THROW(skeleton_memory({.values = -1}), UsageError);
}

}  // namespace
}  // namespace gradus::skeleton_detail
