#include "execution/devices.hpp"

#include <algorithm>
#include <charconv>

#include "gradus/error.hpp"

#ifdef GRADUS_HAS_CUDA
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#endif

namespace gradus::execution {

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

bool has_warpgroup_code(const Gpu& gpu) {
  return gpu.compute_capability == "9.0" &&
         std::string_view(GRADUS_CUDA_ARCHITECTURES).find("90a") != std::string_view::npos;
}

namespace {

std::atomic<pid_t> finding_process{0};  // the process that called CUDA first; forked children inherit this value

Gpu gpu_of(int index, const char* name, int major, int minor) {
  Gpu gpu;
  gpu.index = index;
  gpu.name = name;
  gpu.compute_capability = std::to_string(major) + "." + std::to_string(minor);
  gpu.usable = runs_on(GRADUS_CUDA_ARCHITECTURES, major, minor);
  return gpu;
}

}  // namespace

std::vector<Gpu> find_gpus() {
  std::vector<Gpu> gpus;
  finding_process = ::getpid();
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();  // clears the error of a missing driver or device, so that later calls do not see it
    return gpus;
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    Gpu gpu = gpu_of(index, properties.name, properties.major, properties.minor);
    gpu.memory_bytes = properties.totalGlobalMem;
    gpu.multiprocessors = properties.multiProcessorCount;
    gpu.shared_bytes = properties.sharedMemPerBlockOptin;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

namespace {

/// Returns the GPUs that NVML reports, or nullopt if NVML fails or CUDA might see a different set of GPUs.
std::optional<std::vector<Gpu>> gpus_by_nvml() {
  if (std::getenv("CUDA_VISIBLE_DEVICES") || access("/dev/nvidia-uvm", R_OK | W_OK) != 0) return std::nullopt;
  // Looks up the functions by name. The library is part of the driver, so it may be missing, and a CUDA installation
  // may lack its header.
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  const auto call = [library](const char* name, auto... arguments) {
    auto* const function = reinterpret_cast<int (*)(decltype(arguments)...)>(dlsym(library, name));
    return function && function(arguments...) == 0;
  };
  std::optional<std::vector<Gpu>> gpus;
  if (call("nvmlInit_v2")) {
    int version = 0;
    unsigned count = 0;
    if (call("nvmlSystemGetCudaDriverVersion_v2", &version) && version / 1000 >= CUDART_VERSION / 1000 &&
        call("nvmlDeviceGetCount_v2", &count))
      gpus.emplace();
    for (unsigned index = 0; gpus && index < count; ++index) {
      void* device = nullptr;
      char name[96] = "";
      int major = 0;
      int minor = 0;
      if (!call("nvmlDeviceGetHandleByIndex_v2", index, &device) ||
          !call("nvmlDeviceGetName", device, &name[0], static_cast<unsigned>(sizeof name)) ||
          !call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor)) {
        gpus.reset();
        break;
      }
      gpus->push_back(gpu_of(static_cast<int>(index), name, major, minor));
      // This value is the smallest among all GPUs of this major version and of later ones.
      gpus->back().shared_bytes = (major >= 8 ? 99 : 48) << 10;
    }
    call("nvmlShutdown");
  }
  dlclose(library);
  return gpus;
}

}  // namespace

std::vector<Gpu> list_gpus() {
  if (std::optional<std::vector<Gpu>> seen = gpus_by_nvml()) return std::move(*seen);
  return find_gpus();
}

#else

bool is_compiled() { return false; }

bool has_warpgroup_code(const Gpu&) { return false; }
std::vector<Gpu> find_gpus() { return {}; }
std::vector<Gpu> list_gpus() { return {}; }

#endif

std::string why_no_gpu(const Machine& machine) {
  if (!machine.cuda_compiled) return "this build has no CUDA";
#ifdef GRADUS_HAS_CUDA
  if (const pid_t finder = finding_process; finder != 0 && finder != ::getpid())
    return "this process was forked from one that had used CUDA, which does not work in forked children; start a new "
           "process: by exec, or in Python's multiprocessing by the start method 'spawn' or 'forkserver'";
#endif
  if (machine.gpus().empty()) return "no NVIDIA GPU is present";
  for (const Gpu& gpu : machine.gpus())
    if (gpu.usable) return "";
  const Gpu& first = machine.gpus().front();
  return "this build has no code for " + first.name + " (compute capability " + first.compute_capability + ")";
}

namespace {

void require_any_gpu(const Machine& machine) {
  if (const std::string reason = why_no_gpu(machine); !reason.empty())
    throw UnsupportedError("no GPU can be used: " + reason);
}

}  // namespace

const Gpu& require_gpu(const Machine& machine, int gpu) {
  require_any_gpu(machine);
  for (const Gpu& found : machine.gpus()) {
    if (found.index != gpu) continue;
    if (found.usable) return found;
    throw UnsupportedError("this build has no code for GPU " + std::to_string(gpu) + ", " + found.name +
                           " (compute capability " + found.compute_capability + ")");
  }
  throw UnsupportedError("there is no GPU " + std::to_string(gpu) + "; this machine has " +
                         std::to_string(machine.gpus().size()) + ", counted from 0");
}

std::vector<int> first_gpus(const Machine& machine, int count) {
  require_any_gpu(machine);
  std::vector<int> usable;
  for (const Gpu& gpu : machine.gpus())
    if (gpu.usable) usable.push_back(gpu.index);
  const auto most = static_cast<int>(usable.size());
  if (count > most)
    throw UnsupportedError(about("gpus") + std::to_string(count) + " GPUs were asked for, but this machine has " +
                           std::to_string(most) +
                           (usable.size() == machine.gpus().size() ? "" : " that this build can use"));
  if (count > 0) usable.resize(static_cast<std::size_t>(count));
  return usable;
}

}  // namespace gradus::execution
