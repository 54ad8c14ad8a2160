/// Nodes of queue locks (clh_lock) that outlive the threads that use them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "gradus/export.hpp"
#include "gradus/locks/policy.hpp"

namespace gradus {

/// The pool of nodes of all clh_locks. A 64-bit word identifies one use of a node: the low bits hold the index of the
/// node, and the high bits count its uses. A word does not repeat before 2^38 uses of one node. The pool never returns
/// memory to the system, so a thread may read a node even after another thread has reused the node. In this case, the
/// reading thread finds a different word. No function blocks or throws.
template <class Policy>
class GRADUS_EXPORT lock_node_pool {
 public:
  using word = std::uint64_t;

  struct alignas(lock_padding) node {
    /// The word of the last completed use. While the node is free, no later use has begun.
    typename Policy::template atomic<word> released{0};
    typename Policy::template atomic<word> below{0};  ///< next node on the stack of free nodes
  };

  constexpr lock_node_pool() noexcept = default;
  lock_node_pool(const lock_node_pool&) = delete;
  lock_node_pool& operator=(const lock_node_pool&) = delete;
  ~lock_node_pool() {  // never runs for lock_policy, whose pool lives as long as the process
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }

  /// Takes a node from the pool, and returns the word of its last completed use. The node then belongs to the caller.
  /// The caller returns the node by passing this word, or the word of a later use, to give(). Returns 0 if there is no
  /// memory.
  word take_used() noexcept {
    const word top = pop();
    return top != 0 ? top : make();
  }

  /// Puts the node of a completed use on the stack of free nodes.
  void give(word used) noexcept {
    word top = top_.load(std::memory_order_relaxed);
    do {
      // relaxed: the exchange below publishes the link.
      at(used).below.store(top, std::memory_order_relaxed);
      // release: a thread that pops the node sees three things: the link `below`, the last word of the node, and the
      // node's chunk in the directory.
    } while (!top_.compare_exchange_weak(top, used, std::memory_order_release, std::memory_order_relaxed));
  }

  /// Returns the node of a word. The calling thread must have taken the word, or received it from another thread.
  node& at(word one) noexcept {
    const word index = (one & most_nodes) + first_chunk - 1;
    const auto chunk = static_cast<std::size_t>(std::bit_width(index / first_chunk) - 1);
    // relaxed: the thread that passed the word to this thread has seen the chunk.
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the index is at least first_chunk
    return chunks_[chunk].load(std::memory_order_relaxed)[index - (first_chunk << chunk)];
  }

  /// Returns the word of the next use of the same node.
  static word next_use(word used) noexcept { return used + most_nodes + 1; }

 private:
  static constexpr int index_bits = 26;
  static constexpr word most_nodes = (word{1} << index_bits) - 1;  // no node has the index 0
  static constexpr word first_chunk = Policy::nodes_at_first;
  static constexpr std::size_t most_chunks = index_bits;

  // Pops a node from the stack and returns the word of its last use, or 0.
  word pop() noexcept {
    for (;;) {
      // acquire: synchronizes with the release in give().
      word top = top_.load(std::memory_order_acquire);
      if (top == 0) return 0;
      // relaxed: if another thread has popped the node in the meantime, `top_` holds a different word (of another node,
      // or of a later use of this node), and the exchange fails.
      const word below = at(top).below.load(std::memory_order_relaxed);
      // relaxed: the load above has acquired the word `top`, and only one call of give() publishes this word. The
      // exchange continues the release sequence, so later pops still synchronize with earlier calls of give().
      if (top_.compare_exchange_weak(top, below, std::memory_order_relaxed)) return top;
    }
  }

  // Returns the initial word of a new node, or 0 if there is no memory.
  word make() noexcept {
    // relaxed (twice): only the uniqueness of the index matters. has_chunk_of() synchronizes accesses to the chunk.
    for (word made = made_.load(std::memory_order_relaxed);;) {
      const word index = made + 1;
      // Takes an index only after its chunk exists, so that failed attempts do not use up indices.
      if (index > most_nodes || !has_chunk_of(index)) return 0;
      if (made_.compare_exchange_weak(made, index, std::memory_order_relaxed, std::memory_order_relaxed)) return index;
    }
  }

  // Ensures that the chunk of this index exists. Returns false if there is no memory.
  bool has_chunk_of(word index) noexcept {
    const word shifted = index + first_chunk - 1;
    const auto chunk = static_cast<std::size_t>(std::bit_width(shifted / first_chunk) - 1);
    // acquire: another thread may have made the chunk.
    if (chunks_[chunk].load(std::memory_order_acquire) != nullptr) return true;
    node* const made = new (std::nothrow) node[static_cast<std::size_t>(first_chunk << chunk)];
    node* nobody = nullptr;
    if (made == nullptr) return false;
    // release: other threads see initialised nodes. acquire: if another thread stored its chunk first, this thread sees
    // initialised nodes.
    if (!chunks_[chunk].compare_exchange_strong(nobody, made, std::memory_order_release, std::memory_order_acquire))
      delete[] made;
    return true;
  }

  alignas(lock_padding) typename Policy::template atomic<word> top_{0};
  alignas(lock_padding) typename Policy::template atomic<word> made_{0};
  alignas(lock_padding) std::array<typename Policy::template atomic<node*>, most_chunks> chunks_{};
};

/// Per-thread cache of the pool: the spare node for the next lock operation, and a few nodes of destroyed locks.
template <class Policy>
class GRADUS_EXPORT lock_node_cache {
  using pool = lock_node_pool<Policy>;

 public:
  using word = typename pool::word;

  static lock_node_cache& own() noexcept { return Policy::template own<lock_node_cache>(); }

  /// Returns the word of the next use of the spare node, or 0 if there is no memory. The node remains the spare until
  /// exchange() is called.
  word next() noexcept {
    if (spare_ == 0) refill();
    return spare_ == 0 ? 0 : pool::next_use(spare_);
  }
  /// Records that a lock now uses the spare node. `used` is the word of a completed use, or 0. If it is not 0, the node
  /// of this use becomes the spare.
  void exchange(word used) noexcept {
    spare_ = used;
    if (is_closed_) give_back();
  }
  /// Records that the word from next() was not used. The next call of next() returns the same word.
  void keep() noexcept {
    if (is_closed_) give_back();
  }
  /// Frees the node of a completed use.
  void give(word used) noexcept {
    if (count_ < room_) more_[count_++] = used;
    else Policy::template shared<pool>().give(used);
  }
  /// Called at the end of the thread: returns all nodes to the pool and disables the cache.
  static void leave() noexcept {
    lock_node_cache& own = lock_node_cache::own();
    own.is_closed_ = true;
    own.room_ = 0;
    own.give_back();
  }

 private:
  static constexpr unsigned most = 15;

  void refill() noexcept {
    if (room_ == 0 && !is_closed_) {  // this is the first use of the cache in this thread
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
