/// Nodes of queue locks that outlive the threads that use them. For clh_lock.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "gradus/export.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// The nodes of all clh_locks. A node is named by a word of 64 bits: its index, and above it how often it has been
/// used, so that no word comes twice before 2^38 uses of one node. Nodes are never given back to the system: a thread
/// may look at one that has long been another's, and finds another word there. No function waits, or throws.
template <class Policy>
class GRADUS_EXPORT lock_node_pool {
 public:
  using word = std::uint64_t;

  struct alignas(lock_padding) node {
    /// The word of the last use that is over. While the node is nobody's: of its last.
    typename Policy::template atomic<word> released{0};
    typename Policy::template atomic<word> below{0};  ///< on the stack of those that no thread keeps
  };

  constexpr lock_node_pool() noexcept = default;
  lock_node_pool(const lock_node_pool&) = delete;
  lock_node_pool& operator=(const lock_node_pool&) = delete;
  ~lock_node_pool() {  // that of all programs' locks is never destroyed
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }

  /// The last use, which is over, of a node that is the caller's until it gives that or a later use back. 0 where there
  /// is no memory.
  word take_used() noexcept {
    const word top = pop();
    return top != 0 ? top : make();
  }

  /// The word's use is over, and the node is anybody's.
  void give(word used) noexcept {
    word top = top_.load(std::memory_order_relaxed);
    do {
      // relaxed: published by the exchange.
      at(used).below.store(top, std::memory_order_relaxed);
      // release: `below`, the node's last word and its place in the directory are there for who pops it.
    } while (!top_.compare_exchange_weak(top, used, std::memory_order_release, std::memory_order_relaxed));
  }

  /// Of any word that was ever taken, and is known to this thread.
  node& at(word one) noexcept {
    const word index = (one & most_nodes) + first_chunk - 1;
    const auto chunk = static_cast<std::size_t>(std::bit_width(index / first_chunk) - 1);
    // relaxed: who knows the word has it from a thread that saw the chunk.
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the index is at least first_chunk
    return chunks_[chunk].load(std::memory_order_relaxed)[index - (first_chunk << chunk)];
  }

  /// The word of the next use of the same node.
  static word next_use(word used) noexcept { return used + most_nodes + 1; }

 private:
  static constexpr int index_bits = 26;
  static constexpr word most_nodes = (word{1} << index_bits) - 1;  // no node has the index 0
  static constexpr word first_chunk = Policy::nodes_at_first;
  static constexpr std::size_t most_chunks = index_bits;

  // A use of a node from the stack, or 0.
  word pop() noexcept {
    for (;;) {
      // acquire: what give() published.
      word top = top_.load(std::memory_order_acquire);
      if (top == 0) return 0;
      // relaxed: if the node has been popped meanwhile, the exchange fails, for then the top is another word: that of
      // another node, or of a later use of this one.
      const word below = at(top).below.load(std::memory_order_relaxed);
      // relaxed: the word is the one that was acquired, which no other give() published. For who pops after this
      // thread, the exchange passes on what was published before it.
      if (top_.compare_exchange_weak(top, below, std::memory_order_relaxed)) return top;
    }
  }

  // The word before the first use of a new node, or 0.
  word make() noexcept {
    // relaxed, twice: each thread gets an index of its own, and the chunk is looked for.
    for (word made = made_.load(std::memory_order_relaxed);;) {
      const word index = made + 1;
      // It is taken only when its node is there: so where there is no memory none is lost, however often it is tried,
      // and what has to be allocated does not grow by that.
      if (index > most_nodes || !has_chunk_of(index)) return 0;
      if (made_.compare_exchange_weak(made, index, std::memory_order_relaxed, std::memory_order_relaxed)) return index;
    }
  }

  // That the chunk of this index is there from now on. False where there is no memory.
  bool has_chunk_of(word index) noexcept {
    const word shifted = index + first_chunk - 1;
    const auto chunk = static_cast<std::size_t>(std::bit_width(shifted / first_chunk) - 1);
    // acquire: another thread may have made the chunk.
    if (chunks_[chunk].load(std::memory_order_acquire) != nullptr) return true;
    node* const made = new (std::nothrow) node[static_cast<std::size_t>(first_chunk << chunk)];
    node* nobody = nullptr;
    if (made == nullptr) return false;
    // release: the nodes are in their first state for who finds them; acquire: the same where another was faster.
    if (!chunks_[chunk].compare_exchange_strong(nobody, made, std::memory_order_release, std::memory_order_acquire))
      delete[] made;
    return true;
  }

  alignas(lock_padding) typename Policy::template atomic<word> top_{0};
  alignas(lock_padding) typename Policy::template atomic<word> made_{0};
  alignas(lock_padding) std::array<typename Policy::template atomic<node*>, most_chunks> chunks_{};
};

/// What a thread keeps of it for itself: the node that it will bring along next, and a few for locks that were
/// destroyed.
template <class Policy>
class GRADUS_EXPORT lock_node_cache {
  using pool = lock_node_pool<Policy>;

 public:
  using word = typename pool::word;

  static lock_node_cache& own() noexcept { return Policy::template own<lock_node_cache>(); }

  /// The next use of the thread's spare node; 0 where there is no memory. It remains the spare one until exchange().
  word next() noexcept {
    if (spare_ == 0) refill();
    return spare_ == 0 ? 0 : pool::next_use(spare_);
  }
  /// The use is a lock's now; `used`, if not 0, is over, and its node the thread's.
  void exchange(word used) noexcept {
    spare_ = used;
    if (is_closed_) give_back();
  }
  /// The use that next() gave is not wanted; it comes another time.
  void keep() noexcept {
    if (is_closed_) give_back();
  }
  /// The use is over, and the node anybody's.
  void give(word used) noexcept {
    if (count_ < room_) more_[count_++] = used;
    else Policy::template shared<pool>().give(used);
  }
  /// The thread ends: others shall have what it kept, and it keeps nothing more.
  static void leave() noexcept {
    lock_node_cache& own = lock_node_cache::own();
    own.is_closed_ = true;
    own.room_ = 0;
    own.give_back();
  }

 private:
  static constexpr unsigned most = 15;

  void refill() noexcept {
    if (room_ == 0 && !is_closed_) {  // the thread's first
      Policy::template at_thread_exit<lock_node_cache>();
      room_ = most;
    }
    if (count_ > 0) spare_ = more_[--count_];
    else spare_ = Policy::template shared<pool>().take_used();
  }
  void give_back() noexcept {
    if (spare_ != 0) Policy::template shared<pool>().give(spare_);
    spare_ = 0;
    while (count_ > 0) Policy::template shared<pool>().give(more_[--count_]);
  }

  word spare_ = 0;
  bool is_closed_ = false;
  unsigned count_ = 0;
  unsigned room_ = 0;
  std::array<word, most> more_{};
};

}  // namespace gradus
