/// mcs_lock: a queue in which each thread knows its successor.
#pragma once

#include "gradus/locks/policy.hpp"

namespace gradus {

/// The queue lock of Mellor-Crummey and Scott, in the form that needs a queue node only while a thread waits. Lockable.
/// First come, first served. Size 256 bytes; the node of a waiting thread is on its stack.
///
/// An arriving thread appends itself to the queue with one exchange and waits at a separate cache line. The holder
/// writes to this line to let the thread in. The lock itself contains the queue node of the holder, so that no state
/// has to be kept between lock() and unlock(). Sources: J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable
/// synchronization on shared-memory multiprocessors" (1991); for the form that needs no node after lock() returns: M.
/// A. Auslander and others, in the K42 operating system, described in M. L. Scott, "Shared-Memory Synchronization"
/// (2013), section 4.3.
template <class Policy = lock_policy>
class basic_mcs_lock {
 public:
  constexpr basic_mcs_lock() noexcept = default;
  basic_mcs_lock(const basic_mcs_lock&) = delete;
  basic_mcs_lock& operator=(const basic_mcs_lock&) = delete;

  void lock() noexcept {
    if (try_lock()) return;
    alignas(lock_padding) node own;
    // acquire: if the queue is not empty, the initialisation of the last node is visible to this thread, which then
    // writes to that node. If the queue is empty, this thread sees the writes of the previous holder. release: the
    // initialisation of `own` is visible to the next thread.
    node* const before = last_.exchange(&own, std::memory_order_acq_rel);
    if (before != nullptr) {
      // release: the initialisation of `own` is visible to the thread that lets this thread in.
      before->next.store(&own, std::memory_order_release);
      typename Policy::patient_spinner spinner;
      // acquire: this thread sees the writes of the previous holder.
      while (!own.is_let_in.load(std::memory_order_acquire)) spinner.rest();
    }
    leave_to_holder(own);
  }

  /// Never blocks. Fails only while the lock is held.
  bool try_lock() noexcept {
    node* nobody = nullptr;
    // acquire: synchronizes with the release of the previous holder, so this thread sees the final state of holder_.
    return last_.compare_exchange_strong(nobody, &holder_, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void unlock() noexcept {
    // acquire: this thread writes to the next thread's node below. The initialisation of that node is visible to this
    // thread.
    node* next = holder_.next.load(std::memory_order_acquire);
    if (next == nullptr) {
      node* last = &holder_;
      // release: the next thread, whose exchange reads this value, sees the writes of this thread.
      if (last_.compare_exchange_strong(last, nullptr, std::memory_order_release, std::memory_order_relaxed)) return;
      next = next_of(holder_);
    }
    // release: the next thread sees the writes of this thread.
    next->is_let_in.store(true, std::memory_order_release);
  }

 private:
  struct node {
    typename Policy::template atomic<node*> next{nullptr};
    typename Policy::template atomic<bool> is_let_in{false};
  };

  // Returns the node of the thread that follows the thread of `one`. The following thread has already arrived, and its
  // link may appear only after a moment.
  static node* next_of(node& one) noexcept {
    typename Policy::patient_spinner spinner;
    for (;;) {
      // acquire: as in unlock().
      if (node* const next = one.next.load(std::memory_order_acquire)) return next;
      spinner.rest();
    }
  }

  // Makes holder_, the node inside the lock, the node of the holder. `own` is destroyed when lock() returns.
  void leave_to_holder(node& own) noexcept {
    // acquire: the next thread's node is initialised. Once the next thread has stored its link in `own`, no other
    // thread accesses `own`.
    node* next = own.next.load(std::memory_order_acquire);
    if (next == nullptr) {
      // relaxed: another thread writes this link only after it has read &holder_ from last_. The exchange below stores
      // &holder_ with release.
      holder_.next.store(nullptr, std::memory_order_relaxed);
      node* last = &own;
      // release: the initialisation of holder_ is visible to the next thread.
      if (last_.compare_exchange_strong(last, &holder_, std::memory_order_release, std::memory_order_relaxed)) return;
      next = next_of(own);
    }
    // relaxed: only this thread uses the link until unlock().
    holder_.next.store(next, std::memory_order_relaxed);
  }

  // Null if the lock is free; &holder_ if no thread waits; otherwise the node of the last waiting thread.
  alignas(lock_padding) typename Policy::template atomic<node*> last_{nullptr};
  alignas(lock_padding) node holder_;  // `next` is unused while the lock is free
};

using mcs_lock = basic_mcs_lock<>;

}  // namespace gradus
