// Sets whose threads are delayed at random between atomic operations. Delays elsewhere would not matter, because sets
// access shared memory only by atomic operations. The policy can also plant a fault in a set.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "gradus/sets/policy.hpp"

namespace gradus::sets_detail {

/// Some calls let other threads run, for a short or for a longer time. All other calls do nothing.
inline void be_held_up() {
  static constinit std::atomic<std::uint32_t> threads{0};
  thread_local std::uint32_t state = 2654435761U * (1 + threads.fetch_add(1, std::memory_order_relaxed));
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  if (state % 64 == 0) std::this_thread::yield();
  if (state % 4096 == 1)
    for (int again = 0; again < 20; ++again) std::this_thread::yield();
}

struct NoFault {
  template <class T>
  static T loaded(T value) {
    return value;
  }
};

/// A fault that hides the marks of links. A changing operation then checks that its first node links to its second
/// node, but fails to notice that its first node has been removed from the list.
struct BlindToMarks {
  template <class T>
  static T loaded(T value) {
    if constexpr (sizeof(T) == sizeof(std::uintptr_t) && std::is_unsigned_v<T>) return value & ~std::uintptr_t{1};
    else return value;
  }
};

template <class Fault = NoFault>
struct ShakenPolicy : set_policy {
  template <class T>
  class atomic {
   public:
    constexpr atomic(T value = {}) : value_(value) {}
    T load(std::memory_order order) const {
      be_held_up();
      return Fault::loaded(value_.load(order));
    }
    void store(T value, std::memory_order order) {
      be_held_up();
      value_.store(value, order);
      be_held_up();
    }
    T exchange(T value, std::memory_order order) {
      be_held_up();
      return value_.exchange(value, order);
    }
    bool compare_exchange_strong(T& expected, T value, std::memory_order order) {
      be_held_up();
      return value_.compare_exchange_strong(expected, value, order);
    }
    bool compare_exchange_strong(T& expected, T value, std::memory_order order, std::memory_order otherwise) {
      be_held_up();
      return value_.compare_exchange_strong(expected, value, order, otherwise);
    }
    bool compare_exchange_weak(T& expected, T value, std::memory_order order) {
      be_held_up();
      return value_.compare_exchange_weak(expected, value, order);
    }
    T fetch_add(T value, std::memory_order order) {
      be_held_up();
      return value_.fetch_add(value, order);
    }
    T fetch_sub(T value, std::memory_order order) {
      be_held_up();
      return value_.fetch_sub(value, order);
    }
    T fetch_or(T value, std::memory_order order) {
      be_held_up();
      return value_.fetch_or(value, order);
    }

   private:
    std::atomic<T> value_;
  };
};

}  // namespace gradus::sets_detail
