/// What the concurrent sets stand on: atomic variables, and a way to wait for a lock. Every set is a template over a
/// policy, by way of its reclamation or its lock, so that the very same code also runs where delays are forced into it
/// and where every order of events is tried out; programs use the names without `basic_`, which stand on the standard
/// library.
#pragma once

#include <atomic>
#include <thread>

namespace gradus {

/// The policy of all sets that programs use.
struct set_policy {
  template <class T>
  using atomic = std::atomic<T>;

  /// A thread that waits for others: it rests for a moment between two looks, and gives its processor away when that
  /// was in vain for some microseconds, for the thread that it waits for may have none.
  class spinner {
   public:
    void rest() noexcept {
      if (rests_ >= most_rests) {
        std::this_thread::yield();
        return;
      }
      ++rests_;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
      asm volatile("yield");
#endif
    }

   private:
    static constexpr unsigned most_rests = 128;
    unsigned rests_ = 0;
  };
};

}  // namespace gradus
