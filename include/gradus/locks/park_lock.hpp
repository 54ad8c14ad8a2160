/// park_lock: look a few times, then sleep until the lock is free.
#pragma once

#include <chrono>
#include <cstdint>

#include "gradus/locks/deadline.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// Spin, then park. Lockable and TimedLockable; no order of arrival. 128 bytes, no other memory.
///
/// The lock for programs that share their processors: a thread looks for some microseconds, which is long enough for a
/// short critical section, and then sleeps and leaves its processor to others. Who unlocks wakes one at a time, and not
/// another before that one has run; meanwhile whoever is awake may have the lock, so that it does not lie idle while
/// somebody wakes. Sources: A. R. Karlin and others, "Empirical studies of competitive spinning for a shared-memory
/// multiprocessor" (1991); U. Drepper, "Futexes are tricky" (2005).
template <class Policy = lock_policy>
class alignas(lock_padding) basic_park_lock {
 public:
  constexpr basic_park_lock() noexcept = default;
  basic_park_lock(const basic_park_lock&) = delete;
  basic_park_lock& operator=(const basic_park_lock&) = delete;

  void lock() {
    // Where nobody waits, by one exchange, without a look before it; otherwise that would be in vain.
    std::uint32_t seen = 0;
    if (!is_crowded_.load(std::memory_order_relaxed) && take(seen, held)) return;
    if (try_lock()) return;
    if (spin()) return;
    // relaxed, here and below: a waiter counts itself before it looks whether the lock is held, and both are changes of
    // one variable, which have one order: who unlocks after that look sees the waiter.
    state_.fetch_add(one_waiter, std::memory_order_relaxed);
    while (!take_as_waiter()) {
      wake_.acquire();
      has_been_woken();
    }
  }

  /// Never waits, and fails only while the lock is held, or where another thread comes at the same moment.
  bool try_lock() noexcept {
    // relaxed: what is seen here only decides what is exchanged.
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    return (seen & held) == 0 && take(seen, seen | held);
  }

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_until(lock_deadline(patience));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    if (try_lock() || spin()) return true;
    state_.fetch_add(one_waiter, std::memory_order_relaxed);
    try {
      const auto end = lock_deadline(deadline);
      while (!take_as_waiter()) {
        if (wake_.try_acquire_until(end)) {
          has_been_woken();
        } else if (give_up()) {
          return false;
        }
      }
    } catch (...) {  // the clock throws
      leave();
      throw;
    }
    return true;
  }

  /// By the thread that holds it.
  void unlock() {
    // release, twice: what this thread did is done for the next holder, whose exchange reads this value or one that was
    // made from it. From then on the lock may be gone.
    std::uint32_t seen = held;
    const bool was_crowded = is_crowded_.load(std::memory_order_relaxed);
    if (was_crowded) seen = state_.load(std::memory_order_relaxed);
    else if (state_.compare_exchange_strong(seen, 0, std::memory_order_release, std::memory_order_relaxed)) return;
    if (const bool is_crowded = seen >= one_waiter; is_crowded != was_crowded)
      is_crowded_.store(is_crowded, std::memory_order_relaxed);
    for (;;) {
      const bool wakes = seen >= one_waiter && (seen & waking) == 0;
      if (state_.compare_exchange_weak(seen, (seen & ~held) | (wakes ? waking : 0U), std::memory_order_release,
                                       std::memory_order_relaxed)) {
        if (wakes) wake_.release();  // the lock cannot be gone: see may_leave()
        return;
      }
    }
  }

 private:
  // The state: whether it is held; whether a wake has been or is being sent and none has come out of it; how many wait.
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t waking = 2;
  static constexpr std::uint32_t one_waiter = 4;

  // acquire: what the last holder did, who let go with release, is done for this thread too; changes in between are
  // exchanges, which pass it on.
  bool take(std::uint32_t& seen, std::uint32_t wanted) noexcept {
    return state_.compare_exchange_strong(seen, wanted, std::memory_order_acquire, std::memory_order_relaxed);
  }

  // Each rest is twice as long as the one before: who holds the lock keeps its cache line, and with it comes in again
  // and again, all the longer, which costs those less who have nothing to do but to wait.
  bool spin() noexcept {
    typename Policy::spinner spinner;
    unsigned pauses = 1;
    for (int look = 0; look < Policy::looks_before_sleep; ++look, pauses *= 2) {
      spinner.rest(pauses);
      if (try_lock()) return true;
    }
    return false;
  }

  // The last waiter does not leave while a wake is on its way: who sends it still has the lock in its hands.
  static bool may_leave(std::uint32_t seen) noexcept { return seen >= 2 * one_waiter || (seen & waking) == 0; }

  // Whether this waiter is the holder now; otherwise it shall sleep.
  bool take_as_waiter() noexcept {
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    while ((seen & held) == 0 && may_leave(seen))
      if (take(seen, (seen - one_waiter) | held)) return true;
    return false;
  }

  // The next unlock() may wake another.
  void has_been_woken() noexcept { state_.fetch_and(~waking, std::memory_order_relaxed); }

  // Whether this waiter is gone; otherwise there is a wake for it.
  bool give_up() noexcept {
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    while (may_leave(seen))
      if (state_.compare_exchange_weak(seen, seen - one_waiter, std::memory_order_relaxed, std::memory_order_relaxed))
        return true;
    wake_.acquire();
    has_been_woken();
    return false;
  }

  // This waiter is gone. A wake that came for it goes to another: by unlock(), where the lock is free.
  void leave() {
    while (!give_up())
      if (take_as_waiter()) return unlock();
  }

  typename Policy::template atomic<std::uint32_t> state_{0};
  // Whether others slept when it was let go of: only a guess, for speed alone, and so relaxed.
  typename Policy::template atomic<bool> is_crowded_{false};
  typename Policy::semaphore wake_{0};
};

using park_lock = basic_park_lock<>;

}  // namespace gradus
