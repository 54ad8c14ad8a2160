// Tests the requests for several GPUs. Needs no GPU.
#include "execution/gpu_group.hpp"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace gradus::execution
