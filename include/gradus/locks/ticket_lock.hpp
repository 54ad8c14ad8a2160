/// ticket_lock: draw a number, and wait until it is called.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/locks/policy.hpp"

namespace gradus {

/// Tickets. Lockable; in order of arrival. 256 bytes, no other memory.
///
/// One addition to come in and one write to let go, and nobody is overtaken. All that wait read the same number, so
/// that each hand-off is told to all of them; they rest the longer the more are before them. Where a thread whose turn
/// it is has no processor, all wait for it: not for more threads than cores. Source: J. M. Mellor-Crummey and
/// M. L. Scott, "Algorithms for scalable synchronization on shared-memory multiprocessors" (1991), with proportional
/// backoff.
template <class Policy = lock_policy>
class basic_ticket_lock {
 public:
  constexpr basic_ticket_lock() noexcept = default;
  basic_ticket_lock(const basic_ticket_lock&) = delete;
  basic_ticket_lock& operator=(const basic_ticket_lock&) = delete;

  void lock() noexcept {
    // relaxed: the number alone matters, and every thread gets another one.
    const std::uint64_t own = next_.fetch_add(1, std::memory_order_relaxed);
    typename Policy::spinner spinner;
    for (;;) {
      // acquire: what the last holder did before it called this number is done for this thread too. The number was
      // called once, so that what is read is that call.
      const std::uint64_t called = called_.load(std::memory_order_acquire);
      if (called == own) return;
      spinner.rest(static_cast<unsigned>(std::min<std::uint64_t>(own - called, 16)));
    }
  }

  /// Never waits. May fail where the lock has just become free, not for ever.
  bool try_lock() noexcept {
    // acquire: as in lock(); where the exchange succeeds, this is the number that it takes.
    std::uint64_t called = called_.load(std::memory_order_acquire);
    // relaxed: nobody has drawn the number that was called, and with 64 bits none comes twice.
    return next_.compare_exchange_strong(called, called + 1, std::memory_order_relaxed);
  }

  /// By the thread that holds it.
  void unlock() noexcept {
    // relaxed: the holder alone writes it, and the last who did is ordered before by lock().
    const std::uint64_t own = called_.load(std::memory_order_relaxed);
    // release: what this thread did is done for the one that reads its number here.
    called_.store(own + 1, std::memory_order_release);
  }

 private:
  alignas(lock_padding) typename Policy::template atomic<std::uint64_t> next_{0};
  alignas(lock_padding) typename Policy::template atomic<std::uint64_t> called_{0};
};

using ticket_lock = basic_ticket_lock<>;

}  // namespace gradus
