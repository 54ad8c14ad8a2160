/// What the concurrent sets stand on: atomic variables, and a way to wait for a lock. Every set is a template over a
/// policy, by way of its reclamation or its lock, so that the very same code also runs where delays are forced into it
/// and where every order of events is tried out; programs use the names without `basic_`, which stand on the standard
/// library.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "gradus/sets/detail/word.hpp"

namespace gradus {

/// The policy of all sets that programs use.
struct set_policy {
  template <class T>
  using atomic = std::atomic<T>;

  /// How many records a set has for operations at first, and how many it adds at a time.
  static constexpr unsigned records_of_block = 16;
  /// After how many removed nodes a thread looks which it may free.
  static constexpr unsigned retired_between_looks = 64;
  /// Of a hash set.
  static constexpr std::uint64_t first_buckets = 64;

  /// Numbers for the heights of a skip list's nodes: xorshift, of each thread's own. No thread begins as another one
  /// did, or where each inserts a single key and ends, all nodes would have one height.
  static std::uint64_t random() noexcept {
    thread_local std::uint64_t state = first_state();
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }

  /// Prefetches the node that a link leads to. Relaxed: nothing depends on the value, and to prefetch memory that has
  /// been freed does no harm.
  template <class Link>
  static void fetch_target(const Link& link) noexcept {
    __builtin_prefetch(sets_detail::node_at<const void>(link.load(std::memory_order_relaxed)));
  }

  static std::uint64_t first_state() noexcept {
    static constinit std::atomic<std::uint64_t> threads{0};
    // relaxed: each thread gets a number of its own. The finalizer of MurmurHash3, which makes 0 of 0 alone.
    std::uint64_t bits = 0x9E3779B97F4A7C15 * (threads.fetch_add(1, std::memory_order_relaxed) + 1);
    bits = (bits ^ bits >> 33) * 0xFF51AFD7ED558CCD;
    bits = (bits ^ bits >> 33) * 0xC4CEB9FE1A85EC53;
    return bits ^ bits >> 33;
  }

  /// A thread that waits for others: it rests for a moment between two looks, and gives its processor away when that
  /// was in vain for some microseconds, for the thread that it waits for may have none.
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
