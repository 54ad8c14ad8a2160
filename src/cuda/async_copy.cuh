// Asynchronous copies (cp.async) from global memory to shared memory. The copies bypass the registers.
#pragma once

#include <cuda_runtime.h>

namespace gradus::cuda {

__device__ __forceinline__ void copy_16_bytes(void* shared, const void* global) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared))),
      "l"(global)
      : "memory");
}

/// Writes `bytes` bytes to shared memory. The first `there` bytes are copied from the source, and the remaining bytes
/// are zero. Only these `there` bytes of the source are read. Both addresses must be multiples of `bytes`, which is 4,
/// 8 or 16.
template <int bytes>
__device__ __forceinline__ void copy_or_zero(void* shared, const void* global, int there) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  const auto address = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global), "r"(there) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(global), "n"(bytes), "r"(there)
                 : "memory");
}

/// Ends a group of copies. wait_for_copies<left>() waits until at most `left` groups of this thread are in flight.
/// Copies of other threads become visible only after a barrier.
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int left>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

}  // namespace gradus::cuda
