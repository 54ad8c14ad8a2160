/// optimistic_list_set: a sorted list that is searched without locks. An operation locks two nodes and then validates
/// them.
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

/// A set of keys as a sorted linked list. A thread searches without locks for the two nodes around its key, locks both,
/// and traverses again from the head. If the thread reaches the first node, and this node points to the second node,
/// then neither node was removed, and the operation proceeds. Otherwise the operation restarts. O(n) steps per
/// operation, in two traversals. `contains` takes locks, too.
///
/// Under hazard_pointers, removed nodes are marked, and a traversal restarts if its current node is marked.
///
/// Iteration takes no locks. In ascending order, it returns every key that is in the set all the time, no key twice,
/// and perhaps keys that are inserted or erased concurrently.
///
/// The operations are linearizable with acquire and release alone (apart from the needs of hazard pointers), because an
/// operation reads its answer while it holds the locks of both nodes. These locks order any two operations on the same
/// key. The second traversal may read old links, but if the first node was removed, the traversal does not find it: The
/// removing thread held the locks of this node and of the previous node. So the removal happened before this thread
/// locked the node, and no link that this thread can still read points to the node.
///
/// Source: M. Herlihy and N. Shavit, "The Art of Multiprocessor Programming", 9.6.
template <class Key, class Reclamation = epoch, class Compare = std::less<>, class Allocator = std::allocator<Key>>
class optimistic_list_set : public sets_detail::set_interface<optimistic_list_set<Key, Reclamation, Compare, Allocator>,
                                                              Key, sets_detail::transparent<Compare>> {
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
  explicit optimistic_list_set(const Compare& compare = {}, const Allocator& allocator = {})
      : compare_(compare), nodes_(allocator) {}
  optimistic_list_set(const optimistic_list_set&) = delete;
  optimistic_list_set& operator=(const optimistic_list_set&) = delete;
  ~optimistic_list_set() {
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
  friend class sets_detail::list_cursor<optimistic_list_set>;
  using cursor = sets_detail::list_cursor<optimistic_list_set>;
  static constexpr bool walks_past_removed = Reclamation::walks_past_removed;

  // acquire and release: if a thread follows a link to a node, the initialisation of the node is visible to the thread.
  // See also the comment on this class.
  static constexpr std::memory_order acquire = std::memory_order_acquire;
  static constexpr std::memory_order release = std::memory_order_release;

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

  /// Returns the last link whose key satisfies `precedes`, and the node behind it.
  template <class Precedes>
  window find(guard& hold, const Precedes& precedes, unsigned slot = 0) const {
    for (link* before = &head_;;) {
      const word next = hold.protect(slot, before->next, acquire);
      // Marked links exist only under hazard_pointers. The traversal restarts, because a node behind a removed node may
      // have been freed.
      if (sets_detail::is_marked(next)) {
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

  /// The second traversal. Both nodes of the window are locked. Returns true if the first node is in the list and
  /// points to the second one.
  bool is_in_list(guard& hold, const window& at) const {
    if (at.before != &head_) {
      const node* wanted = static_cast<const node*>(at.before);
      link* before = &head_;
      for (unsigned slot = 2;;) {  // slots 0 and 1 protect the window
        const word next = hold.protect(slot, before->next, acquire);
        if (sets_detail::is_marked(next)) {
          before = &head_;
          continue;
        }
        node* here = node_at(next);
        if (here == wanted) break;
        if (here == nullptr || compare_(wanted->key, here->key)) return false;
        before = here;
        slot ^= 1;
      }
    }
    // relaxed: ordered by the lock.
    return at.before->next.load(std::memory_order_relaxed) == sets_detail::word_of(at.here);
  }

  /// Locks the two nodes around the key, or only the last link if no node follows. Then returns work(window).
  template <class Other, class Work>
  auto between_neighbours(guard& hold, const Other& key, const Work& work) const {
    for (;;) {
      const window at = find(hold, less_than(key));
      const std::lock_guard hold_before(at.before->lock);
      std::unique_lock<sets_detail::basic_node_lock<Policy>> hold_here;
      if (at.here != nullptr) hold_here = std::unique_lock(at.here->lock);
      if (is_in_list(hold, at)) return work(at);
    }
  }

  template <class Argument>
  bool add(Argument&& key) {
    guard hold(domain_);
    return between_neighbours(hold, key, [&](const window& at) {
      if (is_at(at, key)) return false;
      node* made = nodes_.make(std::forward<Argument>(key));
      made->next.store(sets_detail::word_of(at.here), std::memory_order_relaxed);  // no other thread can reach it yet
      at.before->next.store(sets_detail::word_of(made), release);
      count_.add(1);
      return true;
    });
  }

  template <class Other>
  bool remove(const Other& key) {
    guard hold(domain_);
    node* gone = between_neighbours(hold, key, [&](const window& at) -> node* {
      if (!is_at(at, key)) return nullptr;
      const word next = at.here->next.load(std::memory_order_relaxed);  // ordered by the lock of `here`
      // Marks the node before unlinking it, so that every unmarked node that a traversal finds is in the list. seq_cst:
      // see hazard_pointers.
      if constexpr (!Reclamation::walks_past_removed)
        at.here->next.store(next | sets_detail::mark, std::memory_order_seq_cst);
      at.before->next.store(next, Reclamation::unlink_order);
      count_.add(-1);
      return at.here;
    });
    if (gone != nullptr) hold.retire(gone);
    return gone != nullptr;
  }

  template <class Other, class Function>
  bool look_up(const Other& key, Function& function) const {
    guard hold(domain_);
    const node* found =
        between_neighbours(hold, key, [&](const window& at) { return is_at(at, key) ? at.here : nullptr; });
    if (found == nullptr) return false;
    function(found->key);  // called without the locks; the guard protects the node
    return true;
  }

  std::int64_t count() const noexcept { return count_.sum(); }

  [[no_unique_address]] Compare compare_;
  sets_detail::node_factory<node, Allocator> nodes_;
  mutable typename Reclamation::domain domain_{
      this, [](void* set, sets_detail::reclaimable* node_to_free) noexcept {
        static_cast<optimistic_list_set*>(set)->nodes_.destroy(static_cast<node*>(node_to_free));
      }};
  mutable link head_;
  sets_detail::shared_count<Policy> count_;
};

}  // namespace gradus
