/// tas_lock: a single flag. A waiting thread sets the flag again and again. When it finds that the flag was clear
/// before, the thread has the lock.
#pragma once

#include <chrono>

#include "gradus/locks/deadline.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// Test-and-set. Lockable and TimedLockable. No order of arrival. Size 128 bytes, no other memory.
///
/// Each attempt of a waiting thread is a write. The write takes the cache line away from all other waiters and from the
/// holder, which needs the line to unlock. tas_lock is the simplest lock. It is good for two threads that rarely
/// collide; ttas_lock is better in all other cases. Source: M. Herlihy and N. Shavit, "The Art of Multiprocessor
/// Programming" (2008), chapter 7.
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

  /// Never blocks. Fails only while the lock is held.
  bool try_lock() noexcept {
    // acquire: synchronizes with the release in unlock().
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

  void unlock() noexcept {
    // release: the next holder, whose exchange reads this value, sees the writes of this thread.
    is_held_.store(false, std::memory_order_release);
  }

 private:
  typename Policy::template atomic<bool> is_held_{false};
};

using tas_lock = basic_tas_lock<>;

}  // namespace gradus
