// Tests calls with more rows than 32 bits can number. many_rows_full_test.cpp has the tests that need much memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "gradus/kmeans.hpp"
#include "gradus/rows_of_rank.hpp"
#include "kmeans/api/on_gpus.hpp"
#include "kmeans/tests/repeated_rows.hpp"
#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus::kmeans_detail {
namespace {

constexpr std::int64_t most_32_bit_rows = std::int64_t{1} << 31;
constexpr std::int64_t rows = 3 * (std::int64_t{1} << 30) + 11;

Execution on_cpu() {
  Execution execution;
  execution.device = Device::cpu;
  return execution;
}

TEST(ManyRows, are_drawn_and_copied_by_their_numbers) {
  const tests::RepeatedRows points(rows);
  KMeansOptions options{.clusters = 64, .init = KMeansInit::random};
  const KMeansInitialCentroids<float> one = kmeans_initial_centroids(points.view(), options, {}, on_cpu());
  ASSERT_EQ(one.rows.size(), 64U);
  EXPECT_GT(std::ranges::count_if(one.rows, [](std::int64_t row) { return row >= most_32_bit_rows; }), 5);
  for (std::int64_t cluster = 0; cluster < 64; ++cluster)
    EXPECT_EQ(one.centroids(cluster, 0), points.at(one.rows[static_cast<std::size_t>(cluster)])) << cluster;

  tests::ThreadRanks ranks(2);
  std::mutex mutex;
  for (const std::exception_ptr& thrown : ranks.run([&](Communicator& communicator) {
         // The first rank has more rows than 32 bits can number.
         const std::int64_t first = communicator.rank() == 0 ? 0 : rows - 1000;
         const std::int64_t own = communicator.rank() == 0 ? rows - 1000 : 1000;
         Execution execution = on_cpu();
         execution.threads = 1;
         execution.communicator = &communicator;
         const auto found = kmeans_initial_centroids(points.view().slice(first, own), options, {}, execution);
         const std::lock_guard lock(mutex);
         EXPECT_EQ(found.rows, one.rows);
         EXPECT_TRUE(tests::same_bits(found.centroids, one.centroids));
       }))
    EXPECT_FALSE(thrown);
}

TEST(ManyRows, are_estimated) {
  const KMeansShape shape{.points = rows, .dimensions = 2, .element_bytes = 4};
  EXPECT_GE(kmeans_memory(shape, {.clusters = 3}, on_cpu()).host, 4 * static_cast<std::uint64_t>(rows));
}

Execution on_gpus(const std::vector<int>& gpus) {
  Execution execution;
  execution.gpus = gpus;
  return execution;
}

TEST(ManyRows, list_each_gpu_for_several_parts) {
  for (const std::int64_t most : {std::int64_t{7}, std::int64_t{97}, most_points_on_gpu})
    for (const std::vector<int>& gpus : {std::vector<int>{0}, {3}, {0, 1}, {2, 0, 1}})
      for (const std::int64_t points : {most + 1, 2 * most, 2 * most + 1, 5 * most + 3, 16 * most}) {
        const std::optional<Execution> parts = in_parts({.points = points, .dimensions = 2}, 3, on_gpus(gpus), most);
        ASSERT_TRUE(parts);
        const auto count = std::ssize(parts->gpus);
        ASSERT_EQ(count % std::ssize(gpus), 0);
        for (std::int64_t part = 0; part < count; ++part) {
          EXPECT_EQ(parts->gpus[static_cast<std::size_t>(part)],
                    gpus[static_cast<std::size_t>(part / (count / std::ssize(gpus)))]);
          EXPECT_LE(rows_of_rank(points, static_cast<int>(part), static_cast<int>(count)).rows, most);
        }
        EXPECT_LE(count, 2 * points / most + 2 * std::ssize(gpus)) << points << " points, " << most << " in a part";
        EXPECT_GT(parts->gpu_memory_limit, 0U);
      }
}

TEST(ManyRows, share_the_memory_of_a_gpu) {
  Execution execution = on_gpus({0, 1});
  execution.gpu_memory_limit = 1 << 20;
  EXPECT_LE(in_parts({.points = 16, .dimensions = 2}, 3, execution, 7)->gpu_memory_limit, std::uint64_t{1} << 19);
}

TEST(ManyRows, run_as_a_whole_where_they_can) {
  const KMeansShape few{.points = 97, .dimensions = 2};
  const KMeansShape many{.points = 98, .dimensions = 2};
  EXPECT_FALSE(in_parts(few, 3, {}, 97));
  EXPECT_FALSE(in_parts(few, 3, on_gpus({0}), 97));
  EXPECT_EQ(in_parts(few, 3, on_gpus({0, 1}), 97)->gpus, (std::vector<int>{0, 1}));
  EXPECT_FALSE(in_parts(many, 3, on_cpu(), 97));
  EXPECT_FALSE(in_parts(many, 0, {}, 97));
  Execution named;
  named.variant = "simd_grid";
  EXPECT_FALSE(in_parts(many, 3, named, 97));
  named.variant = "cuda_tensor";
  EXPECT_EQ(in_parts(many, 3, named, 97)->gpus, (std::vector<int>{0, 0}));
  Execution gpu;
  gpu.device = Device::gpu;
  gpu.gpu = 5;
  EXPECT_EQ(in_parts(many, 3, gpu, 97)->gpus, (std::vector<int>{5, 5}));
  KMeansShape there = many;
  there.place = MemoryPlace::on_gpu(2);
  EXPECT_EQ(in_parts(there, 0, {}, 97)->gpus, (std::vector<int>{2, 2}));
  // The call itself refuses a view of more points than it supports.
  EXPECT_FALSE(in_parts({.points = std::int64_t{1} << 60, .dimensions = 2}, 3, gpu, 97));
}

}  // namespace
}  // namespace gradus::kmeans_detail
