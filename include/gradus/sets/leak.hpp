/// leak: frees removed nodes only in the destructor of the set. Benchmarks compare all other methods of reclamation
/// with leak.
#pragma once

#include <atomic>
#include <cstddef>

#include "gradus/sets/detail/records.hpp"
#include "gradus/sets/detail/shared_count.hpp"
#include "gradus/sets/detail/word.hpp"
#include "gradus/sets/policy.hpp"

namespace gradus {

/// No reclamation: removed nodes are kept until the set is destroyed. This method shows what the other methods cost. It
/// is suitable for sets from which keys are rarely erased.
template <class Policy = set_policy>
struct basic_leak {
  using policy = Policy;
  static constexpr bool walks_past_removed = true;
  /// release: as in epoch.hpp.
  static constexpr std::memory_order unlink_order = std::memory_order_release;

  class guard;
  class domain {
   public:
    domain(void* set, sets_detail::free_function free, std::size_t /*distance*/ = 0) : set_(set), free_(free) {}
    ~domain() {
      sets_detail::reclaimable* node = retired_.load(std::memory_order_relaxed);
      while (node != nullptr) {
        sets_detail::reclaimable* next = node->next_retired;
        free_(set_, node);
        node = next;
      }
    }
    std::size_t garbage() const noexcept { return static_cast<std::size_t>(count_.sum()); }

   private:
    friend guard;
    void* set_;
    sets_detail::free_function free_;
    typename Policy::template atomic<sets_detail::reclaimable*> retired_{nullptr};
    sets_detail::shared_count<Policy> count_;
  };

  class guard {
   public:
    explicit guard(domain& of) : domain_(of) {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    template <class Link>
    sets_detail::word protect(unsigned /*slot*/, const Link& link, std::memory_order order) const noexcept {
      return link.load(order);
    }
    void retire(sets_detail::reclaimable* node) noexcept {
      // relaxed: only the destructor follows these links, and all users of the set happen before its destruction.
      node->next_retired = domain_.retired_.load(std::memory_order_relaxed);
      while (!domain_.retired_.compare_exchange_weak(node->next_retired, node, std::memory_order_relaxed)) {
      }
      domain_.count_.add(1);
    }

   private:
    domain& domain_;
  };
};

using leak = basic_leak<>;

}  // namespace gradus
