// Memory of the caller that GPUs access in place: it is pinned, and kernels read it through a device address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/stream.hpp"

namespace gradus::cuda {

/// Pins host memory for reading by the current GPU while the object exists. Memory that the caller has already pinned
/// is used as it is. Several objects may share pages, as the rows of neighbouring ranks do. Before the object is
/// destroyed, no GPU may access the memory any more.
class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  /// If the driver cannot pin the memory, the object is empty.
  RegisteredMemory(const void* data, std::size_t bytes);
  RegisteredMemory(RegisteredMemory&& other) noexcept { swap(other); }
  RegisteredMemory& operator=(RegisteredMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~RegisteredMemory();

  bool empty() const { return on_gpu_ == nullptr; }
  /// Returns the address of the memory for kernels of the GPU.
  const void* on_gpu() const { return on_gpu_; }
  /// Enqueues a copy of the bytes [offset, offset + bytes) to GPU memory.
  void copy_to_gpu(void* to, std::size_t offset, std::size_t bytes, const Stream& stream) const;

 private:
  void swap(RegisteredMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(on_gpu_, other.on_gpu_);
    std::swap(parts_, other.parts_);
  }
  bool use_pinned_memory(std::size_t bytes);
  bool find_address();

  const unsigned char* data_ = nullptr;
  const void* on_gpu_ = nullptr;
  std::vector<std::uintptr_t> parts_;  ///< first addresses of the parts that the driver pinned separately, ascending
};

}  // namespace gradus::cuda
