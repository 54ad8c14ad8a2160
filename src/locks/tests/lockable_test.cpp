// Tests the requirements of the standard's Lockable: which threads may acquire a lock, where, when and in which order.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <ratio>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
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

// The threads have ended, but the lock still reads their nodes.
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

// Uses locks in destructors of thread_local objects. Such a destructor runs before or after the destructor of the
// lock's own thread-local data.
template <class Lock>
struct Late {
  Lock* lock;
  long* count;
  ~Late() {
    for (int round = 0; round < 40; ++round) {  // more rounds than the number of nodes that a thread caches
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
        // Constructs the lock's thread-local data before `late`, so that `late` is destroyed first.
        const std::scoped_lock guard(lock);
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

// Acquires eight locks by the standard's algorithm, which tries and backs off. Each thread names the locks in a
// different order.
TYPED_TEST(Lockable, ManyAreTakenAtOnceInAnyOrder) {
  constexpr std::size_t count = 8;
  std::vector<TypeParam> locks(count);
  long sum = 0;
  std::vector<std::jthread> team;
  for (std::size_t thread = 0; thread < 4; ++thread)
    team.emplace_back([&, thread] {
      const auto at = [&](std::size_t place) -> TypeParam& {
        return locks[(place * (2 * thread + 1) + thread) % count];
      };
      for (int round = 0; round < 50; ++round) {
        const std::scoped_lock all(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7));
        ++sum;
      }
    });
  team.clear();
  EXPECT_EQ(sum, 200);
}

// try_lock() may fail although the lock has just become free. Under contention, repeated attempts must succeed.
TYPED_TEST(Lockable, WhoTriesAgainComesIn) {
  TypeParam lock;
  std::atomic<bool> done{false};
  std::vector<std::jthread> others;
  for (int thread = 0; thread < 2; ++thread)
    others.emplace_back([&] {
      while (!done.load()) {
        { const std::scoped_lock guard(lock); }
        std::this_thread::yield();
      }
    });
  for (int entered = 0; entered < 100;) {
    if (!lock.try_lock()) {
      std::this_thread::yield();
      continue;
    }
    lock.unlock();
    ++entered;
  }
  done.store(true);
  others.clear();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// All threads wait when the lock is released, most of them at the same slot of array_lock. Each thread ends right after
// its section, although the next thread may still read the ended thread's node.
TYPED_TEST(Lockable, AThousandThreadsWaitAndEnd) {
#ifdef GRADUS_SANITIZED
  constexpr int threads = 150;
#else
  constexpr int threads = 500;
#endif
  TypeParam lock;
  long count = 0;
  std::atomic<int> here{0};
  lock.lock();
  std::vector<std::jthread> team;
  for (int thread = 0; thread < threads; ++thread)
    team.emplace_back([&] {
      here.fetch_add(1);
      const std::scoped_lock guard(lock);
      ++count;
    });
  while (here.load() < threads) std::this_thread::sleep_for(milliseconds(1));
  lock.unlock();
  team.clear();
  EXPECT_EQ(count, threads);
}

// Tests the standard guards: a guard passes the lock to another guard, and a guard unlocks before the end of its scope.
TYPED_TEST(Lockable, GuardsPassItOn) {
  TypeParam lock;
  std::unique_lock one(lock);
  std::unique_lock other(std::move(one));
  EXPECT_FALSE(
      one.owns_lock());  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move): tests the moved-from state
  EXPECT_TRUE(other.owns_lock());
  other.unlock();
  EXPECT_TRUE(another_thread_can_take(lock));
  other.lock();
  // The guard throws, because it records that it owns the lock. The lock itself does not record this.
  EXPECT_THROW(other.lock(), std::system_error);
  const std::lock_guard adopted(lock, std::adopt_lock);
  other.release();
}

TYPED_TEST(Lockable, AConditionVariableWaitsNoLongerThanItIsTold) {
  TypeParam lock;
  std::condition_variable_any changed;
  std::unique_lock guard(lock);
  EXPECT_EQ(changed.wait_for(guard, milliseconds(2)), std::cv_status::timeout);
  EXPECT_TRUE(guard.owns_lock());
  EXPECT_FALSE(another_thread_can_take(lock));
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_FALSE(changed.wait(guard, stop.get_token(), [] { return false; }));
  EXPECT_FALSE(another_thread_can_take(lock));
}

// A forked child has copies of the locks and the nodes. The child's only thread uses some of these nodes and makes
// additional ones.
TYPED_TEST(Lockable, WorksInAForkedChild) {
  EXPECT_EXIT(
      {
        TypeParam lock;
        { const std::scoped_lock guard(lock); }
        lock.lock();
        const pid_t child = fork();
        if (child == 0) {
          lock.unlock();
          long count = 0;
          std::vector<std::jthread> team;
          for (int thread = 0; thread < 4; ++thread)
            team.emplace_back([&] {
              const std::scoped_lock guard(lock);
              ++count;
            });
          team.clear();
          std::_Exit(count == 4 ? 0 : 1);
        }
        int status = 1;
        waitpid(child, &status, 0);
        lock.unlock();
        std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
      },
      testing::ExitedWithCode(0), "");
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

// The destructor runs after the tests. If the lock did not work in the destructor, the program would exit with an error
// or hang.
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
  // Some threads give up while the holder releases the lock. The remaining threads must not sleep for ever.
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

/// A very distant time overflows the clock's ticks. No lock may mistake such a time for the past.
TYPED_TEST(TimedLockable, WaitsHoweverLong) {
  using Days = std::chrono::duration<std::int64_t, std::ratio<86400>>;
  const auto becomes_free = [](const auto& take) {
    TypeParam lock;
    lock.lock();
    std::jthread waiting([&] {
      EXPECT_TRUE(take(lock));
      lock.unlock();
    });
    std::this_thread::sleep_for(milliseconds(2));
    lock.unlock();
  };
  const auto waits_for = [&](const auto& patience) {
    becomes_free([&](TypeParam& lock) { return lock.try_lock_for(patience); });
  };
  waits_for(std::chrono::nanoseconds::max());
  waits_for(std::chrono::seconds::max());
  waits_for(Days::max());
  waits_for(std::chrono::duration<double>(1e300));
  waits_for(std::chrono::duration<float>(std::numeric_limits<float>::infinity()));
  // Tests ticks that are not multiples of the clock's ticks, and ticks longer than the range of the clock.
  using Samples = std::chrono::duration<std::int64_t, std::ratio<1, 44100>>;
  using Millennia = std::chrono::duration<int, std::ratio_multiply<std::chrono::years::period, std::kilo>>;
  waits_for(Samples(std::int64_t{44100} * 86400 * 365));
  waits_for(std::chrono::duration<std::int64_t, std::ratio<1, 60>>(std::int64_t{60} * 86400 * 365 * 120));
  waits_for(Millennia(1));
  const auto waits_until = [&](const auto& deadline) {
    becomes_free([&](TypeParam& lock) { return lock.try_lock_until(deadline); });
  };
  waits_until(steady_clock::time_point::max());
  waits_until(std::chrono::sys_time<Samples>(
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) + std::chrono::seconds(60)));
  waits_until(std::chrono::system_clock::time_point::max());
  waits_until(std::chrono::time_point<steady_clock, std::chrono::hours>::max());
  waits_until(std::chrono::time_point<std::chrono::system_clock, Days>::max());
  waits_until(
      std::chrono::time_point<steady_clock, std::chrono::duration<double>>(std::chrono::duration<double>(1e30)));
}

TEST(Deadline, IsTheNextTickOfTheClock) {
  const auto ticks = []<class Duration>(Duration time) {
    using Deadline = std::chrono::time_point<std::chrono::system_clock, Duration>;
    static_assert(std::is_same_v<std::chrono::system_clock::period, std::nano>);
    return lock_deadline(Deadline(time)).time_since_epoch().count();
  };
  using Samples = std::chrono::duration<std::int64_t, std::ratio<1, 44100>>;
  EXPECT_EQ(ticks(Samples(1)), 22676);  // exact: 22675.7
  EXPECT_EQ(ticks(Samples(-1)), -22675);
  EXPECT_EQ(ticks(Samples(44100)), 1'000'000'000);
  EXPECT_EQ(ticks(Samples(std::int64_t{44100} * 1'800'000'000 + 1)), 1'800'000'000'000'022'676);
  using Frames = std::chrono::duration<std::int64_t, std::ratio<1001, 30000>>;
  EXPECT_EQ(ticks(Frames(7)), 233'566'667);  // exact: 233566666.7
  EXPECT_EQ(ticks(std::chrono::duration<std::int64_t, std::pico>(-1999)), -1);
  EXPECT_EQ(ticks(std::chrono::duration<std::uint64_t, std::pico>(~std::uint64_t{0})) / 1'000'000, 18'446'744'073);
  EXPECT_EQ(ticks(std::chrono::duration<signed char, std::ratio<3600>>(-2)), -7'200'000'000'000);
}

TYPED_TEST(TimedLockable, DoesNotWaitForThePast) {
  using Days = std::chrono::duration<std::int64_t, std::ratio<86400>>;
  TypeParam lock;
  lock.lock();
  std::thread([&] {
    EXPECT_FALSE(lock.try_lock_for(std::chrono::nanoseconds::min()));
    EXPECT_FALSE(lock.try_lock_for(std::chrono::seconds::min()));
    EXPECT_FALSE(lock.try_lock_for(Days::min()));
    EXPECT_FALSE(lock.try_lock_for(std::chrono::duration<double>(-1e300)));
    EXPECT_FALSE(lock.try_lock_for(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())));
    EXPECT_FALSE(lock.try_lock_until(steady_clock::time_point::min()));
    EXPECT_FALSE(lock.try_lock_until(std::chrono::system_clock::time_point::min()));
    EXPECT_FALSE(lock.try_lock_until(std::chrono::time_point<steady_clock, Days>::min()));
    EXPECT_FALSE(lock.try_lock_until(steady_clock::time_point()));
  }).join();
  lock.unlock();
  EXPECT_TRUE(another_thread_can_take(lock));
}

/// CoarseClock has ticks of 10 milliseconds. FailingClock throws after looks_left readings.
struct CoarseClock {
  using duration = std::chrono::duration<int, std::centi>;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<CoarseClock>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static time_point now() noexcept {
    return time_point(std::chrono::duration_cast<duration>(steady_clock::now() - start));
  }
  static inline const steady_clock::time_point start =
      steady_clock::now() + std::chrono::hours(1);  // one hour ahead, so that now() is negative
};
struct FailingClock : steady_clock {
  using time_point = std::chrono::time_point<FailingClock, steady_clock::duration>;
  static time_point now() {
    if (--looks_left < 0) throw std::runtime_error("no time");
    return time_point(steady_clock::now().time_since_epoch());
  }
  static inline thread_local int looks_left = 0;
};

TYPED_TEST(TimedLockable, TakesClocksOfItsCallers) {
  TypeParam lock;
  lock.lock();
  std::thread([&] {
    const auto start = CoarseClock::now();
    EXPECT_FALSE(lock.try_lock_until(start + milliseconds(25)));
    EXPECT_GE(CoarseClock::now() - start, milliseconds(25));
    EXPECT_FALSE(lock.try_lock_until(CoarseClock::time_point::min()));
  }).join();
  std::jthread waiting([&] {
    EXPECT_TRUE(lock.try_lock_until(CoarseClock::time_point::max()));
    lock.unlock();
  });
  std::this_thread::sleep_for(milliseconds(2));
  lock.unlock();
}

TYPED_TEST(TimedLockable, AClockThatThrowsLeavesNobodyBehind) {
  for (int allowed = 0; allowed < 4; ++allowed) {
    TypeParam lock;
    lock.lock();
    std::thread([&] {
      FailingClock::looks_left = allowed;
      EXPECT_THROW(lock.try_lock_until(FailingClock::time_point::max()), std::runtime_error);
    }).join();
    // Although the clock of an earlier thread has thrown, unlock() must wake these threads.
    std::vector<std::jthread> waiting;
    for (int thread = 0; thread < 2; ++thread) waiting.emplace_back([&] { const std::scoped_lock guard(lock); });
    std::this_thread::sleep_for(milliseconds(2));
    lock.unlock();
  }
}

}  // namespace
}  // namespace gradus::locks_detail
