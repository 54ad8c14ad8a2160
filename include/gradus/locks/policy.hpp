/// The policy of the locks: atomic variables, waiting, and cache-line padding. Each lock is a template over a policy,
/// so that a model checker can run the same code with every order of events. The locks that programs use have names
/// without the prefix `basic_`. Their policy uses the standard library.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <type_traits>

#include "gradus/export.hpp"

// <sched.h> declares getcpu(), which lock_policy::memory_node() calls.
#if defined(__linux__) && defined(__GLIBC__) && defined(_GNU_SOURCE)
#include <sched.h>
#endif

namespace gradus {

/// Two cache lines: CPUs fetch lines in pairs, and some have lines of 128 bytes.
inline constexpr std::size_t lock_padding = 128;

/// The policy of the production locks. This class and the classes of the node pool are exported, because several
/// libraries of a process may use the same lock. They must then share one pool, even if they are compiled with
/// -fvisibility=hidden.
struct GRADUS_EXPORT lock_policy {
  template <class T>
  using atomic = std::atomic<T>;
  /// Data that only the holder of the lock accesses.
  template <class T>
  using guarded = T;
  /// A binary semaphore. Replaces std::binary_semaphore, whose constructor is not constexpr in every standard library
  /// yet.
  class semaphore {
   public:
    constexpr explicit semaphore(int tokens) noexcept : tokens_(tokens) {}
    /// Makes a token available. Precondition: no token is available.
    void release() noexcept {
      // release here, and acquire in try_acquire(): as in a lock. An exchange is used instead of a store, because
      // notify_one() may check for waiters with a plain load. On x86, such a load may execute before an earlier store
      // becomes visible. After the exchange, only the address of tokens_ is used, because another thread may already
      // have destroyed the semaphore.
      tokens_.exchange(1, std::memory_order_release);
      tokens_.notify_one();
    }
    void acquire() noexcept {
      while (!try_acquire()) tokens_.wait(0, std::memory_order_relaxed);
    }
    bool try_acquire() noexcept { return tokens_.exchange(0, std::memory_order_acquire) != 0; }
    /// Polls with short sleeps, because std::atomic has no timed wait.
    template <class Clock, class Duration>
    bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& deadline) {
      while (!try_acquire()) {
        const auto now = Clock::now();
        if (now >= deadline) return false;
        // Computes in floating point, because the difference of two distant times may exceed the range of ticks.
        const std::chrono::duration<double> left =
            std::chrono::duration<double>(deadline.time_since_epoch()) - now.time_since_epoch();
        nap(std::min<std::chrono::duration<double>>(left, long_nap));
      }
      return true;
    }

   private:
    static constexpr std::chrono::microseconds long_nap{100};
    std::atomic<int> tokens_;
  };

  /// Number of nodes in the first chunk of a node pool.
  static constexpr std::uint64_t nodes_at_first = 64;
  /// Backoff before a thread sleeps. Before the first poll, the thread executes first_pauses pause instructions. It
  /// doubles this number before each further poll. After some microseconds of pauses, it yields its CPU instead. If the
  /// thread polled more often, it would take the lock's cache line away from the holder.
  static constexpr unsigned first_pauses = 64;
  static constexpr int looks_before_sleep = 4;
  /// Number of threads that may poll at the same time. All other threads sleep immediately.
  static constexpr std::uint32_t most_watchers = 2;
  /// Number of hand-offs that may bypass the sleepers before a sleeper is woken.
  static constexpr std::uint32_t most_passes = 1024;
  /// Number of polls before a thread wakes another one. Before the first poll, the thread executes one pause
  /// instruction. It doubles this number before each further poll.
  static constexpr int looks_before_wake = 3;

  /// Executes `times` pause instructions of the CPU, each of 10 to 50 nanoseconds.
  static void pause(unsigned times) noexcept {
    for (; times > 0; --times) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
      asm volatile("yield");
#endif
    }
  }

  /// Maximum number of consecutive hand-offs that bypass threads of other NUMA nodes.
  static constexpr std::uint32_t most_near = 256;

  /// Sleeps. A cancellation (pthread_cancel) during the sleep would end the program, because the functions of a lock
  /// are noexcept. Therefore disables cancellation, as the waits of std::mutex do.
  template <class Rep, class Period>
  static void nap(const std::chrono::duration<Rep, Period>& time) noexcept {
#ifdef PTHREAD_CANCEL_DISABLE  // <thread> defines this macro if it uses POSIX threads
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    std::this_thread::sleep_for(time);
    pthread_setcancelstate(before, &before);
#else
    std::this_thread::sleep_for(time);
#endif
  }

  /// Backoff of a waiting thread: pauses first, then yields, then sleeps. If the wait exceeds some microseconds, the
  /// thread ahead may have no core, so the waiter yields its own core. If the wait exceeds some milliseconds, other
  /// programs hold the cores, so the waiter sleeps. It does not sleep earlier, because a sleeper in a queue delays all
  /// threads behind it, and those threads then sleep as well.
  template <unsigned most_pauses>
  class basic_spinner {
   public:
    /// Performs one step of waiting. `pauses` is the number of pause instructions in the first stage.
    void rest(unsigned pauses = 1) noexcept {
      if (rested_ < most_pauses) {
        rested_ += pauses;
        pause(pauses);
      } else if (yields_ < most_yields) {
        ++yields_;
        std::this_thread::yield();
      } else {
        nap(short_nap);
      }
    }

   private:
    static constexpr unsigned most_yields = 2048;
    // Requested time of a sleep. The operating system adds a delay, on Linux 50 microseconds.
    static constexpr std::chrono::microseconds short_nap{20};
    unsigned rested_ = 0;
    unsigned yields_ = 0;
  };
  /// Pauses for some microseconds, about as long as putting a thread to sleep and waking it.
  using spinner = basic_spinner<128>;
  /// Pauses for about as long as one turn of a queue of sixteen threads, and only then yields the core. If the turn of
  /// a thread comes after it has yielded its core, all threads behind it are delayed.
  using patient_spinner = basic_spinner<512>;

  /// Returns the NUMA node on which the thread runs, or 0 if unknown. Affects speed only.
  static unsigned memory_node() noexcept {
#if defined(__linux__) && defined(__GLIBC__) && defined(_GNU_SOURCE) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 29)
    unsigned processor = 0;
    unsigned node = 0;
    if (getcpu(&processor, &node) == 0) return node;
#endif
    return 0;
  }

  /// Returns the object of this type that all threads share. It outlives every other object.
  template <class T>
  static T& shared() noexcept {
    return forever<T>::one.object;
  }
  /// Returns the thread's own object of this type, which lives until the thread's last destructor has run.
  template <class T>
  static T& own() noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    static constinit thread_local T object;
    return object;
  }
  /// Arranges a call of T::leave() at the end of the calling thread. Further calls in the same thread have no effect.
  template <class T>
  static void at_thread_exit() {
    struct leaver {
      ~leaver() { T::leave(); }
    };
    static thread_local leaver now;
    (void)now;
  }

 private:
  // An object that is constructed before all other objects and never destroyed.
  template <class T>
  union GRADUS_EXPORT forever {
    constexpr forever() noexcept : object() {}
    ~forever() {}  // NOLINT(modernize-use-equals-default): a defaulted destructor would be deleted
    T object;
    static forever one;
  };
};

template <class T>
constinit lock_policy::forever<T> lock_policy::forever<T>::one;

}  // namespace gradus
