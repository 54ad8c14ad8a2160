/// park_lock: two threads poll the lock for some microseconds, and all other threads sleep until the lock is free.
#pragma once

#include <chrono>
#include <cstdint>

#include "gradus/locks/deadline.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// Spin, then park. Lockable and TimedLockable. No order of arrival. Size 128 bytes, no other memory.
///
/// This lock suits programs that share the cores with other programs. While the lock is held, two threads poll it for
/// some microseconds, which suffices for a short critical section. Every further thread sleeps immediately and leaves
/// its core to other work. The unlocking thread wakes a sleeper only if no thread polls, and a woken thread polls
/// first. So only a few threads are awake, however many threads want the lock, and the lock's cache line moves between
/// few cores. Any thread that is awake may take the lock, so the lock is not left idle while a sleeper wakes up. To
/// prevent starvation, unlock() also wakes a sleeper after many hand-offs have bypassed the sleepers, even if other
/// threads poll. Sources: A. R. Karlin and others, "Empirical studies of competitive spinning for a shared-memory
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

  /// Never blocks. Fails only if the lock is held or was held a moment ago.
  bool try_lock() noexcept {
    // relaxed: the value only decides whether an attempt is worthwhile.
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
    } catch (...) {  // a function of the clock threw an exception
      if (leave()) unlock();
      throw;
    }
    return true;
  }

  void unlock() {
    std::uint32_t seen = seen_by_holder_ | held;  // the state that the exchange expects
    const std::uint32_t passes = passes_ + 1;
    const bool is_due = passes >= Policy::most_passes;
    for (;;) {
      const bool wakes = shall_wake(seen, is_due);
      if (seen >= one_sleeper) passes_ = wakes && is_due ? 0 : passes;
      // release: the next holder sees the writes of this thread, because its exchange reads this value or a later value
      // of the same release sequence. After this exchange, another thread may destroy the lock, unless a wake is on its
      // way (see leave()).
      if (state_.compare_exchange_weak(seen, (seen & ~held) | (wakes ? waking : 0U), std::memory_order_release,
                                       std::memory_order_relaxed)) {
        if (wakes && (is_due || !is_taken_again())) wake_.release();
        return;
      }
    }
  }

 private:
  // The parts of the state: a flag for a held lock, a flag for a wake that is on its way to a sleeper, the number of
  // watchers (threads that poll), and the number of sleepers. The number of watchers, including a woken thread, exceeds
  // the policy's limit by at most one.
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t waking = 2;
  static constexpr std::uint32_t one_watcher = 4;
  static constexpr std::uint32_t all_watchers = 3 * one_watcher;
  static constexpr std::uint32_t one_sleeper = 16;
  static_assert((Policy::most_watchers + 1) * one_watcher <= all_watchers);

  // Returns true if unlock() has to wake a sleeper: no thread polls, or too many hand-offs have bypassed the sleepers.
  // At most one wake is on its way at a time.
  static bool shall_wake(std::uint32_t seen, bool is_due) noexcept {
    const std::uint32_t watchers = seen & all_watchers;
    return seen >= one_sleeper && (seen & waking) == 0 && (watchers == 0 || (is_due && watchers < all_watchers));
  }

  // Called after unlocking and before waking a sleeper. Returns true if another thread has taken the lock; the duty to
  // wake a sleeper then passes to that thread. Polling for a moment is cheaper than a wake.
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

  // Sets the held flag, whatever the other bits are. acquire (here and below): synchronizes with the release of the
  // previous holder. All changes of the state in between are read-modify-write operations, so they continue the release
  // sequence of that holder.
  bool set() noexcept {
    const std::uint32_t before = state_.fetch_or(held, std::memory_order_acquire);
    if ((before & held) != 0) return false;
    seen_by_holder_ = before;
    return true;
  }

  // Tries to take the lock, which was free according to `seen`, and to remove this thread's count `own` from the state.
  bool take(std::uint32_t& seen, std::uint32_t own) noexcept {
    const std::uint32_t after = (seen - own) | held;
    if (!state_.compare_exchange_weak(seen, after, std::memory_order_acquire, std::memory_order_relaxed)) return false;
    seen_by_holder_ = after;
    return true;
  }

  // If the lock is free, takes it and returns true. Otherwise changes this thread's count from `own` to `other` and
  // returns false. Either change is a single exchange, so every later unlock() sees it.
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

  // Registers a thread that found the lock held. If there are few watchers, the thread becomes a watcher; otherwise it
  // becomes a sleeper. Returns true if the thread now holds the lock, and false if it is counted as a sleeper.
  bool come() noexcept {
    for (std::uint32_t seen = state_.load(std::memory_order_relaxed);;) {
      if ((seen & held) == 0) {
        if (take(seen, 0)) return true;
        continue;
      }
      // The number of watchers is recomputed in every attempt. Otherwise it could overflow its bits when many threads
      // arrive at once.
      const std::uint32_t watchers = (seen & all_watchers) / one_watcher + ((seen & waking) != 0 ? 1 : 0);
      const bool is_watched = watchers >= Policy::most_watchers;
      if (state_.compare_exchange_weak(seen, seen + (is_watched ? one_sleeper : one_watcher), std::memory_order_relaxed,
                                       std::memory_order_relaxed))
        return !is_watched && watch();
    }
  }

  // Called by a woken sleeper, which becomes a watcher. From then on, unlock() may wake another sleeper. The return
  // value has the same meaning as in come().
  bool watch_after_wake() noexcept {
    state_.fetch_add(one_watcher - waking - one_sleeper, std::memory_order_relaxed);
    return watch();
  }

  // Polls with exponential backoff: each pause is twice as long as the one before. During a long pause, the holder
  // keeps the cache line of the lock, so unlocking and locking again are cheap for the holder. The pauses waste
  // nothing, because the waiting thread has no other work.
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

  // Called by a sleeper whose time is over. Removes the sleeper from the count and returns false, with one exception.
  // If a wake is on its way, the last sleeper waits for this wake, because the thread that sends the wake still
  // accesses the lock. If the lock is free then, the sleeper takes it and returns true. Otherwise it leaves and returns
  // false, and unlock() will wake another sleeper if one has arrived.
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
  // Owned by the holder. seen_by_holder_ is the state when the holder took the lock, with or without the held flag.
  // passes_ is the number of hand-offs that have bypassed sleepers since the last wake that was due.
  typename Policy::template guarded<std::uint32_t> seen_by_holder_{0};
  typename Policy::template guarded<std::uint32_t> passes_{0};
  typename Policy::semaphore wake_{0};
};

using park_lock = basic_park_lock<>;

}  // namespace gradus
