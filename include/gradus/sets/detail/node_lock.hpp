/// The lock of a single node of a list: one byte, since there is one in every node.
#pragma once

#include <atomic>

#include "gradus/sets/policy.hpp"

namespace gradus::sets_detail {

/// Test and test-and-set: look first, and set the flag only when it was seen free. Lockable; no order of arrival.
template <class Policy = set_policy>
class basic_byte_lock {
 public:
  void lock() noexcept {
    if (set()) return;
    typename Policy::spinner spinner;
    while (!try_lock()) spinner.rest();
  }
  bool try_lock() noexcept {
    // relaxed: what is seen here only decides whether it is worth trying.
    return !is_held_.load(std::memory_order_relaxed) && set();
  }
  void unlock() noexcept {
    // release: what this thread did is done for the next holder, whose exchange reads this value.
    is_held_.store(false, std::memory_order_release);
  }

 private:
  // acquire: what the last holder did, who let go with release, is done for this thread too.
  bool set() noexcept { return !is_held_.exchange(true, std::memory_order_acquire); }

  typename Policy::template atomic<bool> is_held_{false};
};

/// THE lock of nodes: to use another one, change it here.
template <class Policy>
using basic_node_lock = basic_byte_lock<Policy>;

}  // namespace gradus::sets_detail
