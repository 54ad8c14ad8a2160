/// lock_free_list_set: a sorted list without locks. Erasing marks a node atomically. Every thread that passes a marked
/// node unlinks the node.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "gradus/sets/detail/interface.hpp"
#include "gradus/sets/detail/list_cursor.hpp"
#include "gradus/sets/detail/nodes.hpp"
#include "gradus/sets/detail/shared_count.hpp"
#include "gradus/sets/detail/word.hpp"
#include "gradus/sets/epoch.hpp"

namespace gradus {

/// A set of keys as a sorted linked list (Harris and Michael). A compare-and-exchange of the previous link inserts a
/// node. Erasing a key marks the link of its node. From then on nothing can be inserted behind the node, and passing
/// threads unlink it. O(n) steps per operation.
///
/// Lock-free: a thread that stops anywhere blocks no other thread. `contains` and `visit` change nothing and traverse
/// once, except under hazard_pointers, where they unlink marked nodes and may restart.
///
/// Iteration takes no locks. In ascending order, it returns every key that is in the set all the time, no key twice,
/// and perhaps keys that are inserted or erased concurrently.
///
/// Memory orders: a change takes effect by one exchange (of the link to the new node, or of the mark). An operation
/// without a change takes effect by one load (of the last link, or of the mark of the node found). These accesses are
/// seq_cst, so that all threads agree on their order. A traversal does not know which of its loads is the last one, so
/// all of them are seq_cst. With acquire and release, two threads that each insert a key and then look up the other's
/// key might both miss it. seq_cst loads are plain loads on x86-64 and load-acquire on 64-bit Arm.
///
/// Sources: T. L. Harris, "A pragmatic implementation of non-blocking linked-lists" (2001); M. M. Michael, "High
/// performance dynamic lock-free hash tables and list-based sets" (2002).
template <class Key, class Reclamation = epoch, class Compare = std::less<>, class Allocator = std::allocator<Key>>
class lock_free_list_set : public sets_detail::set_interface<lock_free_list_set<Key, Reclamation, Compare, Allocator>,
                                                             Key, sets_detail::transparent<Compare>> {
  using Policy = typename Reclamation::policy;
  using word = sets_detail::word;
  using guard = typename Reclamation::guard;
  /// The head of the list is a link without a key, so that no minimal key is needed.
  struct link {
    typename Policy::template atomic<word> next{0};
  };
  struct node : sets_detail::reclaimable, link {
    node() noexcept {}
    ~node() {}
    union {
      const Key key;  ///< constructed and destroyed by the factory
    };
  };

 public:
  explicit lock_free_list_set(const Compare& compare = {}, const Allocator& allocator = {})
      : compare_(compare), nodes_(allocator) {}
  lock_free_list_set(const lock_free_list_set&) = delete;
  lock_free_list_set& operator=(const lock_free_list_set&) = delete;
  ~lock_free_list_set() {
    for (word at = head_.next.load(std::memory_order_relaxed); node_at(at) != nullptr;) {
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
  friend class sets_detail::list_cursor<lock_free_list_set>;
  using cursor = sets_detail::list_cursor<lock_free_list_set>;
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

  /// Unlinks `here`, which is marked. Returns false if `before` was removed or points elsewhere.
  bool take_out(guard& hold, link& before, node* here, word next) const {
    word expected = sets_detail::word_of(here);
    // relaxed on failure: the traversal restarts.
    if (!before.next.compare_exchange_strong(expected, sets_detail::without_mark(next), Reclamation::unlink_order,
                                             std::memory_order_relaxed))
      return false;
    hold.retire(here);
    return true;
  }

  /// Returns the last link whose key satisfies `precedes`, and the node behind it, which was unmarked when it was
  /// read. Unlinks marked nodes on the way. Returns nullopt if another thread removed the current node or changed its
  /// link.
  template <class Precedes>
  std::optional<window> try_find(guard& hold, const Precedes& precedes, unsigned slot) const {
    for (link* before = &head_;;) {
      const word next = hold.protect(slot, before->next, seq_cst);
      if (sets_detail::is_marked(next)) return std::nullopt;
      node* here = node_at(next);
      if (here == nullptr) return window{before, here, slot};
      const word after = here->next.load(seq_cst);
      if (sets_detail::is_marked(after)) {
        if (!take_out(hold, *before, here, after)) return std::nullopt;
        continue;
      }
      if (!precedes(here->key)) return window{before, here, slot};
      before = here;
      slot ^= 1;
    }
  }
  template <class Precedes>
  window find(guard& hold, const Precedes& precedes, unsigned slot = 0) const {
    for (;;)
      if (const std::optional<window> at = try_find(hold, precedes, slot)) return *at;
  }

  template <class Other>
  bool is_at(const node* here, const Other& key) const {
    return here != nullptr && !compare_(key, here->key);
  }

  template <class Argument>
  bool add(Argument&& key) {
    guard hold(domain_);
    window at = find(hold, less_than(key));
    if (is_at(at.here, key)) return false;
    typename sets_detail::node_factory<node, Allocator>::holder made(nodes_);
    made.hold(nodes_.make(std::forward<Argument>(key)));
    for (const Key& own = made.get()->key;;) {
      word next = sets_detail::word_of(at.here);
      made.get()->next.store(next, std::memory_order_relaxed);  // no other thread can reach it yet
      // From here on the set contains the key.
      if (at.before->next.compare_exchange_strong(next, sets_detail::word_of(made.get()), seq_cst,
                                                  std::memory_order_relaxed))
        break;
      at = find(hold, less_than(own));
      if (is_at(at.here, own)) return false;
    }
    made.release();
    count_.add(1);
    return true;
  }

  template <class Other>
  bool remove(const Other& key) {
    guard hold(domain_);
    const window at = find(hold, less_than(key));
    if (!is_at(at.here, key)) return false;
    // From here on the set does not contain the key. If another thread marked the node first, that thread erased the
    // key after find() saw the key. This operation then takes effect right after that mark.
    const word next = at.here->next.fetch_or(sets_detail::mark, seq_cst);
    if (sets_detail::is_marked(next)) return false;
    count_.add(-1);
    try {
      if (!take_out(hold, *at.before, at.here, next)) find(hold, less_than(key));  // this traversal unlinks the node
    } catch (...) {
      // The comparison threw. Another traversal will unlink the node.
    }
    return true;
  }

  template <class Other, class Function>
  bool look_up(const Other& key, Function& function) const {
    guard hold(domain_);
    node* here = nullptr;
    if constexpr (walks_past_removed) {
      here = node_at(head_.next.load(seq_cst));
      while (here != nullptr && compare_(here->key, key)) here = node_at(here->next.load(seq_cst));
      if (!is_at(here, key) || sets_detail::is_marked(here->next.load(seq_cst))) return false;
    } else {
      here = find(hold, less_than(key)).here;
      if (!is_at(here, key)) return false;
    }
    function(here->key);
    return true;
  }

  std::int64_t count() const noexcept { return count_.sum(); }

  [[no_unique_address]] Compare compare_;
  mutable sets_detail::node_factory<node, Allocator> nodes_;
  mutable typename Reclamation::domain domain_{
      this, [](void* set, sets_detail::reclaimable* gone) noexcept {
        static_cast<lock_free_list_set*>(set)->nodes_.destroy(static_cast<node*>(gone));
      }};
  mutable link head_;
  sets_detail::shared_count<Policy> count_;
};

}  // namespace gradus
