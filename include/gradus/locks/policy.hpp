/// What the locks stand on: atomic variables, a way to wait, and the distance that keeps two variables out of one
/// another's cache lines. Each lock is a template over a policy, so that the very same code also runs where every
/// order of events is tried out; programs use the names without `basic_`, which stand on the standard library.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <semaphore>
#include <thread>

// For getcpu() alone, which tells lock_policy::memory_node() where a thread runs.
#if defined(__linux__) && defined(__GLIBC__) && defined(_GNU_SOURCE)
#include <sched.h>
#endif

namespace gradus {

/// Two cache lines: processors fetch lines in pairs, and some have lines of 128 bytes.
inline constexpr std::size_t lock_padding = 128;

/// The policy of all locks that programs use.
struct lock_policy {
  template <class T>
  using atomic = std::atomic<T>;
  /// What only the lock's holder touches.
  template <class T>
  using guarded = T;
  /// Where threads sleep; at most one token at a time.
  using semaphore = std::binary_semaphore;

  /// How many nodes a pool of them makes at first.
  static constexpr std::uint64_t nodes_at_first = 64;

  /// A thread that waits for others: it rests for a moment between two looks. When that was in vain for some
  /// microseconds, the thread that it waits for may have no processor, and so it gives its own away; and when that did
  /// not help either, because other programs took it, it sleeps.
  class spinner {
   public:
    /// Rests for `pauses` of the processor's own.
    void rest(unsigned pauses = 1) noexcept {
      if (rested_ < most_pauses) {
        rested_ += pauses;
        for (; pauses > 0; --pauses) pause();
      } else if (yields_ < most_yields) {
        ++yields_;
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(nap);
      }
    }

   private:
    static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
      asm volatile("yield");
#endif
    }
    // A pause takes 10 to 50 nanoseconds: together some microseconds, as long as a thread takes to fall asleep and to
    // be woken.
    static constexpr unsigned most_pauses = 128;
    static constexpr unsigned most_yields = 32;
    static constexpr std::chrono::microseconds nap{20};  // to which the system adds its own delay, on Linux 50 more
    unsigned rested_ = 0;
    unsigned yields_ = 0;
  };

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
    static constinit T object;
    return object;
  }
  /// The calling thread's own object of this type, which is there until the last of its destructors has run.
  template <class T>
  static T& own() noexcept {
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
};

}  // namespace gradus
