// Tests locks in difficult moments: simultaneous arrivals, early destruction, cancelled threads, and lack of memory.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "gradus/locks.hpp"

// An operator new that can refuse the allocations of nodes. It is left out under sanitizers, which replace allocation
// themselves. These functions are not inline, because g++ would otherwise warn about mismatched new and free().
#ifndef GRADUS_SANITIZED
#define NOT_INLINE __attribute__((noinline))
namespace {
std::atomic<bool> refuses{false};
std::atomic<std::size_t> bytes_of_last{0};
}  // namespace
NOT_INLINE void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  if (refuses.load()) return nullptr;
  bytes_of_last.store(bytes);
  return std::aligned_alloc(static_cast<std::size_t>(alignment), bytes);
}
NOT_INLINE void operator delete[](void* place, std::align_val_t) noexcept { std::free(place); }
NOT_INLINE void operator delete[](void* place, std::size_t, std::align_val_t) noexcept { std::free(place); }
#endif

namespace gradus::locks_detail {
namespace {

// --- park_lock: many threads that arrive at once
// ----------------------------------------------------------------------

/// A policy under which all arriving threads read the lock before any of them registers as a watcher. Watchers do not
/// read the lock again before it is released. The releasing thread is slower than all other threads.
struct AllAtOnce : lock_policy {
  static inline std::barrier<>* all_here = nullptr;
  static inline std::atomic<bool> is_let_go{false};
  static inline std::atomic<bool> is_destroyed{false};
  static inline std::atomic<int> late{0};  ///< number of accesses to a destroyed lock
  static inline thread_local bool comes = false;
  static inline thread_local bool lets_go = false;

  static void access() {
    if (is_destroyed.load()) late.fetch_add(1);
  }
  template <class T>
  class atomic {
   public:
    constexpr atomic(T value) noexcept : value_(value) {}
    T load(std::memory_order order) const {
      access();
      const T value = value_.load(order);
      if (std::exchange(comes, false)) all_here->arrive_and_wait();
      return value;
    }
    T fetch_add(T value, std::memory_order order) { return access(), value_.fetch_add(value, order); }
    T fetch_or(T value, std::memory_order order) { return access(), value_.fetch_or(value, order); }
    template <class... Orders>
    bool compare_exchange_weak(T& expected, T desired, Orders... orders) {
      return access(), value_.compare_exchange_weak(expected, desired, orders...);
    }

   private:
    std::atomic<T> value_;
  };
  class semaphore : public lock_policy::semaphore {
   public:
    using lock_policy::semaphore::semaphore;
    void release() noexcept {
      access();
      lock_policy::semaphore::release();
    }
  };
  struct spinner {
    void rest(unsigned = 1) {
      while (!is_let_go.load()) std::this_thread::yield();
    }
  };
  // Called before the lock wakes a sleeper. The loop gives the other threads time to finish with the lock and destroy
  // it. If sleepers still wait for a wake-up, the other threads do not destroy the lock in this time.
  static void pause(unsigned) {
    if (!lets_go) return;
    is_let_go.store(true);
    for (int look = 0; look < 100 && !is_destroyed.load(); ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

// The last holder may destroy the lock. A thread that released the lock earlier and wakes no thread must not access it
// again.
TEST(LocksMalice, ParkLockIsNotTouchedOnceAllHaveHadIt) {
  for (int threads = 2; threads <= 6; ++threads) {
    AllAtOnce::is_let_go = false;
    AllAtOnce::is_destroyed = false;
    std::barrier<> all_here(threads + 1);
    AllAtOnce::all_here = &all_here;
    basic_park_lock<AllAtOnce> lock;  // not really destroyed, so that late accesses can be counted
    lock.lock();
    std::atomic<int> have_had_it{0};
    std::vector<std::jthread> team;
    for (int thread = 0; thread < threads; ++thread)
      team.emplace_back([&] {
        AllAtOnce::comes = true;
        lock.lock();
        lock.unlock();
        if (have_had_it.fetch_add(1) + 1 == threads) AllAtOnce::is_destroyed = true;
      });
    all_here.arrive_and_wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // gives all threads time to register
    AllAtOnce::lets_go = true;
    lock.unlock();
    AllAtOnce::lets_go = false;
    AllAtOnce::is_let_go = true;
    team.clear();
    EXPECT_EQ(AllAtOnce::late.exchange(0), 0) << threads;
  }
}

// --- cancelled threads
// ------------------------------------------------------------------------------------------------

template <class Lock>
class LocksOfCancelled : public testing::Test {};
using Locks = testing::Types<tas_lock, ttas_lock, ticket_lock, array_lock, clh_lock, mcs_lock, cna_lock, park_lock>;
TYPED_TEST_SUITE(LocksOfCancelled, Locks);

// As with std::mutex, a waiting thread that is cancelled continues to wait and finally gets the lock.
TYPED_TEST(LocksOfCancelled, WhoWaitsGoesOnWaiting) {
  TypeParam lock;
  lock.lock();
  bool had_it = false;
  std::jthread waiting([&] {
    const std::scoped_lock guard(lock);
    had_it = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // by now the thread sleeps
  pthread_cancel(waiting.native_handle());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  lock.unlock();
  waiting.join();
  EXPECT_TRUE(had_it);
}

#ifndef GRADUS_SANITIZED
// --- no memory -------------------------------------------------------------------------------------------------------

// Failed attempts to make nodes must not use up numbers: the first node made afterwards must be node 1.
TEST(LocksMalice, NoNodeIsLostWhereThereWasNoMemory) {
  const auto pool = std::make_unique<lock_node_pool<lock_policy>>();
  using Node = lock_node_pool<lock_policy>::node;
  refuses = true;
  for (int again = 0; again < 100000; ++again) ASSERT_EQ(pool->take_used(), 0U);
  refuses = false;
  EXPECT_EQ(pool->take_used(), 1U);
  EXPECT_LE(bytes_of_last.load(), (lock_policy::nodes_at_first + 1) * sizeof(Node));
}

TEST(LocksMalice, ClhLockComesInAgainWhenThereIsMemory) {
  std::thread([] {                       // this thread has no node yet
    std::vector<clh_lock> others(1000);  // more locks than the pool has nodes
    refuses = true;
    std::size_t taken = 0;
    while (taken < others.size() && others[taken].try_lock()) ++taken;
    if (taken < others.size()) {
      EXPECT_THROW(others[taken].lock(), std::bad_alloc);
      EXPECT_FALSE(others[taken].try_lock());
    }
    refuses = false;
    ASSERT_LT(taken, others.size());
    EXPECT_TRUE(others[taken].try_lock());
    others[taken].unlock();
    for (std::size_t at = 0; at < taken; ++at) others[at].unlock();
  })
      .join();
}
#endif

}  // namespace
}  // namespace gradus::locks_detail
