/// park_lock: two threads watch the lock for some microseconds, the others sleep until it is free.
#pragma once

#include <chrono>
#include <cstdint>

#include "gradus/locks/deadline.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// Spin, then park. Lockable and TimedLockable; no order of arrival. 128 bytes, no other memory.
///
/// The lock for programs that share their processors. Two threads watch a lock that is held, for some microseconds,
/// which is long enough for a short critical section; whoever else comes sleeps at once and leaves its processor to
/// others. Who unlocks wakes a sleeper only where nobody watches, and who is woken watches: so few threads are awake,
/// however many want the lock, and its cache line goes to and fro between few. Whoever is awake may have the lock, so
/// that it does not lie idle while somebody wakes; but when sleepers were passed for long, one is woken beside the
/// watchers. Sources: A. R. Karlin and others, "Empirical studies of competitive spinning for a shared-memory
/// multiprocessor" (1991); U. Drepper, "Futexes are tricky" (2005); D. Dice, "Malthusian locks" (2017).
template <class Policy = lock_policy>
class alignas(lock_padding) basic_park_lock {
 public:
  constexpr basic_park_lock() noexcept = default;
  basic_park_lock(const basic_park_lock&) = delete;
  basic_park_lock& operator=(const basic_park_lock&) = delete;

  void lock() {
    if (set() || come()) return;
    do wake_.acquire();
    while (!watch_after_wake());
  }

