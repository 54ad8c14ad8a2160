// What takes more than a few seconds: the variant that runs by itself, where counts pass 2^32.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/generate.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/published.hpp"

namespace gradus {
namespace {

PairHistogramOptions<double> bins_of(double width, std::int64_t count) {
  PairHistogramOptions<double> options;
  options.bins.bin_width = width;
  options.bins.bins = count;
  return options;
}

TEST(PairHistogramLong, CountsPassTheLimitOf32Bits) {
  constexpr std::int64_t n = 100000;
  Matrix<double> points(n, 1);
  std::fill_n(points.data(), n, 1.0 / 3);
  const PairHistogramResult result = pair_histogram<double>(std::as_const(points).view(), bins_of(1, 2));
  EXPECT_EQ(result.counts[0], 4999950000u);
  EXPECT_EQ(result.counts[1] + result.beyond + result.below, 0u);
}

TEST(PairHistogramLong, PublishedTableOf512000Points) {
  Matrix<double> points(512000, 3);
  core::generate_points<double>({.kind = core::Generator::lab_atoms}, 0, points.view(), 1);
  const PairHistogramResult result = pair_histogram<double>(std::as_const(points).view(), bins_of(500, 80));
  EXPECT_EQ(result.counts, pair_histogram_detail::published_counts(512000));
}

}  // namespace
}  // namespace gradus
