// What a lock owes to those who use it as the standard's Lockable: who may take it, where, when and in which order.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gradus/locks.hpp"

namespace gradus::locks_detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

template <class Lock>
class Lockable : public testing::Test {};
using Locks = testing::Types<tas_lock, ttas_lock, ticket_lock, array_lock, clh_lock, mcs_lock, cna_lock, park_lock>;
TYPED_TEST_SUITE(Lockable, Locks);

template <class Lock>
bool another_thread_can_take(Lock& lock) {
  bool could = false;
  std::thread([&] {
    if (could = lock.try_lock(); could) lock.unlock();
  }).join();
  return could;
}

TYPED_TEST(Lockable, TryLockFailsWhileItIsHeldAndDoesNotWait) {
  TypeParam lock;
  EXPECT_TRUE(another_thread_can_take(lock));
  lock.lock();
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(another_thread_can_take(lock));
  lock.unlock();
  EXPECT_TRUE(another_thread_can_take(lock));
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(another_thread_can_take(lock));
  lock.unlock();
  lock.lock();
  lock.unlock();
}

TYPED_TEST(Lockable, TryLockFailsWhileOthersWait) {
  TypeParam lock;
  lock.lock();
  std::vector<std::jthread> waiting;
  for (int thread = 0; thread < 3; ++thread) waiting.emplace_back([&] { const std::scoped_lock guard(lock); });
  for (int look = 0; look < 100; ++look) EXPECT_FALSE(lock.try_lock());
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  waiting.clear();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TYPED_TEST(Lockable, LiesOnCacheLinesOfItsOwn) {
  EXPECT_GE(alignof(TypeParam), 128U);
  EXPECT_EQ(sizeof(TypeParam) % 128, 0U);
}

TYPED_TEST(Lockable, SeveralAreHeldAtOnceAndLetGoInAnyOrder) {
  std::vector<TypeParam> locks(100);
  for (TypeParam& lock : locks) lock.lock();
  for (std::size_t at = 0; at < locks.size(); at += 2) locks[at].unlock();
  for (std::size_t at = 0; at < locks.size(); ++at) EXPECT_EQ(another_thread_can_take(locks[at]), at % 2 == 0);
  for (std::size_t at = locks.size(); at-- > 0;)
    if (at % 2 == 1) locks[at].unlock();
  for (TypeParam& lock : locks) EXPECT_TRUE(another_thread_can_take(lock));
}

TYPED_TEST(Lockable, StandardAlgorithmsTakeSeveral) {
  TypeParam one;
  TypeParam other;
  std::mutex third;
  long count = 0;
  std::vector<std::jthread> team;
  for (int thread = 0; thread < 4; ++thread)
    team.emplace_back([&, thread] {
      for (int round = 0; round < 500; ++round) {
        if (thread % 2 == 0) {
          const std::scoped_lock all(one, other, third);
          ++count;
        } else {
          const std::scoped_lock all(third, other, one);
          ++count;
        }
      }
    });
  team.clear();
  EXPECT_EQ(count, 2000);
}

TYPED_TEST(Lockable, ConditionVariablesWaitWithIt) {
  TypeParam lock;
  std::condition_variable_any changed;
  std::vector<int> queue;
  long sum = 0;
  std::jthread consumer([&] {
    for (int taken = 0; taken < 1000; ++taken) {
      std::unique_lock guard(lock);
      changed.wait(guard, [&] { return !queue.empty(); });
      sum += queue.back();
      queue.pop_back();
    }
  });
  for (int value = 1; value <= 1000; ++value) {
    {
      const std::scoped_lock guard(lock);
      queue.push_back(value);
    }
    changed.notify_one();
  }
  consumer.join();
  EXPECT_EQ(sum, 500500);
}

// Nodes that a thread brought along are still looked at when it has ended.
TYPED_TEST(Lockable, OutlivesItsThreads) {
  TypeParam lock;
  long count = 0;
  for (int generation = 0; generation < 50; ++generation) {
    std::vector<std::jthread> team;
    for (int thread = 0; thread < 4; ++thread)
      team.emplace_back([&] {
        const std::scoped_lock guard(lock);
        ++count;
      });
  }
  EXPECT_EQ(count, 200);
}

TYPED_TEST(Lockable, MoreThreadsThanCoresOrSlots) {
  TypeParam lock;
  long count = 0;
  std::vector<std::jthread> team;
  for (int thread = 0; thread < 100; ++thread)
    team.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        const std::scoped_lock guard(lock);
        ++count;
      }
    });
  team.clear();
  EXPECT_EQ(count, 500);
}

