/// What a thread writes into a set while it is in one of the set's operations: a record, which it takes at the
/// beginning and leaves at the end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "gradus/sets/detail/thread_number.hpp"

namespace gradus::sets_detail {

/// Two cache lines: processors fetch lines in pairs.
inline constexpr std::size_t record_alignment = 128;

/// A node that may have to wait until nobody looks at it.
struct reclaimable {
  reclaimable* next_retired = nullptr;  ///< of the thread, or the set, that has retired it
};

/// Gives the memory of a node back to the set whose node it is.
using free_function = void (*)(void* set, reclaimable* node) noexcept;

/// The records of a set. A Record has an atomic `state`: 0 while no thread has it. No thread registers, none is told of
/// a thread's end, and a record belongs to no thread between two operations: taking one is a single exchange on memory
/// that in most cases no other thread has touched, and the announcement that a reclamation has to make in any case.
///
/// Records are added when all are taken, and stay until the set's end: 16, and as many again for 16 threads more.
template <class Policy, class Record>
class record_list {
  static constexpr unsigned records_of_block = Policy::records_of_block;
  struct block {
    Record records[records_of_block];
    typename Policy::template atomic<block*> next{nullptr};
  };

 public:
  record_list() = default;
  record_list(const record_list&) = delete;
  record_list& operator=(const record_list&) = delete;
  ~record_list() {
    for (block* at = first_.next.load(std::memory_order_relaxed); at != nullptr;) {
      block* next = at->next.load(std::memory_order_relaxed);
      delete at;
      at = next;
    }
  }

  /// A record whose state was 0 and is `busy` now. std::bad_alloc when there are more operations at a time than ever
  /// before, and no memory.
  Record& take(std::uint64_t busy) {
    const unsigned place = thread_number();
    block* at = &first_;
    for (unsigned before = place / records_of_block; before > 0; --before) at = &after(*at);
    if (Record& own = at->records[place % records_of_block]; try_take(own, busy)) return own;
    // It is in use: by an operation of this thread that is not at its end (a loop over the set, a function that visits
    // a key), or by a thread of the same number.
    for (at = &first_;; at = &after(*at))
      for (Record& any : at->records)
        if (try_take(any, busy)) return any;
  }

  /// The record, if nobody has it.
  static bool try_take(Record& record, std::uint64_t busy) noexcept {
    std::uint64_t idle = 0;
    // relaxed: what is seen here only decides whether it is worth trying. acquire: what the last one did with the
    // record is done. release and acquire: see epoch.hpp.
    return record.state.load(std::memory_order_relaxed) == 0 &&
           record.state.compare_exchange_strong(idle, busy, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  /// release: what the operation did is done for whoever takes the record next, and for whoever sees it free.
  static void leave(Record& record) noexcept { record.state.store(0, std::memory_order_release); }

  /// function(record) for all of them until it returns false. A record that the loop does not come to was added later
  /// than the loop's end, in the sense that the loop's end happens before all that is done with it.
  template <class Function>
  bool all_of(const Function& function) {
    for (block* at = &first_;;) {
      for (Record& record : at->records)
        if (!function(record)) return false;
      // An exchange of nothing for nothing, not a load: so whoever adds a block later reads what was written here, and
      // synchronises with it. seq_cst: hazard pointers argue by the single order of such operations.
      block* next = nullptr;
      if (at->next.compare_exchange_strong(next, nullptr, std::memory_order_seq_cst)) return true;
      at = next;
    }
  }

  /// Of a value of all records, which others may change meanwhile.
  template <class Value>
  std::size_t sum(const Value& value) const noexcept {
    std::size_t total = 0;
    for (const block* at = &first_; at != nullptr; at = at->next.load(std::memory_order_acquire))
      for (const Record& record : at->records) total += value(record);
    return total;
  }

 private:
  block& after(block& at) {
    // acquire: the block's constructor is done, by the thread whose exchange below stored the address.
    block* next = at.next.load(std::memory_order_acquire);
    if (next != nullptr) return *next;
    auto added = std::make_unique<block>();
    if (!at.next.compare_exchange_strong(next, added.get(), std::memory_order_seq_cst)) return *next;
    return *added.release();
  }

  block first_;
};

}  // namespace gradus::sets_detail
