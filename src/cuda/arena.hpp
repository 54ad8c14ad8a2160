// Memory of a GPU in one piece, for a job that knows beforehand what it will need: one allocation and one release,
// which take some tens of microseconds each, and one answer to whether everything fits.
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
  /// `bytes`: the sum of part_bytes() of all parts that will be taken. OutOfMemoryError with what was
  /// needed and what was free. `limit`: Execution::gpu_memory_limit.
  explicit Arena(std::uint64_t bytes, std::uint64_t limit = 0) : limit_(limit) { allocate(bytes); }

  /// Room for so many bytes more, by another allocation where they are not left: for a job that knows what it needs
  /// only after a look at what it has there.
  void reserve(std::uint64_t bytes) {
    if (bytes <= static_cast<std::uint64_t>(memory_.size()) - taken_) return;
    if (memory_.size() > 0) filled_.push_back(std::move(memory_));
    allocate(bytes);
    taken_ = 0;
  }

  /// The next part, uninitialised; it lives as long as the arena.
  template <class T>
  T* take(std::int64_t count) {
    const std::uint64_t bytes = part_bytes(count, sizeof(T));
    if (bytes > static_cast<std::uint64_t>(memory_.size()) - taken_)
      throw Error("internal error: a job takes more memory of the GPU than it said");
    unsigned char* part = memory_.data() + taken_;
    taken_ += bytes;
    return reinterpret_cast<T*>(part);
  }

  /// How much is taken; release() makes free again what was taken since, once nothing uses it any more. For steps that
  /// follow each other, with no reserve() in between.
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

/// A part that holds a copy of `values`, which stay as they are until the stream was waited for.
template <class T>
T* copy_part(Arena& arena, std::span<const T> values, const Stream& stream) {
  T* const part = arena.take<T>(std::ssize(values));
  copy_to_gpu(part, values.data(), values.size_bytes(), stream);
  return part;
}

/// A part whose bytes are zero.
template <class T>
T* zero_part(Arena& arena, std::int64_t count, const Stream& stream) {
  T* const part = arena.take<T>(count);
  check(cudaMemsetAsync(part, 0, static_cast<std::size_t>(count) * sizeof(T), stream), "cudaMemsetAsync");
  return part;
}

/// Copies from a part and waits for the stream.
template <class T>
void fetch_part(const T* part, std::span<T> values, const Stream& stream) {
  check(cudaMemcpyAsync(values.data(), part, values.size_bytes(), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  stream.wait();
}

}  // namespace gradus::cuda
