// Tests of the properties that Machine reports for this machine.
#include "execution/machine.hpp"
#include "execution/request.hpp"

#include <gtest/gtest.h>

#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "execution/gpu_support.hpp"

namespace gradus::execution {
namespace {

int looks = 0;

TEST(GpusOfAMachine, are_looked_for_once_when_somebody_asks) {
  const Gpus gpus(+[] {
    ++looks;
    return std::vector<Gpu>(2);
  });
  const std::vector<Gpus> copies{gpus, gpus};
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(copies[1]().size(), 2U);
  EXPECT_EQ(gpus().size(), 2U);
  EXPECT_EQ(looks, 1);
}

TEST(Machine, FactsAreSane) {
  const Machine& machine = this_machine();
  EXPECT_FALSE(machine.processor.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_LE(machine.cores, static_cast<int>(cpu::allowed_processors().size()));
  EXPECT_GE(machine.layout().physical_cores, 1);
  EXPECT_LE(machine.layout().physical_cores, static_cast<int>(cpu::allowed_processors().size()));
  EXPECT_GE(machine.layout().physical_cores * machine.layout().hardware_threads_per_core,
            static_cast<int>(cpu::allowed_processors().size()));
  EXPECT_GE(machine.layout().packages, 1);
  EXPECT_GE(machine.layout().memory_nodes, 1);
  EXPECT_FALSE(machine.simd.empty());
#if defined(__x86_64__)
  EXPECT_EQ(machine.fused_multiply_add, __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"));
#endif
  if (machine.layout().l1_bytes > 0 && machine.layout().l2_bytes > 0) {
    EXPECT_LE(machine.layout().l1_bytes, machine.layout().l2_bytes);
  }
  EXPECT_GT(machine.memory_bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(&this_machine(), &machine);
  EXPECT_GT(cpu::available_memory(), 0U);
  EXPECT_LE(cpu::available_memory(), machine.memory_bytes);
}

TEST(Machine, IsGrantedNoMoreOfAGpusMemoryThanTheRequestSays) {
  Execution execution;
  EXPECT_NO_THROW(check_gpu_memory(std::uint64_t{1} << 50, execution)) << "what is free decides";
  execution.gpu_memory_limit = 1000;
  EXPECT_NO_THROW(check_gpu_memory(1000, execution));
  EXPECT_THROW(check_gpu_memory(1001, execution), Error);
  const GrantedMachine limited(execution);
  const Machine& granted = limited;
  for (const Gpu& gpu : granted.gpus()) EXPECT_EQ(plannable_memory(gpu), 1000U);
  EXPECT_EQ(granted.processor, this_machine().processor);
}

TEST(MemoryToPlanWith, IsAllThatIsGrantedAndLeavesAnEighthOfTheGpu) {
  Gpu gpu;
  gpu.usable = true;
  gpu.memory_bytes = 8000;
  EXPECT_EQ(plannable_memory(gpu), 7000U) << "no limit was given";
  gpu.granted_bytes = 7500;
  EXPECT_EQ(plannable_memory(gpu), 7000U);
  gpu.granted_bytes = 6999;
  EXPECT_EQ(plannable_memory(gpu), 6999U);
  Gpu smaller = gpu;
  smaller.memory_bytes = 4000;
  gpu.granted_bytes = 100;
  Machine machine;
  machine.gpus = Gpus({gpu, smaller});
  EXPECT_EQ(plannable_memory(least_gpu(machine)), 100U);
}

}  // namespace
}  // namespace gradus::execution
