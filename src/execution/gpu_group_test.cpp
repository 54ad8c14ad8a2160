// Tests the requests for several GPUs, and the division of rows among them. Needs no GPU.
#include "execution/gpu_group.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "execution/gpu_shares.hpp"
#include "gradus/error.hpp"

namespace gradus::execution {
namespace {

TEST(listed_gpus, become_a_request_for_the_first_or_for_all) {
  struct Case {
    std::vector<int> gpus;
    Device device;
    int gpu;  ///< the GPU of the request for the first GPU
    std::vector<int> listed;
  };
  const Case cases[] = {{{}, Device::automatic, 5, {}},
                        {{3}, Device::gpu, 3, {}},
                        {{3, 1}, Device::gpu, 3, {3, 1}},
                        {{0, 0}, Device::gpu, 0, {0, 0}}};
  for (const Case& one : cases) {
    Execution execution;
    execution.gpu = 5;
    execution.threads = 7;
    execution.gpus = one.gpus;
    const Execution first = on_first_gpu(execution);
    const Execution listed = on_listed_gpus(execution);
    EXPECT_TRUE(first.gpus.empty());
    EXPECT_EQ(listed.gpus, one.listed);
    for (const Execution& here : {first, listed}) {
      EXPECT_EQ(here.device, one.device);
      EXPECT_EQ(here.gpu, one.gpu);
      EXPECT_EQ(here.threads, 7);
    }
  }
}

TEST(listed_gpus, contradict_the_cpu) {
  for (const std::vector<int>& gpus : {std::vector<int>{0}, std::vector<int>{0, 1}}) {
    Execution execution;
    execution.device = Device::cpu;
    execution.gpus = gpus;
    EXPECT_THROW(on_first_gpu(execution), UsageError);
    EXPECT_THROW(on_listed_gpus(execution), UsageError);
  }
}

constexpr std::uint64_t fixed_bytes = 1000;
constexpr std::uint64_t row_bytes = 100;

std::uint64_t needed_bytes(std::size_t /*part*/, std::int64_t rows) {
  return fixed_bytes + row_bytes * static_cast<std::uint64_t>(rows);
}

/// Returns GPUs of these speeds that have room for these numbers of rows; a negative number stands for all rows.
std::vector<PartGpu> gpus_of(const std::vector<double>& speeds, const std::vector<std::int64_t>& rooms) {
  std::vector<PartGpu> gpus;
  for (std::size_t index = 0; index < speeds.size(); ++index) {
    PartGpu gpu{.name = "GPU " + std::to_string(index), .speed = speeds[index]};
    if (rooms[index] >= 0) gpu.memory_bytes = needed_bytes(index, rooms[index]) + row_bytes / 2;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::vector<std::int64_t> rows_of(const std::vector<RowRange>& ranges) {
  std::vector<std::int64_t> rows;
  for (const RowRange& range : ranges) rows.push_back(range.rows);
  return rows;
}

TEST(gpu_shares, follow_speed_and_memory) {
  struct Case {
    const char* what;
    std::int64_t rows;
    std::vector<double> speeds;
    std::vector<std::int64_t> rooms;
    std::vector<std::int64_t> expected;
  };
  constexpr std::int64_t all = -1;
  constexpr std::int64_t granule = 1024;
  const Case cases[] = {
      {"speeds", 400, {1, 3}, {all, all}, {100, 300}},
      {"three speeds", 1000, {5, 3, 2}, {all, all, all}, {500, 300, 200}},
      {"the fastest gets what rounding leaves", 10, {2, 1, 1.1}, {all, all, all}, {5, 2, 3}},
      {"a tiny GPU gets one row", 1000, {1, 0.00001}, {all, all}, {999, 1}},
      {"as many rows as GPUs", 3, {100, 1, 1}, {all, all, all}, {1, 1, 1}},
      {"a GPU that is nearly full", 100, {1, 1}, {all, 10}, {90, 10}},
      {"a fast GPU that is nearly full", 100, {9, 1}, {20, all}, {20, 80}},
      {"rows that one full GPU leaves fill another", 100, {1, 1, 1}, {10, 40, all}, {10, 40, 50}},
      {"exactly enough memory", 100, {1, 2}, {70, 30}, {70, 30}},
      {"too little memory, which the job reports", 100, {1, 3}, {20, 30}, {25, 75}},
      {"granules", 100 * granule, {1, 3}, {all, all}, {25 * granule, 75 * granule}},
      {"an incomplete granule", 100 * granule + 5, {1, 3}, {all, all}, {25 * granule, 75 * granule + 5}},
      {"two parts on one GPU, and a GPU",
       64 * granule,
       {0.5, 0.5, 1},
       {all, all, all},
       {16 * granule, 16 * granule, 32 * granule}},
      {"a GPU with room for less than a granule", 100 * granule, {1, 1}, {all, 100}, {100 * granule - 100, 100}},
  };
  for (const Case& one : cases) {
    const std::vector<RowRange> ranges = shares_of_gpus(one.rows, gpus_of(one.speeds, one.rooms), needed_bytes);
    EXPECT_EQ(rows_of(ranges), one.expected) << one.what;
  }
}

TEST(gpu_shares, are_even_on_equal_gpus) {
  for (const std::int64_t rows : {4, 5, 7, 1000, 65536, 65537, 1 << 22, (1 << 22) + 77})
    for (const std::size_t parts : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4}}) {
      const std::vector<double> speeds(parts, 132 * 1.98e6);
      for (const std::int64_t room : {std::int64_t{-1}, rows}) {
        const std::vector<RowRange> ranges =
            shares_of_gpus(rows, gpus_of(speeds, std::vector<std::int64_t>(parts, room)), needed_bytes);
        for (std::size_t part = 0; part < parts; ++part) {
          const RowRange even = rows_of_rank(rows, static_cast<int>(part), static_cast<int>(parts));
          EXPECT_EQ(ranges[part].first, even.first) << rows << " rows on " << parts << " GPUs";
          EXPECT_EQ(ranges[part].rows, even.rows) << rows << " rows on " << parts << " GPUs";
        }
      }
    }
}

TEST(gpu_shares, refuse_a_gpu_without_room) {
  std::vector<PartGpu> gpus = gpus_of({1, 1}, {-1, -1});
  gpus[1].name = "GPU 5 (Tiny)";
  gpus[1].memory_bytes = fixed_bytes;
  try {
    shares_of_gpus(100, gpus, needed_bytes);
    FAIL() << "no error";
  } catch (const OutOfMemoryError& error) {
    const std::string message = error.what();
    for (const char* part : {"GPU 5 (Tiny) has 1000", "needs 1100", "leave this GPU out"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(gpu_shares, are_complete_and_fit_for_random_gpus) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t parts = 1 + random() % 8;
    const bool many = random() % 2 == 0;
    const auto rows = static_cast<std::int64_t>(parts + random() % (many ? 1 << 24 : 1 << 10));
    std::vector<double> speeds;
    std::vector<std::int64_t> rooms;
    std::int64_t room = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      speeds.push_back(static_cast<double>(1 + random() % 1000) / static_cast<double>(1 + random() % 1000));
      rooms.push_back(random() % 3 == 0 ? rows : 1 + static_cast<std::int64_t>(random()) % rows);
      if (rooms.back() < 1) rooms.back() = 1;
      room += rooms.back();
    }
    const std::vector<RowRange> ranges = shares_of_gpus(rows, gpus_of(speeds, rooms), needed_bytes);
    ASSERT_EQ(ranges.size(), parts);
    std::int64_t first = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      ASSERT_EQ(ranges[part].first, first) << round;
      ASSERT_GE(ranges[part].rows, 1) << round;
      if (room >= rows) {
        ASSERT_LE(ranges[part].rows, rooms[part]) << round;
      }
      first += ranges[part].rows;
    }
    ASSERT_EQ(first, rows) << round;
  }
}

TEST(gpu_shares, need_gpus_that_exist) {
  EXPECT_THROW(part_gpus(std::vector<int>{0, 999}), UnsupportedError);
  EXPECT_TRUE(part_gpus({}).empty());
}

}  // namespace
}  // namespace gradus::execution
