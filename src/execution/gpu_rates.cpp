#include "execution/gpu_rates.hpp"

#include <algorithm>

#include "core/not_compiled.hpp"
#include "execution/devices.hpp"
#include "execution/gpu_group.hpp"
#include "execution/gpu_shares.hpp"

#ifdef GRADUS_HAS_CUDA
#include "cuda/check.hpp"
#endif

namespace gradus::execution {

std::string_view name_of(GpuLink link) {
  switch (link) {
    case GpuLink::nvlink: return "NVLink";
    case GpuLink::pcie: return "PCIe";
    default: return "host memory";
  }
}

double bytes_per_second(GpuLink link) {
  switch (link) {
    case GpuLink::nvlink: return 2e11;
    case GpuLink::pcie: return 2e10;
    default: return 5e9;
  }
}

#ifdef GRADUS_HAS_CUDA

GpuLink link_between(int gpu, int other) {
  int reaches = 0;
  int has_atomics = 0;
  cuda::check(cudaDeviceCanAccessPeer(&reaches, gpu, other), "cudaDeviceCanAccessPeer");
  if (reaches == 0) return GpuLink::host;
  cuda::check(cudaDeviceGetP2PAttribute(&has_atomics, cudaDevP2PAttrNativeAtomicSupported, gpu, other),
              "cudaDeviceGetP2PAttribute");
  return has_atomics != 0 ? GpuLink::nvlink : GpuLink::pcie;
}

#else

GpuLink link_between(int, int) { core::not_compiled("CUDA"); }

#endif

double speed_of(int gpu) {
  constexpr double of_h200 = 132 * 1.98e6;  // multiprocessors times kilohertz
  return part_gpus(std::span(&gpu, 1)).front().speed / of_h200;
}

GpuRates rates_of(std::span<const int> gpus) {
  GpuRates rates;
  for (const int gpu : gpus) {
    rates.speeds.push_back(speed_of(gpu));
    for (const int other : gpus)
      if (other != gpu) rates.link = std::min(rates.link, link_between(gpu, other));
  }
  rates.are_started = has_idle_group({gpus.begin(), gpus.end()});
  return rates;
}

}  // namespace gradus::execution
