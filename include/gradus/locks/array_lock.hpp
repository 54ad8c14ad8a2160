/// array_lock: a ticket lock that announces each number on a separate cache line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gradus/locks/policy.hpp"

namespace gradus {

/// Anderson's array-based queue lock. Lockable. First come, first served. Size (Slots + 2) * 128 bytes, which is 8448
/// for `array_lock` with 64 slots; no other memory.
///
/// Each thread waits at a separate cache line, so that a hand-off affects only the next thread. With more threads than
/// slots, several threads share a slot. A slot contains the last 64-bit number that was called there, so threads that
/// share a slot recognise their own numbers. Source: T. E. Anderson, "The performance of spin lock alternatives for
/// shared-memory multiprocessors" (1990).
template <std::size_t Slots = 64, class Policy = lock_policy>
class basic_array_lock {
 public:
  static_assert(Slots > 0 && (Slots & (Slots - 1)) == 0, "a power of two: the numbers' remainder shall cost nothing");

  constexpr basic_array_lock() noexcept = default;
  basic_array_lock(const basic_array_lock&) = delete;
  basic_array_lock& operator=(const basic_array_lock&) = delete;

  void lock() noexcept {
    // relaxed: only the number matters, and every thread gets a different number.
    const std::uint64_t own = next_.fetch_add(1, std::memory_order_relaxed);
    typename Policy::spinner spinner;
    // acquire: synchronizes with the release that called this number.
    while (slot(own).load(std::memory_order_acquire) != own) spinner.rest();
    held_ = own;
  }

  /// Never blocks. A call may fail although the lock has just become free, but repeated calls on a free lock succeed.
  bool try_lock() noexcept {
    // relaxed: the exchange below fails if another thread has drawn this number in the meantime.
    std::uint64_t own = next_.load(std::memory_order_relaxed);
    // acquire: as in lock(). If the slot contains this number, the number was called. The lock is then free, unless
    // another thread has drawn the number.
    if (slot(own).load(std::memory_order_acquire) != own) return false;
    // relaxed: the exchange publishes only the number.
    if (!next_.compare_exchange_strong(own, own + 1, std::memory_order_relaxed)) return false;
    held_ = own;
    return true;
  }

  void unlock() noexcept {
    const std::uint64_t after = held_ + 1;
    // release: the thread that reads its number here sees the writes of this thread. The old value in the slot was
    // called for an earlier holder and is no longer needed.
    slot(after).store(after, std::memory_order_release);
  }

 private:
  struct alignas(lock_padding) place {
    typename Policy::template atomic<std::uint64_t> called{0};  // 0 is the first number and belongs to the first slot
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
