#include "execution/devices.hpp"
#include "execution/launched.hpp"
#include "gradus/error.hpp"

namespace gradus::execution {

int gpu_of_launch(const Machine& machine, const core::Launch& launch, int named) {
  if (const std::string why = why_no_gpu(machine); !why.empty())
    throw UnsupportedError("the " + std::to_string(launch.size) +
                               " processes of torchrun exchange data through their GPUs, but process " +
                               std::to_string(launch.rank) + " cannot use one: " + why,
                           {.remedy = "use GPUs, or start the processes by mpirun, which needs none"});
  const int gpu = named >= 0 ? named : launch.local_rank % static_cast<int>(machine.gpus().size());
  return require_gpu(machine, gpu).index;
}

}  // namespace gradus::execution
