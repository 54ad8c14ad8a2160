/// Records of running operations. An operation takes a record of its set when it begins, and gives the record back when
/// it ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "gradus/sets/detail/thread_number.hpp"

namespace gradus::sets_detail {

/// Two cache lines, because CPUs fetch lines in pairs.
inline constexpr std::size_t record_alignment = 128;

/// Base of nodes that are freed only when no thread can access them.
struct reclaimable {
  reclaimable* next_retired = nullptr;  ///< next node in the list of the thread or set that retired it
};

/// Returns the memory of a node to its set.
using free_function = void (*)(void* set, reclaimable* node) noexcept;

/// The records of a set. A Record has an atomic `state`, which is 0 while the record is free. A record belongs to a
/// thread only during an operation. So threads do not register, and the list does not need to know when a thread ends.
/// A thread takes a record by a single exchange, usually on memory that no other thread has touched. This exchange is
/// also the announcement that reclamation needs.
///
/// A set begins with one block of 16 records. It adds a block when all records are in use and keeps all blocks until
/// its destruction.
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

  /// Takes a free record and sets its state to `busy`. Throws std::bad_alloc if a new block is needed and there is no
  /// memory.
  Record& take(std::uint64_t busy) {
    const unsigned place = thread_number();
    block* at = &first_;
    for (unsigned before = place / records_of_block; before > 0; --before) at = &after(*at);
    if (Record& own = at->records[place % records_of_block]; try_take(own, busy)) return own;
    // The preferred record is in use. Its user may be a thread with the same number, or an unfinished operation of this
    // thread (a loop over the set, or a function passed to visit()).
    for (at = &first_;; at = &after(*at))
      for (Record& any : at->records)
        if (try_take(any, busy)) return any;
  }

  /// Takes the record if it is free.
  static bool try_take(Record& record, std::uint64_t busy) noexcept {
    std::uint64_t idle = 0;
    // relaxed: the value of the load only decides whether an attempt is worthwhile. acquire of the exchange: this
    // thread sees the work of the previous owner. epoch.hpp has further reasons for acquire and release.
    return record.state.load(std::memory_order_relaxed) == 0 &&
           record.state.compare_exchange_strong(idle, busy, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  /// Frees the record. release: the next owner of the record also sees the work of this operation, and so does every
  /// thread that sees that the record is free.
  static void leave(Record& record) noexcept { record.state.store(0, std::memory_order_release); }

  /// Calls function(record) for each record until it returns false. Another thread may add a record concurrently. If
  /// the loop misses this record, the end of the loop happens before every use of the record.
  template <class Function>
  bool all_of(const Function& function) {
    for (block* at = &first_;;) {
      for (Record& record : at->records)
        if (!function(record)) return false;
      // Uses a compare-and-exchange of null with null instead of a load. If another thread adds a block later, it reads
      // the value written here and therefore synchronizes with this loop. seq_cst: the proof of hazard pointers needs a
      // total order of these operations.
      block* next = nullptr;
      if (at->next.compare_exchange_strong(next, nullptr, std::memory_order_seq_cst)) return true;
      at = next;
    }
  }

  /// Returns the sum of a value over all records, which other threads may change concurrently.
  template <class Value>
  std::size_t sum(const Value& value) const noexcept {
    std::size_t total = 0;
    for (const block* at = &first_; at != nullptr; at = at->next.load(std::memory_order_acquire))
      for (const Record& record : at->records) total += value(record);
    return total;
  }

 private:
  block& after(block& at) {
    // acquire: the block is constructed; synchronizes with the exchange below.
    block* next = at.next.load(std::memory_order_acquire);
    if (next != nullptr) return *next;
    auto added = std::make_unique<block>();
    if (!at.next.compare_exchange_strong(next, added.get(), std::memory_order_seq_cst)) return *next;
    return *added.release();
  }

  block first_;
};

}  // namespace gradus::sets_detail
