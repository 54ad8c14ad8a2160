/// The common interface of all sets.
#pragma once

#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace gradus::sets_detail {

template <class Function>
concept transparent = requires {
  typename Function::is_transparent;
};

template <class Other, class Key>
concept other_key = !std::is_same_v<Other, Key> && !(std::is_arithmetic_v<Other> && std::is_arithmetic_v<Key>);

/// Numbers of another type are converted to keys before they are compared. A direct comparison would convert -1 to the
/// largest value of an unsigned type.
template <class Other, class Key>
concept other_number = !std::is_same_v<Other, Key> && std::is_arithmetic_v<Other> && std::is_arithmetic_v<Key>;

/// Converts a number to a key. Returns nullopt if no key equals the number.
template <class Key, class Other>
constexpr std::optional<Key> equal_key(Other number) {
  using from = std::numeric_limits<Other>;
  using to = std::numeric_limits<Key>;
  // The largest value of an integer type plus one, as floating point.
  constexpr auto beyond = []<class Real, class Integer>(Real, Integer) {
    return 2 * static_cast<Real>(std::numeric_limits<Integer>::max() / 2 + 1);
  };
  if constexpr (!from::is_integer && to::is_integer) {
    if (!(number >= static_cast<Other>(to::min()) && number < beyond(Other{}, Key{}))) return {};
  } else if constexpr (!from::is_integer && from::max_exponent > to::max_exponent) {
    if (number > static_cast<Other>(to::max()) || number < static_cast<Other>(to::lowest())) {
      if (number != from::infinity() && number != -from::infinity()) return {};
    }
  }
  const Key key = static_cast<Key>(number);
  if constexpr (from::is_integer && !to::is_integer) {
    if (key >= beyond(Key{}, Other{})) return {};  // rounding has produced a key beyond the range of Other
  }
  const bool same = static_cast<Other>(key) == number && (key < Key{}) == (number < Other{});
  return same ? std::optional<Key>(key) : std::nullopt;
}

/// A forward-only iterator over a set. Movable, not copyable.
template <class Set>
class set_iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = typename Set::value_type;
  using difference_type = std::ptrdiff_t;

  explicit set_iterator(const Set& set) : cursor_(std::make_unique<typename Set::cursor>(set)) {}

  const value_type& operator*() const { return cursor_->key(); }
  const value_type* operator->() const { return std::addressof(cursor_->key()); }
  set_iterator& operator++() {
    cursor_->next();
    return *this;
  }
  void operator++(int) { cursor_->next(); }
  friend bool operator==(const set_iterator& iterator, std::default_sentinel_t) {
    return iterator.cursor_->is_at_end();
  }

 private:
  std::unique_ptr<typename Set::cursor> cursor_;
};

/// The operations of a set. Many threads may call them at the same time. Set must have the members
///
///   bool add(key)                   `key` is a const Key& or a Key&&
///   bool remove(const other& key)
///   bool look_up(const other& key, function)
///   cursor                          with key(), next(), is_at_end()
///
/// insert, erase, contains and visit are linearizable: each takes effect at a single moment between its call and its
/// return, and all threads agree on the order of these moments.
///
/// A thread must not be cancelled (pthread_cancel) inside an operation.
template <class Set, class Key, bool is_transparent>
class set_interface {
 public:
  using key_type = Key;
  using value_type = Key;
  using iterator = set_iterator<Set>;
  using const_iterator = iterator;

  /// Inserts a key. Returns false if the set already contains it. If the key's copy constructor, the comparison or the
  /// allocator throws an exception, the set is unchanged. `insert(Key&&)` does not move from the key if it finds an
  /// equal key. But if another thread inserts an equal key during the call, the call may move from the key and still
  /// return false.
  bool insert(const Key& key) { return self().add(key); }
  bool insert(Key&& key) { return self().add(std::move(key)); }

  /// Erases a key. Returns false if the set does not contain it.
  bool erase(const Key& key) { return self().remove(key); }

  bool contains(const Key& key) const { return self().look_up(key, ignore); }

  /// Calls function(const Key&) with the set's copy of the key, and returns true if the set contains the key. Other
  /// threads may erase the key in the meantime, but it is not destroyed before the function returns.
  template <class Function>
  bool visit(const Key& key, Function&& function) const {
    return self().look_up(key, function);
  }

  // Overloads for every type that can be compared with a key. They exist if the function objects of the set are
  // transparent.
  template <other_key<Key> Other>
  requires is_transparent bool erase(const Other& key) { return self().remove(key); }
  template <other_key<Key> Other>
  requires is_transparent bool contains(const Other& key) const { return self().look_up(key, ignore); }
  template <other_key<Key> Other, class Function>
  requires is_transparent bool visit(const Other& key, Function&& function) const {
    return self().look_up(key, function);
  }

  template <other_number<Key> Other>
  requires is_transparent bool erase(Other number) {
    const std::optional<Key> key = equal_key<Key>(number);
    return key && self().remove(*key);
  }
  template <other_number<Key> Other>
  requires is_transparent bool contains(Other number) const { return visit(number, ignore); }
  template <other_number<Key> Other, class Function>
  requires is_transparent bool visit(Other number, Function&& function) const {
    const std::optional<Key> key = equal_key<Key>(number);
    return key && self().look_up(*key, function);
  }

  /// Returns the number of keys: exact if no thread modifies the set, otherwise approximate.
  std::size_t size() const noexcept {
    const auto count = self().count();
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  bool empty() const noexcept { return size() == 0; }

  /// Iterates over the keys. The documentation of each set states the order and the visibility of concurrent changes.
  iterator begin() const { return iterator(self()); }
  std::default_sentinel_t end() const noexcept { return std::default_sentinel; }

 private:
  static constexpr auto ignore = [](const Key&) {};
  Set& self() noexcept { return static_cast<Set&>(*this); }
  const Set& self() const noexcept { return static_cast<const Set&>(*this); }
};

}  // namespace gradus::sets_detail
