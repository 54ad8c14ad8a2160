/// epoch: frees a removed node after every operation that could reach it has ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gradus/sets/detail/records.hpp"
#include "gradus/sets/detail/word.hpp"
#include "gradus/sets/policy.hpp"

namespace gradus {

/// Epoch-based reclamation (K. Fraser, "Practical lock freedom", 2004). An operation announces the epoch in which it
/// begins, with one atomic exchange. Links are read with plain loads, and an operation may continue from a removed
/// node. The epoch advances when all running operations have announced the current epoch. A node is freed at
/// least two epochs after its removal.
///
/// Limit: if a thread stops inside an operation, or stays in a loop over the set, nodes that any thread removes from
/// then on are not freed. (`hazard_pointers` bounds the number of nodes that a stopped thread blocks.) If a thread
/// ends, running threads free the nodes that it left behind, except for fewer than 512 nodes per record.
///
/// The algorithm needs no stand-alone fences, because it uses read-modify-write operations on the states of the
/// records. The following steps prove all memory orders. A scan is the loop over all records in try_advance().
///
/// 1. While a record announces epoch p, the epoch is p or p + 1. Proof: After announcing p, a thread reads the epoch
///    again. If the epoch is no longer p, the thread announces the new epoch instead. Now suppose that the epoch is
///    still p. It can become p + 2 only after a scan of all records in epoch p + 1. If this scan had read the record
///    before the announcement, the announcement would have acquired what the scan released, and the thread would then
///    have read an epoch of at least p + 1. So the scan reads the record after the announcement, finds p, and does
///    not advance the epoch.
/// 2. A node that is removed under an announcement of p gets the tag p + 1. If a thread reads epoch p + 2 or a later
///    one, the removal happened before this read. Proof: The removing thread left its record or announced a later
///    epoch (release). A scan saw this (acquire). The new epoch was stored after this scan (release), and the reading
///    thread acquired the new epoch.
/// 3. A node with tag t = p + 1 is freed when the epoch is at least t + 2. No operation can access the node then.
///    Proof: Before the epoch became t + 2, a scan read all records in epoch t + 1 = p + 2. Consider an operation of
///    another thread. The announcement of this operation and the access of the scan to the same record are
///    read-modify-write operations on one variable, so one of the two comes first.
///    a. If the announcement came first, the scan saw it. If the operation had announced p + 2, the removal happened
///       before the operation, by step 2. Otherwise the operation had left the record before the scan, so its reads
///       happened before the node was freed.
///    b. If the scan came first, the announcement read the value that the scan wrote, or a later value. A later value
///       comes from another scan or from a thread that left the record. Another scan continues the release sequence
///       of the first scan. A thread that left the record had announced p + 2, or its announcement also came after
///       the scan, and then the same argument applies to that thread. In each case, the removal happened before the
///       loads of the operation.
///    If the removal happened before the loads of an operation, the operation does not find the node, because it
///    starts from the roots of the set.
template <class Policy = set_policy>
struct basic_epoch {
  using policy = Policy;
  /// A traversal may continue from a node that another thread has removed.
  static constexpr bool walks_past_removed = true;
  /// Memory order of the store that unlinks a removed node. release: if a thread follows the new link, the
  /// initialisation of the next node is visible to the thread. The store need not be visible soon, because the mark has
  /// already removed the node.
  static constexpr std::memory_order unlink_order = std::memory_order_release;

  class domain;
  class guard;
};

/// The removed nodes of one set that are not yet freed, and the running operations on this set.
template <class Policy>
class basic_epoch<Policy>::domain {
 public:
  domain(void* set, sets_detail::free_function free, std::size_t /*distance*/ = 0) : set_(set), free_(free) {}
  /// Frees all removed nodes. Precondition: no operation is running.
  ~domain() {
    records_.all_of([this](record& one) {
      for (bag& waiting : one.bags) free_all(one, waiting);
      return true;
    });
  }

  /// Returns the number of nodes that are removed but not freed; approximate while operations are running.
  std::size_t garbage() const noexcept {
    return records_.sum([](const record& one) { return one.garbage.load(std::memory_order_relaxed); });
  }

 private:
  friend guard;
  /// The retired nodes with one tag.
  struct bag {
    std::uint64_t tag = 0;
    sets_detail::reclaimable* first = nullptr;
  };
  struct alignas(sets_detail::record_alignment) record {
    typename Policy::template atomic<std::uint64_t> state{0};  ///< 2 * epoch + 1 while in use
    // The members below belong to the thread that holds the record.
    bag bags[3];
    unsigned until_look = retired_between_looks;
    typename Policy::template atomic<std::size_t> garbage{0};  ///< number of retired nodes; other threads read it, too
  };
  static constexpr unsigned retired_between_looks = Policy::retired_between_looks;
  /// A thread frees the nodes in the record of an ended thread only if the record has at least this number of nodes. A
  /// record in use normally has fewer nodes.
  static constexpr std::size_t much = std::size_t{8} * retired_between_looks;

