// Passes exceptions out of OpenMP parallel regions. No exception may leave a region by itself.
#pragma once

#include <atomic>
#include <exception>
#include <utility>

namespace gradus::core {

/// Each thread of the region calls run() with the code that may throw. After the barrier at the end of the region, the
/// calling thread calls rethrow().
class FirstFailure {
 public:
  /// Calls task(). Stores the first exception of any thread. Returns true if this task did not throw.
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

  /// Returns true if some task has thrown, so that other threads can stop early. Provides no memory ordering.
  bool happened() const { return happened_.load(std::memory_order_relaxed); }

  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> happened_{false};
  std::exception_ptr first_;  ///< written by one thread, read after the barrier
};

}  // namespace gradus::core
