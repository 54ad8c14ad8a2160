// What the tables of all problems ask of a GPU: that there is one, and that a block's data fit its shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/registry.hpp"
#include "cpu/machine.hpp"
#include "cuda/devices.hpp"

namespace gradus::core {

/// Pinned host memory for the transfers to and from a GPU.
inline constexpr std::uint64_t cuda_staging_bytes = std::uint64_t{8} << 20;

/// Bytes of an array in the memory of a GPU, where each begins at a multiple of 256.
constexpr std::uint64_t gpu_part_bytes(std::int64_t count, std::size_t element) {
  constexpr std::uint64_t alignment = 256;
  return (static_cast<std::uint64_t>(count) * element + alignment - 1) / alignment * alignment;
}

inline Support supported_on_gpu(const cpu::Machine& machine) {
  const std::string reason = cuda::why_no_gpu(machine);
  return reason.empty() ? Support::yes() : Support::no(reason);
}

/// Shared memory that a block of every usable GPU may have.
inline std::uint64_t shared_memory(const cpu::Machine& machine) {
  std::uint64_t least = 0;
  for (const cpu::Gpu& gpu : machine.gpus())
    if (gpu.usable && (least == 0 || gpu.shared_bytes < least)) least = gpu.shared_bytes;
  return least;
}

/// Whether `what`, so many bytes in each block, fit the shared memory of the machine's GPUs.
inline Support fits_shared(std::uint64_t needed, const char* what, const cpu::Machine& machine) {
  constexpr std::uint64_t reserved = 512;  // for what kernels keep there beside it
  const std::uint64_t available = shared_memory(machine) - reserved;
  if (needed <= available) return Support::yes();
  return Support::no(std::string(what) + " take " + std::to_string(needed) +
                     " bytes and do not fit the shared memory of a block, " + std::to_string(available) + " bytes");
}

}  // namespace gradus::core
