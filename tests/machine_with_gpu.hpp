// A machine that need not be there, for tests of choose(), a pure function of shape and machine.
#pragma once

#include <vector>

#include "cpu/machine.hpp"
#include "gradus/error.hpp"

namespace gradus::tests {

/// With one GPU of the size of an NVIDIA H200, in a build that has the GPU variants.
inline cpu::Machine machine_with_gpu() {
  cpu::Gpu gpu;
  gpu.usable = true;
  gpu.memory_bytes = 141'000'000'000;
  gpu.shared_bytes = 232448;
  cpu::Machine machine;
  machine.cuda_compiled = true;
  machine.gpus = cpu::Gpus({gpu});
  return machine;
}

/// The same, but an error for whoever looks for its GPUs.
inline cpu::Machine machine_with_untouchable_gpus() {
  cpu::Machine machine = machine_with_gpu();
  machine.gpus = cpu::Gpus(+[]() -> std::vector<cpu::Gpu> { throw Error("looked for a GPU"); });
  return machine;
}

}  // namespace gradus::tests
