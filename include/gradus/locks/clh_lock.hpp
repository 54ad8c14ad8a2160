/// clh_lock: a queue in which each thread polls its predecessor's node.
#pragma once

#include <cstdint>
#include <new>

#include "gradus/locks/node_pool.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// The queue lock of Craig, and of Landin and Hagersten. Lockable. First come, first served. Size 256 bytes. In
/// addition, there is a node of 128 bytes for each lock that was ever used, and for each thread that holds or wants a
/// lock. A thread caches up to 16 nodes.
///
/// One exchange appends a thread to the queue and returns its predecessor's node. The thread waits at this node, to
/// which only the predecessor writes. After the wait, the thread owns the node. The memory grows with the number of
/// threads that wait for the lock at the same time. (array_lock needs a slot for each thread that might ever wait.)
///
/// A 64-bit word identifies one use of one node (node_pool.hpp). A use is complete when the node contains the word of
/// this use. If a node is reused, a thread that still polls it finds a different word, and does not conclude that the
/// earlier use is complete. If try_lock() finds a completed use at the end of the queue, a single compare-and-exchange
/// checks that the word of this use is still there. Sources: T. S. Craig, "Building FIFO and priority-queuing spin
/// locks from atomic swap" (1993); P. Magnusson, A. Landin and E. Hagersten, "Queue locks on cache coherent
/// multiprocessors" (1994).
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
    // relaxed: all users of the lock happen before its destruction.
    if (const word last = last_.load(std::memory_order_relaxed); last != 0) nodes::own().give(last);
  }

  /// Throws std::bad_alloc if there is no memory for a node.
  void lock() {
    nodes& mine = nodes::own();
    const word own = mine.next();
    if (own == 0) throw std::bad_alloc();
    // acquire and release: a thread that reads its predecessor's word also sees the chunk of the predecessor's node in
    // the pool's directory. The decision to wait needs no ordering, because a node only ever contains words of
    // completed uses.
    const word before = last_.exchange(own, std::memory_order_acq_rel);
    if (before != 0) {
      auto& released = all().at(before).released;
      typename Policy::spinner spinner;
      // acquire: this thread sees the writes of the previous holder.
      while (released.load(std::memory_order_acquire) != before) spinner.rest();
    }
    mine.exchange(before);  // no other thread polls this node
    held_ = own;
  }

  /// Never blocks. A call may fail although the lock has just become free, but repeated calls on a free lock succeed.
  /// Also fails if there is no memory for a node.
  bool try_lock() noexcept {
    // acquire: a thread that reads the word also sees the node's chunk in the pool's directory.
    word before = last_.load(std::memory_order_acquire);
    // acquire: as in lock(). A completed use stays complete, and a word does not repeat. So if the exchange below still
    // finds this word, the lock is free.
    if (before != 0 && all().at(before).released.load(std::memory_order_acquire) != before) return false;
    nodes& mine = nodes::own();
    const word own = mine.next();
    if (own == 0) return false;
    const word expected = before;
    // release: as in lock(). If the exchange fails, no other thread has seen the word `own`, and a later call can use
    // it.
    if (!last_.compare_exchange_strong(before, own, std::memory_order_release, std::memory_order_relaxed)) {
      mine.keep();
      return false;
    }
    mine.exchange(expected);
    held_ = own;
    return true;
  }

  void unlock() noexcept {
    const word own = held_;
    // release: the thread that reads this word sees the writes of this thread.
    all().at(own).released.store(own, std::memory_order_release);
  }

 private:
  static pool& all() noexcept { return Policy::template shared<pool>(); }

  alignas(lock_padding) typename Policy::template atomic<word> last_{0};  // 0: never held
  alignas(lock_padding) typename Policy::template guarded<word> held_{0};
};

using clh_lock = basic_clh_lock<>;

}  // namespace gradus
