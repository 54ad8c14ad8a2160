/// ticket_lock: each thread draws a number and waits until this number is called.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/locks/policy.hpp"

namespace gradus {

/// Tickets. Lockable. First come, first served. Size 256 bytes, no other memory.
///
/// Locking takes one atomic addition, and unlocking takes one store. All waiters read the same number, so each hand-off
/// invalidates the cached copy of every waiter. Waiters therefore rest in proportion to their distance from the head of
/// the queue. If the next thread has no core, all threads wait for it: do not use this lock with more threads than
/// cores. Source: J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable synchronization on shared-memory
/// multiprocessors" (1991), with proportional backoff.
template <class Policy = lock_policy>
class basic_ticket_lock {
 public:
  constexpr basic_ticket_lock() noexcept = default;
  basic_ticket_lock(const basic_ticket_lock&) = delete;
  basic_ticket_lock& operator=(const basic_ticket_lock&) = delete;

  void lock() noexcept {
    // relaxed: only the number matters, and every thread gets a different number.
    const std::uint64_t own = next_.fetch_add(1, std::memory_order_relaxed);
    typename Policy::spinner spinner;
    for (;;) {
      // acquire: synchronizes with the release that called this number. Each number is called once, so the value that
      // is read comes from that call.
      const std::uint64_t called = called_.load(std::memory_order_acquire);
      if (called == own) return;
      spinner.rest(static_cast<unsigned>(std::min<std::uint64_t>(own - called, 16)));
    }
  }

  /// Never blocks. A call may fail although the lock has just become free, but repeated calls on a free lock succeed.
  bool try_lock() noexcept {
    // acquire: as in lock(). If the exchange succeeds, this thread has drawn the called number.
    std::uint64_t called = called_.load(std::memory_order_acquire);
    // relaxed: no thread has drawn the called number, and a 64-bit number does not repeat.
    return next_.compare_exchange_strong(called, called + 1, std::memory_order_relaxed);
  }

  void unlock() noexcept {
    // relaxed: only the holder writes called_, and lock() orders this holder after the previous one.
    const std::uint64_t own = called_.load(std::memory_order_relaxed);
    // release: the thread that reads its number here sees the writes of this thread.
    called_.store(own + 1, std::memory_order_release);
  }

 private:
  alignas(lock_padding) typename Policy::template atomic<std::uint64_t> next_{0};
  alignas(lock_padding) typename Policy::template atomic<std::uint64_t> called_{0};
};

using ticket_lock = basic_ticket_lock<>;

}  // namespace gradus
