// Descriptions of machines, which need not exist. Tests pass them to choose(), which depends only on shape and machine.
#pragma once

#include <vector>

#include "execution/machine.hpp"
#include "gradus/error.hpp"

namespace gradus::tests {

/// Returns a machine with one GPU like an NVIDIA H200, in a build with GPU variants.
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

/// Returns the machine of machine_with_gpu(), except that querying its GPUs throws.
inline execution::Machine machine_with_untouchable_gpus() {
  execution::Machine machine = machine_with_gpu();
  machine.gpus = execution::Gpus(+[]() -> std::vector<execution::Gpu> { throw Error("queried the GPUs"); });
  return machine;
}

}  // namespace gradus::tests
