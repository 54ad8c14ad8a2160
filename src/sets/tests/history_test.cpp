// Tests that find_fault() accepts correct histories and rejects incorrect ones. Small histories are compared with a
// search over all orders.
#include "sets/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "gradus/error.hpp"

namespace gradus::sets_detail {
namespace {

Event call(int thread, Call what, std::int64_t key, bool answer, std::uint64_t begin, std::uint64_t end) {
  return {.key = key, .begin = begin, .end = end, .thread = thread, .call = what, .answer = answer};
}

constexpr Call contains = Call::contains;
constexpr Call insert = Call::insert;
constexpr Call erase = Call::erase;

TEST(History, AcceptsWhatSomeOrderExplains) {
  EXPECT_EQ(find_fault({}, {1, 2}, {2, 1}), "");
  // The first history has threads whose numbers are far apart. The second history has many concurrent calls.
  EXPECT_EQ(find_fault({call(0, insert, 5, true, 1, 10), call(64, erase, 5, true, 2, 9)}, {}, {}), "");
  std::vector<Event> many;
  for (int thread = 0; thread < 256; ++thread)
    many.push_back(call(thread, insert, 5, thread == 70, static_cast<std::uint64_t>(thread),
                        1000u + static_cast<std::uint64_t>(thread)));
  EXPECT_EQ(find_fault(many, {}, {5}), "");
  EXPECT_NE(find_fault(many, {}, {}), "");
  // The number of possible orders of these concurrent changes is too large for a search over all orders.
  std::vector<Event> changes;
  for (int thread = 0; thread < 10000; ++thread)
    changes.push_back(call(thread, thread % 2 == 0 ? insert : erase, 5, true, static_cast<std::uint64_t>(thread),
                           20000u - static_cast<std::uint64_t>(thread)));
  EXPECT_EQ(find_fault(changes, {}, {}), "");
  EXPECT_EQ(find_fault(changes, {5}, {5}), "");
  EXPECT_NE(find_fault(changes, {}, {5}), "");
  changes.push_back(call(10000, insert, 5, true, 20002, 20003));
  EXPECT_EQ(find_fault(changes, {}, {5}), "");
  EXPECT_NE(find_fault(changes, {5}, {5}), "");
  EXPECT_EQ(find_fault({call(0, insert, 5, true, 1, 4), call(1, contains, 5, false, 2, 3)}, {}, {5}), "");
  EXPECT_EQ(find_fault({call(0, insert, 5, true, 1, 4), call(1, contains, 5, true, 2, 3)}, {}, {5}), "");
  // Only the order erase, insert, erase explains the answers. The calls begin in a different order.
  EXPECT_EQ(
      find_fault({call(0, insert, 7, true, 1, 9), call(1, erase, 7, true, 2, 9 + 1), call(2, erase, 7, true, 3, 8)},
                 {7}, {}),
      "");
}

TEST(History, RefusesWhatNoOrderExplains) {
  // In each of these histories, an answer contradicts a change that ended before the call began.
  EXPECT_NE(find_fault({call(0, insert, 5, true, 1, 2), call(1, contains, 5, false, 3, 4)}, {}, {5}), "");
  EXPECT_NE(find_fault({call(0, erase, 5, true, 1, 2), call(1, contains, 5, true, 3, 4)}, {5}, {}), "");
  // Two threads insert or erase the same key, and both calls succeed.
  EXPECT_NE(find_fault({call(0, insert, 5, true, 1, 4), call(1, insert, 5, true, 2, 3)}, {}, {5}), "");
  EXPECT_NE(find_fault({call(0, erase, 5, true, 1, 4), call(1, erase, 5, true, 2, 3)}, {5}, {}), "");
  // The key is seen and then no longer seen, although no thread erases it.
  EXPECT_NE(
      find_fault({call(0, insert, 5, true, 1, 9), call(1, contains, 5, true, 2, 3), call(1, contains, 5, false, 4, 5)},
                 {}, {5}),
      "");
  EXPECT_NE(find_fault({call(0, insert, 5, false, 1, 2)}, {}, {}), "");
  EXPECT_NE(find_fault({call(0, erase, 5, false, 1, 2)}, {5}, {5}), "");
  // The keys at the end contradict the history.
  EXPECT_NE(find_fault({call(0, insert, 5, true, 1, 2)}, {}, {}), "");
  EXPECT_NE(find_fault({}, {5}, {}), "");
  EXPECT_NE(find_fault({}, {}, {5}), "");
  EXPECT_NE(find_fault({}, {5}, {5, 5}), "");
}

/// Implements the definition directly, by trying all orders.
bool some_order_explains(const std::vector<Event>& calls, bool before, bool after) {
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    bool is_there = before;
    bool fits = true;
    for (std::size_t at = 0; fits && at < order.size(); ++at) {
      const Event& event = calls[order[at]];
      for (std::size_t later = at + 1; later < order.size(); ++later) fits &= calls[order[later]].end > event.begin;
      bool answer = is_there;
      if (event.call == insert) {
        answer = !is_there;
        is_there = true;
      } else if (event.call == erase) {
        is_there = false;
      }
      fits &= answer == event.answer;
    }
    if (fits && is_there == after) return true;
  } while (std::ranges::next_permutation(order).found);
  return false;
}

TEST(History, AgreesWithTheDefinitionOnRandomHistories) {
  std::mt19937 random(1);
  int right = 0;
  int wrong = 0;
  for (int round = 0; round < 20000; ++round) {
    // Makes up to 7 calls of up to 4 threads at random times. The calls of one thread do not overlap.
    std::vector<std::uint64_t> times(14);
    std::iota(times.begin(), times.end(), 1);
    std::ranges::shuffle(times, random);
    std::vector<Event> calls;
    const int threads = 1 + static_cast<int>(random() % 4);
    std::size_t used = 0;
    for (int thread = 0; thread < threads; ++thread) {
      const std::size_t count = 1 + random() % (threads < 4 ? 2 : 1);
      std::vector<std::uint64_t> own(times.begin() + static_cast<std::ptrdiff_t>(used),
                                     times.begin() + static_cast<std::ptrdiff_t>(used + 2 * count));
      used += 2 * count;
      std::ranges::sort(own);
      for (std::size_t at = 0; at < count; ++at)
        calls.push_back(
            call(thread, static_cast<Call>(random() % 3), 1, random() % 2 == 0, own[2 * at], own[2 * at + 1]));
    }
    const bool before = random() % 2 == 0;
    const bool after = random() % 2 == 0;
    const bool expected = some_order_explains(calls, before, after);
    (expected ? right : wrong) += 1;
    ASSERT_EQ(find_fault(calls, before ? Keys{1} : Keys{}, after ? Keys{1} : Keys{}).empty(), expected) << round;
  }
  EXPECT_GT(right, 1000);
  EXPECT_GT(wrong, 1000);
}

}  // namespace
}  // namespace gradus::sets_detail
