/// split_ordered_set: a lock-free hash set, made of one list with an entry per bucket. No key moves when the table
/// grows.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "gradus/sets/detail/interface.hpp"
#include "gradus/sets/detail/nodes.hpp"
#include "gradus/sets/detail/shared_count.hpp"
#include "gradus/sets/detail/word.hpp"
#include "gradus/sets/epoch.hpp"

namespace gradus {

/// An unordered set of keys with a hash and an equality. All keys are in one lock-free list, sorted by the bit-reversed
/// hash. The keys of a bucket have hashes with equal low bits and are therefore adjacent in the list. When the number
/// of buckets doubles, each bucket splits in two in place, and no key moves. The door of a bucket is a permanent node
/// at the start of the bucket; it has no key. The first operation that needs the door inserts it. O(1) expected steps
/// per operation. There are about as many buckets as keys. A bucket takes 16 bytes, and erasing keys frees no buckets.
///
/// Lock-free: a thread that stops anywhere blocks no other thread. If a thread stops while it opens a door, other
/// threads enter the list through an earlier door. `contains` and `visit` change no keys and, except under
/// hazard_pointers, traverse once. Hashes are mixed, so std::hash of numbers is good enough.
///
/// Iteration takes no locks. In unspecified order, it returns every key that is in the set all the time, no key twice,
/// and perhaps keys that are inserted or erased concurrently. Under hazard_pointers, if the current key of a loop is
/// erased, the loop may skip other keys whose hashes agree with the hash of this key in 62 bits. (Keys with equal
/// hashes are in reverse order of insertion. So if a key is erased and inserted again, a loop that has seen the key has
/// already passed the new node.)
///
/// Memory orders: as in lock_free_list_set.
///
/// Source: O. Shalev and N. Shavit, "Split-ordered lists: lock-free extensible hash tables" (2006).
template <class Key, class Reclamation = epoch, class Hash = std::hash<Key>, class Equal = std::equal_to<>,
          class Allocator = std::allocator<Key>>
class split_ordered_set
    : public sets_detail::set_interface<split_ordered_set<Key, Reclamation, Hash, Equal, Allocator>, Key,
                                        sets_detail::transparent<Hash> && sets_detail::transparent<Equal>> {
  using Policy = typename Reclamation::policy;
  using word = sets_detail::word;
  using guard = typename Reclamation::guard;

  /// An element of the list: a door or a node.
  struct place {
    typename Policy::template atomic<word> next{0};
    /// The sort key of the list. The two lowest bits state the kind of the element.
    typename Policy::template atomic<std::uint64_t> order{0};
  };
  // The order of a door is 0 at first. While a thread inserts the door into the list, the lowest bits of the order are
  // `closed`. Afterwards they are `open`.
  static constexpr std::uint64_t closed = 1;
  static constexpr std::uint64_t open = 2;
  static constexpr std::uint64_t is_node = 3;  // a node sorts behind a door with the same upper bits

  struct node : place, sets_detail::reclaimable {
    node() noexcept {}
    ~node() {}
    union {
      const Key key;  ///< constructed and destroyed by the factory
    };
  };

 public:
  explicit split_ordered_set(const Hash& hash = {}, const Equal& equal = {}, const Allocator& allocator = {})
      : hash_(hash), equal_(equal), nodes_(allocator), doors_(allocator) {
    segments_[0].store(make_doors(first_buckets), std::memory_order_relaxed);
    door(0).order.store(open, std::memory_order_relaxed);
  }
  split_ordered_set(const split_ordered_set&) = delete;
  split_ordered_set& operator=(const split_ordered_set&) = delete;
  ~split_ordered_set() {
    constexpr std::memory_order relaxed = std::memory_order_relaxed;  // suffices, because no operation is running
    for (place* at = place_at(door(0).next.load(relaxed)); at != nullptr;) {
      place* next = place_at(at->next.load(relaxed));
      if (is_key(at->order.load(relaxed))) nodes_.destroy(static_cast<node*>(at));
      at = next;
    }
    for (unsigned segment = 0; segment < segments; ++segment)
      if (place* doors = segments_[segment].load(relaxed)) free_doors(doors, doors_of(segment));
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
  static constexpr bool walks_past_removed = Reclamation::walks_past_removed;
  static constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

  static place* place_at(word link) { return sets_detail::node_at<place>(link); }
  static bool is_key(std::uint64_t order) { return (order & 3) == is_node; }

  // --- hashes and buckets

  static constexpr std::uint64_t first_buckets = Policy::first_buckets;
  static constexpr unsigned segments = 40;

  /// Mixes the hash with the finalizer of MurmurHash3: every bit of the hash affects every bit of the result.
  template <class Other>
  std::uint64_t hash_of(const Other& key) const {
    std::uint64_t bits = static_cast<std::uint64_t>(hash_(key));
    bits = (bits ^ bits >> 33) * 0xFF51AFD7ED558CCD;
    bits = (bits ^ bits >> 33) * 0xC4CEB9FE1A85EC53;
    return bits ^ bits >> 33;
  }

  static std::uint64_t reversed(std::uint64_t bits) {
    bits = (bits >> 1 & 0x5555555555555555) | (bits & 0x5555555555555555) << 1;
    bits = (bits >> 2 & 0x3333333333333333) | (bits & 0x3333333333333333) << 2;
    bits = (bits >> 4 & 0x0F0F0F0F0F0F0F0F) | (bits & 0x0F0F0F0F0F0F0F0F) << 4;
    return __builtin_bswap64(bits);
  }
  static std::uint64_t order_of_hash(std::uint64_t hash) { return reversed(hash) | is_node; }
  static std::uint64_t order_of_door(std::uint64_t bucket) { return reversed(bucket); }  // buckets are below 2^62

  /// Segment 0 has the first buckets. Every further segment has as many buckets as all previous segments together.
  static std::uint64_t doors_of(unsigned segment) {
    return segment == 0 ? first_buckets : first_buckets << (segment - 1);
  }
  place& door(std::uint64_t bucket) const {
    const auto segment = static_cast<unsigned>(std::bit_width(bucket / first_buckets));
    // acquire: the doors are constructed; synchronizes with the exchange that stored the address.
    place* doors = segments_[segment].load(std::memory_order_acquire);
    return doors[segment == 0 ? bucket : bucket - doors_of(segment)];
  }

  using door_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<place>;
  using door_traits = std::allocator_traits<door_allocator>;
  place* make_doors(std::uint64_t count) {
    door_allocator allocator(doors_);
    place* doors = std::to_address(door_traits::allocate(allocator, count));
    std::uninitialized_value_construct_n(doors, count);
    return doors;
  }
  void free_doors(place* doors, std::uint64_t count) noexcept {
    door_allocator allocator(doors_);
    std::destroy_n(doors, count);
    door_traits::deallocate(allocator, std::pointer_traits<typename door_traits::pointer>::pointer_to(*doors), count);
  }

  /// Returns an open door at or before the position of the hash.
  place& door_for(guard& hold, std::uint64_t hash) const {
    // acquire: the construction of the doors is visible to this thread.
    const std::uint64_t bucket = hash & (buckets_.load(std::memory_order_acquire) - 1);
    place& wanted = door(bucket);
    return is_open(wanted) ? wanted : open_door(hold, bucket, wanted);
  }
  /// acquire: if the door is open, its insertion into the list is visible to this thread.
  static bool is_open(const place& one) { return (one.order.load(std::memory_order_acquire) & 3) == open; }

  /// Opens the door of a bucket and returns the door. If another thread is opening the door, returns an earlier door.
  place& open_door(guard& hold, std::uint64_t bucket, place& wanted) const {
    const std::uint64_t parent = bucket & ~std::bit_floor(bucket);  // the bucket from which `bucket` was split
    place& earlier = door(parent);
    place& start = is_open(earlier) ? earlier : open_door(hold, parent, earlier);
    std::uint64_t none = 0;
    const std::uint64_t order = order_of_door(bucket);
    // relaxed: the exchange only decides which thread opens the door.
    if (!wanted.order.compare_exchange_strong(none, order | closed, std::memory_order_relaxed)) return start;
    for (;;) {
      const window at = find(hold, start, order, never_equal);
      word next = sets_detail::word_of(at.here);
      wanted.next.store(next, std::memory_order_relaxed);  // no other thread uses it yet
      // seq_cst, like every link that leads to keys.
      if (at.before->next.compare_exchange_strong(next, sets_detail::word_of(&wanted), seq_cst,
                                                  std::memory_order_relaxed))
        break;
    }
    wanted.order.store(order | open, std::memory_order_release);  // see is_open()
    return wanted;
  }

  /// Doubles the number of buckets if it is less than the number of keys. Does nothing if there is no memory.
  void grow() noexcept {
    std::uint64_t buckets = buckets_.load(std::memory_order_acquire);
    if (count_.sum() <= static_cast<std::int64_t>(buckets)) return;
    const auto segment = static_cast<unsigned>(std::bit_width(buckets / first_buckets));
    if (segment >= segments) return;
    if (segments_[segment].load(std::memory_order_acquire) == nullptr) {
      place* doors = nullptr;
      try {
        doors = make_doors(doors_of(segment));
      } catch (...) {  // the allocator may throw any type
        return;
      }
      place* none = nullptr;
      // release: publishes the doors. acquire: sees the doors of another thread.
      if (!segments_[segment].compare_exchange_strong(none, doors, std::memory_order_acq_rel))
        free_doors(doors, doors_of(segment));
    }
    // release: publishes the segment, even if another thread made it.
    buckets_.compare_exchange_strong(buckets, 2 * buckets, std::memory_order_acq_rel);
  }

  // --- the list

  struct window {
    place* before;
    place* here;  ///< a node with an equal key, or the first element whose order is not smaller
    bool is_equal;
    place* behind;       ///< if no key is equal: the first element with a larger order
    unsigned slot;       ///< the slot that protects `behind`
    unsigned keys_seen;  ///< number of keys that the search has passed
  };
  static constexpr auto never_equal = [](const Key&) { return false; };
  /// If an insertion passes more keys than this, it checks whether there are too few buckets.
  static constexpr unsigned many_keys = 3;

  template <class Other>
  auto equal_to(const Other& key) const {
    return [this, &key](const Key& other) { return equal_(other, key); };
  }

  /// Unlinks `here`, which is marked. Returns false if `before` was removed or points elsewhere.
  bool take_out(guard& hold, place& before, node* here, word next) const {
    word expected = sets_detail::word_of<place>(here);
    // relaxed on failure: the traversal restarts.
    if (!before.next.compare_exchange_strong(expected, sets_detail::without_mark(next), Reclamation::unlink_order,
                                             std::memory_order_relaxed))
      return false;
    hold.retire(here);
    return true;
  }

  /// Searches from a door. Passes all elements with a smaller order, and then the keys of this order until it finds an
  /// equal key. Unlinks marked nodes on the way. Returns nullopt if the current node was removed or its link changed.
  ///
  /// A new key is inserted before all keys of the same order. The inserting thread has found no equal key, and its
  /// exchange checks that the link in front of these keys is unchanged. So no key of this order was inserted since the
  /// search, because the insertion would have changed this link.
  template <class IsEqual>
  std::optional<window> try_find(guard& hold, place& door, std::uint64_t order, const IsEqual& is_equal,
                                 unsigned slot) const {
    unsigned keys_seen = 0;
    std::optional<window> first;  // first key of this order; empty if no key has been found yet
    for (place* before = &door;;) {
      const word next = hold.protect(slot, before->next, seq_cst);
      if (sets_detail::is_marked(next)) return std::nullopt;
      place* here = place_at(next);
      const auto ends = [&] {
        return first ? window{first->before, first->here, false, here, slot, keys_seen}
                     : window{before, here, false, here, slot, keys_seen};
      };
      if (here == nullptr) return ends();
      // relaxed: the load of the link has made the order visible, unless it changes later. Only the order of a door
      // changes, when the door opens.
      const std::uint64_t order_here = here->order.load(std::memory_order_relaxed);
      if (is_key(order_here)) {
        node* key_here = static_cast<node*>(here);
        const word after = here->next.load(seq_cst);
        if (sets_detail::is_marked(after)) {
          if (!take_out(hold, *before, key_here, after)) return std::nullopt;
          continue;
        }
        if (order_here == order) {
          if (is_equal(key_here->key)) return window{before, here, true, nullptr, slot, keys_seen};
          if (!first) {
            first = window{before, here, false, nullptr, slot, keys_seen};
            slot ^= 2;  // preserves the slots of the first key of this order and of the current element
          }
        }
        ++keys_seen;
      }
      if (order_here > order) return ends();
      before = here;
      slot ^= 1;
    }
  }
  template <class IsEqual>
  window find(guard& hold, place& door, std::uint64_t order, const IsEqual& is_equal, unsigned slot = 0) const {
    for (;;)
      if (const std::optional<window> at = try_find(hold, door, order, is_equal, slot)) return *at;
  }

  // --- the operations

  template <class Argument>
  bool add(Argument&& key) {
    const std::uint64_t hash = hash_of(key);
    const std::uint64_t order = order_of_hash(hash);
    guard hold(domain_);
    place& door = door_for(hold, hash);
    window at = find(hold, door, order, equal_to(key));
    if (at.is_equal) return false;
    typename sets_detail::node_factory<node, Allocator>::holder made(nodes_);
    made.hold(nodes_.make(std::forward<Argument>(key)));
    made.get()->order.store(order, std::memory_order_relaxed);
    for (const Key& own = made.get()->key;;) {
      word next = sets_detail::word_of(at.here);
      made.get()->next.store(next, std::memory_order_relaxed);  // no other thread can reach it yet
      // From here on the set contains the key.
      if (at.before->next.compare_exchange_strong(next, sets_detail::word_of<place>(made.get()), seq_cst,
                                                  std::memory_order_relaxed))
        break;
      at = find(hold, door, order, equal_to(own));
      if (at.is_equal) return false;
    }
    made.release();
    count_.add(1);
    if (at.keys_seen > many_keys) grow();
    return true;
  }

  template <class Other>
  bool remove(const Other& key) {
    const std::uint64_t hash = hash_of(key);
    guard hold(domain_);
    place& door = door_for(hold, hash);
    const window at = find(hold, door, order_of_hash(hash), equal_to(key));
    if (!at.is_equal) return false;
    // From here on the set does not contain the key. If another thread marked the node first, that thread erased the
    // key after find() saw the key. This operation then takes effect right after that mark.
    const word next = at.here->next.fetch_or(sets_detail::mark, seq_cst);
    if (sets_detail::is_marked(next)) return false;
    count_.add(-1);
    // If unlinking fails, a traversal past all keys of this order unlinks the node.
    if (!take_out(hold, *at.before, static_cast<node*>(at.here), next))
      find(hold, door, order_of_hash(hash), never_equal);
    return true;
  }

  template <class Other, class Function>
  bool look_up(const Other& key, Function& function) const {
    const std::uint64_t hash = hash_of(key);
    const std::uint64_t order = order_of_hash(hash);
    guard hold(domain_);
    place& door = door_for(hold, hash);
    if constexpr (walks_past_removed) {
      for (place* here = place_at(door.next.load(seq_cst)); here != nullptr;
           here = place_at(here->next.load(seq_cst))) {
        const std::uint64_t order_here = here->order.load(std::memory_order_relaxed);  // as in try_find()
        if (order_here < order) continue;
        if (order_here > order) return false;
        const node* found = static_cast<const node*>(here);
        if (!equal_(found->key, key)) continue;
        if (sets_detail::is_marked(here->next.load(seq_cst))) return false;
        function(found->key);
        return true;
      }
      return false;
    } else {
      const window at = find(hold, door, order, equal_to(key));
      if (at.is_equal) function(static_cast<const node*>(at.here)->key);
      return at.is_equal;
    }
  }

  std::int64_t count() const noexcept { return count_.sum(); }

  class cursor {
   public:
    explicit cursor(const split_ordered_set& set) : set_(set), hold_(set.domain_), here_(&set.door(0)) { next(); }
    const Key& key() const { return static_cast<const node*>(here_)->key; }
    bool is_at_end() const { return here_ == nullptr; }
    void next() {
      do step();
      while (here_ != nullptr && (!is_key(here_->order.load(std::memory_order_relaxed)) ||
                                  sets_detail::is_marked(here_->next.load(seq_cst))));
    }

   private:
    void step() {
      slot_ ^= 1;
      const word next = hold_.protect(slot_, here_->next, seq_cst);
      if (walks_past_removed || !sets_detail::is_marked(next)) {
        here_ = place_at(next);
        return;
      }
      // The current node was removed, and the node behind it may have been freed. The loop continues behind all keys of
      // this order.
      const std::uint64_t order = here_->order.load(std::memory_order_relaxed);
      const window at = set_.find(hold_, set_.door_for(hold_, reversed(order)), order, never_equal, slot_);
      here_ = at.behind;
      slot_ = at.slot;
    }
    const split_ordered_set& set_;
    guard hold_;
    place* here_;
    unsigned slot_ = 0;
  };

  [[no_unique_address]] Hash hash_;
  [[no_unique_address]] Equal equal_;
  mutable sets_detail::node_factory<node, Allocator> nodes_;
  [[no_unique_address]] door_allocator doors_;
  mutable typename Reclamation::domain domain_{
      this,
      [](void* set, sets_detail::reclaimable* gone) noexcept {
        static_cast<split_ordered_set*>(set)->nodes_.destroy(static_cast<node*>(gone));
      },
      // Offset of a node's reclaimable part from the address to which links point.
      sizeof(place)};
  typename Policy::template atomic<place*> segments_[segments] = {};
  alignas(sets_detail::record_alignment) typename Policy::template atomic<std::uint64_t> buckets_{first_buckets};
  sets_detail::shared_count<Policy> count_;
};

}  // namespace gradus
