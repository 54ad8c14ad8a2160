/// The policy of the concurrent sets: the type of atomic variables, and how a thread waits for a lock. The reclamation
/// or the lock of a set is a template over a policy. So tests can run the same code with forced delays, and a model
/// checker can try every order of events. The types that programs use have names without the prefix `basic_`. Their
/// policy uses the standard library.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "gradus/sets/detail/word.hpp"

namespace gradus {

/// The policy of the production sets.
struct set_policy {
  template <class T>
  using atomic = std::atomic<T>;

  /// Number of operation records per block: a set starts with one block and grows block by block.
  static constexpr unsigned records_of_block = 16;
  /// Number of removed nodes after which a thread checks which of them it may free.
  static constexpr unsigned retired_between_looks = 64;
  /// Initial number of buckets of a hash set.
  static constexpr std::uint64_t first_buckets = 64;

  /// Returns a random number for the height of a skip-list node (xorshift, with one state per thread). Every thread
  /// starts from a different state. If all threads started from the same state, and each thread inserted one key and
  /// ended, all nodes would have the same height.
  static std::uint64_t random() noexcept {
    thread_local std::uint64_t state = first_state();
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }

  /// Prefetches the node to which a link points. relaxed: nothing depends on the value, and prefetching freed memory is
  /// harmless.
  template <class Link>
  static void fetch_target(const Link& link) noexcept {
    __builtin_prefetch(sets_detail::node_at<const void>(link.load(std::memory_order_relaxed)));
  }

  static std::uint64_t first_state() noexcept {
    static constinit std::atomic<std::uint64_t> threads{0};
    // relaxed: the counter only has to give each thread a different number. The state of xorshift must not be 0. The
    // mixer (the finalizer of MurmurHash3) maps only 0 to 0.
    std::uint64_t bits = 0x9E3779B97F4A7C15 * (threads.fetch_add(1, std::memory_order_relaxed) + 1);
    bits = (bits ^ bits >> 33) * 0xFF51AFD7ED558CCD;
    bits = (bits ^ bits >> 33) * 0xC4CEB9FE1A85EC53;
    return bits ^ bits >> 33;
  }

  /// Waits for a lock with backoff. The thread first pauses. If the lock is still held after some microseconds, its
  /// holder may have no core. The waiting thread then yields its own core.
  class spinner {
   public:
    void rest() noexcept {
      if (rests_ >= most_rests) {
        std::this_thread::yield();
        return;
      }
      ++rests_;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
      asm volatile("yield");
#endif
    }

   private:
    static constexpr unsigned most_rests = 128;
    unsigned rests_ = 0;
  };
};

}  // namespace gradus
