/// fine_list_set: a sorted list with a lock in each node, locked hand over hand.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "gradus/sets/detail/interface.hpp"
#include "gradus/sets/detail/node_lock.hpp"
#include "gradus/sets/detail/nodes.hpp"
#include "gradus/sets/detail/shared_count.hpp"
#include "gradus/sets/policy.hpp"

namespace gradus {

/// A set of keys as a sorted linked list with a lock in each node. A thread locks the next node before it unlocks the
/// previous one, so that no thread overtakes another along the list. O(n) steps per operation, with two atomic
/// operations per step.
///
/// An erased node is destroyed at once: to reach it, a thread needs the lock of the previous node, which the erasing
/// thread holds.
///
/// Iteration holds the lock of the current key, and no other thread can pass this key. In ascending order, it returns
/// every key that is in the set all the time, no key twice, and perhaps keys that are inserted or erased concurrently.
/// Neither the loop body nor the function passed to visit() may call the set.
///
/// The operations are linearizable with acquire and release alone. Each operation holds the locks of the two nodes
/// around its key while it reads them, and these locks order any two operations on the same key.
///
/// Source: M. Herlihy and N. Shavit, "The Art of Multiprocessor Programming", 9.5.
template <class Key, class Compare = std::less<>, class Allocator = std::allocator<Key>, class Policy = set_policy>
class fine_list_set : public sets_detail::set_interface<fine_list_set<Key, Compare, Allocator, Policy>, Key,
                                                        sets_detail::transparent<Compare>> {
  struct node;
  /// The head of the list is a link without a key, so that no minimal key is needed.
  struct link {
    node* next = nullptr;  ///< guarded by `lock`
    sets_detail::basic_node_lock<Policy> lock;
  };
  struct node : link {
    node() noexcept {}
    ~node() {}
    union {
      const Key key;  ///< constructed and destroyed by the factory
    };
  };

 public:
  explicit fine_list_set(const Compare& compare = {}, const Allocator& allocator = {})
      : compare_(compare), nodes_(allocator) {}
  fine_list_set(const fine_list_set&) = delete;
  fine_list_set& operator=(const fine_list_set&) = delete;
  ~fine_list_set() {
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

  /// A locked part of the list: two adjacent links. The second one is a node. At the end of the list, there is only one
  /// link, and the node is null.
  class window {
   public:
    explicit window(link& head) : before_(&head) {
      before_->lock.lock();
      lock_next();
    }
    window(const window&) = delete;
    window& operator=(const window&) = delete;
    ~window() {
      if (here_ != nullptr) here_->lock.unlock();
      before_->lock.unlock();
    }
    void step() {
      before_->lock.unlock();
      before_ = here_;
      lock_next();
    }
    /// Unlinks the second node and returns it.
    node* cut() {
      node* gone = here_;
      before_->next = gone->next;
      gone->lock.unlock();
      here_ = nullptr;
      return gone;
    }
    link& before() const { return *before_; }
    node* here() const { return here_; }

   private:
    void lock_next() {
      here_ = before_->next;
      if (here_ != nullptr) here_->lock.lock();
    }
    link* before_;
    node* here_ = nullptr;
  };

  /// Advances until the second node does not precede the key or does not exist.
  template <class Other>
  void find(window& at, const Other& key) const {
    while (at.here() != nullptr && compare_(at.here()->key, key)) at.step();
  }
  template <class Other>
  bool is_at(const window& at, const Other& key) const {
    return at.here() != nullptr && !compare_(key, at.here()->key);
  }

  template <class Argument>
  bool add(Argument&& key) {
    window at(head_);
    find(at, key);
    if (is_at(at, key)) return false;
    node* made = nodes_.make(std::forward<Argument>(key));
    made->next = at.here();
    at.before().next = made;
    count_.add(1);
    return true;
  }

  template <class Other>
  bool remove(const Other& key) {
    node* gone = nullptr;
    {
      window at(head_);
      find(at, key);
      if (!is_at(at, key)) return false;
      gone = at.cut();
      count_.add(-1);
    }
    nodes_.destroy(gone);
    return true;
  }

  template <class Other, class Function>
  bool look_up(const Other& key, Function& function) const {
    window at(head_);
    find(at, key);
    if (!is_at(at, key)) return false;
    function(at.here()->key);
    return true;
  }

  std::int64_t count() const noexcept { return count_.sum(); }

  class cursor {
   public:
    explicit cursor(const fine_list_set& set) : at_(set.head_) {}
    const Key& key() const { return at_.here()->key; }
    void next() { at_.step(); }
    bool is_at_end() const { return at_.here() == nullptr; }

   private:
    window at_;
  };

  [[no_unique_address]] Compare compare_;
  sets_detail::node_factory<node, Allocator> nodes_;
  mutable link head_;
  sets_detail::shared_count<Policy> count_;
};

}  // namespace gradus
