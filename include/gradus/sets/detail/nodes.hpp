/// Making nodes by a set's allocator.
#pragma once

#include <memory>
#include <utility>

namespace gradus::sets_detail {

/// Makes and destroys nodes. Several threads use the allocator at a time, each through a copy of its own.
template <class Node, class Allocator>
class node_factory {
  using node_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<Node>;
  using traits = std::allocator_traits<node_allocator>;

 public:
  explicit node_factory(const Allocator& allocator) : allocator_(allocator) {}

  /// Where the key's copy throws, nothing stays behind.
  template <class... Argument>
  Node* make(Argument&&... argument) {
    node_allocator allocator(allocator_);
    auto place = traits::allocate(allocator, 1);
    Node* node = std::to_address(place);
    try {
      traits::construct(allocator, node, std::forward<Argument>(argument)...);
    } catch (...) {
      traits::deallocate(allocator, place, 1);
      throw;
    }
    return node;
  }

  void destroy(Node* node) noexcept {
    node_allocator allocator(allocator_);
    traits::destroy(allocator, node);
    traits::deallocate(allocator, std::pointer_traits<typename traits::pointer>::pointer_to(*node), 1);
  }

  Allocator allocator() const { return Allocator(allocator_); }

  /// Destroys a node that did not get into the list after all.
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
