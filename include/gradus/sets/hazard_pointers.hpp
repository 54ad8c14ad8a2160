/// hazard_pointers: a node is freed when no thread says that it looks at this very node.
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
/// 2004). Before a thread reads a node it publishes its address, and looks again whether the link still leads there.
///
/// A thread that stops inside an operation holds back four nodes, no more: with R records (16, or as many as there ever
/// were operations under way at a time, loops and nested ones included, rounded up to 16; or as many as the process had
/// threads at a time) never more than R (8 R + 64) nodes wait. What threads that have ended left in their records is
/// freed by those that go on, but for less than 64 nodes in each. The price is an atomic exchange
/// for each node of a traversal, and that a traversal starts again where the node on which it stands was removed:
/// `contains` waits for no one, but a number of steps is promised to no single thread.
///
/// Without stand-alone fences: publishing, looking again, taking the node out of the list (unlink_order) and looking
/// for hazards are seq_cst, and so stand in a single order. If the look for hazards does not see the address, it came
/// before the publication; then taking out came before that, and the second look at the link, which came after it, sees
/// that the link leads elsewhere or is marked. If it sees it, the node is kept. What a thread read of a node happens
/// before it is freed, because the thread publishes something else with release, and the look acquires that.
template <class Policy = set_policy>
struct basic_hazard_pointers {
  using policy = Policy;
  /// What comes behind a removed node may be freed.
  static constexpr bool walks_past_removed = false;
  static constexpr std::memory_order unlink_order = std::memory_order_seq_cst;

  class domain;
  class guard;
};

/// The nodes of one set that wait, and the operations on that set that are under way.
template <class Policy>
class basic_hazard_pointers<Policy>::domain {
 public:
  /// `distance`: of a retired node from the address by which links lead to it.
  domain(void* set, sets_detail::free_function free, std::size_t distance = 0)
      : set_(set), free_(free), distance_(distance) {}
  /// Frees what waits; no operation is under way.
  ~domain() {
    records_.all_of([this](record& one) {
      free_all(one.retired);
      return true;
    });
  }

  /// Nodes that are removed and not yet freed; approximate while operations are under way.
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
    // The rest is for whoever has the record.
    node* retired = nullptr;
    std::size_t most = Policy::retired_between_looks;          ///< so many of them, then a look
    unsigned turn = 0;                                         ///< and at this record of another
    typename Policy::template atomic<std::size_t> garbage{0};  ///< as many as are in `retired`; read by others
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
    // relaxed, and no exchange: one thread at a time writes it, and what others read is approximate.
    const std::size_t waiting = own.garbage.load(std::memory_order_relaxed) + 1;
    own.garbage.store(waiting, std::memory_order_relaxed);
    if (waiting < own.most) return;
    free_unseen(own);
    free_unseen_of_another(own);
  }

  /// Of one other record in turn, which no thread has and which may be that of a thread that has ended.
  void free_unseen_of_another(record& own) noexcept {
    unsigned place = 0;
    const bool is_past_all = records_.all_of([&](record& one) {
      if (place++ != own.turn) return true;
      // relaxed: it only decides whether it is worth trying.
      if (one.garbage.load(std::memory_order_relaxed) >= Policy::retired_between_looks && records_.try_take(one, 1)) {
        free_unseen(one);
        records_.leave(one);
      }
      return false;
    });
    own.turn = is_past_all ? 0 : own.turn + 1;
  }

  /// Frees the retired nodes that are no thread's hazard. Twice as many wait before as there are hazards, so that at
  /// least half of them are freed.
  void free_unseen(record& own) noexcept {
    node* unseen = own.retired;
    node* seen = nullptr;
    own.retired = nullptr;
    std::size_t kept = 0;
    std::size_t all = 0;
    sets_detail::word found[64];  // some records' at a time, so that no memory is needed here
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
        // seq_cst: see above; it acquires what the thread read of the node that it published before.
        if (const sets_detail::word address = hazard.load(std::memory_order_seq_cst); address != 0)
          found[count++] = address;
      if (count + slots > std::size(found)) sift();
      return true;
    });
    sift();
    own.retired = seen;
    own.garbage.store(kept, std::memory_order_relaxed);
    own.most = std::max<std::size_t>(Policy::retired_between_looks, 2 * all);
    free_all(unseen);  // last, since a key's destructor may use the set
  }

  void* set_;
  sets_detail::free_function free_;
  std::size_t distance_;
  sets_detail::record_list<Policy, record> records_;
};

/// An operation on the set. It looks at up to four nodes at a time, each in a slot.
template <class Policy>
class basic_hazard_pointers<Policy>::guard {
 public:
  explicit guard(domain& of) : domain_(of), record_(of.records_.take(1)) {}
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  ~guard() {
    // release: what was read of the nodes happens before they are freed.
    for (auto& hazard : record_.hazards) hazard.store(0, std::memory_order_release);
    domain_.records_.leave(record_);
  }

  /// The link's word. Unless it is marked, its node is not freed until the slot is used again or the guard ends: the
  /// node in which the link is was in the list after the address had been published, and so was what comes behind it.
  template <class Link>
  sets_detail::word protect(unsigned slot, const Link& link, std::memory_order /*order*/) noexcept {
    // relaxed: it is looked at again.
    for (sets_detail::word seen = link.load(std::memory_order_relaxed);;) {
      if (sets_detail::is_marked(seen)) return link.load(std::memory_order_seq_cst);
      record_.hazards[slot].store(seen, std::memory_order_seq_cst);
      const sets_detail::word again = link.load(std::memory_order_seq_cst);
      if (again == seen) return seen;
      seen = again;
    }
  }
  /// The node, to which no link leads any more, is freed when it is in no thread's slot.
  void retire(sets_detail::reclaimable* node) noexcept { domain_.retire(record_, node); }

 private:
  domain& domain_;
  typename domain::record& record_;
};

using hazard_pointers = basic_hazard_pointers<>;

}  // namespace gradus
