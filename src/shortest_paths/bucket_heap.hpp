// Priority queue of the vertices that a search has reached but not settled.
//
// Dijkstra's algorithm removes lengths in ascending order. No length in the queue exceeds the most recently removed
// length by more than the heaviest edge. Lengths are therefore stored in a ring of buckets of equal width. Only the
// nearest bucket must be ordered: its vertices form a small heap that stays in the L1 cache. Inserting a vertex into
// any other bucket takes constant time. If weights are integers and the heaviest is at most about as large as the
// number of buckets, a bucket holds a single length and needs no order. If one edge is far heavier than all others, all
// entries are in one heap, as in a queue without buckets.
//
// A vertex whose length improves is inserted again. Its old entry is stale and is skipped later. The queue keeps at
// most twice as many entries as there are vertices.
//
// Sources: R. B. Dial, "Algorithm 360: Shortest-path forest with topological ordering" (1969), for the ring; E. V.
// Denardo, B. L. Fox, "Shortest-route methods: reaching, pruning, and buckets" (1979), for wider buckets.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "gradus/array.hpp"

namespace gradus::shortest_paths_detail {

/// Key: an unsigned integer or a floating-point type. Keys must not be negative.
template <class Key>
class BucketHeap {
 public:
  struct Entry {
    Key key;
    std::int32_t vertex;
  };

  static std::int64_t capacity_for(std::int64_t vertices, std::int64_t edges) {
    return std::min(edges, 2 * vertices) + 1;
  }

  BucketHeap(std::int64_t vertices, std::int64_t edges, Key heaviest)
      : heads_(buckets, none), waiting_(capacity_for(vertices, edges)), heap_(capacity_for(vertices, edges)) {
    if constexpr (is_floating) {
      scale_ = heaviest > 0 ? static_cast<Scale>(buckets - 4) / static_cast<Scale>(heaviest) : 0;
      // The quotient overflows if the heaviest edge is tiny.
      if (!(scale_ <= std::numeric_limits<Scale>::max())) scale_ = 0;
    } else {
      while ((heaviest >> shift_) > static_cast<Key>(buckets - 4)) ++shift_;
    }
  }

  void clear() {
    std::fill(heads_.begin(), heads_.end(), none);
    std::fill(std::begin(occupied_), std::end(occupied_), 0);
    used_ = heap_size_ = 0;
    free_ = none;
    current_ = 0;
  }

  /// Inserts an entry. lengths[v] is the key of the valid entry of vertex v.
  void push(Key key, std::int32_t vertex, const Key* lengths) {
    const std::uint64_t bucket = bucket_of(key);
    if (one_length()) put(key, vertex, bucket, lengths);
    else if (bucket <= current_) push_heap({key, vertex}, lengths);
    else put(key, vertex, std::min(bucket, current_ + buckets - 1), lengths);
  }

  /// Removes the valid entry with the smallest key. Returns false if there is none.
  bool pop(Entry& least, const Key* lengths) {
    if (one_length()) return pop_from_bucket(least, lengths);
    for (;;) {
      if (heap_size_ == 0 && !next_bucket(lengths)) return false;
      least = pop_heap();
      if (lengths[least.vertex] == least.key) return true;
    }
  }

 private:
  static constexpr bool is_floating = std::numeric_limits<Key>::has_infinity;
  using Scale = std::conditional_t<std::is_same_v<Key, long double>, long double, double>;
  static constexpr std::uint64_t buckets = 1024;
  static constexpr std::int32_t none = -1;
  static constexpr std::int64_t arity = 4;

  struct Waiting {
    Key key;
    std::int32_t vertex;
    std::int32_t next;  ///< index of the next entry, in the bucket or in the free list
  };

  /// Returns true if each bucket holds a single length. In this case, no entry is ever inserted into a bucket before
  /// the current one.
  bool one_length() const { return !is_floating && shift_ == 0; }

  std::uint64_t bucket_of(Key key) const {
    if constexpr (is_floating) return static_cast<std::uint64_t>(static_cast<Scale>(key) * scale_);
    else return static_cast<std::uint64_t>(key >> shift_);
  }

  void put(Key key, std::int32_t vertex, std::uint64_t bucket, const Key* lengths) {
    if (free_ == none && used_ == waiting_.size()) drop_stale(lengths);
    std::int32_t place = free_;
    if (place != none) free_ = waiting_[place].next;
    else place = static_cast<std::int32_t>(used_++);
    const std::uint64_t in_ring = bucket % buckets;
    waiting_[place] = {key, vertex, heads_[in_ring]};
    heads_[in_ring] = place;
    occupied_[in_ring / 64] |= std::uint64_t{1} << in_ring % 64;
  }

