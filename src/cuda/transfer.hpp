// Large host memory to the GPU and back, through two pinned buffers in turn: while one travels, the threads of the
// processor fill or empty the other. Ordinary memory would be copied by the driver, on one thread and without overlap.
#pragma once

#include <cstdint>
#include <optional>

#include "cuda/memory.hpp"
#include "gradus/array.hpp"

namespace gradus::cuda {

/// The two buffers. They are made at the first transfer that is large enough to need them, and then kept: to pin memory
/// takes as long as to copy it some times.
class Staging {
 public:
  static constexpr std::int64_t bytes = 2 * (std::int64_t{4} << 20);

  struct Part {
    PinnedBuffer<unsigned char> memory{bytes / 2};
    Event free;  ///< recorded behind the transfer that last used the memory
  };
  Part& part(std::int64_t turn) {
    std::optional<Part>& wanted = parts_[turn % 2];
    if (!wanted) wanted.emplace();
    return *wanted;
  }

 private:
  std::optional<Part> parts_[2];
};

/// Copies the rows, without what may lie between them, to rows * columns elements at `to`. Returns when all is there.
template <class T>
void upload(MatrixView<const T> from, DeviceBuffer<T>& to, Staging& staging, int threads, const Stream& stream);

/// Copies `count` elements to ordinary host memory.
template <class T>
void download(const DeviceBuffer<T>& from, T* to, std::int64_t count, Staging& staging, int threads,
              const Stream& stream);

/// Throws gradus::Error where the current GPU has less than `bytes` free, with both numbers.
void require_free_memory(std::uint64_t bytes);

}  // namespace gradus::cuda
