/// coarse_list_set: a sorted list under a single lock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "gradus/sets/detail/interface.hpp"
#include "gradus/sets/detail/nodes.hpp"

namespace gradus {

/// A set of keys as a sorted linked list. Each operation holds the single lock for its whole duration, so operations
/// run one after another. O(n) steps per operation. `Lock` is any Lockable type.
///
/// Iteration holds the lock from begin() until the iterator is destroyed. So it returns exactly the keys that are in
/// the set at that time, in ascending order. Neither the loop body nor the function passed to visit() may call the set.
///
/// Source: M. Herlihy and N. Shavit, "The Art of Multiprocessor Programming", 9.4.
template <class Key, class Compare = std::less<>, class Allocator = std::allocator<Key>, class Lock = std::mutex>
class coarse_list_set : public sets_detail::set_interface<coarse_list_set<Key, Compare, Allocator, Lock>, Key,
                                                          sets_detail::transparent<Compare>> {
  struct node;
  /// The head of the list is a link without a key, so that no minimal key is needed.
  struct link {
    node* next = nullptr;
  };
  struct node : link {
    node() noexcept {}
    ~node() {}
    union {
      const Key key;  ///< nodes_ constructs and destroys the key
    };
  };

 public:
  explicit coarse_list_set(const Compare& compare = {}, const Allocator& allocator = {})
      : compare_(compare), nodes_(allocator) {}
  coarse_list_set(const coarse_list_set&) = delete;
  coarse_list_set& operator=(const coarse_list_set&) = delete;
  ~coarse_list_set() {
    for (node* at = head_.next; at != nullptr;) {
      node* next = at->next;
      nodes_.destroy(at);
      at = next;
    }
  }

 private:
  template <class, class, bool>
  friend class sets_detail::set_interface;
  template <class>
  friend class sets_detail::set_iterator;

  /// Returns the link before the first key that is not less than `key`. Only this first key can equal `key`.
  template <class Other>
  const link& find(const Other& key) const {
    const link* before = &head_;
    while (before->next != nullptr && compare_(before->next->key, key)) before = before->next;
    return *before;
  }
  template <class Other>
  link& find(const Other& key) {
    return const_cast<link&>(std::as_const(*this).find(key));
  }
  template <class Other>
  bool is_at(const node* here, const Other& key) const {
    return here != nullptr && !compare_(key, here->key);
  }

  template <class Argument>
  bool add(Argument&& key) {
    const std::lock_guard hold(lock_);
    link& before = find(key);
    if (is_at(before.next, key)) return false;
    node* made = nodes_.make(std::forward<Argument>(key));
    made->next = before.next;
    before.next = made;
    ++count_;
    return true;
  }

  template <class Other>
  bool remove(const Other& key) {
    node* gone = nullptr;
    {
      const std::lock_guard hold(lock_);
      link& before = find(key);
      if (!is_at(before.next, key)) return false;
      gone = before.next;
      before.next = gone->next;
      --count_;
    }
    nodes_.destroy(gone);  // destroys the node without the lock, because no other thread can reach the node
    return true;
  }

  template <class Other, class Function>
  bool look_up(const Other& key, Function& function) const {
    const std::lock_guard hold(lock_);
    const node* here = find(key).next;
    if (!is_at(here, key)) return false;
    function(here->key);
    return true;
  }

  std::int64_t count() const noexcept {
    const std::lock_guard hold(lock_);
    return count_;
  }

  class cursor {
   public:
    explicit cursor(const coarse_list_set& set) : hold_(set.lock_), here_(set.head_.next) {}
    const Key& key() const { return here_->key; }
    void next() { here_ = here_->next; }
    bool is_at_end() const { return here_ == nullptr; }

   private:
    std::unique_lock<Lock> hold_;
    const node* here_;
  };

  [[no_unique_address]] Compare compare_;
  sets_detail::node_factory<node, Allocator> nodes_;
  mutable Lock lock_;
  link head_;
  std::int64_t count_ = 0;
};

}  // namespace gradus
