/// ttas_lock: a thread reads a flag, and tries to set the flag only if it is clear. Between reads, the thread waits
/// with exponential backoff.
#pragma once

#include <algorithm>
#include <chrono>

#include "gradus/locks/deadline.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// Test and test-and-set with exponential backoff. Lockable and TimedLockable. No order of arrival. Size 128 bytes, no
/// other memory.
///
/// A waiting thread only reads the flag, so a copy of the flag stays in the thread's own cache until the holder writes.
/// All waiters would then try at once. To prevent this, each waiter rests between its reads, twice as long each time.
/// The thread that has just unlocked is often the next holder, which makes this lock fast and unfair. Source: T. E.
/// Anderson, "The performance of spin lock alternatives for shared-memory multiprocessors" (1990).
template <class Policy = lock_policy>
class alignas(lock_padding) basic_ttas_lock {
 public:
  constexpr basic_ttas_lock() noexcept = default;
  basic_ttas_lock(const basic_ttas_lock&) = delete;
  basic_ttas_lock& operator=(const basic_ttas_lock&) = delete;

  void lock() noexcept {
    if (set()) return;
    backoff waits;
    while (!try_lock()) waits.rest();
  }

  /// Never blocks. Fails only if the lock is held or was held a moment ago.
  bool try_lock() noexcept {
    // relaxed: the value only decides whether an attempt is worthwhile.
    return !is_held_.load(std::memory_order_relaxed) && set();
  }

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_until(lock_deadline(patience));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    const auto end = lock_deadline(deadline);
    backoff waits;
    while (!try_lock()) {
      if (Clock::now() >= end) return false;
      waits.rest();
    }
    return true;
  }

  void unlock() noexcept {
    // release: the next holder, whose exchange reads this value, sees the writes of this thread.
    is_held_.store(false, std::memory_order_release);
  }

 private:
  class backoff {
   public:
    void rest() noexcept {
      spinner_.rest(pauses_);
      pauses_ = std::min(2 * pauses_, most_pauses);
    }

   private:
    static constexpr unsigned most_pauses = 32;
    typename Policy::spinner spinner_;
    unsigned pauses_ = 1;
  };

  // acquire: synchronizes with the release in unlock().
  bool set() noexcept { return !is_held_.exchange(true, std::memory_order_acquire); }

  typename Policy::template atomic<bool> is_held_{false};
};

using ttas_lock = basic_ttas_lock<>;

}  // namespace gradus
