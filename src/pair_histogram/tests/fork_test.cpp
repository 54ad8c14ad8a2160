// Tests jobs in forked children. This file has a single test, because a test depends on what the process did before the
// fork.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/pair_histogram.hpp"
#include "tests/in_child.hpp"

namespace gradus {
namespace {

TEST(Fork, AChildSaysThatItCannotRunAJobOfSeveralThreads) {
  const std::vector<float> values = tests::some_points();
  const MatrixView<const float> points(values.data(), 2000, 3);
  const auto count = [&](int threads, const std::string& variant) {
    PairHistogramOptions options;
    options.bins.bin_width = 1;
    options.bins.bins = 50;
    const Execution by{.device = Device::cpu, .variant = variant, .threads = threads};
    return pair_histogram(points, options, by).counts;
  };
  const std::vector<std::uint64_t> counts = count(1, "");
  tests::expect_children_without_threads(
      [&](int threads, const std::string& variant) { return count(threads, variant) == counts; },
      {"openmp_shared", "openmp_privatized", "simd_filter", "simd_cells", "simd_dual_tree"});
}

}  // namespace
}  // namespace gradus
