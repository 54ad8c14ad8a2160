// Classes that own GPU memory and check the sizes of transfers.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "cuda/stream.hpp"

namespace gradus::cuda {

namespace detail {
/// Throws OutOfMemoryError for a size that is negative or too large to allocate.
inline std::size_t bytes_of(std::int64_t count, std::size_t element, const char* where) {
  if (count < 0 || static_cast<std::uint64_t>(count) > std::numeric_limits<std::size_t>::max() / 2 / element)
    throw OutOfMemoryError("cannot allocate " + std::to_string(count) + " elements " + where +
                           ": the size is out of range");
  return static_cast<std::size_t>(count) * element;
}
}  // namespace detail

/// Copies host memory to the current GPU. The host memory must stay unchanged until the caller has waited for the
/// stream.
void copy_to_gpu(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

/// Owns uninitialised memory of the current GPU. The constructor throws OutOfMemoryError with the needed and the free
/// memory.
template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::int64_t size) : size_(size) {
    const std::size_t bytes = detail::bytes_of(size, sizeof(T), "on the GPU");
    if (bytes == 0) return;
    const cudaError_t error = cudaMalloc(reinterpret_cast<void**>(&data_), bytes);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t free = 0;
      std::size_t total = 0;
      cudaMemGetInfo(&free, &total);
      throw OutOfMemoryError("the GPU's memory does not suffice: " + std::to_string(bytes) + " bytes were asked for, " +
                             std::to_string(free) + " of " + std::to_string(total) + " are free");
    }
    check(error, "cudaMalloc");
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceBuffer() { cudaFree(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t size() const { return size_; }

  void clear(const Stream& stream) { fill_bytes(0, stream); }
  void fill_bytes(int value, const Stream& stream) {
    if (size_ > 0)
      check(cudaMemsetAsync(data_, value, static_cast<std::size_t>(size_) * sizeof(T), stream), "cudaMemsetAsync");
  }

  /// Copies to the buffer's beginning. The host memory may be reused after the caller has waited for the stream.
  void copy_from_host(const T* from, std::int64_t count, const Stream& stream) {
    copy_to_gpu(data_, from, checked_bytes(count), stream);
  }
  void copy_to_host(T* to, std::int64_t count, const Stream& stream) const {
    if (const std::size_t bytes = checked_bytes(count); bytes > 0)
      check(cudaMemcpyAsync(to, data_, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  }

 private:
  std::size_t checked_bytes(std::int64_t count) const {
    if (count < 0 || count > size_)
      throw Error("a copy of " + std::to_string(count) + " elements does not fit a GPU buffer of " +
                  std::to_string(size_));
    return static_cast<std::size_t>(count) * sizeof(T);
  }

  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace gradus::cuda
