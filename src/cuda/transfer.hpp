// Large host memory to the GPU and back, through two pinned buffers in turn: while one travels, the threads of the
// processor fill or empty the other. Ordinary memory would be copied by the driver, on one thread and without overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include "cuda/memory.hpp"
#include "cuda/sizes.hpp"
#include "gradus/array.hpp"

namespace gradus::cuda {

/// Pinned host memory of one size, borrowed from the process: to pin memory takes as long as to copy it some times, so
/// what is given back is kept for the next job, up to Staging::bytes of it. It is ordinary memory made known to the
/// driver: should the driver forget it (cudaDeviceReset) or refuse it, copies are slower and right all the same.
class BorrowedMemory {
 public:
  static constexpr auto bytes = static_cast<std::int64_t>(staging_bytes / 2);

  BorrowedMemory();
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;
  ~BorrowedMemory();
  unsigned char* data() { return memory_.data(); }

 private:
  Buffer<unsigned char> memory_;
};

/// The two buffers, borrowed at the first transfer that is large enough to need them.
class Staging {
 public:
  /// Transfers through it end with InterruptedError after a stop request.
  explicit Staging(std::stop_token stop = {}) : stop_(std::move(stop)) {}
  const std::stop_token& stop() const { return stop_; }

  static constexpr std::int64_t bytes = staging_bytes;

  struct Part {
    BorrowedMemory memory;
    Event free;  ///< recorded behind the transfer that last used the memory

    ~Part() { cudaEventSynchronize(free); }  // a transfer that an error left under way
  };
  Part& part(std::int64_t turn) {
    std::optional<Part>& wanted = parts_[turn % 2];
    if (!wanted) wanted.emplace();
    return *wanted;
  }

 private:
  std::stop_token stop_;
  std::optional<Part> parts_[2];
};

/// Copies the rows, without what may lie between them, to rows * columns elements at `to`, memory of the GPU. Returns
/// when all is there.
template <class T>
void upload(MatrixView<const T> from, T* to, Staging& staging, int threads, const Stream& stream);
template <class T>
void upload(MatrixView<const T> from, DeviceBuffer<T>& to, Staging& staging, int threads, const Stream& stream);

/// Copies `count` elements from the GPU to ordinary host memory; returns when all are there.
template <class T>
void download(const T* from, T* to, std::int64_t count, Staging& staging, int threads, const Stream& stream);
template <class T>
void download(const DeviceBuffer<T>& from, T* to, std::int64_t count, Staging& staging, int threads,
              const Stream& stream);

/// Throws gradus::Error where the current GPU has less than `bytes` free, with both numbers.
void require_free_memory(std::uint64_t bytes);

}  // namespace gradus::cuda
