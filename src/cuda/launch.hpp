// Launch shapes and shared memory limits.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>

#include "cuda/check.hpp"
#include "gradus/error.hpp"
#include "gradus/execution.hpp"

namespace gradus::cuda {

/// Returns the number of threads per block: Execution::block_size, or the variant's default. Throws UsageError unless
/// it is a multiple of 32 from 32 to 1024.
inline int block_threads(const Execution& execution, int preferred) {
  const int threads = execution.block_size > 0 ? execution.block_size : preferred;
  if (threads < 32 || threads > 1024 || threads % 32 != 0)
    throw UsageError("the block size must be a multiple of 32 from 32 to 1024, not " + std::to_string(threads));
  return threads;
}

/// Returns the number of blocks that are needed to give each element one thread. A block has `threads` threads.
inline unsigned int blocks_for(std::int64_t count, int threads) {
  return static_cast<unsigned int>((count + threads - 1) / threads);
}

inline int attribute(cudaDeviceAttr which) {
  int gpu = 0;
  int value = 0;
  check(cudaGetDevice(&gpu), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, which, gpu), "cudaDeviceGetAttribute");
  return value;
}
inline int multiprocessors() { return attribute(cudaDevAttrMultiProcessorCount); }

/// Returns the current GPU's peak number of fused multiply-adds per second, in float or double, without tensor cores.
inline double fma_per_second(int element_bytes) {
  struct Known {  // cached, because the driver takes half a millisecond to report a clock rate
    int gpu = -1;
    double of_float = 0;
    double of_double = 0;
  };
  thread_local Known known;
  int gpu = 0;
  check(cudaGetDevice(&gpu), "cudaGetDevice");
  const auto answer = [&] { return element_bytes == 4 ? known.of_float : known.of_double; };
  if (known.gpu == gpu) return answer();
  const int generation = attribute(cudaDevAttrComputeCapabilityMajor);
  const int minor = attribute(cudaDevAttrComputeCapabilityMinor);
  // Depends on the number of operations that a multiprocessor performs per clock. On the large GPUs of a generation,
  // double is half as fast as float. On the other GPUs, double is much slower.
  const bool is_large = minor == 0 && generation < 12;
  const int in_float = is_large && generation == 8 ? 64 : 128;
  const double clocks = 1e3 * multiprocessors() * attribute(cudaDevAttrClockRate);
  known = {gpu, clocks * in_float, clocks * (is_large ? in_float / 2 : 2)};
  return answer();
}

/// Allows a kernel `bytes` of dynamic shared memory on the current GPU. A call is needed for more than 48 KiB, the
/// default. The limit belongs to the kernel, so all threads of the process share it. This function only raises the
/// limit, under a lock. A job in another thread therefore cannot lower the limit that this job needs.
inline void allow_shared_memory(const void* kernel, std::size_t bytes) {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  const auto allowed = static_cast<std::size_t>(attributes.maxDynamicSharedSizeBytes);
  // The limit of 48 KiB, which is the default, covers static and dynamic memory together.
  if (bytes + attributes.sharedSizeBytes <= allowed) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(std::max(bytes, allowed))),
        "cudaFuncSetAttribute");
}

}  // namespace gradus::cuda
