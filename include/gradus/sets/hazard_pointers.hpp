/// hazard_pointers: frees a removed node when no thread has announced an access to it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "gradus/sets/detail/records.hpp"
#include "gradus/sets/detail/word.hpp"
#include "gradus/sets/policy.hpp"

namespace gradus {

/// Reclamation by hazard pointers (M. M. Michael, "Hazard pointers: safe memory reclamation for lock-free objects",
/// 2004). Before a thread reads a node, it publishes the address of the node. Then it checks that the link from which
/// it read the address still points to the node.
///
/// A thread that stops inside an operation blocks the reclamation of only four nodes. With R records, at most R (8 R +
/// 64) removed nodes wait to be freed. R is at most the larger of two numbers, rounded up to a multiple of 16: the
/// largest number of simultaneous operations on the set so far (including loops and nested operations), and the largest
/// number of simultaneous threads in the process so far. Running threads free the nodes in the records of ended
/// threads, except for fewer than 64 nodes per record. The method has two disadvantages. Each visited node costs an
/// atomic exchange, and a traversal restarts if its current node is removed. So `contains` never blocks, but the number
/// of steps of one call has no bound.
///
/// The algorithm needs no stand-alone fences: publishing an address, checking the link, unlinking (unlink_order) and
/// scanning the hazards are seq_cst and therefore have a single total order. If the scan does not see the address of a
/// node, the scan came before the publication of this address, and the unlinking of the node came before the scan. The
/// check of the link came after the publication. So the check sees that the link has changed or is marked. If the scan
/// sees the address, the node is kept. When the thread has finished with the node, it replaces the hazard with release.
/// A later scan acquires the new value, so the reads of the node happen before it is freed.
template <class Policy = set_policy>
struct basic_hazard_pointers {
  using policy = Policy;
  /// A traversal must not continue past a removed node, because the nodes behind it may already have been freed.
  static constexpr bool walks_past_removed = false;
  static constexpr std::memory_order unlink_order = std::memory_order_seq_cst;

  class domain;
  class guard;
};

/// The removed nodes of one set that are not yet freed, and the running operations on this set.
template <class Policy>
class basic_hazard_pointers<Policy>::domain {
 public:
  /// `distance`: offset, in bytes, of a node's reclaimable part from the address to which links point.
  domain(void* set, sets_detail::free_function free, std::size_t distance = 0)
      : set_(set), free_(free), distance_(distance) {}
  /// Frees all removed nodes. Precondition: no operation is running.
  ~domain() {
    records_.all_of([this](record& one) {
      free_all(one.retired);
      return true;
    });
  }

  /// Returns the number of nodes that are removed but not freed; approximate while operations are running.
  std::size_t garbage() const noexcept {
    return records_.sum([](const record& one) { return one.garbage.load(std::memory_order_relaxed); });
  }

 private:
  friend guard;
  using node = sets_detail::reclaimable;
  static constexpr unsigned slots = 4;
  struct alignas(sets_detail::record_alignment) record {
    typename Policy::template atomic<std::uint64_t> state{0};              ///< 1 while in use
    typename Policy::template atomic<sets_detail::word> hazards[slots]{};  ///< addresses of nodes, or 0
    // The members below belong to the thread that holds the record.
    node* retired = nullptr;
    /// A scan begins when this number of retired nodes is reached.
    std::size_t most = Policy::retired_between_looks;
    /// The next scan also visits one record of another thread. This is the index of that record.
    unsigned turn = 0;
    typename Policy::template atomic<std::size_t> garbage{0};  ///< length of `retired`; also read by other threads
  };

  void free_all(node* first) noexcept {
    while (first != nullptr) {
      node* next = first->next_retired;
      free_(set_, first);
      first = next;
    }
  }

  void retire(record& own, node* gone) noexcept {
    gone->next_retired = own.retired;
    own.retired = gone;
    // relaxed, and not an exchange: only one thread at a time writes the number, and other threads need only an
    // approximate value.
    const std::size_t waiting = own.garbage.load(std::memory_order_relaxed) + 1;
    own.garbage.store(waiting, std::memory_order_relaxed);
    if (waiting < own.most) return;
    free_unseen(own);
    free_unseen_of_another(own);
  }

