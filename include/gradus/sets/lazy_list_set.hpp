/// lazy_list_set: a sorted list that marks removed nodes before it unlinks them. Look-ups take no locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "gradus/sets/detail/interface.hpp"
#include "gradus/sets/detail/list_cursor.hpp"
#include "gradus/sets/detail/node_lock.hpp"
#include "gradus/sets/detail/nodes.hpp"
#include "gradus/sets/detail/shared_count.hpp"
#include "gradus/sets/detail/word.hpp"
#include "gradus/sets/epoch.hpp"

namespace gradus {

/// A set of keys as a sorted linked list. Erasing a key marks its node and then unlinks the node. The erasing thread
/// holds the locks of this node and of the previous node during both steps. So a thread that has locked a node does not
/// need to traverse again: an unmarked node is in the list, and a single comparison checks mark and next node, which
/// share a word. O(n) steps per operation.
///
/// `contains` and `visit` take no locks and, except under hazard_pointers, are wait-free: they traverse once and read
/// the mark of the node that they find. If `insert` finds its key in the set, or `erase` does not find its key, it
/// takes no locks either. All other calls of `insert` and `erase` wait for the locks that they need. Under
/// hazard_pointers, a traversal restarts if its current node is marked.
///
/// Iteration takes no locks. In ascending order, it returns every key that is in the set all the time, no key twice,
/// and perhaps keys that are inserted or erased concurrently.
///
/// Memory orders: a change takes effect by one store (of the link to the new node, or of the mark). An operation
/// without a change takes effect by one load (of the last link, or of the mark of the node found). These stores and
/// loads are seq_cst, so that all threads agree on their order. A traversal does not know which of its loads is the
/// last one, so all of them are seq_cst. With acquire and release, two threads that each insert a key and then look up
/// the other's key might both miss it. seq_cst loads are plain loads on x86-64 and load-acquire on 64-bit Arm.
///
/// Source: S. Heller, M. Herlihy, V. Luchangco, M. Moir, W. N. Scherer III and N. Shavit, "A lazy concurrent list-based
/// set algorithm" (2005); for failed changes without locks: T. David, R. Guerraoui and V. Trigonakis, "Asynchronized
/// concurrency" (2015).
template <class Key, class Reclamation = epoch, class Compare = std::less<>, class Allocator = std::allocator<Key>>
class lazy_list_set : public sets_detail::set_interface<lazy_list_set<Key, Reclamation, Compare, Allocator>, Key,
                                                        sets_detail::transparent<Compare>> {
  using Policy = typename Reclamation::policy;
  using word = sets_detail::word;
  using guard = typename Reclamation::guard;
  /// The head of the list is a link without a key, so that no minimal key is needed.
  struct link {
    typename Policy::template atomic<word> next{0};
    sets_detail::basic_node_lock<Policy> lock;
  };
  struct node : sets_detail::reclaimable, link {
    node() noexcept {}
    ~node() {}
    union {
      const Key key;  ///< constructed and destroyed by the factory
    };
  };

 public:
  explicit lazy_list_set(const Compare& compare = {}, const Allocator& allocator = {})
      : compare_(compare), nodes_(allocator) {}
  lazy_list_set(const lazy_list_set&) = delete;
  lazy_list_set& operator=(const lazy_list_set&) = delete;
  ~lazy_list_set() {
    for (word at = head_.next.load(std::memory_order_relaxed); at != 0;) {
      node* here = node_at(at);
      at = here->next.load(std::memory_order_relaxed);
      nodes_.destroy(here);
    }
  }

  /// garbage() returns the number of removed nodes that are not yet freed. garbage_bytes() returns the size of these
  /// nodes, without memory that the keys have allocated.
  std::size_t garbage() const noexcept { return domain_.garbage(); }
  std::size_t garbage_bytes() const noexcept { return domain_.garbage() * sizeof(node); }

 private:
  template <class, class, bool>
  friend class sets_detail::set_interface;
  template <class>
  friend class sets_detail::set_iterator;
  friend class sets_detail::list_cursor<lazy_list_set>;
  using cursor = sets_detail::list_cursor<lazy_list_set>;
  static constexpr bool walks_past_removed = Reclamation::walks_past_removed;
  static constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

  static node* node_at(word link) { return sets_detail::node_at<node>(link); }
  static const auto& first_link(const link& from) { return from.next; }

  struct window {
    link* before;
    node* here;
    unsigned slot;  ///< the slot that protects `here`
  };

  template <class Other>
  auto less_than(const Other& key) const {
    return [this, &key](const Key& other) { return compare_(other, key); };
  }

  /// Returns the last link whose key satisfies `precedes`, and the node behind it. Other threads may remove either node
  /// concurrently.
  template <class Precedes>
  window find(guard& hold, const Precedes& precedes, unsigned slot = 0) const {
    for (link* before = &head_;;) {
      const word next = hold.protect(slot, before->next, seq_cst);
      if (!walks_past_removed && sets_detail::is_marked(next)) {  // a node behind a removed node may have been freed
        before = &head_;
        continue;
      }
      node* here = node_at(next);
      if (here == nullptr || !precedes(here->key)) return {before, here, slot};
      before = here;
      slot ^= 1;
    }
  }

  template <class Other>
  bool is_at(const window& at, const Other& key) const {
    return at.here != nullptr && !compare_(key, at.here->key);
  }
  static bool is_removed(const node& here) { return sets_detail::is_marked(here.next.load(seq_cst)); }
  /// Returns true if the first node is in the list and points to the second node. A removed node would be marked.
  /// Precondition: the first node is locked. relaxed: the node changes only under its lock.
  static bool are_neighbours(const window& at) {
    return at.before->next.load(std::memory_order_relaxed) == sets_detail::word_of(at.here);
  }

  template <class Argument>
  bool add(Argument&& key) {
    guard hold(domain_);
    for (;;) {
      const window at = find(hold, less_than(key));
      if (is_at(at, key) && !is_removed(*at.here)) return false;
      // The lock of `before` suffices, because no thread marks `here` without this lock.
      const std::lock_guard hold_before(at.before->lock);
      if (!are_neighbours(at)) continue;
      node* made = nodes_.make(std::forward<Argument>(key));
      made->next.store(sets_detail::word_of(at.here), std::memory_order_relaxed);  // no other thread can reach it yet
      // From here on the set contains the key.
      at.before->next.store(sets_detail::word_of(made), seq_cst);
      count_.add(1);
      return true;
    }
  }

  template <class Other>
  bool remove(const Other& key) {
    guard hold(domain_);
    for (;;) {
      const window at = find(hold, less_than(key));
      if (!is_at(at, key) || is_removed(*at.here)) return false;
      {
        const std::lock_guard hold_before(at.before->lock);
        // From here on, no other thread can insert a node behind `here`.
        const std::lock_guard hold_here(at.here->lock);
        if (!are_neighbours(at)) continue;
        const word next = at.here->next.load(std::memory_order_relaxed);  // ordered by the lock of `here`
        // From here on the set does not contain the key.
        at.here->next.store(next | sets_detail::mark, seq_cst);
        at.before->next.store(next, Reclamation::unlink_order);
      }
      count_.add(-1);
      hold.retire(at.here);
      return true;
    }
  }

  template <class Other, class Function>
  bool look_up(const Other& key, Function& function) const {
    guard hold(domain_);
    const node* here = nullptr;
    if constexpr (walks_past_removed) {
      here = node_at(head_.next.load(seq_cst));
      while (here != nullptr && compare_(here->key, key)) here = node_at(here->next.load(seq_cst));
    } else {
      here = find(hold, less_than(key)).here;
    }
    if (here == nullptr || compare_(key, here->key) || is_removed(*here)) return false;
    function(here->key);
    return true;
  }

  std::int64_t count() const noexcept { return count_.sum(); }

  [[no_unique_address]] Compare compare_;
  sets_detail::node_factory<node, Allocator> nodes_;
  mutable
      typename Reclamation::domain domain_{this, [](void* set, sets_detail::reclaimable* gone) noexcept {
                                             static_cast<lazy_list_set*>(set)->nodes_.destroy(static_cast<node*>(gone));
                                           }};
  mutable link head_;
  sets_detail::shared_count<Policy> count_;
};

}  // namespace gradus
