// Compares the model of gpus_that_pay() with measurements on 1, 2 and 4 GPUs
// (docs/decisions/measurements/kmeans-scaling-4-h200.json). Needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "gradus/kmeans_gpus.hpp"
#include "kmeans/api/gpus_that_pay.hpp"
#include "tests/helpers.hpp"

namespace gradus::kmeans_detail {
namespace {

/// The measured seconds of a shape: of an iteration, and of the whole command, for each number of GPUs.
struct Measured {
  Shape shape;
  int iterations = 0;
  std::map<int, double> iteration;
  std::map<int, double> command;
};

std::vector<Measured> measurements() {
  std::ifstream file(GRADUS_SOURCE_DIR "/docs/decisions/measurements/kmeans-scaling-4-h200.json");
  const auto json = nlohmann::json::parse(file);
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Measured> by_shape;
  for (const auto& group : json.at("groups")) {
    Measured& one = by_shape[{group.at("n"), group.at("d"), group.at("k")}];
    one.shape = {.points = group.at("n"), .dimensions = group.at("d"), .clusters = group.at("k"), .element_bytes = 4};
    const auto& row = group.at("rows").at(0);
    one.iterations = row.at("iterations");
    one.iteration[row.at("gpus")] = row.at("iteration_seconds");
    one.command[row.at("gpus")] = row.at("total_seconds");
  }
  std::vector<Measured> all;
  for (auto& [shape, one] : by_shape) all.push_back(std::move(one));
  return all;
}

execution::GpuRates four_h200(bool are_started) {
  return {.speeds = {1, 1, 1, 1}, .link = execution::GpuLink::nvlink, .are_started = are_started};
}

/// Measurements exist for 1, 2 and 4 GPUs.
bool is_measured(int count) { return count != 3; }

std::string name(const Shape& shape) {
  return std::to_string(shape.points) + " x " + std::to_string(shape.dimensions) + ", " +
         std::to_string(shape.clusters) + " clusters";
}

TEST(GpusThatPay, predict_the_measured_iterations) {
  int count = 0;
  for (const Measured& one : measurements())
    for (const auto& [gpus, seconds] : one.iteration) {
      const double ratio = iteration_seconds(one.shape, four_h200(true), gpus) / seconds;
      EXPECT_TRUE(ratio > 0.9 && ratio < 1.1) << name(one.shape) << " on " << gpus << ": " << ratio;
      ++count;
    }
  EXPECT_GE(count, 19);
}

/// Expects that the choice takes at most a tenth longer than the best of the measured numbers.
void expect_good_choice(const Measured& one, const std::map<int, double>& seconds, std::int64_t iterations,
                        bool are_started) {
  const int chosen = gpus_that_pay(one.shape, iterations, four_h200(are_started), is_measured);
  ASSERT_TRUE(seconds.contains(chosen)) << name(one.shape) << ": " << chosen;
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [gpus, time] : seconds) best = std::min(best, time);
  EXPECT_LE(seconds.at(chosen), 1.1 * best) << name(one.shape) << ": " << chosen << " GPUs";
}

TEST(GpusThatPay, choose_as_well_as_the_measurements) {
  int count = 0;
  for (const Measured& one : measurements()) {
    if (one.iteration.size() < 3) continue;
    expect_good_choice(one, one.iteration, one.iterations, true);  // in a process whose GPUs are connected
    expect_good_choice(one, one.iteration, 100000, false);         // a fit so long that the start does not matter
    expect_good_choice(one, one.command, one.iterations, false);   // one command
    ++count;
  }
  EXPECT_EQ(count, 4);
}

TEST(GpusThatPay, depend_on_work_speed_and_link) {
  const auto any = [](int) { return true; };
  const Shape small{.points = 10000, .dimensions = 16, .clusters = 64, .element_bytes = 4};
  const Shape large{.points = 1 << 26, .dimensions = 128, .clusters = 4096, .element_bytes = 4};
  EXPECT_EQ(gpus_that_pay(small, 20, four_h200(false), any), 1);
  EXPECT_EQ(gpus_that_pay(small, 20, four_h200(true), any), 1);
  EXPECT_EQ(gpus_that_pay(large, 20, four_h200(false), any), 4);
  // Second GPU that is hardly faster than none.
  EXPECT_EQ(gpus_that_pay(large, 20, {.speeds = {1, 0.01}}, any), 1);
  // Few rows and many sums: what pays over NVLink does not pay through host memory.
  const Shape sums{.points = 1 << 17, .dimensions = 512, .clusters = 16384, .element_bytes = 4};
  EXPECT_GT(gpus_that_pay(sums, 1000, four_h200(false), any), 1);
  execution::GpuRates slow = four_h200(false);
  slow.link = execution::GpuLink::host;
  EXPECT_EQ(gpus_that_pay(sums, 1000, slow, any), 1);
  // Only some numbers can run.
  EXPECT_EQ(gpus_that_pay(small, 20, four_h200(false), [](int count) { return count > 2; }), 3);
  EXPECT_EQ(gpus_that_pay(small, 20, four_h200(false), [](int) { return false; }), 0);
}

TEST(GpusThatPay, leave_requests_alone_that_name_a_device) {
  const KMeansShape shape{.points = 1 << 26, .dimensions = 128};
  const KMeansOptions options{.clusters = 4096};
  Execution execution;
  execution.device = Device::cpu;
  EXPECT_TRUE(kmeans_gpus(shape, options, execution).empty());
  KMeansShape wrong = shape;
  wrong.dimensions = 0;
  EXPECT_THROW(kmeans_gpus(wrong, options), UsageError);
  const std::vector<int> found = kmeans_gpus(shape, options);
  EXPECT_NE(found.size(), 1U);
}

}  // namespace
}  // namespace gradus::kmeans_detail
