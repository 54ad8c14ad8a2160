// Tests sets in hostile conditions: exceptions from all user code during concurrent use, colliding hashes, keys that
// most containers reject, failing allocators, more threads than thread numbers, and fork().
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory_resource>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sets/tests/kinds.hpp"
#include "sets/tests/shaken.hpp"

namespace gradus::sets_detail {
namespace {

template <class Kind>
class Malice : public testing::Test {};
TYPED_TEST_SUITE(Malice, Kinds);

// --- exceptions ------------------------------------------------------------------------------------------------------

/// A key whose comparisons and copies sometimes throw. Each thread can enable these exceptions for itself.
struct Moody {
  explicit Moody(int number) : key(number) { ++alive; }
  Moody(const Moody& other) : key(other.key) {
    be_moody();
    ++alive;
  }
  ~Moody() { --alive; }
  Moody& operator=(const Moody&) = delete;
  std::size_t hash() const {
    be_moody();
    return static_cast<std::size_t>(key % 3);
  }
  friend bool operator<(const Moody& one, const Moody& other) {
    be_moody();
    return one.key < other.key;
  }
  static void be_moody() {
    if (mood == 0) return;
    mood ^= mood << 13;
    mood ^= mood >> 17;
    mood ^= mood << 5;
    if (mood % 32 == 0) throw std::runtime_error("no");
  }
  int key;
  static inline thread_local std::uint32_t mood = 0;
  static inline std::atomic<int> alive = 0;
};

/// If an operation ends with an exception, it has changed nothing. It does not matter which user code threw, and in
/// which thread.
TYPED_TEST(Malice, ExceptionsOfManyThreadsChangeNothing) {
  constexpr int keys = 6;
  constexpr int threads = 4;
  constexpr int calls = 1000;  // few, because ShakenPolicy yields the CPU at random, and a yield may take long
  {
    typename TypeParam::template Set<Moody, std::less<>, std::allocator<Moody>, ShakenPolicy<>> set;
    std::array<std::array<int, keys>, threads> there{};  // for each thread and key: insertions minus erasures
    std::atomic<int> thrown{0};
    std::vector<std::jthread> team;
    for (int thread = 0; thread < threads; ++thread)
      team.emplace_back([&, thread] {
        std::uint32_t random = 77U + static_cast<std::uint32_t>(thread);
        std::array<int, keys>& own = there[static_cast<std::size_t>(thread)];
        for (int call = 0; call < calls; ++call) {
          random = random * 1664525U + 1013904223U;
          const std::size_t number = (random >> 16) % keys;
          const Moody key(static_cast<int>(number));
          Moody::mood = random | 1U;
          try {
            if (call % 3 == 0) own[number] += set.insert(key);
            else if (call % 3 == 1) own[number] -= set.erase(key);
            else (void)set.contains(key);
          } catch (const std::runtime_error&) {
            ++thrown;
          }
          Moody::mood = 0;
        }
      });
    team.clear();
    EXPECT_GT(thrown, 0);
    std::size_t count = 0;
    for (std::size_t number = 0; number < keys; ++number) {
      int sum = 0;
      for (const auto& own : there) sum += own[number];
      EXPECT_EQ(set.contains(Moody(static_cast<int>(number))), sum == 1) << number;
      EXPECT_TRUE(sum == 0 || sum == 1) << number << ": " << sum;
      count += sum == 1;
    }
    EXPECT_EQ(set.size(), count);
  }
  EXPECT_EQ(Moody::alive, 0);
}

TYPED_TEST(Malice, AFunctionThatThrowsLetsGoOfAll) {
  typename TypeParam::template Set<int> set;
  for (int key = 0; key < 10; ++key) set.insert(key);
  for (int again = 0; again < 40; ++again) {
    EXPECT_THROW(set.visit(5, [](int) { throw std::runtime_error("no"); }), std::runtime_error);
    try {
      for (const int key : set)
        if (key == 7) throw std::runtime_error("no");
    } catch (const std::runtime_error&) {
    }
    for (const int key : set)
      if (key == 3) break;
  }
  std::jthread([&] {  // this thread would wait forever if anything were still locked
    for (int key = 0; key < 10; ++key) EXPECT_TRUE(set.erase(key));
  });
}

/// An allocator that succeeds `left` times and then throws OutOfMood.
struct OutOfMood {};
struct Whims {
  static inline int left = 0;
  static inline int taken = 0;
};
template <class T>
struct Whimsical {
  using value_type = T;
  Whimsical() = default;
  template <class Other>
  Whimsical(const Whimsical<Other>&) {}
  T* allocate(std::size_t count) {
    if (Whims::left == 0) throw OutOfMood();
    --Whims::left;
    ++Whims::taken;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* place, std::size_t count) noexcept {
    --Whims::taken;
    std::allocator<T>().deallocate(place, count);
  }
  friend bool operator==(Whimsical, Whimsical) { return true; }
};

TYPED_TEST(Malice, AnAllocatorMayThrowWhateverItLikes) {
  using Set = typename TypeParam::template Set<std::string, std::less<>, Whimsical<std::string>>;
  Whims::taken = 0;
  for (int allowed = 0; allowed < 12; ++allowed) {
    Whims::left = allowed;
    try {
      Set set;
      std::set<std::string> right;
      for (int key = 0; key < 400; ++key) {
        if (key % 50 == 49) Whims::left += 20;
        const std::string text = std::to_string(key) + " is a key that is long enough to need heap memory";
        try {
          if (set.insert(text)) right.insert(text);
        } catch (const OutOfMood&) {
        }
        ASSERT_EQ(set.size(), right.size());
      }
      for (const std::string& key : right) EXPECT_TRUE(set.contains(key));
      for (const std::string& key : right) EXPECT_TRUE(set.erase(key));
      EXPECT_TRUE(set.empty());
    } catch (const OutOfMood&) {  // thrown by the constructor of the set
    }
    EXPECT_EQ(Whims::taken, 0) << allowed;
  }
}

/// If entry points of buckets cannot be allocated, the set is slower but correct.
TEST(MaliceToHashes, WithoutMemoryForMoreBucketsItIsSlowerAndNoLessRight) {
  struct Small {
    static void fill(int allowed) {
      split_ordered_set<int, epoch, std::hash<int>, std::equal_to<>, Whimsical<int>> set;
      for (int key = 0; key < 2000; ++key) {
        Whims::left = allowed;  // 1 is enough for a node, but not for a node and an entry point
        ASSERT_TRUE(set.insert(key));
      }
      Whims::left = 0;
      for (int key = 0; key < 2000; ++key) ASSERT_TRUE(set.contains(key));
      EXPECT_EQ(set.size(), 2000);
    }
  };
  Whims::left = 1000;
  Small::fill(1);
  Whims::left = 1000;
  Small::fill(2);
}

/// A comparison that counts its calls.
struct Counting {
  static inline std::atomic<std::int64_t> count = 0;
  bool operator()(int one, int other) const {
    count.fetch_add(1, std::memory_order_relaxed);
    return one < other;
  }
};

/// Inserts each key in a separate thread. The nodes must still have different heights.
template <class Reclamation>
void insert_by_threads_of_their_own() {
  skip_list_set<int, Reclamation, Counting> set;
  constexpr int keys = 600;
  for (int key = 0; key < keys; ++key) std::thread([&] { set.insert(key * 101 % keys); }).join();
  Counting::count = 0;
  for (int key = 0; key < keys; ++key) ASSERT_TRUE(set.contains(key));
  EXPECT_LT(Counting::count, 100 * keys);  // some 20 comparisons per key; a single list would need 300
}
TEST(MaliceToSkipLists, ThreadsThatInsertOneKeyEachDrawDifferentHeights) {
  insert_by_threads_of_their_own<epoch>();
  insert_by_threads_of_their_own<hazard_pointers>();
}

/// A comparison that calls `trick` once. Comparisons within `trick` do not call it again.
struct Treacherous {
  static inline std::function<void()> trick = nullptr;
  bool operator()(int one, int other) const {
    if (const auto now = std::exchange(trick, nullptr)) now();
    return one < other;
  }
};
struct EagerPolicy : set_policy {
  static constexpr unsigned retired_between_looks = 1;
};

/// A loop is on key 1, which is removed. While the loop searches for the next key, further keys are removed and freed,
/// and then the comparison throws. The loop must still be on key 1.
template <template <class, class, class, class> class Set>
void throw_in_the_midst_of_a_step() {
  Set<int, basic_hazard_pointers<EagerPolicy>, Treacherous, std::allocator<int>> set;
  for (int key = 1; key <= 300; ++key) set.insert(key);
  auto loop = set.begin();
  ASSERT_EQ(*loop, 1);
  set.erase(1);
  const auto free_and_throw = [&] {
    for (int key = 100; key <= 300; ++key) set.erase(key);  // more removals than the set collects before it frees nodes
    throw std::runtime_error("no");
  };
  Treacherous::trick = [&] {
    set.erase(2);
    Treacherous::trick = free_and_throw;
  };
  EXPECT_THROW(++loop, std::runtime_error);
  EXPECT_EQ(*loop, 1);
  ++loop;
  EXPECT_EQ(*loop, 3);
}
TEST(MaliceToLoops, AComparisonThatThrowsLeavesTheLoopWhereItWas) {
  throw_in_the_midst_of_a_step<lock_free_list_set>();
  throw_in_the_midst_of_a_step<lazy_list_set>();
  throw_in_the_midst_of_a_step<optimistic_list_set>();
  throw_in_the_midst_of_a_step<skip_list_set>();
}

// --- keys ------------------------------------------------------------------------------------------------------------

/// A key that occupies separate cache lines. The key's operators & and comma are deleted.
struct alignas(256) Haughty {
  Haughty(int number) : key(number) {}
  void operator&() const = delete;
  template <class Other>
  void operator,(const Other&) const = delete;
  std::size_t hash() const { return static_cast<std::size_t>(key); }
  bool is_where_it_should_be() const {
    return reinterpret_cast<std::uintptr_t>(std::addressof(*this)) % alignof(Haughty) == 0;
  }
  friend bool operator<(const Haughty& one, const Haughty& other) { return one.key < other.key; }
  int key;
};

TYPED_TEST(Malice, KeysMayBeAlignedAndHaveNoAddress) {
  typename TypeParam::template Set<Haughty> set;
  for (int key = 0; key < 100; ++key) EXPECT_TRUE(set.insert(Haughty(key)));
  for (int key = 0; key < 100; key += 2) EXPECT_TRUE(set.erase(Haughty(key)));
  int count = 0;
  for (auto at = set.begin(); at != set.end(); ++at) {
    EXPECT_TRUE((*at).is_where_it_should_be());
    EXPECT_EQ(at->key % 2, 1);
    ++count;
  }
  EXPECT_EQ(count, 50);
  EXPECT_TRUE(set.visit(Haughty(7), [](const Haughty& key) { EXPECT_TRUE(key.is_where_it_should_be()); }));
}

/// Keys without data, and large keys.
struct Nothing {
  static std::size_t hash() { return 0; }
  friend bool operator<(Nothing, Nothing) { return false; }
};
struct Much {
  explicit Much(int number) { bytes.fill(static_cast<char>(number)); }
  std::array<char, 100000> bytes;
  std::size_t hash() const { return static_cast<std::size_t>(bytes[0]); }
  friend bool operator<(const Much& one, const Much& other) { return one.bytes < other.bytes; }
};
TYPED_TEST(Malice, KeysMayBeOfAnySize) {
  typename TypeParam::template Set<Nothing> one;
  EXPECT_TRUE(one.insert(Nothing()));
  EXPECT_FALSE(one.insert(Nothing()));
  EXPECT_TRUE(one.contains(Nothing()) && one.erase(Nothing()) && one.empty());
  typename TypeParam::template Set<Much> other;
  for (int key = 0; key < 20; ++key) EXPECT_TRUE(other.insert(Much(key)));
  for (int key = 0; key < 20; ++key) EXPECT_TRUE(other.erase(Much(key)));
  EXPECT_TRUE(other.empty());
}

/// Passes a reference to a key in the set to erase() or insert().
TYPED_TEST(Malice, TheSetsOwnKeyMayBeTheArgument) {
  if constexpr (TypeParam::reclaims) {
    typename TypeParam::template Set<std::string> set;
    const std::string name = "a key that is long enough to need heap memory";
    for (int again = 0; again < 300; ++again) {
      set.insert(name);
      bool erased = false;
      bool inserted = false;
      set.visit(name, [&](const std::string& own) {
        EXPECT_FALSE(set.insert(own));
        erased = set.erase(own);
        EXPECT_FALSE(set.erase(own));
        inserted = set.insert(own);
        EXPECT_TRUE(set.erase(own));
      });
      EXPECT_TRUE(erased && inserted && set.empty());
    }
  } else {
    GTEST_SKIP() << "visit() holds a lock there";
  }
}

TYPED_TEST(Malice, ComparisonsMayHaveAState) {
  if constexpr (TypeParam::is_ordered) {
    const auto by_remainder = [divisor = 10](int one, int other) { return one % divisor < other % divisor; };
    typename TypeParam::template Set<int, decltype(by_remainder)> remainders(by_remainder);
    EXPECT_TRUE(remainders.insert(12) && !remainders.insert(22) && remainders.insert(21));
    EXPECT_EQ(*remainders.begin(), 21);
    using Function = bool (*)(int, int);
    typename TypeParam::template Set<int, Function> falling([](int one, int other) { return one > other; });
    for (const int key : {1, 3, 2}) falling.insert(key);
    EXPECT_EQ(*falling.begin(), 3);
    typename TypeParam::template Set<int, std::function<bool(int, int)>> rising(std::less<>{});
    for (const int key : {3, 1, 2}) rising.insert(key);
    EXPECT_EQ(*rising.begin(), 1);
  } else {
    GTEST_SKIP() << "by equality and hash, which have to agree";
  }
}

TYPED_TEST(Malice, AllocatorsMayHaveAState) {
  std::array<std::byte, 64 * 1024> memory;
  std::pmr::monotonic_buffer_resource buffer(memory.data(), memory.size(), std::pmr::null_memory_resource());
  std::pmr::synchronized_pool_resource pool(&buffer);
  using Allocator = std::pmr::polymorphic_allocator<int>;
  if constexpr (TypeParam::is_ordered) {
    typename TypeParam::template Set<int, std::less<>, Allocator> set({}, Allocator(&pool));
    for (int key = 0; key < 100; ++key) EXPECT_TRUE(set.insert(key));
    for (int key = 0; key < 100; ++key) EXPECT_TRUE(set.erase(key));
  } else {
    typename TypeParam::template Set<int, std::less<>, Allocator> set({}, {}, Allocator(&pool));
    for (int key = 0; key < 100; ++key) EXPECT_TRUE(set.insert(key));
    for (int key = 0; key < 100; ++key) EXPECT_TRUE(set.erase(key));
  }
}

/// As in standard containers, memory that keys allocate comes from the set's allocator.
TYPED_TEST(Malice, AnAllocatorHandsItsMemoryOnToKeys) {
  using Key = std::pmr::string;
  std::array<std::byte, 64 * 1024> memory;
  std::pmr::monotonic_buffer_resource buffer(memory.data(), memory.size(), std::pmr::null_memory_resource());
  std::pmr::synchronized_pool_resource pool(&buffer);
  const std::pmr::polymorphic_allocator<Key> allocator(&pool);
  const auto use = [&](auto& set) {
    const Key key("a key that is long enough to need heap memory");
    EXPECT_TRUE(set.insert(key));
    EXPECT_TRUE(set.insert(key + " and another one"));
    for (const Key& own : set) EXPECT_EQ(own.get_allocator().resource(), &pool);
    EXPECT_TRUE(set.erase(key));
  };
  using Set = typename TypeParam::template Set<Key, std::less<>, std::pmr::polymorphic_allocator<Key>>;
  if constexpr (TypeParam::is_ordered) {
    Set set({}, allocator);
    use(set);
  } else {
    Set set({}, {}, allocator);
    use(set);
  }
}

// --- threads ---------------------------------------------------------------------------------------------------------

/// The number of threads that are inside a set at the same time exceeds the number of thread numbers.
TYPED_TEST(Malice, MoreThreadsThanNumbersStandInside) {
  if constexpr (TypeParam::reclaims) {
    constexpr int threads = static_cast<int>(thread_numbers) + 44;
    typename TypeParam::template Set<int> set;
    set.insert(0);
    std::atomic<int> inside{0};
    std::vector<std::jthread> team;
    for (int thread = 1; thread <= threads; ++thread)
      team.emplace_back([&, thread] {
        set.visit(0, [&](int) {
          inside.fetch_add(1);
          while (inside.load() < threads) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          EXPECT_TRUE(set.insert(thread));
          EXPECT_TRUE(set.erase(thread));
        });
      });
    team.clear();
    EXPECT_EQ(set.size(), 1);
  } else {
    GTEST_SKIP() << "only one is inside there";
  }
}

/// A forked child has a copy of the set. At the fork, other threads were using the set, and these threads do not exist
/// in the child. The child can use the set unless it needs a lock that one of these threads held.
TYPED_TEST(Malice, AForkedChildGoesOn) {
  EXPECT_EXIT(
      {
        typename TypeParam::template Set<int> set;
        for (int key = 0; key < 100; ++key) set.insert(key);
        std::atomic<bool> done{false};
        std::atomic<int> inside{0};
        std::vector<std::jthread> others;
        for (int thread = 0; thread < 3 && TypeParam::reclaims; ++thread)
          others.emplace_back([&, thread] {
            set.visit(thread, [&](int) {
              inside.fetch_add(1);
              while (!done.load()) std::this_thread::yield();
            });
          });
        while (inside.load() < static_cast<int>(others.size())) std::this_thread::yield();
        const pid_t child = fork();
        if (child == 0) {
          bool right = true;
          for (int again = 0; again < 500; ++again)
            right = right && set.erase(again % 100) && set.insert(again % 100) && set.contains(again % 100);
          int count = 0;
          for (const int key : set) count += key >= 0;
          std::_Exit(right && count == 100 ? 0 : 1);
        }
        done.store(true);
        int status = 1;
        waitpid(child, &status, 0);
        others.clear();
        std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
      },
      testing::ExitedWithCode(0), "");
}

// --- hashes ----------------------------------------------------------------------------------------------------------

struct Collides {
  template <class Key>
  std::size_t operator()(const Key&) const {
    return 0;
  }
};

/// All keys are in one bucket, and all threads change it.
template <class Reclamation>
void collide() {
  split_ordered_set<int, Reclamation, Collides> set;
  constexpr int threads = 4;
  constexpr int each = 60;
  std::vector<std::jthread> team;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < threads; ++thread)
    team.emplace_back([&, thread] {
      for (int round = 0; round < 20; ++round) {
        for (int key = thread; key < threads * each; key += threads) wrong += !set.insert(key);
        for (int key = thread; key < threads * each; key += threads) wrong += !set.contains(key);
        for (int key = thread; key < threads * each; key += threads) wrong += !set.erase(key);
      }
    });
  team.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(set.empty());
  EXPECT_TRUE(set.begin() == set.end());
}
TEST(MaliceToHashes, AllKeysCollide) {
  collide<epoch>();
  collide<hazard_pointers>();
  collide<leak>();
}

}  // namespace
}  // namespace gradus::sets_detail
