// What takes more than a few seconds: the variant that runs by itself, and each one on the GPU, where counts pass 2^32.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "core/generate.hpp"
#include "cuda/devices.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/problem.hpp"
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

// Counts with each GPU variant in blocks of these sizes; 0: its own. check(result, variant, reports of progress).
template <class Check>
void with_each_gpu_variant(const Matrix<double>& points, const PairHistogramOptions<double>& options,
                           std::initializer_list<int> block_sizes, const Check& check) {
  for (const pair_histogram_detail::Variant& variant : pair_histogram_detail::variants()) {
    if (variant.backend != core::Backend::cuda) continue;
    for (const int block_size : block_sizes) {
      Execution execution;
      execution.variant = variant.name;
      execution.block_size = block_size;
      SCOPED_TRACE(execution.variant + ", blocks of " + std::to_string(block_size));
      int reports = 0;
      std::int64_t last = 0;
      execution.progress = [&](const Progress& progress) {
        EXPECT_GT(progress.done, last);
        EXPECT_LE(progress.done, progress.total);
        last = progress.done;
        ++reports;
      };
      const PairHistogramResult result = pair_histogram<double>(points.view(), options, execution);
      EXPECT_EQ(static_cast<std::uint64_t>(last), result.pairs);
      check(result, variant, reports);
    }
  }
}

TEST(PairHistogramLong, GpuCountsPassTheLimitOf32Bits) {
  if (const std::string reason = cuda::why_no_gpu(cpu::this_machine()); !reason.empty()) GTEST_SKIP() << reason;
  constexpr std::int64_t n = 100000;
  Matrix<double> points(n, 1);
  std::fill_n(points.data(), n, 1.0 / 3);
  with_each_gpu_variant(points, bins_of(1, 2), {0, 96, 1024}, [](const PairHistogramResult& result, const auto&, int) {
    EXPECT_EQ(result.counts[0], 4999950000u);
    EXPECT_EQ(result.counts[1] + result.beyond + result.below, 0u);
  });
}

void gpu_variants_give_published_table(std::int64_t n, std::initializer_list<int> block_sizes) {
  Matrix<double> points(n, 3);
  core::generate_points<double>({.kind = core::Generator::lab_atoms}, 0, points.view(), 1);
  with_each_gpu_variant(points, bins_of(500, 80), block_sizes,
                        [n](const PairHistogramResult& result, const auto& variant, int reports) {
                          EXPECT_EQ(result.counts, pair_histogram_detail::published_counts(n));
                          // The rungs report after each of their launches; cuda_filter counts all pairs of both tables
                          // in one.
                          if (n > 100000 && variant.name != "cuda_filter") {
                            EXPECT_GE(reports, 2);
                          }
                        });
}

TEST(PairHistogramLong, GpuVariantsGiveThePublishedTables) {
  if (const std::string reason = cuda::why_no_gpu(cpu::this_machine()); !reason.empty()) GTEST_SKIP() << reason;
  gpu_variants_give_published_table(10000, {32, 64, 96, 128, 256, 512, 1024});
  gpu_variants_give_published_table(512000, {0});
}

}  // namespace
}  // namespace gradus
