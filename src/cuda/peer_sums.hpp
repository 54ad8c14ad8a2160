// Sums over several GPUs of one process, which read each other's memory.
#pragma once

#include <cstdint>
#include <span>

#include "cuda/memory.hpp"

namespace gradus::cuda {

/// One GPU of a group. All GPUs of the group must be able to reach each other's memory directly.
class PeerSums {
 public:
  using Word = unsigned long long;
  static constexpr int most_gpus = 8;

  /// A place in the memory of each GPU for the messages of the other GPUs.
  struct Mailbox;

  /// Returns true if `gpu` can read and write the memory of all `gpus` directly.
  static bool reaches(int gpu, std::span<const int> gpus);

  /// Makes the member number `rank` of the group of `gpus`, on the calling thread's current device.
  PeerSums(int rank, std::span<const int> gpus);
  PeerSums(const PeerSums&) = delete;
  PeerSums& operator=(const PeerSums&) = delete;

  Mailbox* mailbox();
  /// Must be called once, with the mailboxes of all members.
  void connect(std::span<Mailbox* const> mailboxes);

  /// Enqueues a kernel that sets all[i] to the sum of own[i] over all members, modulo 2^64. All members must enqueue
  /// the same sums in the same order. Both arrays are aligned to 16 bytes and do not overlap.
  void add_up(const Word* own, Word* all, std::int64_t count, const Stream& stream);
  /// Ends the sums of this member that wait for other members. Their results are invalid.
  void abort() { *abort_ = 1; }

 private:
  int rank_;
  int size_;
  DeviceBuffer<unsigned char> memory_;  ///< the mailbox
  DeviceBuffer<unsigned int> blocks_;   ///< number of blocks that have finished a phase
  Mailbox* mailboxes_[most_gpus] = {};
  volatile int* abort_ = nullptr;  ///< in host memory that the GPU reads
  const int* abort_on_gpu_ = nullptr;
  unsigned int sums_ = 0;  ///< number of sums so far
};

}  // namespace gradus::cuda
