// Tests that the measured ceilings are plausible and in proportion, and that they are measured only once.
#include "bench/ceilings.hpp"

#include <gtest/gtest.h>

#include "execution/machine.hpp"

namespace gradus::bench {
namespace {

TEST(Ceilings, ArePlausible) {
  const Ceilings one = measure_ceilings(1, Pinning::compact);
  for (const double rate : {one.read_bytes_per_second, one.copy_bytes_per_second, one.fma_f32_per_second,
                            one.fma_f64_per_second, one.madd_i16_per_second}) {
    EXPECT_TRUE(rate > 1e7 && rate < 1e13) << rate;
  }
  if (execution::this_machine().fused_multiply_add) {
    // A vector has twice as many lanes in float as in double. The bounds allow for other load on the machine.
    const double lanes = one.fma_f32_per_second / one.fma_f64_per_second;
    EXPECT_TRUE(lanes > 1.2 && lanes < 3.5) << lanes;
  }
}

TEST(Ceilings, AreMeasuredOncePerTeam) {
  const Ceilings first = measure_ceilings(1, Pinning::none);
  const Ceilings again = measure_ceilings(1, Pinning::none);
  EXPECT_EQ(first.read_bytes_per_second, again.read_bytes_per_second);
  EXPECT_EQ(first.madd_i16_per_second, again.madd_i16_per_second);
}

TEST(Ceilings, MoreThreadsThanCoresAreNotMoreCores) {
  const int cores = execution::this_machine().cores;
  EXPECT_EQ(measure_ceilings(cores, Pinning::none).fma_f32_per_second,
            measure_ceilings(4 * cores, Pinning::none).fma_f32_per_second);
}

}  // namespace
}  // namespace gradus::bench
