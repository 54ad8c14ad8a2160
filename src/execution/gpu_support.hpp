// Common requirements of GPU variants: a usable GPU, and enough shared memory for a block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/ladder.hpp"
#include "execution/devices.hpp"
#include "execution/machine.hpp"

namespace gradus::execution {

inline core::Support supported_on_gpu(const Machine& machine) {
  const std::string reason = why_no_gpu(machine);
  return reason.empty() ? core::Support::yes() : core::Support::no(reason);
}

/// Returns Support::yes() if the machine has a usable GPU. Used by the GPU variants that support every shape.
template <class Shape>
core::Support on_gpu(const Shape&, const Machine& machine) {
  return supported_on_gpu(machine);
}

/// Returns Support::yes() if every usable GPU has warpgroup matrix instructions (Hopper only) and this build has code
/// for them.
inline core::Support has_warpgroup_products(const Machine& machine) {
  for (const Gpu& gpu : machine.gpus())
    if (gpu.usable && !has_warpgroup_code(gpu))
      return core::Support::no("needs the matrix instructions of compute capability 9.0, in code for architecture 90a");
  return core::Support::yes();
}

/// Returns a fictitious GPU for estimates. Its memory is the smallest memory of any usable GPU, and its number of
/// multiprocessors is the smallest number of any usable GPU.
inline Gpu least_gpu(const Machine& machine) {
  Gpu least;
  for (const Gpu& gpu : machine.gpus()) {
    if (!gpu.usable) continue;
    if (!least.usable || gpu.memory_bytes < least.memory_bytes) least.memory_bytes = gpu.memory_bytes;
    least.granted_bytes = std::min(least.granted_bytes, gpu.granted_bytes);
    if (!least.usable || gpu.multiprocessors < least.multiprocessors) least.multiprocessors = gpu.multiprocessors;
    least.usable = true;
  }
  return least;
}

/// Returns how many bytes of a GPU's memory an estimate may assume to be available: at most the limit of the request,
/// and at most seven eighths of the GPU's memory. The remaining eighth is a reserve, so that the job does not fail on a
/// GPU that the library has chosen.
inline std::uint64_t plannable_memory(const Gpu& gpu) { return std::min(gpu.memory_bytes / 8 * 7, gpu.granted_bytes); }

/// Time that a process needs for its first use of a GPU: about 0.3 s (docs/decisions/0020), plus a margin.
inline constexpr double gpu_ready_seconds = 0.4;

/// Returns the shared memory per block that every usable GPU supports, in bytes.
inline std::uint64_t shared_memory(const Machine& machine) {
  std::uint64_t least = 0;
  for (const Gpu& gpu : machine.gpus())
    if (gpu.usable && (least == 0 || gpu.shared_bytes < least)) least = gpu.shared_bytes;
  return least;
}

/// Returns Support::yes() if `needed` bytes fit in the shared memory of one block, on each of the machine's GPUs.
/// `what` names the data in the message.
inline core::Support fits_shared(std::uint64_t needed, const char* what, const Machine& machine) {
  constexpr std::uint64_t reserved = 512;  // for the kernels' other data
  const std::uint64_t available = shared_memory(machine) - reserved;
  if (needed <= available) return core::Support::yes();
  return core::Support::no(std::string(what) + " take " + std::to_string(needed) +
                           " bytes and do not fit the shared memory of a block, " + std::to_string(available) +
                           " bytes");
}

}  // namespace gradus::execution
