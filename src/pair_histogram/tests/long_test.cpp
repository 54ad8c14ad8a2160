// Tests that take more than a few seconds: the default variant and each GPU variant, with counts beyond 2^32.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/generate.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/tests/job.hpp"
#include "pair_histogram/tests/published.hpp"
#include "pair_histogram/tests/test_problems.hpp"
#include "tests/helpers.hpp"

namespace gradus {
namespace {

using tests::bins_of;

TEST(PairHistogramLong, CountsPassTheLimitOf32Bits) {
  constexpr std::int64_t n = 100000;
  Matrix<double> points(n, 1);
  std::fill_n(points.data(), n, 1.0 / 3);
  const PairHistogramResult result = pair_histogram(std::as_const(points).view(), bins_of(1, 2));
  EXPECT_EQ(result.counts[0], 4999950000u);
  EXPECT_EQ(result.counts[1] + result.beyond + result.below, 0u);
}

TEST(PairHistogramLong, PublishedTableOf512000Points) {
  Matrix<double> points(512000, 3);
  core::generate_points<double>({.kind = core::Generator::lab_atoms}, 0, points.view(), 1);
  const PairHistogramResult result = pair_histogram(std::as_const(points).view(), bins_of(500, 80));
  EXPECT_EQ(result.counts, pair_histogram_detail::published_counts(512000));
}

class GpuVariants : public tests::WithRow<pair_histogram_detail::Variant> {
 protected:
  /// Counts with this block size (0 means the variant's default) and records the progress reports.
  PairHistogramResult count(const Matrix<double>& points, const PairHistogramJob<double>& options, int block_size) {
    Execution execution;
    execution.variant = GetParam()->name;
    execution.block_size = block_size;
    reports_ = 0;
    std::int64_t last = 0;
    execution.progress = [&](const Progress& progress) {
      EXPECT_GT(progress.done, last);
      EXPECT_LE(progress.done, progress.total);
      last = progress.done;
      ++reports_;
    };
    PairHistogramResult result = pair_histogram(points.view(), options, execution);
    EXPECT_EQ(static_cast<std::uint64_t>(last), result.pairs);
    return result;
  }
  int reports() const { return reports_; }

 private:
  int reports_ = 0;
};

TEST_P(GpuVariants, CountsPassTheLimitOf32Bits) {
  constexpr std::int64_t n = 100000;
  Matrix<double> points(n, 1);
  std::fill_n(points.data(), n, 1.0 / 3);
  for (const int block_size : {0, 96, 1024}) {
    const PairHistogramResult result = count(points, bins_of(1, 2), block_size);
    EXPECT_EQ(result.counts[0], 4999950000u) << "blocks of " << block_size;
    EXPECT_EQ(result.counts[1] + result.beyond + result.below, 0u) << "blocks of " << block_size;
  }
}

TEST_P(GpuVariants, GiveThePublishedTables) {
  Matrix<double> points(512000, 3);
  core::generate_points<double>({.kind = core::Generator::lab_atoms}, 0, points.view(), 1);
  const Matrix<double> few = Matrix<double>::copy_of(std::as_const(points).view().slice(0, 10000));
  for (const int block_size : {32, 64, 96, 128, 256, 512, 1024})
    EXPECT_EQ(count(few, bins_of(500, 80), block_size).counts, pair_histogram_detail::published_counts(10000))
        << "blocks of " << block_size;
  EXPECT_EQ(count(points, bins_of(500, 80), 0).counts, pair_histogram_detail::published_counts(512000));
  // The rungs report after each launch, but cuda_filter counts all these pairs in one launch.
  if (GetParam()->name != "cuda_filter") {
    EXPECT_GE(reports(), 2);
  }
}

INSTANTIATE_TEST_SUITE_P(pair_histogram, GpuVariants,
                         testing::ValuesIn(tests::rows_that(pair_histogram_detail::variants(), tests::runs_on_gpu)),
                         tests::RowName());

}  // namespace
}  // namespace gradus
