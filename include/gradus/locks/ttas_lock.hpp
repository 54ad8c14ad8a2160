/// ttas_lock: look first, set the flag only when it was seen free, and rest longer from look to look.
#pragma once

#include <algorithm>
#include <chrono>

#include "gradus/locks/deadline.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// Test and test-and-set with exponential backoff. Lockable and TimedLockable; no order of arrival. 128 bytes, no other
/// memory.
///
/// A waiting thread reads, so that the flag stays in its own cache until the holder writes it; and since all that wait
/// would then rush for it together, each rests, twice as long from look to look. The thread that just let go is often
/// the next to come in, which is what makes it fast and what makes it unfair. Source: T. E. Anderson, "The performance
/// of spin lock alternatives for shared-memory multiprocessors" (1990).
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

  /// Never waits, and fails only while the lock is held, or was a moment ago.
  bool try_lock() noexcept {
    // relaxed: what is seen here only decides whether it is worth trying.
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

  /// By the thread that holds it.
  void unlock() noexcept {
    // release: what this thread did is done for the next holder, whose exchange reads this value.
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

  // acquire: what the last holder did, who let go with release, is done for this thread too.
  bool set() noexcept { return !is_held_.exchange(true, std::memory_order_acquire); }

  typename Policy::template atomic<bool> is_held_{false};
};

using ttas_lock = basic_ttas_lock<>;

}  // namespace gradus