  static void add_garbage(record& own, std::size_t change) noexcept {
    // relaxed, and not an atomic addition: only one thread at a time writes the number, and other threads need only an
    // approximate value.
    own.garbage.store(own.garbage.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }

  void free_all(record& own, bag& waiting) noexcept {
    sets_detail::reclaimable* node = waiting.first;
    waiting.first = nullptr;  // cleared before the loop, because the destructor of a key may use the set
    std::size_t freed = 0;
    for (; node != nullptr; ++freed) {
      sets_detail::reclaimable* next = node->next_retired;
      free_(set_, node);
      node = next;
    }
    add_garbage(own, std::size_t{0} - freed);
  }

  /// Scans all records. If every record in use has announced the current epoch, advances the epoch.
  void try_advance() noexcept {
    // acquire: see step 2 of the proof above.
    std::uint64_t now = epoch_.load(std::memory_order_acquire);
    const bool all_here = records_.all_of([now](record& one) {
      // Adds 0, because the access must be a read-modify-write operation (see step 3 of the proof). acquire: the work
      // of threads that have left their records is visible to this thread. release: see step 3b.
      const std::uint64_t state = one.state.fetch_add(0, std::memory_order_acq_rel);
      return state == 0 || state == 2 * now + 1;
    });
    // release: see step 2. acquire: if another thread advanced the epoch first, the scan of that thread is visible to
    // this thread.
    if (all_here) epoch_.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  void retire(record& own, std::uint64_t announced, sets_detail::reclaimable* node) noexcept {
    const std::uint64_t tag = announced + 1;
    bag& waiting = own.bags[tag % 3];
    if (waiting.tag != tag) {
      free_all(own, waiting);  // the old tag is at most tag - 3 = announced - 2, and the epoch is at least `announced`
      waiting.tag = tag;
    }
    node->next_retired = waiting.first;
    waiting.first = node;
    add_garbage(own, 1);
    if (--own.until_look > 0) return;
    own.until_look = retired_between_looks;
    try_advance();
    const std::uint64_t now = epoch_.load(std::memory_order_acquire);  // acquire: see step 3a
    free_old(own, now);
    // Frees nodes in records of threads that have ended, or nodes that could not be freed while some thread was
    // stopped. relaxed: the value only decides whether an attempt is worthwhile.
    records_.all_of([&](record& one) {
      if (one.garbage.load(std::memory_order_relaxed) >= much && records_.try_take(one, 2 * now + 1)) {
        free_old(one, now);
        records_.leave(one);
      }
      return true;
    });
  }

  void free_old(record& own, std::uint64_t now) noexcept {
    for (bag& one : own.bags)
      if (one.tag + 2 <= now) free_all(own, one);
  }

  alignas(sets_detail::record_alignment) typename Policy::template atomic<std::uint64_t> epoch_{1};
  void* set_;
  sets_detail::free_function free_;
  sets_detail::record_list<Policy, record> records_;
};

/// A running operation on the set. While the guard exists, no node that the operation can reach is freed.
template <class Policy>
class basic_epoch<Policy>::guard {
 public:
  explicit guard(domain& of)
      : domain_(of), announced_(of.epoch_.load(std::memory_order_relaxed)),
        record_(of.records_.take(2 * announced_ + 1)) {
    for (;;) {
      const std::uint64_t now = of.epoch_.load(std::memory_order_acquire);  // acquire: see step 2
      if (now == announced_) return;
      announced_ = now;
      record_.state.exchange(2 * now + 1, std::memory_order_acq_rel);  // as in take(): see step 1
    }
  }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  ~guard() { domain_.records_.leave(record_); }

  /// Returns the word of the link. The slot is only used by hazard_pointers.
  template <class Link>
  sets_detail::word protect(unsigned /*slot*/, const Link& link, std::memory_order order) const noexcept {
    return link.load(order);
  }
  /// Retires an unlinked node. The node is freed after all operations that may access it have ended.
  void retire(sets_detail::reclaimable* node) noexcept { domain_.retire(record_, announced_, node); }

 private:
  domain& domain_;
  std::uint64_t announced_;
  typename domain::record& record_;
};

using epoch = basic_epoch<>;

}  // namespace gradus
