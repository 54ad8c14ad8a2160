// Tests the decision where the points of a job on a GPU are.
#include "kmeans/points/gpu_tier.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kmeans/assign/tensor_limits.hpp"

namespace gradus::kmeans_detail {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

HostRowsJob job_of(std::int64_t n, std::int64_t d, std::int64_t k, int element_bytes = 4,
                   KMeansInit init = KMeansInit::random) {
  const bool has_sample = init == KMeansInit::kmeans_parallel;
  return {{.points = n, .dimensions = d, .clusters = k, .element_bytes = element_bytes},
          has_sample || init == KMeansInit::kmeans_plus_plus,
          has_sample,
          false};
}

TEST(GpuTier, is_the_best_that_fits) {
  struct Row {
    HostRowsJob job;
    std::uint64_t available;
    GpuTier tier;
    bool has_byte_copy;
  };
  constexpr std::int64_t many = std::int64_t{1} << 24;
  const Row rows[] = {
      {job_of(many, 128, 16384), 6 * gib, GpuTier::filter_copy, true},
      {job_of(many, 128, 16384), 3 * gib, GpuTier::streamed, true},
      {job_of(2 * many, 128, 32768), 11 * gib, GpuTier::filter_copy, true},
      {job_of(2 * many, 128, 32768), 8 * gib, GpuTier::streamed, true},
      {job_of(2 * many, 128, 32768), 2 * gib, GpuTier::streamed, true},
      {job_of(many, 128, 16384, 8), 6 * gib, GpuTier::filter_copy, true},
      {job_of(many, 128, 16384, 4, KMeansInit::kmeans_parallel), 3 * gib, GpuTier::streamed, true},
      {job_of(many, 128, 16384, 4, KMeansInit::kmeans_parallel), 2 * gib, GpuTier::streamed, false},
      {job_of(20000, 24, 40), 3400000, GpuTier::filter_copy, true},
      {job_of(20000, 24, 40), 1000000, GpuTier::streamed, true},
  };
  for (const Row& row : rows) {
    const std::optional<GpuTierPlan> plan = plan_host_rows(row.job, row.available);
    ASSERT_TRUE(plan) << row.available;
    EXPECT_EQ(plan->tier, row.tier) << row.available << ' ' << row.job.shape.points;
    EXPECT_EQ(plan->has_byte_copy, row.has_byte_copy) << row.available << ' ' << row.job.shape.points;
  }
}

TEST(GpuTier, keeps_stored_points_on_the_gpu_if_they_fit) {
  constexpr std::int64_t n = std::int64_t{1} << 24;
  for (const int kept_bytes : {1, 2})
    for (const KMeansInit init : {KMeansInit::random, KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
      const HostRowsJob plain = job_of(n, 128, 16384, 4, init);
      HostRowsJob job = plain;
      job.shape.kept_bytes = kept_bytes;
      const std::uint64_t bytes = static_cast<std::uint64_t>(n) * 128 * static_cast<std::uint64_t>(kept_bytes);
      const std::uint64_t least = least_gpu_bytes(job);
      EXPECT_EQ(least, least_gpu_bytes(plain)) << "host memory is still possible";
      EXPECT_FALSE(plan_host_rows(job, least - 1));
      EXPECT_EQ(plan_host_rows(job, least + bytes - 1), plan_host_rows(plain, least + bytes - 1));
      for (std::uint64_t available = least + bytes; available < 20 * gib; available += available / 3) {
        const GpuTierPlan plan = *plan_host_rows(job, available);
        GpuTierPlan rest = *plan_host_rows(plain, available - bytes);
        EXPECT_LE(plan.bytes, available);
        rest.tier = GpuTier::stored;
        rest.bytes += bytes;
        EXPECT_EQ(plan, rest) << available;
        EXPECT_EQ(bytes_of_a_pass(plan, job.shape, 1), 0);
      }
    }
}

TEST(GpuTier, keeps_a_billion_bytes_vectors_on_a_large_gpu) {
  HostRowsJob job = job_of(900000000, 128, 32768);
  job.shape.kept_bytes = 1;
  const std::optional<GpuTierPlan> plan = plan_host_rows(job, 139 * gib);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tier, GpuTier::stored);
  EXPECT_GT(plan->block_rows, 1 << 19);
}

TEST(GpuTier, plans_cover_all_rows_and_fit) {
  for (const std::int64_t n : {1, 255, 256, 257, 9973, 20000, 1000003, 33554432})
    for (const std::int64_t d : {1, 3, 16, 128, 700})
      for (const int element_bytes : {4, 8})
        for (const KMeansInit init : {KMeansInit::random, KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
          const HostRowsJob job = job_of(n, d, std::min<std::int64_t>(n, 300), element_bytes, init);
          const std::uint64_t least = least_gpu_bytes(job);
          EXPECT_FALSE(plan_host_rows(job, least - 1));
          std::int64_t resident = -1;
          for (std::uint64_t available = least; available < 64 * gib; available += available / 5 + 1) {
            const std::optional<GpuTierPlan> plan = plan_host_rows(job, available);
            ASSERT_TRUE(plan) << n << ' ' << d << ' ' << available;
            EXPECT_LE(plan->bytes, available);
            EXPECT_GE(plan->block_rows, 1);
            EXPECT_GE(plan->blocks * plan->block_rows, n);
            EXPECT_LT((plan->blocks - 1) * plan->block_rows, n) << "no block is empty";
            EXPECT_LE(plan->resident_blocks, plan->blocks);
            EXPECT_NE(plan->tier, GpuTier::resident);
            EXPECT_EQ(plan->tier == GpuTier::filter_copy, plan->resident_blocks == plan->blocks);
            resident = plan->resident_blocks == plan->blocks ? n : plan->resident_blocks;
          }
          EXPECT_EQ(resident, n) << "with much memory, the 16-bit copy of all points stays";
        }
}

TEST(GpuTier, blocks_of_small_jobs_have_odd_sizes) {
  bool is_odd = false;
  const HostRowsJob job = job_of(20011, 24, 40);
  for (std::uint64_t available = least_gpu_bytes(job); available < 4000000; available += 20011)
    is_odd |= plan_host_rows(job, available)->block_rows % 2 == 1;
  EXPECT_TRUE(is_odd);
}

TEST(GpuTier, needs_less_memory_than_resident_points) {
  constexpr std::int64_t n = std::int64_t{1} << 24;
  const HostRowsJob job = job_of(n, 128, 16384);
  const std::uint64_t resident = cuda_tensor_bytes(job.shape) + static_cast<std::uint64_t>(job.shape.bytes());
  EXPECT_LT(plan_host_rows(job, resident)->bytes, resident * 2 / 3);
  EXPECT_LT(least_gpu_bytes(job), resident / 20);
}

TEST(GpuTier, copies_whole_blocks_if_copies_hide_behind_products) {
  const Shape many{.points = 1 << 24, .dimensions = 128, .clusters = 32768};
  const Shape few{.points = 1 << 24, .dimensions = 128, .clusters = 256};
  EXPECT_TRUE(copies_whole_blocks(GpuTier::streamed, 0, many));
  EXPECT_FALSE(copies_whole_blocks(GpuTier::streamed, 0, few));
  EXPECT_TRUE(copies_whole_blocks(GpuTier::streamed, 1, few));
  EXPECT_FALSE(copies_whole_blocks(GpuTier::streamed, 0.05, few));
  EXPECT_FALSE(copies_whole_blocks(GpuTier::stored, 0.05, many));
  EXPECT_TRUE(copies_whole_blocks(GpuTier::stored, 1, few));
}

TEST(GpuTier, counts_the_bytes_of_a_pass) {
  const Shape shape{.points = 1000, .dimensions = 10, .clusters = 5};
  GpuTierPlan plan;
  EXPECT_EQ(bytes_of_a_pass(plan, shape, 1), 0);
  plan = {.tier = GpuTier::streamed, .block_rows = 300, .blocks = 4, .resident_blocks = 1};
  EXPECT_NEAR(bytes_of_a_pass(plan, shape, 0), 28000, 1);
  EXPECT_NEAR(bytes_of_a_pass(plan, shape, 0.5), 34000, 1);
  plan.resident_blocks = 4;
  plan.tier = GpuTier::filter_copy;
  EXPECT_NEAR(bytes_of_a_pass(plan, shape, 0.5), 20000, 1);
}

}  // namespace
}  // namespace gradus::kmeans_detail
