/// What the locks stand on: atomic variables, a way to wait, and the distance that keeps two variables out of one
/// another's cache lines. Each lock is a template over a policy, so that the very same code also runs where every
/// order of events is tried out; programs use the names without `basic_`, which stand on the standard library.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <type_traits>

#include "gradus/export.hpp"

// For getcpu() alone, which tells lock_policy::memory_node() where a thread runs.
#if defined(__linux__) && defined(__GLIBC__) && defined(_GNU_SOURCE)
#include <sched.h>
#endif
// For pthread_setcancelstate() alone, which keeps a thread that naps from being cancelled.
#if defined(__unix__) && !defined(__ANDROID__)
#include <pthread.h>
#endif

namespace gradus {

/// Two cache lines: processors fetch lines in pairs, and some have lines of 128 bytes.
inline constexpr std::size_t lock_padding = 128;

/// The policy of all locks that programs use. Exported, and so are the node pool's classes: the libraries of a process
/// that are compiled with -fvisibility=hidden share one pool, since code of each may take the same lock.
struct GRADUS_EXPORT lock_policy {
  template <class T>
  using atomic = std::atomic<T>;
  /// What only the lock's holder touches.
  template <class T>
  using guarded = T;
  /// Where threads sleep. std::binary_semaphore, which need not have a constexpr constructor in every library yet.
  class semaphore {
   public:
    constexpr explicit semaphore(int tokens) noexcept : tokens_(tokens) {}
    /// While there is no token.
    void release() noexcept {
      // release and, below, acquire: as in a lock. An exchange, for notify_one() may ask by a mere load whether anybody
      // waits, which on x86 might be done before a store is seen. After it nothing but the address is used.
      tokens_.exchange(1, std::memory_order_release);
      tokens_.notify_one();
    }
    void acquire() noexcept {
      while (!try_acquire()) tokens_.wait(0, std::memory_order_relaxed);
    }
    bool try_acquire() noexcept { return tokens_.exchange(0, std::memory_order_acquire) != 0; }
    /// Sleeps for a moment between its looks: the standard's atomic variables have no waits that end by time.
    template <class Clock, class Duration>
    bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& deadline) {
      while (!try_acquire()) {
        const auto now = Clock::now();
        if (now >= deadline) return false;
        // In floating point, since two times that are far apart have no difference in ticks.
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

  /// How many nodes a pool of them makes at first.
  static constexpr std::uint64_t nodes_at_first = 64;
  /// How often a thread looks before it sleeps, where it does that: first after so many pauses, then after twice as
  /// many each time, together some microseconds, and at last after others had its processor. Not sooner: each look
  /// takes the lock's cache line away from its holder.
  static constexpr unsigned first_pauses = 64;
  static constexpr int looks_before_sleep = 4;
  /// How many look at a time, where the others sleep at once.
  static constexpr std::uint32_t most_watchers = 2;
  /// How often sleepers are passed, where others are awake, before one is woken.
  static constexpr std::uint32_t most_passes = 1024;
  /// How often a thread looks before it wakes another, where it does that: after 1, 2, 4, … pauses.
  static constexpr int looks_before_wake = 3;

  /// Rests for so many of the processor's own pauses, each of 10 to 50 nanoseconds.
  static void pause(unsigned times) noexcept {
    for (; times > 0; --times) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
      asm volatile("yield");
#endif
    }
  }

  /// How many hand-offs in a row overtake a thread of another node of the memory.
  static constexpr std::uint32_t most_near = 256;

  /// Sleeps. As in the waits of std::mutex, pthread_cancel() ends no thread here, which would end the program: a lock's
  /// functions throw nothing.
  template <class Rep, class Period>
  static void nap(const std::chrono::duration<Rep, Period>& time) noexcept {
#if defined(__unix__) && !defined(__ANDROID__)
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    std::this_thread::sleep_for(time);
    pthread_setcancelstate(before, &before);
#else
    std::this_thread::sleep_for(time);
#endif
  }

  /// A thread that waits for others: it rests for a moment between two looks. When that was in vain for some
  /// microseconds, the thread that it waits for may have no processor, and so it gives its own away; and when that did
  /// not help for milliseconds either, because other programs took it, it sleeps. Not sooner: who sleeps in a queue
  /// keeps all behind it waiting, who then sleep as well.
  template <unsigned most_pauses>
  class basic_spinner {
   public:
    /// Rests for `pauses` of the processor's own.
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
    // To which the system adds its own delay, on Linux 50 more.
    static constexpr std::chrono::microseconds short_nap{20};
    unsigned rested_ = 0;
    unsigned yields_ = 0;
  };
  /// Together some microseconds, as long as a thread takes to fall asleep and to be woken.
  using spinner = basic_spinner<128>;
  /// As long as a turn takes where sixteen threads queue: who is away when it is let in keeps all behind it waiting.
  using patient_spinner = basic_spinner<512>;

  /// The node of the machine's memory near which the thread runs, as far as that is known; for speed alone.
  static unsigned memory_node() noexcept {
#if defined(__linux__) && defined(__GLIBC__) && defined(_GNU_SOURCE) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 29)
    unsigned processor = 0;
    unsigned node = 0;
    if (getcpu(&processor, &node) == 0) return node;
#endif
    return 0;
  }

  /// The one object of this type for all threads, which outlives every other.
  template <class T>
  static T& shared() noexcept {
    return forever<T>::one.object;
  }
  /// The calling thread's own object of this type, which is there until the last of its destructors has run.
  template <class T>
  static T& own() noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    static constinit thread_local T object;
    return object;
  }
  /// Calls T::leave() when the thread ends. From the first call on.
  template <class T>
  static void at_thread_exit() {
    struct leaver {
      ~leaver() { T::leave(); }
    };
    static thread_local leaver now;
    (void)now;
  }

 private:
  // Is there before any other object is made, and is not destroyed.
  template <class T>
  union GRADUS_EXPORT forever {
    constexpr forever() noexcept : object() {}
    ~forever() {}  // NOLINT(modernize-use-equals-default): that would be deleted
    T object;
    static forever one;
  };
};

template <class T>
constinit lock_policy::forever<T> lock_policy::forever<T>::one;

}  // namespace gradus
