// How an exception gets out of a region that OpenMP shares, which none may leave by itself.
#pragma once

#include <atomic>
#include <exception>
#include <utility>

namespace gradus::core {

/// Threads run what may throw by run(), and the calling thread calls rethrow() behind the region's barrier.
class FirstFailure {
 public:
  /// Calls task(), and keeps the first exception that any thread's throws. Returns whether none was thrown by this one.
  template <class Task>
  bool run(Task&& task) noexcept {
    try {
      std::forward<Task>(task)();
      return true;
    } catch (...) {
      if (!happened_.exchange(true, std::memory_order_relaxed)) first_ = std::current_exception();
      return false;
    }
  }

  /// For threads that may as well stop. Orders nothing.
  bool happened() const { return happened_.load(std::memory_order_relaxed); }

  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> happened_{false};
  std::exception_ptr first_;  ///< written by one thread alone, and read behind the barrier
};

}  // namespace gradus::core
