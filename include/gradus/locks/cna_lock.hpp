/// cna_lock: the queue of mcs_lock, in which the holder lets threads near its own memory go first, within bounds.
#pragma once

#include <cstdint>

#include "gradus/locks/policy.hpp"

namespace gradus {

/// The compact NUMA-aware lock. Lockable. In order of arrival among threads of one node of the machine's memory; those
/// of other nodes are overtaken by at most 256 hand-offs in a row, and then come all before them. 256 bytes; a
/// waiting thread's node is on its stack.
///
/// What the lock guards travels between the nodes' caches at every hand-off to another node, which takes several times
/// as long as within one. So who unlocks looks in the queue for a thread of its own node, and puts those that it
/// passes on a second queue, which goes first when no such thread is left or the bound is reached. On a machine with
/// one node it is mcs_lock. Source: D. Dice and A. Kogan, "Compact NUMA-aware locks" (2019).
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
    // acquire: where the last node is that of the lock or of a thread, its first state is there before this thread
    // links itself to it; where there is none, what the last holder did is done. release: the same for this node.
    node* const before = last_.exchange(&own, std::memory_order_acq_rel);
    if (before != nullptr) {
      // release: who lets this thread in, or looks where it runs, finds the node in its first state.
      before->next.store(&own, std::memory_order_release);
      typename Policy::spinner spinner;
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
    if (!last_.compare_exchange_strong(nobody, &holder_, std::memory_order_acquire, std::memory_order_relaxed))
      return false;
    knows_node_ = false;  // asked for only where somebody waits
    return true;
  }

  /// By the thread that holds it.
  void unlock() noexcept {
    // acquire: the nodes of those that wait are in their first state before they are read and written.
    node* next = holder_.next.load(std::memory_order_acquire);
    if (next == nullptr) {
      node* last = &holder_;
      node* const passed_first = passed_first_;
      // Those that were passed become the queue. release: what this thread did is done for who comes in by the exchange
      // of lock() or try_lock(), or links itself to the last of them.
      if (last_.compare_exchange_strong(last, passed_first == nullptr ? nullptr : static_cast<node*>(passed_last_),
                                        std::memory_order_release, std::memory_order_relaxed)) {
        if (passed_first != nullptr) {
          // After the exchange the lock is still held: by who is let in here.
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

  // release: what this thread did is done for that one.
  static void let_in(node* one) noexcept { one->is_let_in.store(true, std::memory_order_release); }

  // Of those that wait from `first` on, or were passed: who goes next. The others stay in one of the queues.
  node* choose(node* first) noexcept {
    if (!knows_node_) {
      memory_node_ = Policy::memory_node();
      knows_node_ = true;
    }
    if (near_in_row_ < Policy::most_near) {
      node* before = nullptr;
      for (node* one = first; one != nullptr; before = one, one = one->next.load(std::memory_order_acquire)) {
        // acquire, above: as in unlock(), for each of them.
        if (one->memory_node != memory_node_) continue;
        if (before != nullptr) pass(first, before);
        if (passed_first_ != nullptr) near_in_row_ = near_in_row_ + 1;
        return one;
      }
    }
    near_in_row_ = 0;
    if (passed_first_ == nullptr) return first;
    node* const passed = passed_first_;
    // relaxed: the threads of these nodes read it when they are let in, by release and acquire.
    static_cast<node*>(passed_last_)->next.store(first, std::memory_order_relaxed);
    passed_first_ = nullptr;
    return passed;
  }

  // Those from `first` to `last`, behind whom another one is, wait apart from now on.
  void pass(node* first, node* last) noexcept {
    // relaxed, twice: their threads wait, and read it when they are let in.
    last->next.store(nullptr, std::memory_order_relaxed);
    if (passed_first_ == nullptr) passed_first_ = first;
    else static_cast<node*>(passed_last_)->next.store(first, std::memory_order_relaxed);
    passed_last_ = last;
  }

  // When somebody has come behind this node, and is about to say so.
  static node* next_of(node& one) noexcept {
    typename Policy::spinner spinner;
    for (;;) {
      // acquire: as in unlock().
      if (node* const next = one.next.load(std::memory_order_acquire)) return next;
      spinner.rest();
    }
  }

  // The lock's own node takes the place of the holder's, which ends with lock().
  void leave_to_holder(node& own) noexcept {
    memory_node_ = static_cast<unsigned>(own.memory_node);
    knows_node_ = true;
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
  // The holder's: those that were passed, from first to last, and how often since then somebody near went first.
  typename Policy::template guarded<node*> passed_first_{nullptr};
  typename Policy::template guarded<node*> passed_last_{nullptr};
  typename Policy::template guarded<std::uint32_t> near_in_row_{0};
  typename Policy::template guarded<unsigned> memory_node_{0};
  typename Policy::template guarded<bool> knows_node_{false};
};

using cna_lock = basic_cna_lock<>;

}  // namespace gradus
