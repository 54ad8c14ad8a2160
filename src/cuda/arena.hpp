// GPU memory that a job allocates in one piece, because it knows in advance how much memory it needs. A single check
// ensures that everything fits. The allocation takes some tens of microseconds, and so does the release.
#pragma once

#include <span>
#include <vector>

#include "core/text.hpp"
#include "cuda/memory.hpp"
#include "cuda/sizes.hpp"

namespace gradus::cuda {

class Arena {
 public:
  Arena() = default;
  /// `bytes` is the sum of part_bytes() over all parts that the job will take, and `limit` is
  /// Execution::gpu_memory_limit. Throws OutOfMemoryError with the needed and the free memory.
  explicit Arena(std::uint64_t bytes, std::uint64_t limit = 0) : limit_(limit) { allocate(bytes); }

  /// Ensures that parts with a total size of `bytes` can still be taken. Allocates more memory if necessary. Serves
  /// jobs that do not know all their needs in advance.
  void reserve(std::uint64_t bytes) {
    if (bytes <= static_cast<std::uint64_t>(memory_.size()) - taken_) return;
    if (memory_.size() > 0) filled_.push_back(std::move(memory_));
    allocate(bytes);
    taken_ = 0;
  }

  /// Returns the next part, uninitialised. It is valid for the lifetime of the arena.
  template <class T>
  T* take(std::int64_t count) {
    const std::uint64_t bytes = part_bytes(count, sizeof(T));
    if (bytes > static_cast<std::uint64_t>(memory_.size()) - taken_)
      throw Error("internal error: a job takes more memory of the GPU than it said");
    unsigned char* part = memory_.data() + taken_;
    taken_ += bytes;
    return reinterpret_cast<T*>(part);
  }

  /// The amount of memory taken so far. release() frees everything that was taken after the mark. This memory must no
  /// longer be in use. reserve() must not be called between mark and release.
  struct Mark {
    std::uint64_t taken = 0;
  };
  Mark mark() const { return {taken_}; }
  void release(Mark mark) { taken_ = mark.taken; }

 private:
  void allocate(std::uint64_t bytes) {
    allocated_ += bytes;
    if (limit_ > 0 && allocated_ > limit_)
      throw OutOfMemoryError("the job needs " + core::size_text(allocated_) +
                             " of the GPU's memory, but the limit allows only " + core::size_text(limit_));
    memory_ = DeviceBuffer<unsigned char>(static_cast<std::int64_t>(bytes));
  }

  std::uint64_t limit_ = 0;
  std::uint64_t allocated_ = 0;
  std::vector<DeviceBuffer<unsigned char>> filled_;
  DeviceBuffer<unsigned char> memory_;
  std::uint64_t taken_ = 0;
};

/// Returns a part with a copy of `values`. The values must stay unchanged until the caller has waited for the stream.
template <class T>
T* copy_part(Arena& arena, std::span<const T> values, const Stream& stream) {
  T* const part = arena.take<T>(std::ssize(values));
  copy_to_gpu(part, values.data(), values.size_bytes(), stream);
  return part;
}

template <class T>
T* zero_part(Arena& arena, std::int64_t count, const Stream& stream) {
  T* const part = arena.take<T>(count);
  check(cudaMemsetAsync(part, 0, static_cast<std::size_t>(count) * sizeof(T), stream), "cudaMemsetAsync");
  return part;
}

/// Copies from a part to host memory, and waits for the stream.
template <class T>
void fetch_part(const T* part, std::span<T> values, const Stream& stream) {
  check(cudaMemcpyAsync(values.data(), part, values.size_bytes(), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  stream.wait();
}

}  // namespace gradus::cuda
