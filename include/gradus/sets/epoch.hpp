/// epoch: nodes are freed when every operation that was under way has ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gradus/sets/detail/records.hpp"
#include "gradus/sets/detail/word.hpp"
#include "gradus/sets/policy.hpp"

namespace gradus {

/// Reclamation by epochs (K. Fraser, "Practical lock freedom", 2004). An operation announces the epoch in which it
/// begins, which costs one atomic exchange; links are read by plain loads, and an operation may walk on from a removed
/// node. The epoch moves on when all operations under way have announced it; what was removed two epochs ago is freed.
///
/// Its limit: a thread that stops inside an operation (or stays in a loop over the set) holds back everything that is
/// removed meanwhile, by whomever. `hazard_pointers` bound that. What a thread that has ended left behind is freed by
/// those that go on, but for less than 512 nodes.
///
/// Without stand-alone fences, by read-modify-write operations on the records' states. All orders are argued here:
///
/// 1. Whoever has announced p reads the epoch again, and announces anew unless it is p still. While that announcement
///    stands the epoch is p or p + 1: to become p + 2 it takes a look in epoch p + 1 at all records. If the look at
///    this record had come before the announcement, the announcement had acquired what the look released, and p + 1 at
///    least would have been read. So it comes after it, finds p and changes nothing.
/// 2. A node that is removed under an announcement of p is tagged p + 1. Whoever reads an epoch of p + 2 or more knows
///    that the removal happened before: the removing thread left its record (release) or announced anew, the look
///    (acquire) saw that, the new epoch was stored after it (release), and it was read with acquire.
/// 3. A node tagged t is freed when the epoch is t + 2 or more, that is after a look at all records in epoch t + 1 = p
/// + 2.
///    Take any operation of another thread, and that look at its record; both are read-modify-write operations on one
///    variable, so one comes first.
///    a. The announcement came first. Then the look saw it, and the operation had announced p + 2, so that by 2 it
///    began
///       after the removal; or it had left the record, so that what it read happened before the node was freed.
///    b. The look came first. Then the announcement read what it wrote, or what was written later: by another look,
///    which
///       continues its release sequence, or by a thread that left the record, whose own announcement is in the same
///       case as this one or was of p + 2. In each case the removal happened before the operation's loads: starting
///       from the set's roots it does not find the node.
template <class Policy = set_policy>
struct basic_epoch {
  using policy = Policy;
  /// A traversal may go on from a node that was removed meanwhile.
  static constexpr bool walks_past_removed = true;
  /// Of the link that takes a removed node out of a list. release: what comes behind that node in the list is
  /// initialised for those who get there this way. Nobody need see it soon, since the mark has removed the node
  /// already.
  static constexpr std::memory_order unlink_order = std::memory_order_release;

  class domain;
  class guard;
};

/// The nodes of one set that wait, and the operations on that set that are under way.
template <class Policy>
class basic_epoch<Policy>::domain {
 public:
  domain(void* set, sets_detail::free_function free, std::size_t /*distance*/ = 0) : set_(set), free_(free) {}
  /// Frees what waits; no operation is under way.
  ~domain() {
    records_.all_of([this](record& one) {
      for (bag& waiting : one.bags) free_all(one, waiting);
      return true;
    });
  }

  /// Nodes that are removed and not yet freed; approximate while operations are under way.
  std::size_t garbage() const noexcept {
    return records_.sum([](const record& one) { return one.garbage.load(std::memory_order_relaxed); });
  }

 private:
  friend guard;
  /// Of one tag.
  struct bag {
    std::uint64_t tag = 0;
    sets_detail::reclaimable* first = nullptr;
  };
  struct alignas(sets_detail::record_alignment) record {
    typename Policy::template atomic<std::uint64_t> state{0};  ///< 2 * epoch + 1 while in use
    // The rest is for whoever has the record.
    bag bags[3];
    unsigned until_look = retired_between_looks;
    typename Policy::template atomic<std::size_t> garbage{0};  ///< read by others
  };
  static constexpr unsigned retired_between_looks = Policy::retired_between_looks;
  /// More than waits in a record that is in use.
  static constexpr std::size_t much = std::size_t{8} * retired_between_looks;

  static void add_garbage(record& own, std::size_t change) noexcept {
    // relaxed, and no exchange: one thread at a time writes it, and what others read is approximate.
    own.garbage.store(own.garbage.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }

  void free_all(record& own, bag& waiting) noexcept {
    sets_detail::reclaimable* node = waiting.first;
    waiting.first = nullptr;  // first, since a key's destructor may use the set
    std::size_t freed = 0;
    for (; node != nullptr; ++freed) {
      sets_detail::reclaimable* next = node->next_retired;
      free_(set_, node);
      node = next;
    }
    add_garbage(own, std::size_t{0} - freed);
  }

  /// Takes a look at all records, and begins the next epoch if all that are in use have announced this one.
  void try_advance() noexcept {
    // acquire: see 2.
    std::uint64_t now = epoch_.load(std::memory_order_acquire);
    const bool all_here = records_.all_of([now](record& one) {
      // Adds nothing: the look has to be a read-modify-write operation, see 3. acquire: what those did who have left is
      // done. release: see 3b.
      const std::uint64_t state = one.state.fetch_add(0, std::memory_order_acq_rel);
      return state == 0 || state == 2 * now + 1;
    });
    // release: see 2. acquire: where another thread was faster its look is done, too.
    if (all_here) epoch_.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  void retire(record& own, std::uint64_t announced, sets_detail::reclaimable* node) noexcept {
    const std::uint64_t tag = announced + 1;
    bag& waiting = own.bags[tag % 3];
    if (waiting.tag != tag) {
      free_all(own, waiting);  // its tag is at most tag - 3 = announced - 2, and the epoch at least `announced`
      waiting.tag = tag;
    }
    node->next_retired = waiting.first;
    waiting.first = node;
    add_garbage(own, 1);
    if (--own.until_look > 0) return;
    own.until_look = retired_between_looks;
    try_advance();
    const std::uint64_t now = epoch_.load(std::memory_order_acquire);  // acquire: see 3a
    free_old(own, now);
    // What was left in a record by threads that have ended, or could not be freed as long as some thread stood still.
    // relaxed: it only decides whether it is worth trying.
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

/// An operation on the set: nothing that it can come to is freed meanwhile.
template <class Policy>
class basic_epoch<Policy>::guard {
 public:
  explicit guard(domain& of)
      : domain_(of), announced_(of.epoch_.load(std::memory_order_relaxed)),
        record_(of.records_.take(2 * announced_ + 1)) {
    for (;;) {
      const std::uint64_t now = of.epoch_.load(std::memory_order_acquire);  // acquire: see 2
      if (now == announced_) return;
      announced_ = now;
      record_.state.exchange(2 * now + 1, std::memory_order_acq_rel);  // as that of take(): see 1
    }
  }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  ~guard() { domain_.records_.leave(record_); }

  /// The link's word. Hazard pointers need the slot.
  template <class Link>
  sets_detail::word protect(unsigned /*slot*/, const Link& link, std::memory_order order) const noexcept {
    return link.load(order);
  }
  /// The node, to which no link leads any more, is freed when nobody looks at it.
  void retire(sets_detail::reclaimable* node) noexcept { domain_.retire(record_, announced_, node); }

 private:
  domain& domain_;
  std::uint64_t announced_;
  typename domain::record& record_;
};

using epoch = basic_epoch<>;

}  // namespace gradus
