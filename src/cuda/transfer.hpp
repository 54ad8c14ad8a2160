// Large host memory to the GPU and back, through four pinned buffers in turn: while some travel, the threads of the
// processor fill or empty the next. Ordinary memory would be copied by the driver, on one thread and without overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include "cuda/memory.hpp"
#include "cuda/pinned.hpp"
#include "cuda/sizes.hpp"
#include "gradus/array.hpp"

namespace gradus::cuda {

/// The buffers, each borrowed when a transfer first needs it.
class Staging {
 public:
  /// Transfers through it end with InterruptedError after a stop request.
  explicit Staging(std::stop_token stop = {}) : stop_(std::move(stop)) {}
  const std::stop_token& stop() const { return stop_; }

  static constexpr std::uint64_t part_bytes = staging_bytes / staging_parts;

  struct Part {
    BorrowedMemory memory{part_bytes};
    Event free;  ///< recorded behind the transfer that last used the memory

    ~Part() { cudaEventSynchronize(free); }  // a transfer that an error left under way
  };
  Part& part(std::int64_t turn) {
    std::optional<Part>& wanted = parts_[turn % staging_parts];
    if (!wanted) wanted.emplace();
    return *wanted;
  }

 private:
  std::stop_token stop_;
  std::optional<Part> parts_[staging_parts];
};

/// Copies the rows, without what may lie between them, to rows * columns elements at `to`, memory of the GPU. Returns
/// when all is there.
template <class T>
void upload(MatrixView<const T> from, T* to, Staging& staging, int threads, const Stream& stream);
template <class T>
void upload(MatrixView<const T> from, DeviceBuffer<T>& to, Staging& staging, int threads, const Stream& stream);

/// Copies `count` elements from the GPU to ordinary host memory; returns when all are there. Unsigned integers of 8 and
/// 16 bits become 32 bits wide on the way out of the pinned memory, so that fewer bytes travel.
template <class From, class T>
void download(const From* from, T* to, std::int64_t count, Staging& staging, int threads, const Stream& stream);
template <class T>
void download(const DeviceBuffer<T>& from, T* to, std::int64_t count, Staging& staging, int threads,
              const Stream& stream);

/// OutOfMemoryError where the current GPU has less than `bytes` free, with both numbers.
void require_free_memory(std::uint64_t bytes);

}  // namespace gradus::cuda
