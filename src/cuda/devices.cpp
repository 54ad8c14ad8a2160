#include "cuda/devices.hpp"

#include "gradus/error.hpp"

#ifdef GRADUS_HAS_CUDA
#include <cuda_runtime_api.h>

#include "cuda/probe.hpp"
#endif

namespace gradus::cuda {

#ifdef GRADUS_HAS_CUDA

bool is_compiled() { return true; }

std::vector<cpu::Gpu> find_gpus() {
  std::vector<cpu::Gpu> gpus;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();  // no driver or no device: forgotten, for it is no failure of a later call
    return gpus;
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    cpu::Gpu gpu;
    gpu.index = index;
    gpu.name = properties.name;
    gpu.memory_bytes = properties.totalGlobalMem;
    gpu.multiprocessors = properties.multiProcessorCount;
    gpu.shared_bytes = properties.sharedMemPerBlockOptin;
    gpu.compute_capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
    gpu.usable = has_code_for(index);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

#else

bool is_compiled() { return false; }
std::vector<cpu::Gpu> find_gpus() { return {}; }

#endif

std::string why_no_gpu(const cpu::Machine& machine) {
  if (!machine.cuda_compiled) return "this build has no CUDA";
  if (machine.gpus.empty()) return "no NVIDIA GPU is present";
  for (const cpu::Gpu& gpu : machine.gpus)
    if (gpu.usable) return "";
  const cpu::Gpu& first = machine.gpus.front();
  return "this build has no code for " + first.name + " (compute capability " + first.compute_capability + ")";
}

const cpu::Gpu& require_gpu(const cpu::Machine& machine, int gpu) {
  if (const std::string reason = why_no_gpu(machine); !reason.empty())
    throw UnsupportedError("no GPU can be used: " + reason);
  for (const cpu::Gpu& found : machine.gpus) {
    if (found.index != gpu) continue;
    if (found.usable) return found;
    throw UnsupportedError("this build has no code for GPU " + std::to_string(gpu) + ", " + found.name +
                           " (compute capability " + found.compute_capability + ")");
  }
  throw UnsupportedError("there is no GPU " + std::to_string(gpu) + "; this machine has " +
                         std::to_string(machine.gpus.size()) + ", counted from 0");
}

}  // namespace gradus::cuda
