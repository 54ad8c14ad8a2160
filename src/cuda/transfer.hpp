// Transfers large amounts of data between host memory and the GPU. Four pinned buffers are used in turn. While some
// buffers are being transferred, CPU threads fill or empty the next buffer. Without these buffers, the driver would
// copy ordinary memory with one thread, and copying would not overlap with the transfer.
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

/// The four buffers. Each buffer is borrowed from the process when a transfer first needs it.
class Staging {
 public:
  /// After a stop request, transfers with these buffers throw InterruptedError.
  explicit Staging(std::stop_token stop = {}) : stop_(std::move(stop)) {}
  const std::stop_token& stop() const { return stop_; }

  static constexpr std::uint64_t part_bytes = staging_bytes / staging_parts;

  struct Part {
    BorrowedMemory memory{part_bytes};
    Event free;  ///< recorded after the transfer that last used the memory

    ~Part() { cudaEventSynchronize(free); }  // waits, because after an error a transfer may still use the memory
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

/// Copies the rows, without gaps, to rows * columns elements at `to` in GPU memory. Returns when the copy is complete.
template <class T>
void upload(MatrixView<const T> from, T* to, Staging& staging, int threads, const Stream& stream);
template <class T>
void upload(MatrixView<const T> from, DeviceBuffer<T>& to, Staging& staging, int threads, const Stream& stream);

/// Copies `count` elements from the GPU to ordinary host memory and returns when the copy is complete. Unsigned 8-bit
/// and 16-bit integers are widened to 32 bits on the host, so that fewer bytes are transferred.
template <class From, class T>
void download(const From* from, T* to, std::int64_t count, Staging& staging, int threads, const Stream& stream);
template <class T>
void download(const DeviceBuffer<T>& from, T* to, std::int64_t count, Staging& staging, int threads,
              const Stream& stream);

/// Returns true if the current GPU has at least `bytes` free.
bool has_free_memory(std::uint64_t bytes);
/// Throws OutOfMemoryError with the needed and the free memory if the current GPU has less than `bytes` free.
void require_free_memory(std::uint64_t bytes);

}  // namespace gradus::cuda
