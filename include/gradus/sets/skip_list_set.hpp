/// skip_list_set: a sorted lock-free list with express lanes. O(log n) expected steps per operation.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
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

/// A sorted set of keys as a lock-free skip list. Level 0 is the list of lock_free_list_set. A random half of its nodes
/// is also linked on level 1, half of those on level 2, and so on. A search advances on each level as far as the key
/// allows and then descends. O(log n) expected steps; 2 links per key on average.
///
/// In a set larger than the caches, each step waits for memory. With half of the nodes on the next level, a search
/// visits about 1.4 log2(n) different nodes; with a quarter it would visit 1.8 log2(n). While a search waits for a
/// node, it prefetches the node it would read next if it descends.
///
/// The set contains a key while the node of the key is linked and unmarked on level 0. The other levels only speed up
/// searches. Erasing marks the node's links from the highest level down, and then traverses once more, which unlinks
/// the node on every level. `holds` is the number of levels on which a node is linked, plus 1 while the inserting
/// thread still links the node. The thread that decrements `holds` to 0 retires the node.
///
/// Lock-free: a thread that stops anywhere blocks no other thread. `contains` and `visit` change nothing, except under
/// hazard_pointers, where they unlink marked nodes and may restart.
///
/// Iteration takes no locks. In ascending order, it returns every key that is in the set all the time, no key twice,
/// and perhaps keys that are inserted or erased concurrently.
///
/// Memory orders: level 0 as in lock_free_list_set. On the levels above, links and marks are seq_cst so that no node
/// stays linked after its removal. The linking thread writes the link and then reads the mark, while the erasing thread
/// writes the mark and then reads the link. At least one of the two threads must see the other's write and unlink the
/// node.
///
/// Sources: W. Pugh, "Skip lists" (1990); K. Fraser, "Practical lock freedom" (2004); M. Herlihy and N. Shavit, "The
/// Art of Multiprocessor Programming", 14.4.
template <class Key, class Reclamation = epoch, class Compare = std::less<>, class Allocator = std::allocator<Key>>
class skip_list_set : public sets_detail::set_interface<skip_list_set<Key, Reclamation, Compare, Allocator>, Key,
                                                        sets_detail::transparent<Compare>> {
  using Policy = typename Reclamation::policy;
  using word = sets_detail::word;
  using guard = typename Reclamation::guard;
  using link = typename Policy::template atomic<word>;
  static constexpr unsigned most_levels = 32;  // enough for more than 2^32 keys

  /// The head of the list has links but no key, so that no minimal key is needed.
  struct tower {
    link links[most_levels];
  };
  /// A node. Its links follow it in memory.
  struct node : sets_detail::reclaimable {
    explicit node(unsigned on_levels) noexcept : levels(on_levels) {}
    ~node() {}
    link* links() const noexcept { return reinterpret_cast<link*>(const_cast<node*>(this) + 1); }
    /// Number of levels on which the node is linked, plus 1 during its insertion.
    typename Policy::template atomic<unsigned> holds{2};
    const unsigned levels;
    union {
      const Key key;  ///< constructed and destroyed by the allocator
    };
  };
  static_assert(alignof(node) >= alignof(link));

 public:
  explicit skip_list_set(const Compare& compare = {}, const Allocator& allocator = {})
      : compare_(compare), allocator_(allocator) {}
  skip_list_set(const skip_list_set&) = delete;
  skip_list_set& operator=(const skip_list_set&) = delete;
  ~skip_list_set() {
    constexpr std::memory_order relaxed = std::memory_order_relaxed;  // suffices, because no operation is running
    for (unsigned level = most_levels; level-- > 0;) {
      for (link* before = head_.links; node* here = node_at(before[level].load(relaxed));) {
        const word next = here->links()[level].load(relaxed);
        if (!sets_detail::is_marked(next)) {
          before = here->links();
          continue;
        }
        before[level].store(sets_detail::without_mark(next), relaxed);
        if (here->holds.fetch_sub(1, relaxed) == 1) destroy(here);
      }
    }
    for (node* here = node_at(head_.links[0].load(relaxed)); here != nullptr;) {
      node* next = node_at(here->links()[0].load(relaxed));
      destroy(here);
      here = next;
    }
  }

  /// garbage() returns the number of removed nodes that are not yet freed. garbage_bytes() returns the size of these
  /// nodes, without memory that the keys have allocated. The size is an estimate from the average number of links.
  std::size_t garbage() const noexcept { return domain_.garbage(); }
  std::size_t garbage_bytes() const noexcept { return domain_.garbage() * (sizeof(node) + 2 * sizeof(link)); }

 private:
  template <class, class, bool>
  friend class sets_detail::set_interface;
  template <class>
  friend class sets_detail::set_iterator;
  friend class sets_detail::list_cursor<skip_list_set>;
  using cursor = sets_detail::list_cursor<skip_list_set>;
  static constexpr bool walks_past_removed = Reclamation::walks_past_removed;
  static constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

  static node* node_at(word link) { return sets_detail::node_at<node>(link); }
  static const link& first_link(const tower& from) { return from.links[0]; }
  static const link& first_link(const node& from) { return from.links()[0]; }

  // --- memory

  struct alignas(node) unit {
    std::byte bytes[alignof(node)];
  };
  using unit_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<unit>;
  using unit_traits = std::allocator_traits<unit_allocator>;
  static std::size_t units_of(unsigned levels) {
    return (sizeof(node) + levels * sizeof(link) + sizeof(unit) - 1) / sizeof(unit);
  }

  template <class Argument>
  node* make(unsigned levels, Argument&& key) {
    unit_allocator allocator(allocator_);
    auto place = unit_traits::allocate(allocator, units_of(levels));
    node* made = reinterpret_cast<node*>(std::to_address(place));
    std::construct_at(made, levels);
    try {
      sets_detail::make_key(allocator_, made->key, std::forward<Argument>(key));
    } catch (...) {
      std::destroy_at(made);
      unit_traits::deallocate(allocator, place, units_of(levels));
      throw;
    }
    for (unsigned level = 0; level < levels; ++level) std::construct_at(made->links() + level, word{0});
    return made;
  }

  void destroy(node* gone) noexcept {
    unit_allocator allocator(allocator_);
    const std::size_t units = units_of(gone->levels);
    std::destroy_n(gone->links(), gone->levels);
    sets_detail::destroy_key(allocator_, gone->key);
    std::destroy_at(gone);
    unit_traits::deallocate(
        allocator, std::pointer_traits<typename unit_traits::pointer>::pointer_to(*reinterpret_cast<unit*>(gone)),
        units);
  }

  /// Decrements `holds`, and retires the node if the result is 0. acquire and release: all accesses of other threads
  /// happen before the node is retired.
  void let_go(guard& hold, node* of) const noexcept {
    if (of->holds.fetch_sub(1, std::memory_order_acq_rel) == 1) hold.retire(of);
  }

  /// Returns 1 + k with probability 2^-(k+1).
  static unsigned draw_levels() noexcept {
    const std::uint64_t random = Policy::random();
    return 1 + static_cast<unsigned>(std::countr_zero(random | std::uint64_t{1} << (most_levels - 1)));
  }

  // --- the search

  struct window {
    link* before;  ///< the links of the last node whose key satisfies `precedes`
    node* here;
    unsigned slot;  ///< the slot that protects `here`
  };

  template <class Other>
  auto less_than(const Other& key) const {
    return [this, &key](const Key& other) { return compare_(other, key); };
  }

  /// Unlinks `here`, which is marked, on one level. Returns false if `before` was removed or points elsewhere.
  bool take_out(guard& hold, link& before, node* here, word next) const {
    word expected = sets_detail::word_of(here);
    // relaxed on failure: the traversal restarts.
    if (!before.compare_exchange_strong(expected, sets_detail::without_mark(next), seq_cst, std::memory_order_relaxed))
      return false;
    let_go(hold, here);
    return true;
  }

  /// Returns, on one level, the links of the last node whose key satisfies `precedes`, and the node behind it, which
  /// was unmarked when it was read. Unlinks marked nodes on the way. Returns nullopt if the current node was removed or
  /// its link changed.
  template <class Precedes>
  std::optional<window> try_find(guard& hold, const Precedes& precedes, unsigned slot, unsigned level) const {
    link* before = head_.links;
    for (unsigned at = std::max(height_.load(seq_cst), level + 1); at-- > level;)
      for (;;) {
        const word next = hold.protect(slot, before[at], seq_cst);
        if (sets_detail::is_marked(next)) return std::nullopt;
        node* here = node_at(next);
        if (at > level) Policy::fetch_target(before[at - 1]);
        if (here != nullptr) {
          const word after = here->links()[at].load(seq_cst);
          if (sets_detail::is_marked(after)) {
            if (!take_out(hold, before[at], here, after)) return std::nullopt;
            continue;
          }
          if (precedes(here->key)) {
            before = here->links();
            slot ^= 1;  // the node of `before` keeps its slot, even on lower levels
            continue;
          }
        }
        if (at == level) return window{before, here, slot};
        break;
      }
    return std::nullopt;  // unreachable, because the loop returns on the lowest level
  }
  template <class Precedes>
  window find(guard& hold, const Precedes& precedes, unsigned slot = 0, unsigned level = 0) const {
    for (;;)
      if (const std::optional<window> at = try_find(hold, precedes, slot, level)) return *at;
  }

  template <class Other>
  bool is_at(const node* here, const Other& key) const {
    return here != nullptr && !compare_(key, here->key);
  }

  // --- the operations

  template <class Argument>
  bool add(Argument&& key) {
    guard hold(domain_);
    window at = find(hold, less_than(key));
    if (is_at(at.here, key)) return false;
    const auto free = [this](node* unused) { destroy(unused); };
    std::unique_ptr<node, decltype(free)> holder(make(draw_levels(), std::forward<Argument>(key)), free);
    node& made = *holder;
    for (;;) {
      word next = sets_detail::word_of(at.here);
      made.links()[0].store(next, std::memory_order_relaxed);  // no other thread can reach it yet
      // From here on the set contains the key.
      if (at.before[0].compare_exchange_strong(next, sets_detail::word_of(&made), seq_cst, std::memory_order_relaxed))
        break;
      at = find(hold, less_than(made.key));
      if (is_at(at.here, made.key)) return false;
    }
    (void)holder.release();
    count_.add(1);
    // Even if another thread erases the node now, the node is not freed, because this thread has a share of `holds`.
    try {
      raise_height(made.levels);
      for (unsigned level = 1; level < made.levels && link_on(hold, made, level); ++level) {
      }
    } catch (...) {
      // The comparison threw. The key is in the set, but searches for it take longer than necessary.
    }
    let_go(hold, &made);
    return true;
  }

  void raise_height(unsigned levels) noexcept {
    unsigned height = height_.load(seq_cst);
    while (height < levels && !height_.compare_exchange_strong(height, levels, seq_cst)) {
    }
  }

  /// Links the node on one level. Returns false if the node was removed. Links on further levels are then useless.
  bool link_on(guard& hold, node& made, unsigned level) {
    for (;;) {
      const window at = find(hold, less_than(made.key), 0, level);
      word own = made.links()[level].load(seq_cst);
      const word next = sets_detail::word_of(at.here);
      // Other threads change this link only by marking it.
      if (sets_detail::is_marked(own) || !made.links()[level].compare_exchange_strong(own, next, seq_cst)) return false;
      made.holds.fetch_add(1, std::memory_order_relaxed);  // counts the link before another thread can unlink the node
      word expected = next;
      if (at.before[level].compare_exchange_strong(expected, sets_detail::word_of(&made), seq_cst,
                                                   std::memory_order_relaxed)) {
        if (!sets_detail::is_marked(made.links()[level].load(seq_cst))) return true;
        // The node was erased concurrently, perhaps by a thread that did not see this link. find() unlinks the node.
        find(hold, less_than(made.key), 0, level);
        return false;
      }
      made.holds.fetch_sub(1, std::memory_order_relaxed);  // does not reach 0, because this thread still has its share
    }
  }

  template <class Other>
  bool remove(const Other& key) {
    guard hold(domain_);
    node* gone = find(hold, less_than(key)).here;
    if (!is_at(gone, key)) return false;
    for (unsigned level = gone->levels; --level > 0;) gone->links()[level].fetch_or(sets_detail::mark, seq_cst);
    // From here on the set does not contain the key. If another thread marked the node first, that thread erased the
    // key after find() saw the key. This operation then takes effect right after that mark.
    if (sets_detail::is_marked(gone->links()[0].fetch_or(sets_detail::mark, seq_cst))) return false;
    count_.add(-1);
    try {
      find(hold, less_than(key));  // unlinks the node on all levels
    } catch (...) {
      // The comparison threw. Other traversals will unlink the node.
    }
    return true;
  }

  template <class Other, class Function>
  bool look_up(const Other& key, Function& function) const {
    guard hold(domain_);
    const node* here = nullptr;
    if constexpr (walks_past_removed) here = search(key);
    else here = find(hold, less_than(key)).here;
    if (!is_at(here, key)) return false;
    function(here->key);
    return true;
  }

  /// Returns the first unmarked node whose key is not less than `key`. Unlinks no nodes. Never descends from a removed
  /// node, because its lower links may be out of date.
  template <class Other>
  const node* search(const Other& key) const {
    const link* before = head_.links;
    const node* here = nullptr;
    for (unsigned level = height_.load(seq_cst); level-- > 0;)
      for (word next = before[level].load(seq_cst);;) {
        here = node_at(next);
        if (level > 0) Policy::fetch_target(before[level - 1]);
        if (here == nullptr) break;
        next = here->links()[level].load(seq_cst);
        if (sets_detail::is_marked(next)) continue;
        if (!compare_(here->key, key)) break;
        before = here->links();
      }
    return here;
  }

  std::int64_t count() const noexcept { return count_.sum(); }

  [[no_unique_address]] Compare compare_;
  [[no_unique_address]] Allocator allocator_;
  mutable typename Reclamation::domain domain_{this, [](void* set, sets_detail::reclaimable* gone) noexcept {
                                                 static_cast<skip_list_set*>(set)->destroy(static_cast<node*>(gone));
                                               }};
  mutable tower head_;
  typename Policy::template atomic<unsigned> height_{1};  ///< number of levels that have ever had a node
  sets_detail::shared_count<Policy> count_;
};

}  // namespace gradus
