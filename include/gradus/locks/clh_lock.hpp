/// clh_lock: a queue of threads, each of which watches the one before it.
#pragma once

#include <cstdint>
#include <new>

#include "gradus/locks/node_pool.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// The queue lock of Craig, and of Landin and Hagersten. Lockable; in order of arrival. 256 bytes, and a node of 128
/// for each lock that was ever used and each thread that holds or wants one; a thread keeps up to 16 nodes for the next
/// time.
///
/// One exchange puts a thread at the end of the queue and tells it who is before it; it waits at a cache line that only
/// that one will write, and takes over its node. A lock's memory grows with the threads that want it and not, as
/// array_lock's, with those that might.
///
/// A node is named by its index and the number of its use, in one word (node_pool.hpp). A use is over when that word
/// stands in the node: so a thread that comes to look late, when the node has long been another's, is not misled, and
/// try_lock() can tell by one exchange that the end of the queue is the same use of the same node which it saw to be
/// over. Sources: T. S. Craig, "Building FIFO and priority-queuing spin locks from atomic swap" (1993); P. Magnusson,
/// A. Landin and E. Hagersten, "Queue locks on cache coherent multiprocessors" (1994).
template <class Policy = lock_policy>
class basic_clh_lock {
  using pool = lock_node_pool<Policy>;
  using nodes = lock_node_cache<Policy>;
  using word = typename pool::word;

 public:
  constexpr basic_clh_lock() noexcept = default;
  basic_clh_lock(const basic_clh_lock&) = delete;
  basic_clh_lock& operator=(const basic_clh_lock&) = delete;
  ~basic_clh_lock() {
    // relaxed: whoever used the lock did so before.
    if (const word last = last_.load(std::memory_order_relaxed); last != 0) nodes::give(last);
  }

  /// std::bad_alloc where there is no memory for a node.
  void lock() {
    const word own = nodes::take();
    if (own == 0) throw std::bad_alloc();
    // acquire and release: with the word, the place of its node in the pool's directory is known to the next thread.
    // That it must wait needs no order: in the node stands no word but of uses that are over, however old.
    const word before = last_.exchange(own, std::memory_order_acq_rel);
    if (before != 0) {
      auto& released = all().at(before).released;
      typename Policy::spinner spinner;
      // acquire: what the last holder did is done for this thread too.
      while (released.load(std::memory_order_acquire) != before) spinner.rest();
      nodes::give(before);  // nobody else watches it
    }
    held_ = own;
  }

  /// Never waits. May fail where the lock has just become free, or where there is no memory, not for ever.
  bool try_lock() noexcept {
    // acquire: with the word, the place of its node in the pool's directory.
    word before = last_.load(std::memory_order_acquire);
    // acquire: as in lock(). Once over, a use stays over: if the word is still the last when it is exchanged, the lock
    // is free; and no word comes twice.
    if (before != 0 && all().at(before).released.load(std::memory_order_acquire) != before) return false;
    const word own = nodes::take();
    if (own == 0) return false;
    // release: as in lock().
    const word expected = before;
    if (!last_.compare_exchange_strong(before, own, std::memory_order_release, std::memory_order_relaxed)) {
      // Nobody saw this use: the next one of the node needs it to be over all the same.
      all().at(own).released.store(own, std::memory_order_relaxed);
      nodes::give(own);
      return false;
    }
    if (expected != 0) nodes::give(expected);
    held_ = own;
    return true;
  }

  /// By the thread that holds it.
  void unlock() noexcept {
    const word own = held_;
    // release: what this thread did is done for the one that reads this word.
    all().at(own).released.store(own, std::memory_order_release);
  }

 private:
  static pool& all() noexcept { return Policy::template shared<pool>(); }

  alignas(lock_padding) typename Policy::template atomic<word> last_{0};  // 0: it was never held
  alignas(lock_padding) typename Policy::template guarded<word> held_{0};
};

using clh_lock = basic_clh_lock<>;

}  // namespace gradus
