// Host memory that the GPU reads and writes directly.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "cuda/memory.hpp"
#include "gradus/array.hpp"

namespace gradus::cuda {

/// Pinned host memory, borrowed from the process. It is ordinary memory that is registered with the driver.
/// Registration takes 70 us or more (cudaMallocHost takes 900 us). Up to staging_bytes of freed memory therefore stay
/// registered for the next job. If the driver refuses a registration or loses it (cudaDeviceReset), copies are slower
/// but still correct.
class BorrowedMemory {
 public:
  BorrowedMemory() = default;
  explicit BorrowedMemory(std::size_t bytes);
  BorrowedMemory(BorrowedMemory&&) = default;
  BorrowedMemory& operator=(BorrowedMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~BorrowedMemory();

  unsigned char* data() { return memory_.data(); }
  const unsigned char* data() const { return memory_.data(); }
  void* on_gpu();

 private:
  Buffer<unsigned char> memory_;
};

/// Elements in pinned memory.
template <class T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::int64_t size)
      : size_(size), memory_(detail::bytes_of(size, sizeof(T), "of pinned memory")) {}

  T* data() { return reinterpret_cast<T*>(memory_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data()); }
  std::int64_t size() const { return size_; }
  /// Returns the address for kernels of the current GPU, or null if they cannot access the memory.
  T* on_gpu() { return static_cast<T*>(memory_.on_gpu()); }
  T& operator[](std::int64_t index) { return data()[index]; }
  const T& operator[](std::int64_t index) const { return data()[index]; }

 private:
  std::int64_t size_ = 0;
  BorrowedMemory memory_;
};

}  // namespace gradus::cuda
