/// cna_lock: the queue of mcs_lock, in which threads of the holder's NUMA node go first, up to a limit.
#pragma once

#include <cstdint>

#include "gradus/locks/policy.hpp"

namespace gradus {

/// The compact NUMA-aware lock. Lockable. First come, first served among the threads of one NUMA node. Threads of other
/// NUMA nodes are bypassed by at most 256 consecutive hand-offs. After that, they go first. Size 256 bytes; the queue
/// node of a waiting thread is on its stack.
///
/// A hand-off to another NUMA node also moves the protected data there, which takes several times as long as a hand-off
/// within the node. The unlocking thread therefore searches the queue for a thread of the same NUMA node and moves the
/// threads that it skips to a second queue. If no local thread is left, or if the limit is reached, the threads of the
/// second queue go first. On a machine with one NUMA node, the lock behaves like mcs_lock. Source: D. Dice and A.
/// Kogan, "Compact NUMA-aware locks" (2019).
template <class Policy = lock_policy>
class basic_cna_lock {
 public:
  constexpr basic_cna_lock() noexcept = default;
  basic_cna_lock(const basic_cna_lock&) = delete;
  basic_cna_lock& operator=(const basic_cna_lock&) = delete;

  void lock() noexcept {
    if (try_lock()) return;
    alignas(lock_padding) node own;
    own.memory_node = Policy::memory_node();
    // acquire: if the queue is not empty, the initialisation of the last node is visible to this thread before the
    // thread accesses that node. If the queue is empty, this thread sees the writes of the previous holder. release:
    // the initialisation of `own` is visible to the next thread.
    node* const before = last_.exchange(&own, std::memory_order_acq_rel);
    if (before != nullptr) {
      // release: a thread that reaches `own` through this link sees the initialisation of `own`.
      before->next.store(&own, std::memory_order_release);
      typename Policy::spinner spinner;
      // acquire: this thread sees the writes of the previous holder.
      while (!own.is_let_in.load(std::memory_order_acquire)) spinner.rest();
    }
    leave_to_holder(own);
  }

  /// Never blocks. Fails only while the lock is held.
  bool try_lock() noexcept {
    node* nobody = nullptr;
    // acquire: synchronizes with the release of the previous holder, so this thread sees the final state of holder_.
    if (!last_.compare_exchange_strong(nobody, &holder_, std::memory_order_acquire, std::memory_order_relaxed))
      return false;
    knows_node_ = false;  // the NUMA node is determined only if some thread waits
    return true;
  }

  void unlock() noexcept {
    // acquire: the nodes of waiting threads are initialised before this thread accesses them.
    node* next = holder_.next.load(std::memory_order_acquire);
    if (next == nullptr) {
      node* last = &holder_;
      node* const passed_first = passed_first_;
      // The queue of skipped threads becomes the main queue. release: a later thread sees the writes of this thread,
      // whether it finds the lock free in lock() or try_lock(), or links itself to the last skipped node.
      if (last_.compare_exchange_strong(last, passed_first == nullptr ? nullptr : static_cast<node*>(passed_last_),
                                        std::memory_order_release, std::memory_order_relaxed)) {
        if (passed_first != nullptr) {
          // The lock does not become free here: it passes to the first skipped thread. Until let_in(), this thread may
          // still write the members that belong to the holder.
          passed_first_ = nullptr;
          near_in_row_ = 0;
          let_in(passed_first);
        }
        return;
      }
      next = next_of(holder_);
    }
    let_in(choose(next));
  }

 private:
  struct node {
    typename Policy::template atomic<node*> next{nullptr};
    typename Policy::template atomic<bool> is_let_in{false};
    typename Policy::template guarded<unsigned> memory_node{0};
  };

  // release: the thread that is let in sees the writes of this thread.
  static void let_in(node* one) noexcept { one->is_let_in.store(true, std::memory_order_release); }

  // Returns the node of the thread that goes next: a node of the queue that begins at `first`, or the first skipped
  // node. All other nodes stay in one of the two queues.
  node* choose(node* first) noexcept {
    if (!knows_node_) {
      memory_node_ = Policy::memory_node();
      knows_node_ = true;
    }
    if (near_in_row_ < Policy::most_near) {
      node* before = nullptr;
      for (node* one = first; one != nullptr; before = one, one = one->next.load(std::memory_order_acquire)) {
        // acquire in the head of the loop: the node behind each link is initialised, as in unlock().
        if (one->memory_node != memory_node_) continue;
        if (before != nullptr) pass(first, before);
        if (passed_first_ != nullptr) near_in_row_ = near_in_row_ + 1;
        return one;
      }
    }
    near_in_row_ = 0;
    if (passed_first_ == nullptr) return first;
    node* const passed = passed_first_;
    // relaxed: the thread of the last skipped node reads this link only after it is let in, which orders the two
    // accesses (release and acquire).
    static_cast<node*>(passed_last_)->next.store(first, std::memory_order_relaxed);
    passed_first_ = nullptr;
    return passed;
  }

  // Moves the nodes from `first` to `last` to the queue of skipped nodes. Precondition: another node follows `last`.
  void pass(node* first, node* last) noexcept {
    // relaxed (twice): the threads of these nodes read their links after they are let in.
    last->next.store(nullptr, std::memory_order_relaxed);
    if (passed_first_ == nullptr) passed_first_ = first;
    else static_cast<node*>(passed_last_)->next.store(first, std::memory_order_relaxed);
    passed_last_ = last;
  }

  // Returns the node of the thread that follows the thread of `one`. The following thread has already arrived, and its
  // link may appear only after a moment.
  static node* next_of(node& one) noexcept {
    typename Policy::spinner spinner;
    for (;;) {
      // acquire: as in unlock().
      if (node* const next = one.next.load(std::memory_order_acquire)) return next;
      spinner.rest();
    }
  }

  // Makes holder_, the node inside the lock, the node of the holder. `own` is destroyed when lock() returns.
  void leave_to_holder(node& own) noexcept {
    memory_node_ = static_cast<unsigned>(own.memory_node);
    knows_node_ = true;
    // acquire: the next thread's node is initialised. Once the next thread has stored its link in `own`, no other
    // thread accesses `own`.
    node* next = own.next.load(std::memory_order_acquire);
    if (next == nullptr) {
      // relaxed: another thread writes this link only after it has read &holder_ from last_. The exchange below stores
      // &holder_ with release.
      holder_.next.store(nullptr, std::memory_order_relaxed);
      node* last = &own;
      // release: the next thread sees the initialisation of holder_.
      if (last_.compare_exchange_strong(last, &holder_, std::memory_order_release, std::memory_order_relaxed)) return;
      next = next_of(own);
    }
    // relaxed: only this thread uses the link until unlock().
    holder_.next.store(next, std::memory_order_relaxed);
  }

  // Null if the lock is free; &holder_ if no thread waits; otherwise the node of the last waiting thread.
  alignas(lock_padding) typename Policy::template atomic<node*> last_{nullptr};
  alignas(lock_padding) node holder_;  // `next` is unused while the lock is free
  // Owned by the holder: the first and last skipped node, and the number of consecutive local hand-offs that bypassed
  // skipped nodes.
  typename Policy::template guarded<node*> passed_first_{nullptr};
  typename Policy::template guarded<node*> passed_last_{nullptr};
  typename Policy::template guarded<std::uint32_t> near_in_row_{0};
  typename Policy::template guarded<unsigned> memory_node_{0};
  typename Policy::template guarded<bool> knows_node_{false};
};

using cna_lock = basic_cna_lock<>;

}  // namespace gradus
