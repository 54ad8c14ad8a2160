// Checks that a fit uses as much memory as its estimate states. Each fit runs in a separate process, so that its peak
// memory can be measured.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>

#include "gradus/kmeans.hpp"
#include "tests/in_child.hpp"

namespace gradus {
namespace {

std::uint64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

TEST(Memory, OfManyColumnsIsCountedAndSmall) {
  constexpr std::int64_t columns = std::int64_t{1} << 18;
  Matrix<float> points(4, columns);
  for (std::int64_t index = 0; index < 4 * columns; ++index) points.data()[index] = static_cast<float>(index % 1009);
  // These values are too small for the limbs of a sum, so the sums do not determine the means.
  for (std::int64_t column = 0; column < columns; ++column) points(column % 4, column) = 0x1p-120F;
  struct Fit {
    const char* variant;
    bool standardize;
  };
  for (const auto& [variant, standardize] :
       {Fit{"sequential", false}, Fit{"sequential", true}, Fit{"simd_large_dim", false}, Fit{"simd_bounds", false}}) {
    KMeansOptions options;
    options.clusters = 2;
    options.standardize = standardize;
    Execution execution;
    execution.threads = 1;
    execution.variant = variant;
    const std::uint64_t estimate = kmeans_memory({4, columns, sizeof(float)}, options, execution).host;
    EXPECT_LT(estimate, std::uint64_t{columns} * 1000) << variant;
    const std::string said = tests::in_child([&] {
      const std::uint64_t before = peak_bytes();
      kmeans(points, options, execution);
      constexpr std::uint64_t of_the_allocator = std::uint64_t{6} << 20;
      const std::uint64_t taken = peak_bytes() - before;
      if (taken > estimate + of_the_allocator)
        throw Error(std::to_string(taken) + " bytes, but the estimate was " + std::to_string(estimate));
      return true;
    });
    EXPECT_EQ(said, "") << variant << standardize;
  }
}

}  // namespace
}  // namespace gradus
