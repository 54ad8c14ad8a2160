#include "cuda/devices.hpp"

#include <algorithm>
#include <charconv>

#include "gradus/error.hpp"

#ifdef GRADUS_HAS_CUDA
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <atomic>
#endif

namespace gradus::cuda {

bool runs_on(std::string_view architectures, int major, int minor) {
  while (!architectures.empty()) {
    const std::string_view one = architectures.substr(0, architectures.find(';'));
    architectures.remove_prefix(std::min(one.size() + 1, architectures.size()));
    int version = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), version);
    if (error != std::errc{}) continue;
    const std::string_view rest(end, static_cast<std::size_t>(one.data() + one.size() - end));
    const int here = 10 * major + minor;
    const bool exactly = rest.starts_with('a');
    const bool machine_code = rest.find("virtual") == std::string_view::npos;
    const bool portable_code = rest.find("real") == std::string_view::npos;
    if (version == here) return true;
    if (exactly) continue;
    if (machine_code && version / 10 == major && version < here) return true;
    if (portable_code && version < here) return true;
  }
  return false;
}

#ifdef GRADUS_HAS_CUDA

bool is_compiled() { return true; }

namespace {
std::atomic<pid_t> finding_process{0};  // that called CUDA first; inherited by forked children
}

std::vector<cpu::Gpu> find_gpus() {
  std::vector<cpu::Gpu> gpus;
  finding_process = ::getpid();
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
    gpu.usable = runs_on(GRADUS_CUDA_ARCHITECTURES, properties.major, properties.minor);
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
#ifdef GRADUS_HAS_CUDA
  if (const pid_t finder = finding_process; finder != 0 && finder != ::getpid())
    return "this process was forked from one that had looked for GPUs, and CUDA works in no forked child; start the "
           "process anew: by exec, or in Python's multiprocessing by the start method 'spawn'";
#endif
  if (machine.gpus().empty()) return "no NVIDIA GPU is present";
  for (const cpu::Gpu& gpu : machine.gpus())
    if (gpu.usable) return "";
  const cpu::Gpu& first = machine.gpus().front();
  return "this build has no code for " + first.name + " (compute capability " + first.compute_capability + ")";
}

const cpu::Gpu& require_gpu(const cpu::Machine& machine, int gpu) {
  if (const std::string reason = why_no_gpu(machine); !reason.empty())
    throw UnsupportedError("no GPU can be used: " + reason);
  for (const cpu::Gpu& found : machine.gpus()) {
    if (found.index != gpu) continue;
    if (found.usable) return found;
    throw UnsupportedError("this build has no code for GPU " + std::to_string(gpu) + ", " + found.name +
                           " (compute capability " + found.compute_capability + ")");
  }
  throw UnsupportedError("there is no GPU " + std::to_string(gpu) + "; this machine has " +
                         std::to_string(machine.gpus().size()) + ", counted from 0");
}

}  // namespace gradus::cuda
