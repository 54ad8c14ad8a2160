/// Iteration over a sorted list without locks.
#pragma once

#include <atomic>

#include "gradus/sets/detail/word.hpp"

namespace gradus::sets_detail {

/// A position in a loop: a node that was in the set when the loop reached it. `Set` must have sorted nodes and the
/// members `domain_`, `head_`, `compare_`, node_at(), first_link() and find(guard, precedes, slot). find() returns the
/// first node whose key does not satisfy `precedes`, and the slot that protects this node.
template <class Set>
class list_cursor {
  using node = typename Set::node;
  using guard = typename Set::guard;
  static constexpr bool walks_past_removed = Set::walks_past_removed;

 public:
  explicit list_cursor(const Set& set) : set_(set), hold_(set.domain_) { go_on_from(Set::first_link(set.head_)); }
  const auto& key() const { return here_->key; }
  void next() { go_on_from(Set::first_link(*here_)); }
  bool is_at_end() const { return here_ == nullptr; }

 private:
  // seq_cst: a loop must not return a key that was removed before the loop reached it. See the heads of the sets.
  template <class Link>
  void go_on_from(const Link& link) {
    node* const old = here_;  // null at the beginning of a loop; otherwise `old_slot` still protects the node
    const unsigned old_slot = slot_;
    slot_ ^= 1;
    for (word next = hold_.protect(slot_, link, std::memory_order_seq_cst);;) {
      if (walks_past_removed || !is_marked(next)) {
        here_ = Set::node_at(next);
      } else {
        here_ = old;  // set here, so that the cursor has a protected node if the comparison below throws
        slot_ = old_slot;
        here_ = first_after(old, old_slot < 2 ? 2 : 0);
      }
      if (here_ == nullptr) return;
      next = Set::first_link(*here_).load(std::memory_order_seq_cst);
      // If here_ was removed, the loop continues from here_ or, under hazard_pointers, from `old`.
      if (!is_marked(next)) return;
    }
  }

  node* first_after(const node* old, unsigned slots) {
    const auto found = set_.find(
        hold_, [&](const auto& key) { return old != nullptr && !set_.compare_(old->key, key); }, slots);
    slot_ = found.slot;
    return found.here;
  }

  const Set& set_;
  guard hold_;
  node* here_ = nullptr;
  unsigned slot_ = 0;
};

}  // namespace gradus::sets_detail
