// Tests of messages about GPUs and of GPU properties, on machines with and without GPUs.
#include "execution/devices.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "cuda/job.hpp"
#include "execution/launched.hpp"
#include "gradus/error.hpp"

namespace gradus::execution {
namespace {

TEST(cuda_devices, code_runs_where_it_was_made_for) {
  EXPECT_TRUE(runs_on("90a-real", 9, 0));
  EXPECT_FALSE(runs_on("90a-real", 8, 9));
  EXPECT_FALSE(runs_on("90a-real", 10, 0));
  EXPECT_FALSE(runs_on("90a", 10, 0));  // code for exactly one architecture is not portable
  EXPECT_TRUE(runs_on("80-real", 8, 6));
  EXPECT_FALSE(runs_on("80-real", 9, 0));
  EXPECT_FALSE(runs_on("86-real", 8, 0));
  EXPECT_TRUE(runs_on("80", 9, 0));
  EXPECT_TRUE(runs_on("80-virtual", 12, 0));
  EXPECT_FALSE(runs_on("90-virtual", 8, 9));
  EXPECT_TRUE(runs_on("80-real;90a-real;120", 12, 1));
  EXPECT_FALSE(runs_on("80-real;90a-real;120", 10, 0));
  EXPECT_FALSE(runs_on("", 9, 0));
}

// Builds without CUDA do not contain the host code for GPUs. They refuse requests that need it.
TEST(cuda_devices, host_code_knows_whether_there_is_cuda) {
  EXPECT_EQ(cuda::is_compiled, is_compiled());
  try {
    cuda::refuse_without_cuda("centroids");
  } catch (const UnsupportedError& error) {
    EXPECT_STREQ(error.what(), "centroids are on a GPU, but this build has no CUDA; pass host memory");
  }
  const double values[] = {1, 2, 3, 4};
  int visits = 0;
  const cuda::Job* const nowhere = nullptr;
  cuda::visit_rows(MatrixView<const double>(values, 2, 2), nowhere, [&](std::int64_t first, auto rows) {
    EXPECT_EQ(first, 0);
    EXPECT_EQ(rows.data(), values);
    return ++visits > 0;
  });
  EXPECT_EQ(visits, 1);
}

TEST(cuda_devices, first_gpus_are_the_usable_ones) {
  const auto gpu = [](int index, bool usable) {
    Gpu gpu;
    gpu.index = index;
    gpu.name = "a GPU";
    gpu.usable = usable;
    return gpu;
  };
  Machine machine;
  machine.cuda_compiled = true;
  const auto error = [&](int count) {
    try {
      first_gpus(machine, count);
    } catch (const UnsupportedError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  machine.gpus = Gpus(std::vector<Gpu>());
  for (const int count : {0, 1}) EXPECT_EQ(error(count), "no GPU can be used: no NVIDIA GPU is present");
  machine.gpus = Gpus({gpu(0, true), gpu(1, false), gpu(2, true)});
  EXPECT_EQ(first_gpus(machine, 0), (std::vector{0, 2}));
  EXPECT_EQ(first_gpus(machine, 1), std::vector{0});
  EXPECT_EQ(first_gpus(machine, 2), (std::vector{0, 2}));
  EXPECT_EQ(error(3), "gpus: 3 GPUs were asked for, but this machine has 2 that this build can use");
  machine.gpus = Gpus({gpu(0, true)});
  EXPECT_EQ(error(2), "gpus: 2 GPUs were asked for, but this machine has 1");
}

TEST(cuda_devices, looking_for_gpus_never_fails) {
  EXPECT_NO_THROW(find_gpus());
  EXPECT_TRUE(is_compiled() || find_gpus().empty());
}

TEST(cuda_devices, seen_gpus_are_those_that_cuda_finds) {
  // Returns the properties that both find_gpus() and list_gpus() report, in sorted order.
  const auto facts = [](const std::vector<Gpu>& gpus) {
    std::multiset<std::tuple<std::string, std::string, bool>> all;
    for (const Gpu& gpu : gpus) all.emplace(gpu.name, gpu.compute_capability, gpu.usable);
    return all;
  };
  const std::vector<Gpu> seen = list_gpus();
  const std::vector<Gpu> found = find_gpus();
  EXPECT_EQ(facts(seen), facts(found));
  for (const Gpu& gpu : seen)
    for (const Gpu& other : found) {
      if (gpu.name != other.name) continue;
      EXPECT_LE(gpu.shared_bytes, other.shared_bytes) << gpu.name;
    }
}

TEST(cuda_devices, says_why_there_is_no_gpu) {
  Machine machine;
  EXPECT_EQ(why_no_gpu(machine), "this build has no CUDA");
  machine.cuda_compiled = true;
  EXPECT_EQ(why_no_gpu(machine), "no NVIDIA GPU is present");
  Gpu old;
  old.name = "Old GPU";
  old.compute_capability = "7.0";
  machine.gpus = Gpus({old});
  EXPECT_EQ(why_no_gpu(machine), "this build has no code for Old GPU (compute capability 7.0)");
  Gpu good;
  good.index = 1;
  good.usable = true;
  machine.gpus = Gpus({old, good});
  EXPECT_EQ(why_no_gpu(machine), "");
}

TEST(cuda_devices, names_the_gpu_that_is_missing_or_of_no_use) {
  Machine machine;
  EXPECT_THROW(require_gpu(machine, 0), UnsupportedError);
  machine.cuda_compiled = true;
  Gpu old;
  old.name = "Old GPU";
  Gpu good;
  good.index = 1;
  good.usable = true;
  machine.gpus = Gpus({old, good});
  EXPECT_EQ(&require_gpu(machine, 1), &machine.gpus()[1]);
  const auto message = [&](int gpu) {
    try {
      require_gpu(machine, gpu);
    } catch (const UnsupportedError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message(0).find("Old GPU"), std::string::npos);
  EXPECT_NE(message(7).find("there is no GPU 7"), std::string::npos);
}

TEST(cuda_devices, gives_a_launched_process_the_gpu_of_its_local_rank) {
  Machine machine;
  core::Launch launch;
  launch.size = 4;
  const auto message = [&](int named) {
    try {
      gpu_of_launch(machine, launch, named);
    } catch (const UnsupportedError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message(-1).find("this build has no CUDA; use GPUs, or start the processes by mpirun"), std::string::npos)
      << message(-1);
  machine.cuda_compiled = true;
  EXPECT_NE(message(0).find("no NVIDIA GPU is present"), std::string::npos);
  Gpu first;
  first.usable = true;
  Gpu second = first;
  second.index = 1;
  machine.gpus = Gpus({first, second});
  for (const int local_rank : {0, 1, 2, 3}) {
    launch.local_rank = local_rank;
    EXPECT_EQ(gpu_of_launch(machine, launch, -1), local_rank % 2);
    EXPECT_EQ(gpu_of_launch(machine, launch, 1), 1);
  }
  EXPECT_NE(message(2).find("there is no GPU 2"), std::string::npos);
}

}  // namespace
}  // namespace gradus::execution