  bool pop_from_bucket(Entry& least, const Key* lengths) {
    for (;;) {
      const std::uint64_t in_ring = current_ % buckets;
      while (heads_[in_ring] != none) {
        const Waiting waiting = take(heads_[in_ring]);
        if (lengths[waiting.vertex] != waiting.key) continue;
        least = {waiting.key, waiting.vertex};
        return true;
      }
      occupied_[in_ring / 64] &= ~(std::uint64_t{1} << in_ring % 64);
      if (!advance()) return false;
    }
  }

  Waiting take(std::int32_t& head) {
    const std::int32_t place = head;
    const Waiting waiting = waiting_[place];
    head = waiting.next;
    waiting_[place].next = free_;
    free_ = place;
    return waiting;
  }

  /// Advances to the next bucket with an entry. Returns false if there is none.
  bool advance() {
    const std::uint64_t from = (current_ + 1) % buckets;
    std::uint64_t word = from / 64;
    std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << from % 64);
    for (std::uint64_t looked = 0; bits == 0; ++looked) {
      if (looked == buckets / 64) return false;
      word = (word + 1) % (buckets / 64);
      bits = occupied_[word];
    }
    const std::uint64_t in_ring = word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits));
    current_ += 1 + (in_ring - from) % buckets;
    return true;
  }

  /// Turns the next bucket that has an entry into a heap.
  bool next_bucket(const Key* lengths) {
    while (heap_size_ == 0) {
      if (!advance()) return false;
      const std::uint64_t in_ring = current_ % buckets;
      occupied_[in_ring / 64] &= ~(std::uint64_t{1} << in_ring % 64);
      std::int32_t head = heads_[in_ring];
      heads_[in_ring] = none;
      while (head != none) {
        const Waiting waiting = take(head);
        // An entry of the ring's last bucket may belong to a later turn of the ring, because this bucket also holds all
        // lengths beyond the end of the ring.
        if (lengths[waiting.vertex] == waiting.key) push(waiting.key, waiting.vertex, lengths);
      }
    }
    return true;
  }

  /// Removes stale entries. At most one entry per vertex remains.
  void drop_stale(const Key* lengths) {
    for (std::int32_t& head : heads_)
      for (std::int32_t* link = &head; *link != none;) {
        Waiting& waiting = waiting_[*link];
        if (lengths[waiting.vertex] == waiting.key) {
          link = &waiting.next;
          continue;
        }
        const std::int32_t place = *link;
        *link = waiting.next;
        waiting.next = free_;
        free_ = place;
      }
  }

  void push_heap(Entry entry, const Key* lengths) {
    if (heap_size_ == heap_.size()) {
      const Entry* const end = std::remove_if(heap_.begin(), heap_.end(),
                                              [lengths](const Entry& one) { return lengths[one.vertex] != one.key; });
      heap_size_ = 0;
      for (const Entry* kept = heap_.begin(); kept != end; ++kept) sift_up(*kept);
    }
    sift_up(entry);
  }

  void sift_up(Entry entry) {
    std::int64_t place = heap_size_++;
    while (place > 0) {
      const std::int64_t parent = (place - 1) / arity;
      if (heap_[parent].key <= entry.key) break;
      heap_[place] = heap_[parent];
      place = parent;
    }
    heap_[place] = entry;
  }

  Entry pop_heap() {
    const Entry least = heap_[0];
    const Entry last = heap_[--heap_size_];
    std::int64_t place = 0;
    for (;;) {
      const std::int64_t first = place * arity + 1;
      if (first >= heap_size_) break;
      std::int64_t child = first;
      for (std::int64_t other = first + 1; other < std::min(first + arity, heap_size_); ++other)
        if (heap_[other].key < heap_[child].key) child = other;
      if (last.key <= heap_[child].key) break;
      heap_[place] = heap_[child];
      place = child;
    }
    heap_[place] = last;
    return least;
  }

  std::vector<std::int32_t> heads_;
  std::uint64_t occupied_[buckets / 64] = {};
  Buffer<Waiting> waiting_;
  std::int64_t used_ = 0;
  std::int32_t free_ = none;
  Buffer<Entry> heap_;
  std::int64_t heap_size_ = 0;
  std::uint64_t current_ = 0;
  int shift_ = 0;
  Scale scale_ = 0;
};

}  // namespace gradus::shortest_paths_detail
