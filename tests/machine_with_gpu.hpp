// A machine that need not be there, for tests of choose(), a pure function of shape and machine.
#pragma once

#include <vector>

#include "execution/machine.hpp"
#include "gradus/error.hpp"

namespace gradus::tests {

/// With one GPU of the size of an NVIDIA H200, in a build that has the GPU variants.
inline execution::Machine machine_with_gpu() {
  execution::Gpu gpu;
  gpu.usable = true;
  gpu.memory_bytes = 141'000'000'000;
  gpu.shared_bytes = 232448;
  execution::Machine machine;
  machine.cuda_compiled = true;
  machine.gpus = execution::Gpus({gpu});
  return machine;
}

/// The same, but looking for its GPUs is an error.
inline execution::Machine machine_with_untouchable_gpus() {
  execution::Machine machine = machine_with_gpu();
  machine.gpus = execution::Gpus(+[]() -> std::vector<execution::Gpu> { throw Error("looked for a GPU"); });
  return machine;
}

}  // namespace gradus::tests
