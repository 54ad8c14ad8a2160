/// mcs_lock: a queue of threads, each of which knows the next.
#pragma once

#include "gradus/locks/policy.hpp"

namespace gradus {

/// The queue lock of Mellor-Crummey and Scott, in the form that needs no node but while a thread waits. Lockable; in
/// order of arrival. 256 bytes; a waiting thread's node is on its stack.
///
/// A thread that comes in puts itself at the end of the queue by one exchange and waits at a cache line of its own;
/// the holder writes there to let it in. The holder's place in the queue is in the lock, so that nothing needs to be
/// kept from lock() to unlock(). Sources: J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable
/// synchronization on shared-memory multiprocessors" (1991); the form without nodes: M. A. Auslander and others, in the
/// K42 operating system, described in M. L. Scott, "Shared-Memory Synchronization" (2013), section 4.3.
template <class Policy = lock_policy>
class basic_mcs_lock {
 public:
  constexpr basic_mcs_lock() noexcept = default;
  basic_mcs_lock(const basic_mcs_lock&) = delete;
  basic_mcs_lock& operator=(const basic_mcs_lock&) = delete;

  void lock() noexcept {
    if (try_lock()) return;
    alignas(lock_padding) node own;
    // acquire: where the last node is that of the lock or of a thread, its first state is there before this thread
    // links itself to it; where there is none, what the last holder did is done. release: the same for this node.
    node* const before = last_.exchange(&own, std::memory_order_acq_rel);
    if (before != nullptr) {
      // release: who lets this thread in writes to a node that is in its first state.
      before->next.store(&own, std::memory_order_release);
      typename Policy::patient_spinner spinner;
      // acquire: what the last holder did is done for this thread too.
      while (!own.is_let_in.load(std::memory_order_acquire)) spinner.rest();
    }
    leave_to_holder(own);
  }

  /// Never waits, and fails only while the lock is held.
  bool try_lock() noexcept {
    node* nobody = nullptr;
    // acquire: what the last holder did, who let go with release, is done for this thread too; and the holder's node is
    // in its first state, as that one left it.
    return last_.compare_exchange_strong(nobody, &holder_, std::memory_order_acquire, std::memory_order_relaxed);
  }

  /// By the thread that holds it.
  void unlock() noexcept {
    // acquire: the next thread's node is in its first state before it is let in.
    node* next = holder_.next.load(std::memory_order_acquire);
    if (next == nullptr) {
      node* last = &holder_;
      // release: what this thread did is done for the next one, whose exchange reads this.
      if (last_.compare_exchange_strong(last, nullptr, std::memory_order_release, std::memory_order_relaxed)) return;
      next = next_of(holder_);
    }
    // release: what this thread did is done for that one.
    next->is_let_in.store(true, std::memory_order_release);
  }

 private:
  struct node {
    typename Policy::template atomic<node*> next{nullptr};
    typename Policy::template atomic<bool> is_let_in{false};
  };

  // When somebody has come behind this node, and is about to say so.
  static node* next_of(node& one) noexcept {
    typename Policy::patient_spinner spinner;
    for (;;) {
      // acquire: as in unlock().
      if (node* const next = one.next.load(std::memory_order_acquire)) return next;
      spinner.rest();
    }
  }

  // The lock's own node takes the place of the holder's, which ends with lock().
  void leave_to_holder(node& own) noexcept {
    // acquire: the next thread's node is in its first state, and its write to this one was the last.
    node* next = own.next.load(std::memory_order_acquire);
    if (next == nullptr) {
      // relaxed: those who link themselves to this node find it by the exchange below.
      holder_.next.store(nullptr, std::memory_order_relaxed);
      node* last = &own;
      // release: the node is in its first state for the thread that comes next.
      if (last_.compare_exchange_strong(last, &holder_, std::memory_order_release, std::memory_order_relaxed)) return;
      next = next_of(own);
    }
    // relaxed: until unlock() it is of this thread alone.
    holder_.next.store(next, std::memory_order_relaxed);
  }

  // Nobody where the lock is free; the holder's node where none waits; otherwise that of the last who waits.
  alignas(lock_padding) typename Policy::template atomic<node*> last_{nullptr};
  alignas(lock_padding) node holder_;  // `next` is nobody while the lock is free
};

using mcs_lock = basic_mcs_lock<>;

}  // namespace gradus
