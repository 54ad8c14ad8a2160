// Scratch memory that a job borrows from the process. Fresh memory costs a page fault for every 4 KiB of it, which for
// a job of some milliseconds is as much as the job; so what is given back is kept for the next one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::cpu {

/// Uninitialised memory, aligned to a page of 4 KiB, in large pages where the system has them. OutOfMemoryError where
/// there is none left. Up to Scratch::kept bytes that no job uses stay with the process.
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
  std::size_t bytes_ = 0;  ///< of the block, which may be larger than what was asked for
};

}  // namespace gradus::cpu