  /// Never waits, and fails only while the lock is held, or was a moment ago.
  bool try_lock() noexcept {
    // relaxed: what is seen here only decides whether it is worth trying.
    return (state_.load(std::memory_order_relaxed) & held) == 0 && set();
  }

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_until(lock_deadline(patience));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    if (set() || come()) return true;
    try {
      const auto end = lock_deadline(deadline);
      do {
        if (!wake_.try_acquire_until(end)) return leave();
      } while (!watch_after_wake());
    } catch (...) {  // the clock throws
      if (leave()) unlock();
      throw;
    }
    return true;
  }

  /// By the thread that holds it.
  void unlock() {
    std::uint32_t seen = seen_by_holder_ | held;  // a guess
    const std::uint32_t passes = passes_ + 1;
    const bool is_due = passes >= Policy::most_passes;
    for (;;) {
      const bool wakes = shall_wake(seen, is_due);
      if (seen >= one_sleeper) passes_ = wakes && is_due ? 0 : passes;
      // release: what this thread did is done for the next holder, whose exchange reads this value or one that was made
      // from it. From then on the lock may be gone, but not while a wake is on its way: see leave().
      if (state_.compare_exchange_weak(seen, (seen & ~held) | (wakes ? waking : 0U), std::memory_order_release,
                                       std::memory_order_relaxed)) {
        if (wakes && (is_due || !is_taken_again())) wake_.release();
        return;
      }
    }
  }

 private:
  // The state: whether it is held; whether a wake is on its way to a sleeper; how many threads watch, of whom there are
  // never more than one beyond the policy's number, even with the one who is on its way; how many sleep.
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t waking = 2;
  static constexpr std::uint32_t one_watcher = 4;
  static constexpr std::uint32_t all_watchers = 3 * one_watcher;
  static constexpr std::uint32_t one_sleeper = 16;
  static_assert((Policy::most_watchers + 1) * one_watcher <= all_watchers);

  // A sleeper is woken where nobody watches, or where too many passed it; one at a time.
  static bool shall_wake(std::uint32_t seen, bool is_due) noexcept {
    const std::uint32_t watchers = seen & all_watchers;
    return seen >= one_sleeper && (seen & waking) == 0 && (watchers == 0 || (is_due && watchers < all_watchers));
  }

  // For the thread that let go and is about to wake a sleeper: whether another has the lock already, which will see to
  // the sleepers in its turn. To look for a moment takes less time than to wake.
  bool is_taken_again() noexcept {
    for (int look = 0; look < Policy::looks_before_wake; ++look) {
      Policy::pause(1U << look);
      std::uint32_t seen = state_.load(std::memory_order_relaxed);
      while ((seen & held) != 0)
        if (state_.compare_exchange_weak(seen, seen & ~waking, std::memory_order_relaxed, std::memory_order_relaxed))
          return true;
    }
    return false;
  }

  // Sets the flag, whatever else the state says. acquire, here and below: what the last holder did, who let go with
  // release, is done for this thread too; changes in between are exchanges, which pass it on.
  bool set() noexcept {
    const std::uint32_t before = state_.fetch_or(held, std::memory_order_acquire);
    if ((before & held) != 0) return false;
    seen_by_holder_ = before;
    return true;
  }

  // For a thread that is counted as `own` and has just seen the lock free: whether it has the lock, and is not counted
  // any more.
  bool take(std::uint32_t& seen, std::uint32_t own) noexcept {
    const std::uint32_t after = (seen - own) | held;
    if (!state_.compare_exchange_weak(seen, after, std::memory_order_acquire, std::memory_order_relaxed)) return false;
    seen_by_holder_ = after;
    return true;
  }

  // Where the lock is free, this thread, which is counted as `own`, has it; otherwise it is counted as `other`. In one
  // exchange, so that who unlocks from then on sees it. Whether this thread has it.
  bool take_or_become(std::uint32_t& seen, std::uint32_t own, std::uint32_t other) noexcept {
    for (;;) {
      if ((seen & held) == 0) {
        if (take(seen, own)) return true;
      } else if (state_.compare_exchange_weak(seen, seen - own + other, std::memory_order_relaxed,
                                              std::memory_order_relaxed)) {
        return false;
      }
    }
  }

  // For a thread that found it held: it watches, where few others do. Whether it has the lock; otherwise it is
  // counted as a sleeper.
  bool come() noexcept {
    for (std::uint32_t seen = state_.load(std::memory_order_relaxed);;) {
      if ((seen & held) == 0) {
        if (take(seen, 0)) return true;
        continue;
      }
      // Counted anew at each attempt: of threads that come all at once no more may watch than there are bits for.
      const std::uint32_t watchers = (seen & all_watchers) / one_watcher + ((seen & waking) != 0 ? 1 : 0);
      const bool is_watched = watchers >= Policy::most_watchers;
      if (state_.compare_exchange_weak(seen, seen + (is_watched ? one_sleeper : one_watcher), std::memory_order_relaxed,
                                       std::memory_order_relaxed))
        return !is_watched && watch();
    }
  }

  // As come(), for a sleeper to which a wake came. The next unlock() may wake another.
  bool watch_after_wake() noexcept {
    state_.fetch_add(one_watcher - waking - one_sleeper, std::memory_order_relaxed);
    return watch();
  }

  // Each rest is twice as long as the one before: who holds the lock keeps its cache line, and with it comes in again
  // and again, all the longer, which costs those less who have nothing to do but to wait.
  bool watch() noexcept {
    typename Policy::spinner spinner;
    unsigned pauses = Policy::first_pauses;
    for (int look = 0; look < Policy::looks_before_sleep; ++look, pauses *= 2) {
      spinner.rest(pauses);
      std::uint32_t seen = state_.load(std::memory_order_relaxed);
      if ((seen & held) == 0 && take_or_become(seen, one_watcher, one_watcher)) return true;
    }
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    return take_or_become(seen, one_watcher, one_sleeper);
  }

  // For a sleeper whose time is over: it is not counted any more, unless it has the lock. The last one does not leave
  // while a wake is on its way, for who sends it still has the lock in its hands; and where it leaves with a wake,
  // another needs that, whom the holder will wake.
  bool leave() noexcept {
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    for (typename Policy::spinner spinner;;) {
      while (seen >= 2 * one_sleeper || (seen & waking) == 0)
        if (state_.compare_exchange_weak(seen, seen - one_sleeper, std::memory_order_relaxed,
                                         std::memory_order_relaxed))
          return false;
      if (wake_.try_acquire()) break;
      spinner.rest();
      seen = state_.load(std::memory_order_relaxed);
    }
    constexpr std::uint32_t change = one_watcher - waking - one_sleeper;
    seen = state_.fetch_add(change, std::memory_order_relaxed) + change;
    return take_or_become(seen, one_watcher, 0);
  }

  typename Policy::template atomic<std::uint32_t> state_{0};
  // Of the holder: what it saw of the state, without the flag; and how often sleepers were passed since one was woken.
  typename Policy::template guarded<std::uint32_t> seen_by_holder_{0};
  typename Policy::template guarded<std::uint32_t> passes_{0};
  typename Policy::semaphore wake_{0};
};

using park_lock = basic_park_lock<>;

}  // namespace gradus
