// What the tables of all problems ask of a GPU: that there is one, and that a block's data fit its shared memory.
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

/// For the row of a GPU variant that takes every shape.
template <class Shape>
core::Support on_gpu(const Shape&, const Machine& machine) {
  return supported_on_gpu(machine);
}

/// Whether every usable GPU multiplies by warpgroups, with instructions that are in this build: Hopper's alone.
inline core::Support has_warpgroup_products(const Machine& machine) {
  for (const Gpu& gpu : machine.gpus())
    if (gpu.usable && !has_warpgroup_code(gpu))
      return core::Support::no("needs the matrix instructions of compute capability 9.0, in code for architecture 90a");
  return core::Support::yes();
}

/// The GPUs that this build can use, which for estimates are all alike: the least memory, the fewest multiprocessors.
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

/// Of a GPU's memory what a job may plan with: an eighth is left to others, since a GPU that nobody asked for is no
/// reason to refuse a job, and no more than the request grants.
inline std::uint64_t to_plan_with(const Gpu& gpu) { return std::min(gpu.memory_bytes / 8 * 7, gpu.granted_bytes); }

/// A process that did nothing on the GPU yet spends some 0.3 s on getting ready (docs/decisions/0020).
inline constexpr double gpu_ready_seconds = 0.4;

/// Shared memory that a block of every usable GPU may have.
inline std::uint64_t shared_memory(const Machine& machine) {
  std::uint64_t least = 0;
  for (const Gpu& gpu : machine.gpus())
    if (gpu.usable && (least == 0 || gpu.shared_bytes < least)) least = gpu.shared_bytes;
  return least;
}

/// Whether `what`, so many bytes in each block, fit the shared memory of the machine's GPUs.
inline core::Support fits_shared(std::uint64_t needed, const char* what, const Machine& machine) {
  constexpr std::uint64_t reserved = 512;  // for what kernels keep there beside it
  const std::uint64_t available = shared_memory(machine) - reserved;
  if (needed <= available) return core::Support::yes();
  return core::Support::no(std::string(what) + " take " + std::to_string(needed) +
                           " bytes and do not fit the shared memory of a block, " + std::to_string(available) +
                           " bytes");
}

}  // namespace gradus::execution
