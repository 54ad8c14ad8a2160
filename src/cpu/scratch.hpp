// Scratch memory that a job borrows from the process. The first use of fresh memory costs a page fault per 4 KiB. In a
// job of some milliseconds, the page faults take as long as the remaining work. Freed blocks are therefore kept for the
// next job.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::cpu {

/// Uninitialised memory, aligned to a 4 KiB page. Uses large pages if the system has them. The process keeps up to
/// Scratch::kept bytes of unused blocks. The constructor throws OutOfMemoryError if not enough memory is left.
class Scratch {
 public:
  static constexpr std::size_t kept = std::size_t{192} << 20;

  Scratch() = default;
  explicit Scratch(std::size_t bytes);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  void* data() { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;  ///< size of the block, which may exceed the size requested
};

}  // namespace gradus::cpu
