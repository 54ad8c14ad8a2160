// Sums over several GPUs of one process. The GPUs write to each other's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cuda/memory.hpp"

namespace gradus::cuda {

/// One GPU of a group. All GPUs of the group must be able to reach each other's memory directly.
class PeerSums {
 public:
  using Word = unsigned long long;
  static constexpr int most_gpus = 8;

  /// Returns the addresses that all members pass, in the order of the members. All members call it together.
  using Exchange = std::function<std::vector<void*>(void*)>;

  /// Returns true if `gpu` can read and write the memory of all `gpus` directly.
  static bool reaches(int gpu, std::span<const int> gpus);

  /// Constructs member number `rank` of the group `gpus`. The current device of the calling thread must be gpus[rank].
  PeerSums(int rank, std::span<const int> gpus);
  PeerSums(const PeerSums&) = delete;
  PeerSums& operator=(const PeerSums&) = delete;

  /// Enqueues a kernel that sets all[i] to the sum of own[i] over all members, modulo 2^64. All members must enqueue
  /// the same sums in the same order. Both arrays are aligned to 16 bytes and do not overlap. `count` is even.
  void add_up(const Word* own, Word* all, std::int64_t count, const Stream& stream, const Exchange& exchange);
  /// Returns the addresses of the inboxes, in the order of the members. An inbox is on the GPU of its member, has at
  /// least `words` words, and kernels of all members can write to it. It is aligned to 256 bytes. The next sum
  /// overwrites the inboxes. Between a sum and other use of the inboxes, all members must wait for each other. All
  /// members call it together. Waits for the work in the stream.
  std::span<Word* const> inboxes(std::int64_t words, const Stream& stream, const Exchange& exchange) {
    reserve(words, stream, exchange);
    return {inboxes_, static_cast<std::size_t>(size_)};
  }
  /// Returns the GPU address of a flag that becomes 1 when abort() is called.
  const int* abort_flag() const { return abort_on_gpu_; }
  /// Ends the sums of this member that wait for other members. Their results are invalid.
  void abort() { *static_cast<volatile int*>(abort_.get()) = 1; }

 private:
  struct Mailbox;
  struct FreeHostMemory {
    void operator()(int* flag) const { cudaFreeHost(flag); }
  };

  void reserve(std::int64_t count, const Stream& stream, const Exchange& exchange);

  int rank_;
  int size_;
  DeviceBuffer<unsigned char> memory_;  ///< the mailbox
  DeviceBuffer<unsigned int> blocks_;   ///< number of blocks that have finished a phase
  DeviceBuffer<Word> inbox_;            ///< for each GPU: the words that it contributes to the share of this GPU
  std::int64_t inbox_words_ = 0;        ///< capacity of the inbox for the words of one member
  Mailbox* mailboxes_[most_gpus] = {};
  Word* inboxes_[most_gpus] = {};
  std::unique_ptr<int, FreeHostMemory> abort_;  ///< a flag in host memory, which the GPU reads
  const int* abort_on_gpu_ = nullptr;
  unsigned int sums_ = 0;  ///< number of sums so far
};

}  // namespace gradus::cuda
