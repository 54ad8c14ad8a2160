/// Allocation of nodes with the allocator of a set.
#pragma once

#include <memory>
#include <utility>

namespace gradus::sets_detail {

/// Constructs a key inside a node. As in the containers of the standard library, uses the allocator's construct() if
/// the allocator has this function. So a polymorphic allocator (std::pmr) also serves keys that use an allocator.
template <class Allocator, class Key, class Argument>
void make_key(const Allocator& allocator, const Key& place, Argument&& argument) {
  using key_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<Key>;
  key_allocator own(allocator);
  std::allocator_traits<key_allocator>::construct(own, const_cast<Key*>(std::addressof(place)),
                                                  std::forward<Argument>(argument));
}
template <class Allocator, class Key>
void destroy_key(const Allocator& allocator, const Key& place) noexcept {
  using key_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<Key>;
  key_allocator own(allocator);
  std::allocator_traits<key_allocator>::destroy(own, const_cast<Key*>(std::addressof(place)));
}

/// Allocates and destroys nodes, which have a member `key`. Several threads may use the factory at the same time; each
/// works with a copy of the allocator.
template <class Node, class Allocator>
class node_factory {
  using node_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<Node>;
  using traits = std::allocator_traits<node_allocator>;

 public:
  explicit node_factory(const Allocator& allocator) : allocator_(allocator) {}

  /// If the constructor of the key throws, the node is deallocated.
  template <class Argument>
  Node* make(Argument&& key) {
    node_allocator allocator(allocator_);
    auto place = traits::allocate(allocator, 1);
    Node* node = std::construct_at(std::to_address(place));
    try {
      make_key(allocator_, node->key, std::forward<Argument>(key));
    } catch (...) {
      std::destroy_at(node);
      traits::deallocate(allocator, place, 1);
      throw;
    }
    return node;
  }

  void destroy(Node* node) noexcept {
    node_allocator allocator(allocator_);
    destroy_key(allocator_, node->key);
    std::destroy_at(node);
    traits::deallocate(allocator, std::pointer_traits<typename traits::pointer>::pointer_to(*node), 1);
  }

  Allocator allocator() const { return Allocator(allocator_); }

  /// Owns a node until it is linked into the list.
  class holder {
   public:
    explicit holder(node_factory& factory) : factory_(factory) {}
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;
    ~holder() {
      if (node_ != nullptr) factory_.destroy(node_);
    }
    void hold(Node* node) { node_ = node; }
    Node* get() const { return node_; }
    Node* release() { return std::exchange(node_, nullptr); }

   private:
    node_factory& factory_;
    Node* node_ = nullptr;
  };

 private:
  [[no_unique_address]] node_allocator allocator_;
};

}  // namespace gradus::sets_detail
