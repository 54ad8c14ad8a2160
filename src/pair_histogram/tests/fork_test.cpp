// Jobs in forked children. A single test, for what a process did before a fork is what it is about.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/pair_histogram.hpp"
#include "tests/in_child.hpp"

namespace gradus {
namespace {

using tests::in_child;

TEST(Fork, AChildSaysThatItCannotRunAJobOfSeveralThreads) {
  const std::vector<float> values = tests::some_points();
  const MatrixView<const float> points(values.data(), 2000, 3);
  const auto count = [&](int threads, const char* variant = "") {
    PairHistogramOptions<float> options;
    options.bins.bin_width = 1;
    options.bins.bins = 50;
    Execution execution;
    execution.device = Device::cpu;
    execution.threads = threads;
    execution.variant = variant;
    return pair_histogram<float>(points, options, execution).counts;
  };

  // Before the first job of several threads, and after one of a single thread, every child can do all.
  const std::vector<std::uint64_t> counts = count(1);
  const auto counts_all = [&](int threads, const char* variant = "") { return count(threads, variant) == counts; };
  EXPECT_EQ(in_child([&] { return counts_all(2); }), "");
  EXPECT_EQ(in_child([&] { return counts_all(3); }), "");

  EXPECT_TRUE(counts_all(2));
  for (const char* variant :
       {"", "openmp_shared", "openmp_privatized", "simd_filter", "simd_cells", "simd_dual_tree"}) {
    const std::string message = in_child([&] { return counts_all(2, variant); });
    EXPECT_NE(message.find("forked"), std::string::npos) << variant << ": " << message;
    EXPECT_NE(message.find("'spawn'"), std::string::npos) << variant << ": " << message;
    // One thread needs none that are gone.
    EXPECT_EQ(in_child([&] { return counts_all(1, variant); }), "") << variant;
  }
  // A child of the child is one, too.
  EXPECT_EQ(in_child([&] { return in_child([&] { return counts_all(2); }).find("'spawn'") != std::string::npos; }), "");
  // And the parent goes on.
  EXPECT_TRUE(counts_all(2));
}

}  // namespace
}  // namespace gradus
