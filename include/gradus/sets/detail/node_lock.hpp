/// The lock of a list node. Every node has such a lock, so the lock's size is only one byte.
#pragma once

#include <atomic>

#include "gradus/sets/policy.hpp"

namespace gradus::sets_detail {

/// A test-and-test-and-set lock: it reads the flag first, and tries to set the flag only if it is clear. Lockable; no
/// order of arrival.
template <class Policy = set_policy>
class basic_byte_lock {
 public:
  void lock() noexcept {
    if (set()) return;
    typename Policy::spinner spinner;
    while (!try_lock()) spinner.rest();
  }
  bool try_lock() noexcept {
    // relaxed: the value only decides whether an attempt is worthwhile.
    return !is_held_.load(std::memory_order_relaxed) && set();
  }
  void unlock() noexcept {
    // release: the next holder, whose exchange reads this value, sees the writes of this thread.
    is_held_.store(false, std::memory_order_release);
  }

 private:
  // acquire: synchronizes with the release in unlock().
  bool set() noexcept { return !is_held_.exchange(true, std::memory_order_acquire); }

  typename Policy::template atomic<bool> is_held_{false};
};

/// The lock type of all nodes.
template <class Policy>
using basic_node_lock = basic_byte_lock<Policy>;

}  // namespace gradus::sets_detail
