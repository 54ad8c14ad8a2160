/// A small number for each thread, which selects its part of shared arrays.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace gradus::sets_detail {

/// Thread numbers are smaller than this number.
inline constexpr unsigned thread_numbers = 256;

// The numbers are only hints: users stay correct if two threads have the same number. This happens in two cases. If
// there are more threads than numbers, threads share numbers. A thread that ends gives its number back, but the
// destructors of its thread_local objects may still use the number. relaxed everywhere, because the numbers publish
// nothing.
inline constinit std::atomic<std::uint64_t> numbers_taken[thread_numbers / 64] = {};
// This value means that the thread has no number yet.
inline constinit thread_local unsigned this_thread_number = thread_numbers;

inline unsigned take_thread_number() {
  static std::atomic<unsigned> shared{0};
  for (unsigned index = 0; index < thread_numbers / 64; ++index) {
    std::atomic<std::uint64_t>& taken = numbers_taken[index];
    for (std::uint64_t seen = taken.load(std::memory_order_relaxed); ~seen != 0;) {
      const auto bit = static_cast<unsigned>(std::countr_one(seen));
      if (!taken.compare_exchange_weak(seen, seen | std::uint64_t{1} << bit, std::memory_order_relaxed)) continue;
      struct returner {
        std::atomic<std::uint64_t>* from;
        std::uint64_t bit;
        ~returner() { from->fetch_and(~bit, std::memory_order_relaxed); }
      };
      static thread_local const returner at_exit{&taken, std::uint64_t{1} << bit};
      (void)at_exit;
      return 64 * index + bit;
    }
  }
  return shared.fetch_add(1, std::memory_order_relaxed) % thread_numbers;
}

/// Returns the number of the calling thread. The first call in a thread assigns the smallest free number or, if no
/// number is free, a shared one.
inline unsigned thread_number() {
  if (this_thread_number == thread_numbers) this_thread_number = take_thread_number();
  return this_thread_number;
}

}  // namespace gradus::sets_detail
