// Tests which removed nodes are freed, and when, if threads stop or end. Also tests sets that are used while a thread
// or the process ends.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gradus/sets.hpp"

namespace gradus::sets_detail {
namespace {

/// A key type that counts its instances.
struct Counted {
  explicit Counted(int number) : key(number) { ++alive; }
  Counted(const Counted& other) : key(other.key) { ++alive; }
  ~Counted() { --alive; }
  Counted& operator=(const Counted&) = delete;
  friend bool operator<(const Counted& one, const Counted& other) { return one.key < other.key; }
  friend bool operator==(const Counted& one, const Counted& other) { return one.key == other.key; }
  int key;
  static inline std::atomic<int> alive = 0;
};
struct CountedHash {
  std::size_t operator()(const Counted& counted) const { return static_cast<std::size_t>(counted.key); }
};

template <class Set>
class OfEpochs : public testing::Test {};
using EpochSets = testing::Types<optimistic_list_set<Counted, epoch>, lazy_list_set<Counted, epoch>,
                                 lock_free_list_set<Counted, epoch>, skip_list_set<Counted, epoch>,
                                 split_ordered_set<Counted, epoch, CountedHash>>;
TYPED_TEST_SUITE(OfEpochs, EpochSets);

template <class Set>
class OfHazards : public testing::Test {};
using HazardSets =
    testing::Types<optimistic_list_set<Counted, hazard_pointers>, lazy_list_set<Counted, hazard_pointers>,
                   lock_free_list_set<Counted, hazard_pointers>, skip_list_set<Counted, hazard_pointers>,
                   split_ordered_set<Counted, hazard_pointers, CountedHash>>;
TYPED_TEST_SUITE(OfHazards, HazardSets);

template <class Set>
class OfLeaks : public testing::Test {};
using LeakSets = testing::Types<lazy_list_set<Counted, leak>, skip_list_set<Counted, leak>>;
TYPED_TEST_SUITE(OfLeaks, LeakSets);

template <class Set>
void insert_and_erase(Set& set, int times) {
  for (int one = 0; one < times; ++one) {
    set.insert(Counted(one % 10));
    set.erase(Counted(one % 10));
  }
}

TYPED_TEST(OfEpochs, GarbageIsFreedWhileTheSetIsUsed) {
  TypeParam set;
  insert_and_erase(set, 10000);
  EXPECT_LE(set.garbage(), 500);
  EXPECT_EQ(Counted::alive, static_cast<int>(set.garbage()));
  EXPECT_GT(set.garbage_bytes(), 0);
}

/// Shows the limitation of epochs that the header describes. Hazard pointers do not have this limitation.
TYPED_TEST(OfEpochs, AThreadThatStopsHoldsBackAll) {
  TypeParam set;
  set.insert(Counted(50));
  set.visit(Counted(50), [&](const Counted&) { insert_and_erase(set, 10000); });
  EXPECT_GE(set.garbage(), 9000);
  insert_and_erase(set, 1000);
  EXPECT_LE(set.garbage(), 1000);  // a few nodes of other records may remain
}

TYPED_TEST(OfHazards, AThreadThatStopsHoldsBackABoundedNumber) {
  TypeParam set;
  set.insert(Counted(50));
  constexpr int records = 16;
  constexpr int most = records * (8 * records + 64);  // the bound stated in the header
  std::size_t peak = 0;
  bool destroyed = true;
  set.visit(Counted(50), [&](const Counted& key) {
    const int alive = Counted::alive;
    set.erase(key);  // removes the key that this thread is visiting
    for (int again = 0; again < 100; ++again) {
      insert_and_erase(set, 1000);
      peak = std::max(peak, set.garbage());
    }
    destroyed = key.key != 50 || alive == 0;  // the visited key must still be readable
  });
  EXPECT_FALSE(destroyed);
  EXPECT_LE(peak, most);
  EXPECT_GT(peak, 0);
}

TYPED_TEST(OfHazards, ThreadsThatStopAreNotWaitedFor) {
  TypeParam set;
  for (int key = 0; key < 20; ++key) set.insert(Counted(key));
  std::atomic<int> standing{0};
  std::atomic<bool> go_on{false};
  std::vector<std::thread> stopped;
  for (int thread = 0; thread < 20; ++thread)
    stopped.emplace_back([&, thread] {
      set.visit(Counted(thread), [&](const Counted& key) {
        ++standing;
        while (!go_on) std::this_thread::yield();
        EXPECT_EQ(key.key, thread);
      });
    });
  while (standing < 20) std::this_thread::yield();
  std::size_t peak = 0;
  for (int again = 0; again < 50; ++again) {
    insert_and_erase(set, 1000);
    peak = std::max(peak, set.garbage());
  }
  EXPECT_LE(peak, 48U * (8 * 48 + 64));
  go_on = true;
  for (std::thread& thread : stopped) thread.join();
}

/// A running thread frees the nodes of threads that have ended.
TYPED_TEST(OfHazards, NothingMuchStaysOfThreadsThatHaveEnded) {
  TypeParam set;
  constexpr unsigned threads = 40;
  std::atomic<unsigned> there{0};
  std::vector<std::thread> ending;
  for (unsigned thread = 0; thread < threads; ++thread)
    ending.emplace_back([&, thread] {
      const Counted own(static_cast<int>(100 + thread));
      EXPECT_FALSE(set.contains(own));  // makes each thread use a separate record
      ++there;
      while (there < threads) std::this_thread::yield();
      // The first scan comes after 64 nodes, the next one after 8 nodes per record. The nodes that are removed after
      // the last scan remain.
      for (int one = 0; one < 64 + 300; ++one) EXPECT_TRUE(set.insert(own) && set.erase(own));
    });
  for (std::thread& thread : ending) thread.join();
  insert_and_erase(set, 100000);
  constexpr unsigned records = 64;  // at least the largest number of threads at one time in this process
  EXPECT_LE(set.garbage(), records * 64 + 8 * records);
}

TYPED_TEST(OfLeaks, GarbageWaitsForTheEnd) {
  {
    TypeParam set;
    insert_and_erase(set, 1000);
    EXPECT_EQ(set.garbage(), 1000);
    EXPECT_EQ(Counted::alive, 1000);
  }
  EXPECT_EQ(Counted::alive, 0);
}

template <class Set>
void use_by_many_threads() {
  {
    Set one;
    Set other;  // two sets of the same kind at the same time
    for (int wave = 0; wave < 20; ++wave) {
      std::vector<std::thread> threads;
      for (int thread = 0; thread < 20; ++thread)
        threads.emplace_back([&] {
          insert_and_erase(one, 50);
          insert_and_erase(other, 50);
        });
      for (std::thread& thread : threads) thread.join();
    }
    EXPECT_EQ(one.size(), 0);
    EXPECT_EQ(other.size(), 0);
    EXPECT_LE(one.garbage(), 48U * (8 * 48 + 64));
  }
  EXPECT_EQ(Counted::alive, 0);
}
TYPED_TEST(OfEpochs, ThreadsComeAndGo) { use_by_many_threads<TypeParam>(); }
TYPED_TEST(OfHazards, ThreadsComeAndGo) { use_by_many_threads<TypeParam>(); }

/// Uses the set in the destructor of a thread_local object. The object is constructed before the set's thread-local
/// data, so it is destroyed after this data.
template <class Set>
struct UsesAtExit {
  Set* set = nullptr;
  ~UsesAtExit() {
    if (set == nullptr) return;
    set->insert(Counted(1));
    set->erase(Counted(1));
    EXPECT_FALSE(set->contains(Counted(1)));
  }
};
template <class Set>
void use_at_thread_exit() {
  Set set;
  for (int again = 0; again < 300; ++again)
    std::thread([&set] {
      static thread_local UsesAtExit<Set> user;
      user.set = &set;
      insert_and_erase(set, 2);
    }).join();
  EXPECT_EQ(set.size(), 0);
}
TYPED_TEST(OfEpochs, AreUsedByDestructorsOfThreads) { use_at_thread_exit<TypeParam>(); }
TYPED_TEST(OfHazards, AreUsedByDestructorsOfThreads) { use_at_thread_exit<TypeParam>(); }

/// A key whose destructor uses the set that contained it.
struct Chained {
  int key = 0;
  skip_list_set<int>* other = nullptr;
  lock_free_list_set<Chained, hazard_pointers>* own = nullptr;
  bool is_in_set = false;
  Chained(int number, skip_list_set<int>& log, lock_free_list_set<Chained, hazard_pointers>& set)
      : key(number), other(&log), own(&set) {}
  Chained(const Chained& from) : key(from.key), other(from.other), own(from.own), is_in_set(true) {}
  Chained& operator=(const Chained&) = delete;
  ~Chained() {
    if (!is_in_set) return;
    other->insert(key);
    if (key > 0) own->contains(*this);
  }
  friend bool operator<(const Chained& one, const Chained& two) { return one.key < two.key; }
};

TEST(Reclamation, DestructorsOfKeysMayUseTheSet) {
  skip_list_set<int> log;
  lock_free_list_set<Chained, hazard_pointers> set;
  for (int key = 0; key < 2000; ++key) {
    const Chained chained(key, log, set);
    EXPECT_TRUE(set.insert(chained));
    EXPECT_TRUE(set.erase(chained));
  }
  EXPECT_GT(log.size(), 1000);
}

/// Tests the first two steps at the end of a process: the destructors of the main thread's data and of static objects.
TEST(Reclamation, StaticSetsAreUsedByStaticDestructors) {
  EXPECT_EXIT(
      {
        static lazy_list_set<std::string> set;
        struct Late {
          ~Late() {
            set.insert("late");
            if (!set.contains("late") || !set.erase("late")) std::_Exit(1);
          }
        };
        static Late late;
        set.insert("early");
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gradus::sets_detail
