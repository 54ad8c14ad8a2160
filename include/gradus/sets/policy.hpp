/// What the concurrent sets stand on: atomic variables, and a way to wait for a lock. Every set is a template over a
/// policy, by way of its reclamation or its lock, so that the very same code also runs where delays are forced into it
/// and where every order of events is tried out; programs use the names without `basic_`, which stand on the standard
/// library.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "gradus/sets/detail/thread_number.hpp"

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

  /// Numbers for the heights of a skip list's nodes: xorshift, of each thread's own.
  static std::uint64_t random() noexcept {
    thread_local std::uint64_t state = 0x9E3779B97F4A7C15 * (sets_detail::thread_number() + 1);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
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