  /// Visits one record of another thread; consecutive calls visit the records in turn. If no thread holds the record,
  /// frees nodes in it, because the thread that retired them may have ended.
  void free_unseen_of_another(record& own) noexcept {
    unsigned place = 0;
    const bool is_past_all = records_.all_of([&](record& one) {
      if (place++ != own.turn) return true;
      // relaxed: the value only decides whether an attempt is worthwhile.
      if (one.garbage.load(std::memory_order_relaxed) >= Policy::retired_between_looks && records_.try_take(one, 1)) {
        free_unseen(one);
        records_.leave(one);
      }
      return false;
    });
    own.turn = is_past_all ? 0 : own.turn + 1;
  }

  /// Frees the retired nodes to which no hazard points. Then sets the number of retired nodes that triggers the next
  /// scan. This number is at least twice the number of hazard slots, so that the next scan can free at least half of
  /// the nodes.
  void free_unseen(record& own) noexcept {
    node* unseen = own.retired;
    node* seen = nullptr;
    own.retired = nullptr;
    std::size_t kept = 0;
    std::size_t all = 0;
    sets_detail::word found[64];  // the hazards of a few records at a time; a fixed array needs no allocation
    std::size_t count = 0;
    const auto sift = [&] {
      std::sort(found, found + count);
      node* rest = nullptr;
      while (unseen != nullptr) {
        node* next = unseen->next_retired;
        const bool is_seen = std::binary_search(found, found + count, sets_detail::word_of(unseen) - distance_);
        node*& list = is_seen ? seen : rest;
        kept += is_seen;
        unseen->next_retired = list;
        list = unseen;
        unseen = next;
      }
      unseen = rest;
      count = 0;
    };
    records_.all_of([&](record& one) {
      all += slots;
      for (const auto& hazard : one.hazards)
        // seq_cst: see the head of this file. The load also acquires. If the owner of the hazard has replaced the
        // address of a node, its reads of this node therefore happened before the node is freed.
        if (const sets_detail::word address = hazard.load(std::memory_order_seq_cst); address != 0)
          found[count++] = address;
      if (count + slots > std::size(found)) sift();
      return true;
    });
    sift();
    own.retired = seen;
    own.garbage.store(kept, std::memory_order_relaxed);
    own.most = std::max<std::size_t>(Policy::retired_between_looks, 2 * all);
    free_all(unseen);  // at the end, because the destructor of a key may use the set
  }

  void* set_;
  sets_detail::free_function free_;
  std::size_t distance_;
  sets_detail::record_list<Policy, record> records_;
};

/// A running operation on the set. It accesses up to four nodes at a time, each protected by a slot.
template <class Policy>
class basic_hazard_pointers<Policy>::guard {
 public:
  explicit guard(domain& of) : domain_(of), record_(of.records_.take(1)) {}
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  ~guard() {
    // release: the reads of the nodes happen before the nodes are freed.
    for (auto& hazard : record_.hazards) hazard.store(0, std::memory_order_release);
    domain_.records_.leave(record_);
  }

  /// Returns the word of the link. If the word is unmarked, the node to which it points is not freed until the slot is
  /// used again or the guard ends. The reason: after the address was published, the node that contains the link was
  /// still in the list, and so was the node to which it points.
  template <class Link>
  sets_detail::word protect(unsigned slot, const Link& link, std::memory_order /*order*/) noexcept {
    // relaxed: the link is read again below.
    for (sets_detail::word seen = link.load(std::memory_order_relaxed);;) {
      if (sets_detail::is_marked(seen)) return link.load(std::memory_order_seq_cst);
      record_.hazards[slot].store(seen, std::memory_order_seq_cst);
      const sets_detail::word again = link.load(std::memory_order_seq_cst);
      if (again == seen) return seen;
      seen = again;
    }
  }
  /// Retires an unlinked node. The node is freed when it is in no slot of any thread.
  void retire(sets_detail::reclaimable* node) noexcept { domain_.retire(record_, node); }

 private:
  domain& domain_;
  typename domain::record& record_;
};

using hazard_pointers = basic_hazard_pointers<>;

}  // namespace gradus
