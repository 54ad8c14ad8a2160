// Tests every set with delays between its atomic operations. A faulty set must be detected.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "sets/cases.hpp"
#include "sets/job.hpp"
#include "sets/tests/kinds.hpp"
#include "sets/tests/shaken.hpp"

namespace gradus::sets_detail {
namespace {

#ifdef GRADUS_SANITIZED
constexpr int rounds = 4;
constexpr std::int64_t calls = 1500;
#else
constexpr int rounds = 12;
constexpr std::int64_t calls = 4000;
#endif

/// Runs a few threads on very few keys. Returns a description of the defect, or "".
template <class Set>
std::string fault_of_round(int round, bool is_ordered) {
  constexpr Mix mixes[] = {{20, 40, 40}, {0, 50, 50}, {60, 20, 20}};
  const Problem problem{.range = 2 + round % 5,
                        .operations = calls,
                        .mix = mixes[round % 3],
                        .seed = static_cast<std::uint64_t>(round),
                        .records = true,
                        .stop = {}};
  Execution execution;
  execution.threads = 2 + round % 4;
  std::vector<Phase> phases;
  return find_fault(problem, run_job<Set>(problem, execution, phases, is_ordered));
}

template <class Kind>
class Stress : public testing::Test {};
TYPED_TEST_SUITE(Stress, Kinds);

TYPED_TEST(Stress, HistoriesUnderDelaysAreLinearizable) {
  using Set =
      typename TypeParam::template Set<std::int64_t, std::less<>, CountingAllocator<std::int64_t>, ShakenPolicy<>>;
  for (int round = 0; round < rounds; ++round)
    ASSERT_EQ(fault_of_round<Set>(round, TypeParam::is_ordered), "") << "round " << round;
}

/// Two threads each insert a key and then look up the other thread's key. At least one of the two look-ups must
/// succeed. No clock orders the calls.
TYPED_TEST(Stress, TwoThreadsDoNotBothMissWhatTheOtherHasInserted) {
  typename TypeParam::template Set<std::int64_t> set;
  constexpr int tries = 20000;
  std::atomic<int> turn[2] = {0, 0};
  bool found[2] = {};
  int missed = 0;
  const auto both_at = [&](int self, int point) {
    turn[self].store(point);
    typename set_policy::spinner spinner;
    while (turn[1 - self].load() < point) spinner.rest();
  };
  const auto work = [&](int self) {
    for (int one = 0; one < tries; ++one) {
      both_at(self, 3 * one + 1);
      set.insert(self);
      found[self] = set.contains(1 - self);
      both_at(self, 3 * one + 2);
      if (self == 0) missed += !found[0] && !found[1];
      set.erase(self);
      both_at(self, 3 * one + 3);
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_EQ(missed, 0);
}

/// Loops over a changing set. The keys must be ascending without repetition, and a key that stays in the set must
/// appear.
TYPED_TEST(Stress, ALoopSeesWhatIsThereAllTheWhile) {
  typename TypeParam::template Set<std::int64_t, std::less<>, std::allocator<std::int64_t>, ShakenPolicy<>> set;
  constexpr std::int64_t keys = 40;
  for (std::int64_t key = 0; key < keys; key += 4) set.insert(key);  // these keys stay in the set
  std::atomic<bool> done{false};
  std::atomic<std::int64_t> changes{0};
  std::vector<std::thread> others;
  for (int thread = 0; thread < 3; ++thread)
    others.emplace_back([&, thread] {
      for (std::int64_t step = 0; !done.load(); ++step) {
        const std::int64_t key = (step * 7 + std::int64_t{13} * thread) % keys;
        if (key % 4 == 0) continue;
        changes.fetch_add(step % 2 == 0 ? set.insert(key) : set.erase(key));
      }
    });
  for (int loop = 0; loop < 200 || changes.load() < 3000; ++loop) {
    std::vector<std::int64_t> seen;
    for (const std::int64_t key : set) seen.push_back(key);
    if (!TypeParam::is_ordered) std::ranges::sort(seen);
    std::int64_t stay = 0;
    for (std::size_t at = 0; at < seen.size(); ++at) {
      if (at > 0) {
        EXPECT_LT(seen[at - 1], seen[at]);
      }
      stay += seen[at] % 4 == 0;
    }
    ASSERT_EQ(stay, keys / 4);
  }
  done.store(true);
  for (std::thread& other : others) other.join();
}

// --- the negative control -------------------------------------------------------------------------------------------

/// An allocator that never frees memory. A faulty list loses nodes, and a sanitizer would otherwise report them before
/// find_fault() does.
struct KeptBlocks {
  static std::vector<std::unique_ptr<std::byte[]>>& blocks() {
    static std::vector<std::unique_ptr<std::byte[]>> all;
    return all;
  }
  static std::mutex& lock() {
    static std::mutex one;
    return one;
  }
};
template <class T>
struct KeepingAllocator {
  using value_type = T;
  KeepingAllocator() = default;
  template <class Other>
  KeepingAllocator(const KeepingAllocator<Other>&) {}
  T* allocate(std::size_t count) {
    const std::lock_guard hold(KeptBlocks::lock());
    KeptBlocks::blocks().push_back(std::make_unique<std::byte[]>(count * sizeof(T)));
    return reinterpret_cast<T*>(KeptBlocks::blocks().back().get());
  }
  void deallocate(T*, std::size_t) noexcept {}
  friend bool operator==(KeepingAllocator, KeepingAllocator) { return true; }
};

/// A reclamation that frees nothing, because a faulty list may remove a node twice.
template <class Policy>
struct NoReclamation {
  using policy = Policy;
  static constexpr bool walks_past_removed = true;
  static constexpr std::memory_order unlink_order = std::memory_order_release;
  struct domain {
    domain(void*, free_function) {}
    static std::size_t garbage() { return 0; }
  };
  struct guard {
    explicit guard(domain&) {}
    template <class Link>
    word protect(unsigned, const Link& link, std::memory_order order) const {
      return link.load(order);
    }
    void retire(reclaimable*) {}
  };
};

TEST(Control, ALazyListThatDoesNotCheckTheMarkIsFound) {
  using Faulty = lazy_list_set<std::int64_t, NoReclamation<ShakenPolicy<BlindToMarks>>, std::less<>,
                               KeepingAllocator<std::int64_t>>;
  std::string fault;
  int round = 0;
  for (; round < 200 && fault.empty(); ++round) fault = fault_of_round<Faulty>(round, true);
  EXPECT_FALSE(fault.empty());
  RecordProperty("rounds", round);
  RecordProperty("fault", fault);
  KeptBlocks::blocks().clear();
  // The same list without the fault must pass the same number of rounds.
  using Sound = lazy_list_set<std::int64_t, NoReclamation<ShakenPolicy<>>, std::less<>, KeepingAllocator<std::int64_t>>;
  for (int again = 0; again < round; ++again) ASSERT_EQ(fault_of_round<Sound>(again, true), "");
  KeptBlocks::blocks().clear();
}

}  // namespace
}  // namespace gradus::sets_detail
