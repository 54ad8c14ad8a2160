// Facts of the GPUs of this machine that decide how many of them pay: their speeds, and how fast they reach each other.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gradus::execution {

/// The ways in which the data of one GPU reaches another, slowest first.
enum class GpuLink : std::uint8_t {
  host,   ///< through host memory
  pcie,   ///< directly, over PCI Express
  nvlink  ///< directly, over NVLink
};

/// Returns "host memory", "PCIe" or "NVLink".
std::string_view name_of(GpuLink link);

/// Returns the link between two different GPUs, as CUDA reports it. CUDA does not name NVLink, but only its direct
/// access supports atomic operations on the memory of the other GPU. Throws UnsupportedError in a build without CUDA.
GpuLink link_between(int gpu, int other);

/// Returns the rate in bytes per second that the model assumes for a link.
double bytes_per_second(GpuLink link);

struct GpuRates {
  std::vector<double> speeds;      ///< for each GPU, in units of an NVIDIA H200
  GpuLink link = GpuLink::nvlink;  ///< the slowest link between two of them
  bool are_started = false;        ///< true if an earlier job of this process has used all of them together
};

/// Returns the speed of a GPU: multiprocessors times clock rate, in units of an NVIDIA H200.
double speed_of(int gpu);

/// Returns the rates of different GPUs, which must exist.
GpuRates rates_of(std::span<const int> gpus);

}  // namespace gradus::execution
