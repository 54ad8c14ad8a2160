/// array_lock: tickets, and a place of its own for each number to be called at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gradus/locks/policy.hpp"

namespace gradus {

/// Anderson's queue in an array. Lockable; in order of arrival. (Slots + 2) 128 bytes: 8448 for `array_lock`, which has
/// 64 slots, no other memory.
///
/// Each thread waits at a cache line of its own, so that a hand-off disturbs nobody but the next. With more threads
/// than slots several wait at one; as each slot holds the 64-bit number that was called there last, and not a flag,
/// each still knows its turn. Source: T. E. Anderson, "The performance of spin lock alternatives for shared-memory
/// multiprocessors" (1990).
template <std::size_t Slots = 64, class Policy = lock_policy>
class basic_array_lock {
 public:
  static_assert(Slots > 0 && (Slots & (Slots - 1)) == 0, "a power of two: the numbers' remainder shall cost nothing");

  constexpr basic_array_lock() noexcept = default;
  basic_array_lock(const basic_array_lock&) = delete;
  basic_array_lock& operator=(const basic_array_lock&) = delete;

  void lock() noexcept {
    // relaxed: the number alone matters, and every thread gets another one.
    const std::uint64_t own = next_.fetch_add(1, std::memory_order_relaxed);
    typename Policy::spinner spinner;
    // acquire: what the last holder did before it called this number is done for this thread too.
    while (slot(own).load(std::memory_order_acquire) != own) spinner.rest();
    held_ = own;
  }

  /// Never waits. May fail where the lock has just become free, not for ever.
  bool try_lock() noexcept {
    // relaxed: the exchange tells whether it is still the next.
    std::uint64_t own = next_.load(std::memory_order_relaxed);
    // acquire: as in lock(); that number was called, and if nobody has drawn it the lock is free.
    if (slot(own).load(std::memory_order_acquire) != own) return false;
    // relaxed: nothing but the number is handed on by it.
    if (!next_.compare_exchange_strong(own, own + 1, std::memory_order_relaxed)) return false;
    held_ = own;
    return true;
  }

  /// By the thread that holds it.
  void unlock() noexcept {
    const std::uint64_t after = held_ + 1;
    // release: what this thread did is done for the one that reads its number here. What stood there is over: it was
    // called for a holder before this one.
    slot(after).store(after, std::memory_order_release);
  }

 private:
  struct alignas(lock_padding) place {
    typename Policy::template atomic<std::uint64_t> called{0};  // 0 is the first number, and that of the first slot
  };
  typename Policy::template atomic<std::uint64_t>& slot(std::uint64_t number) noexcept {
    return slots_[static_cast<std::size_t>(number % Slots)].called;
  }

  alignas(lock_padding) typename Policy::template atomic<std::uint64_t> next_{0};
  alignas(lock_padding) typename Policy::template guarded<std::uint64_t> held_{0};
  std::array<place, Slots> slots_{};
};

using array_lock = basic_array_lock<>;

}  // namespace gradus
