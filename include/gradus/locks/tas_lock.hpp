/// tas_lock: one flag, which every thread that wants the lock sets until it was the one that set it.
#pragma once

#include <chrono>

#include "gradus/locks/deadline.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// Test-and-set. Lockable and TimedLockable; no order of arrival. 128 bytes, no other memory.
///
/// Each look of a waiting thread is a write: it takes the cache line away from the holder, who needs it to unlock, and
/// from all others that wait. It is the simplest lock and, with two threads and rare collisions, a good one; ttas_lock
/// is better in all other respects. Source: M. Herlihy and N. Shavit, "The Art of Multiprocessor Programming" (2008),
/// chapter 7.
template <class Policy = lock_policy>
class alignas(lock_padding) basic_tas_lock {
 public:
  constexpr basic_tas_lock() noexcept = default;
  basic_tas_lock(const basic_tas_lock&) = delete;
  basic_tas_lock& operator=(const basic_tas_lock&) = delete;

  void lock() noexcept {
    typename Policy::spinner spinner;
    while (!try_lock()) spinner.rest();
  }

  /// Never waits, and fails only while the lock is held.
  bool try_lock() noexcept {
    // acquire: what the last holder did, who let go with release, is done for this thread too.
    return !is_held_.exchange(true, std::memory_order_acquire);
  }

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_until(lock_deadline(patience));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    const auto end = lock_deadline(deadline);
    typename Policy::spinner spinner;
    while (!try_lock()) {
      if (Clock::now() >= end) return false;
      spinner.rest();
    }
    return true;
  }

  /// By the thread that holds it.
  void unlock() noexcept {
    // release: what this thread did is done for the next holder, whose exchange reads this value.
    is_held_.store(false, std::memory_order_release);
  }

 private:
  typename Policy::template atomic<bool> is_held_{false};
};

using tas_lock = basic_tas_lock<>;

}  // namespace gradus
