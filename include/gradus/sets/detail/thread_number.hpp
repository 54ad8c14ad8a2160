/// A small number for each thread, by which it finds a place of its own in what threads share.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace gradus::sets_detail {

/// Numbers are below this.
inline constexpr unsigned thread_numbers = 256;

// They are only hints: whoever uses them stays right when two threads have the same number. So threads beyond the last
// number share some; and a thread whose destructors of thread_local objects have begun may go on with a number that it
// has given back. relaxed throughout, since nothing is published by them.
inline constinit std::atomic<std::uint64_t> numbers_taken[thread_numbers / 64] = {};
inline constinit thread_local unsigned this_thread_number = thread_numbers;  // none yet

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

/// The calling thread's, the least one that was free when it first asked.
inline unsigned thread_number() {
  if (this_thread_number == thread_numbers) this_thread_number = take_thread_number();
  return this_thread_number;
}

}  // namespace gradus::sets_detail
