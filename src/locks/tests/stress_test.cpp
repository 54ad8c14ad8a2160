// Tests locks with real threads and forced delays. Before and after each access to a lock's variables, a thread may
// yield or sleep, which widens the windows between two accesses. The code under test is the production code.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "gradus/locks.hpp"
#include "locks/tests/faulty_clh.hpp"

namespace gradus::locks_detail {
namespace {

/// Delays the calling thread or returns at once. A thread-local random number decides.
void delay() {
  static std::atomic<unsigned> seeds{1};
  thread_local unsigned state = seeds.fetch_add(1, std::memory_order_relaxed) * 2654435761U;
  state = state * 1664525U + 1013904223U;
  const unsigned draw = state >> 16;
  if (draw % 512 == 0) std::this_thread::sleep_for(std::chrono::microseconds(1));
  else if (draw % 8 == 0) std::this_thread::yield();
}

struct Delaying : lock_policy {
  template <class T>
  class atomic {
   public:
    constexpr atomic() noexcept = default;
    constexpr atomic(T value) noexcept : value_(value) {}
    T load(std::memory_order order) const {
      delay();
      const T value = value_.load(order);
      delay();
      return value;
    }
    void store(T value, std::memory_order order) {
      delay();
      value_.store(value, order);
      delay();
    }
    T exchange(T value, std::memory_order order) {
      delay();
      const T before = value_.exchange(value, order);
      delay();
      return before;
    }
    T fetch_add(T value, std::memory_order order) { return delay(), value_.fetch_add(value, order); }
    T fetch_sub(T value, std::memory_order order) { return delay(), value_.fetch_sub(value, order); }
    T fetch_or(T value, std::memory_order order) { return delay(), value_.fetch_or(value, order); }
    template <class... Orders>
    bool compare_exchange_strong(T& expected, T desired, Orders... orders) {
      delay();
      const bool done = value_.compare_exchange_strong(expected, desired, orders...);
      delay();
      return done;
    }
    template <class... Orders>
    bool compare_exchange_weak(T& expected, T desired, Orders... orders) {
      return compare_exchange_strong(expected, desired, orders...);
    }

   private:
    std::atomic<T> value_{};
  };
  static constexpr std::uint64_t nodes_at_first = 2;
  static constexpr int looks_before_sleep = 1;
  static constexpr std::uint32_t most_near = 2;
  static unsigned memory_node() {
    thread_local const unsigned node = [] {
      static std::atomic<unsigned> threads{0};
      return threads.fetch_add(1, std::memory_order_relaxed) % 2;
    }();
    return node;
  }
};

#ifdef GRADUS_SANITIZED
constexpr int rounds = 300;
#else
constexpr int rounds = 1000;
#endif

/// Runs enter(thread, section) `rounds` times on each of `threads` threads. Returns the number of sections in which a
/// thread saw another thread inside.
template <class Enter>
int overlaps(int threads, const Enter& enter) {
  std::atomic<int> inside{-1};
  std::atomic<int> seen{0};
  std::vector<std::jthread> team;
  for (int thread = 0; thread < threads; ++thread)
    team.emplace_back([&, thread] {
      for (int round = 0; round < rounds; ++round)
        enter(thread, [&] {
          inside.store(thread, std::memory_order_relaxed);
          delay();
          if (inside.load(std::memory_order_relaxed) != thread) seen.fetch_add(1, std::memory_order_relaxed);
        });
    });
  team.clear();
  return seen.load(std::memory_order_relaxed);
}

template <class Lock>
class LocksStress : public testing::Test {};
using Locks = testing::Types<basic_tas_lock<Delaying>, basic_ttas_lock<Delaying>, basic_ticket_lock<Delaying>,
                             basic_array_lock<2, Delaying>, basic_clh_lock<Delaying>, basic_mcs_lock<Delaying>,
                             basic_cna_lock<Delaying>, basic_park_lock<Delaying>>;
TYPED_TEST_SUITE(LocksStress, Locks);

TYPED_TEST(LocksStress, ExcludesOthers) {
  TypeParam lock;
  int plain = 0;  // not atomic, so that the thread sanitizer checks the lock
  EXPECT_EQ(overlaps(4,
                     [&](int, const auto& section) {
                       const std::scoped_lock guard(lock);
                       ++plain;
                       section();
                     }),
            0);
  EXPECT_EQ(plain, 4 * rounds);
}

TYPED_TEST(LocksStress, ExcludesThoseWhoTry) {
  TypeParam lock;
  int plain = 0;
  int entered = 0;
  EXPECT_EQ(overlaps(4,
                     [&](int thread, const auto& section) {
                       std::unique_lock guard(lock, std::defer_lock);
                       if (thread % 2 == 0) guard.lock();
                       else
                         while (!guard.try_lock()) std::this_thread::yield();
                       ++plain;
                       ++entered;
                       section();
                     }),
            0);
  EXPECT_EQ(plain, entered);
  EXPECT_EQ(plain, 4 * rounds);
}

template <class Lock>
class TimedLocksStress : public testing::Test {};
using TimedLocks = testing::Types<basic_tas_lock<Delaying>, basic_ttas_lock<Delaying>, basic_park_lock<Delaying>>;
TYPED_TEST_SUITE(TimedLocksStress, TimedLocks);

TYPED_TEST(TimedLocksStress, ExcludesThoseWhoGiveUp) {
  TypeParam lock;
  int plain = 0;
  EXPECT_EQ(overlaps(4,
                     [&](int thread, const auto& section) {
                       std::unique_lock guard(lock, std::defer_lock);
                       if (thread == 0) guard.lock();
                       else
                         while (!guard.try_lock_for(std::chrono::microseconds(thread))) {
                         }
                       ++plain;
                       section();
                     }),
            0);
  EXPECT_EQ(plain, 4 * rounds);
}

// Negative control: a lock that raises its flag too late must be detected. Each attempt gives the fault thousands of
// chances to show.
TEST(LocksStressControl, FindsTheLogicFault) {
  int seen = 0;
  for (int attempt = 0; attempt < 20 && seen == 0; ++attempt) {
    FaultyClh<Delaying, Fault::late_flag> lock(2);
    seen += overlaps(2, [&](int thread, const auto& section) {
      lock.lock(static_cast<std::size_t>(thread));
      section();
      lock.unlock(static_cast<std::size_t>(thread));
    });
  }
  EXPECT_GT(seen, 0);
}

TEST(LocksStressControl, FindsNothingWhereThereIsNothing) {
  FaultyClh<Delaying, Fault::none> lock(2);
  EXPECT_EQ(overlaps(2,
                     [&](int thread, const auto& section) {
                       lock.lock(static_cast<std::size_t>(thread));
                       section();
                       lock.unlock(static_cast<std::size_t>(thread));
                     }),
            0);
}

}  // namespace
}  // namespace gradus::locks_detail
