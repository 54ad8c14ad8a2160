// Sums over the ranks of a job whose data stays on the ranks' GPUs. Only units compiled with CUDA include this file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cuda/stream.hpp"
#include "ranks/ranks.hpp"

namespace gradus::execution {

/// Adds up arrays of words over all ranks.
class RankSums {
 public:
  using Word = unsigned long long;

  /// The ways to add up, best first. The ranks use the first way that all of them support.
  enum class Way : std::uint8_t {
    peers,  ///< the GPUs of one process write to each other's memory
    nccl,   ///< NCCL, if it can be opened and if no two ranks share a GPU
    host    ///< through host memory
  };
  static inline Way best_way = Way::peers;  ///< tests set it to exclude the better ways

  RankSums() = default;
  RankSums(const RankSums&) = delete;
  RankSums& operator=(const RankSums&) = delete;
  virtual ~RankSums() = default;

  /// Returns the sums object of the ranks' communicator. The first job of the ranks on these GPUs connects the GPUs,
  /// which takes a second or more. Collective. `gpu` is the calling thread's current device.
  static RankSums& of(core::Ranks& ranks, int gpu);

  /// Sets all[i] to the sum of own[i] over all ranks, modulo 2^64, after the work in the stream. Collective. `count` is
  /// even. Both arrays are on this rank's GPU, are aligned to 16 bytes, and do not overlap. They must exist until
  /// wait() has returned.
  virtual void add_up(const Word* own, Word* all, std::int64_t count, const cuda::Stream& stream) = 0;
  /// Waits for the work in the stream. Throws gradus::Error if another rank has given up, because the sum would then
  /// never end.
  void wait(const cuda::Stream& stream) {
    wait_until([&stream] { return cudaStreamQuery(stream); });
  }
  /// Waits for the work before the event, like wait(stream).
  void wait(const cuda::Event& event) {
    wait_until([&event] { return cudaEventQuery(event); });
  }
  virtual Way way() const = 0;

  /// Memory for kernels of all ranks that wait for each other.
  struct Inboxes {
    std::span<Word* const> of_ranks;  ///< one inbox on the GPU of each rank; the kernels of all ranks can write to all
    const int* abort = nullptr;       ///< GPU address of a flag; wait() sets it if another rank has given up
  };
  /// Returns inboxes of at least `words` words, or none unless way() is `peers`. They are aligned to 256 bytes and
  /// exist as long as this object. The next sum overwrites them. Between other use of the inboxes and a sum, all ranks
  /// must wait for each other. Collective.
  virtual Inboxes inboxes(std::int64_t /*words*/, const cuda::Stream& /*stream*/) { return {}; }

 protected:
  /// Returns cudaErrorNotReady while the work is not complete.
  using State = std::function<cudaError_t()>;

 private:
  virtual void wait_until(const State& state) = 0;

  int gpu_ = -1;  ///< the GPU of this rank; -1 before the ranks are connected
};

}  // namespace gradus::execution
