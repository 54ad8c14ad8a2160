// All kinds of sets with all kinds of reclamation, for typed tests. The sets in the table of variants are tested by
// sets_test.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>

#include "gradus/sets.hpp"

namespace gradus::sets_detail {

/// A kind of set. Set<...> is the type of the set for the given key, comparison, allocator and policy.
struct Coarse {
  static constexpr bool is_ordered = true;
  static constexpr bool reclaims = false;
  template <class Key, class Compare = std::less<>, class Allocator = std::allocator<Key>, class Policy = set_policy>
  using Set = coarse_list_set<Key, Compare, Allocator>;
};
struct Fine {
  static constexpr bool is_ordered = true;
  static constexpr bool reclaims = false;
  template <class Key, class Compare = std::less<>, class Allocator = std::allocator<Key>, class Policy = set_policy>
  using Set = fine_list_set<Key, Compare, Allocator, Policy>;
};

template <template <class> class Reclamation>
struct Optimistic {
  static constexpr bool is_ordered = true;
  static constexpr bool reclaims = true;
  template <class Key, class Compare = std::less<>, class Allocator = std::allocator<Key>, class Policy = set_policy>
  using Set = optimistic_list_set<Key, Reclamation<Policy>, Compare, Allocator>;
};
template <template <class> class Reclamation>
struct Lazy {
  static constexpr bool is_ordered = true;
  static constexpr bool reclaims = true;
  template <class Key, class Compare = std::less<>, class Allocator = std::allocator<Key>, class Policy = set_policy>
  using Set = lazy_list_set<Key, Reclamation<Policy>, Compare, Allocator>;
};
template <template <class> class Reclamation>
struct LockFree {
  static constexpr bool is_ordered = true;
  static constexpr bool reclaims = true;
  template <class Key, class Compare = std::less<>, class Allocator = std::allocator<Key>, class Policy = set_policy>
  using Set = lock_free_list_set<Key, Reclamation<Policy>, Compare, Allocator>;
};

template <template <class> class Reclamation>
struct SkipList {
  static constexpr bool is_ordered = true;
  static constexpr bool reclaims = true;
  template <class Key, class Compare = std::less<>, class Allocator = std::allocator<Key>, class Policy = set_policy>
  using Set = skip_list_set<Key, Reclamation<Policy>, Compare, Allocator>;
};
/// A hash for every key type of the tests. It has few different values, so that some keys collide.
struct AnyHash {
  template <class Key>
  std::size_t operator()(const Key& key) const {
    if constexpr (requires { key.hash(); }) return key.hash();
    else return std::hash<Key>()(key) % 512;
  }
};
/// Keys are equal if neither comes before the other.
template <class Compare>
struct Equivalent {
  Compare compare;
  template <class One, class Other>
  bool operator()(const One& one, const Other& other) const {
    return !compare(one, other) && !compare(other, one);
  }
};
template <template <class> class Reclamation>
struct SplitOrdered {
  static constexpr bool is_ordered = false;
  static constexpr bool reclaims = true;
  template <class Key, class Compare = std::less<>, class Allocator = std::allocator<Key>, class Policy = set_policy>
  using Set = split_ordered_set<Key, Reclamation<Policy>, AnyHash, Equivalent<Compare>, Allocator>;
};

using Kinds = testing::Types<Coarse, Fine, Optimistic<basic_epoch>, Optimistic<basic_hazard_pointers>,
                             Optimistic<basic_leak>, Lazy<basic_epoch>, Lazy<basic_hazard_pointers>, Lazy<basic_leak>,
                             LockFree<basic_epoch>, LockFree<basic_hazard_pointers>, LockFree<basic_leak>,
                             SkipList<basic_epoch>, SkipList<basic_hazard_pointers>, SkipList<basic_leak>,
                             SplitOrdered<basic_epoch>, SplitOrdered<basic_hazard_pointers>, SplitOrdered<basic_leak>>;

}  // namespace gradus::sets_detail
