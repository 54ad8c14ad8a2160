// sequential: the textbook's sorted linked list.
//
// Idea: nodes are in ascending order, so the search for a key ends at the key's place, whether the key is present or
// not. The list is for one thread and has no synchronisation. Its time on one thread shows what the synchronisation of
// the lists below costs.
//
// Work: n / 2 pointer steps on a list of n keys.
//
// Source: D. E. Knuth, "The Art of Computer Programming", volume 1, 2.2.3.
#include <memory>

#include "sets/job.hpp"
#include "sets/rows.hpp"

namespace gradus::sets_detail {

namespace {

class SequentialList {
  struct Node;
  struct Link {
    Node* next = nullptr;
  };
  struct Node : Link {
    std::int64_t key = 0;
  };
  using Allocator = CountingAllocator<Node>;

 public:
  SequentialList() = default;
  SequentialList(const SequentialList&) = delete;
  SequentialList& operator=(const SequentialList&) = delete;
  ~SequentialList() {
    while (head_.next != nullptr) take_out(head_);
  }

  bool insert(std::int64_t key) {
    Link& before = find(key);
    if (is_at(before, key)) return false;
    Node* made = std::construct_at(Allocator().allocate(1));
    made->key = key;
    made->next = before.next;
    before.next = made;
    ++size_;
    return true;
  }
  bool erase(std::int64_t key) {
    Link& before = find(key);
    if (!is_at(before, key)) return false;
    take_out(before);
    --size_;
    return true;
  }
  bool contains(std::int64_t key) { return is_at(find(key), key); }
  std::size_t size() const { return size_; }

  class Iterator {
   public:
    explicit Iterator(const Node* at) : at_(at) {}
    std::int64_t operator*() const { return at_->key; }
    Iterator& operator++() {
      at_ = at_->next;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Node* at_;
  };
  Iterator begin() const { return Iterator(head_.next); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  /// Returns the link before the first key that is not less than `key`.
  Link& find(std::int64_t key) {
    Link* before = &head_;
    while (before->next != nullptr && before->next->key < key) before = before->next;
    return *before;
  }
  static bool is_at(const Link& before, std::int64_t key) { return before.next != nullptr && before.next->key == key; }
  static void take_out(Link& before) {
    Node* gone = before.next;
    before.next = gone->next;
    Allocator().deallocate(gone, 1);
  }

  Link head_;
  std::size_t size_ = 0;
};

}  // namespace

Outcome sequential(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return run_job<SequentialList>(problem, execution, phases, /*is_ordered=*/true, /*threads=*/1);
}

extern constinit const Variant sequential_rung{
    .name = "sequential",
    .summary = "the textbook's sorted list, for one thread",
    .contract = invariants,
    .backend = core::Backend::sequential,
    .supports = lists,
    .run = {sequential},
};

}  // namespace gradus::sets_detail