TYPED_TEST(Lockable, ManyComeAndGo) {
  for (int round = 0; round < 1000; ++round) {
    const auto lock = std::make_unique<TypeParam>();
    const std::scoped_lock guard(*lock);
  }
}

// In destructors of thread_local objects, whichever is destroyed first.
template <class Lock>
struct Late {
  Lock* lock;
  long* count;
  ~Late() {
    for (int round = 0; round < 40; ++round) {  // more than a thread keeps nodes
      Lock other;
      const std::scoped_lock both(*lock, other);
      ++*count;
    }
  }
};

TYPED_TEST(Lockable, WorksInDestructorsOfThreadLocalObjects) {
  TypeParam lock;
  long count = 0;
  std::vector<std::jthread> team;
  for (int thread = 0; thread < 4; ++thread)
    team.emplace_back([&, thread] {
      if (thread % 2 == 0) {
        const std::scoped_lock guard(lock);  // what the lock keeps for the thread comes before the object
        ++count;
      }
      thread_local Late<TypeParam> late{&lock, &count};
      (void)late.lock;
      const std::scoped_lock guard(lock);
      ++count;
    });
  team.clear();
  EXPECT_EQ(count, 2 + 4 + 4 * 40);
}

template <class Lock>
constinit Lock static_lock;
template <class Lock>
const bool before_main = [] {
  const std::scoped_lock guard(static_lock<Lock>);
  return true;
}();

TYPED_TEST(Lockable, WorksBeforeMain) {
  EXPECT_TRUE(before_main<TypeParam>);
  EXPECT_TRUE(another_thread_can_take(static_lock<TypeParam>));
}

// And after it: where this went wrong the program would end with an error, or not at all.
template <class Lock>
struct AtExit {
  ~AtExit() {
    const std::scoped_lock guard(static_lock<Lock>);
    std::thread([] { static_lock<Lock>.try_lock(); }).join();
  }
};
TYPED_TEST(Lockable, WorksInDestructorsOfStaticObjects) {
  static const AtExit<TypeParam> late;
  (void)late;
}

template <class Lock>
class TimedLockable : public testing::Test {};
using TimedLocks = testing::Types<tas_lock, ttas_lock, park_lock>;
TYPED_TEST_SUITE(TimedLockable, TimedLocks);

TYPED_TEST(TimedLockable, GivesUpInTimeAndNotBefore) {
  TypeParam lock;
  lock.lock();
  std::thread([&] {
    const auto start = steady_clock::now();
    EXPECT_FALSE(lock.try_lock_for(milliseconds(20)));
    EXPECT_GE(steady_clock::now() - start, milliseconds(20));
    const auto again = std::chrono::system_clock::now();
    EXPECT_FALSE(lock.try_lock_until(again + milliseconds(20)));
    EXPECT_GE(std::chrono::system_clock::now() - again, milliseconds(20));
    EXPECT_FALSE(lock.try_lock_until(steady_clock::now() - milliseconds(1)));
    EXPECT_FALSE(lock.try_lock_for(milliseconds(-5)));
  }).join();
  lock.unlock();
  EXPECT_TRUE(another_thread_can_take(lock));
}

TYPED_TEST(TimedLockable, SucceedsWhereItIsFreeOrBecomesFree) {
  TypeParam lock;
  EXPECT_TRUE(lock.try_lock_for(milliseconds(0)));
  std::jthread waiting([&] {
    EXPECT_TRUE(lock.try_lock_for(std::chrono::minutes(10)));
    lock.unlock();
  });
  std::this_thread::sleep_for(milliseconds(10));
  lock.unlock();
  waiting.join();
  EXPECT_TRUE(lock.try_lock_until(steady_clock::now() + milliseconds(1)));
  lock.unlock();
}

TYPED_TEST(TimedLockable, WhoGivesUpTakesNoWakeAlong) {
  // The holder lets go while some give up: none of the others may sleep on.
  for (int round = 0; round < 200; ++round) {
    TypeParam lock;
    lock.lock();
    std::vector<std::jthread> team;
    for (int thread = 0; thread < 4; ++thread)
      team.emplace_back([&, thread] {
        if (thread % 2 == 0) {
          const std::scoped_lock guard(lock);
        } else if (lock.try_lock_for(std::chrono::microseconds(50))) {
          lock.unlock();
        }
      });
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock.unlock();
  }
}

}  // namespace
}  // namespace gradus::locks_detail
