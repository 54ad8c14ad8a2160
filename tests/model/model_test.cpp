// Tests the checker on the litmus tests of memory models. It must find all results that C++ allows, and no others.
#include "tests/model/model.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace gradus::model {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;

struct State {
  atomic<int> x{0};
  atomic<int> y{0};
  std::array<int, 4> seen{};
};
using Seen = std::set<std::array<int, 4>>;
using Part = std::function<void(State&)>;

/// Returns all results that can be seen.
Seen all_of(const std::vector<Part>& parts, const Options& options = {}) {
  Seen all;
  const Outcome outcome = explore(
      [&] {
        auto state = std::make_shared<State>();
        Scenario scenario;
        for (const Part& part : parts) scenario.threads.emplace_back([state, part] { part(*state); });
        scenario.after = [state, &all] { all.insert(state->seen); };
        return scenario;
      },
      options);
  EXPECT_EQ(outcome.violation, "") << outcome.trace;
  EXPECT_TRUE(outcome.complete);
  return all;
}
bool has(const Seen& all, std::array<int, 4> one) { return all.contains(one); }

Seen store_buffering(std::memory_order stores, std::memory_order loads, const Options& options = {}) {
  return all_of({[=](State& s) { s.x.store(1, stores), s.seen[0] = s.y.load(loads); },
                 [=](State& s) { s.y.store(1, stores), s.seen[1] = s.x.load(loads); }},
                options);
}

TEST(Model, StoreBuffering) {
  EXPECT_TRUE(has(store_buffering(relaxed, relaxed), {0, 0}));
  EXPECT_TRUE(has(store_buffering(release, acquire), {0, 0}));
  EXPECT_TRUE(has(store_buffering(seq_cst, acquire), {0, 0}));
  EXPECT_EQ(store_buffering(seq_cst, seq_cst), (Seen{{0, 1}, {1, 0}, {1, 1}}));
  EXPECT_FALSE(has(store_buffering(relaxed, relaxed, {.only_interleavings = true}), {0, 0}));
}

Seen message_passing(std::memory_order store, std::memory_order load) {
  return all_of({[=](State& s) { s.x.store(1, relaxed), s.y.store(1, store); },
                 [=](State& s) { s.seen[0] = s.y.load(load), s.seen[1] = s.x.load(relaxed); }});
}

TEST(Model, MessagePassing) {
  EXPECT_EQ(message_passing(release, acquire), (Seen{{0, 0}, {0, 1}, {1, 1}}));
  const Seen anything{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  EXPECT_EQ(message_passing(relaxed, acquire), anything);
  EXPECT_EQ(message_passing(release, relaxed), anything);
  EXPECT_EQ(message_passing(relaxed, relaxed), anything);
}

TEST(Model, Coherence) {
  // After a thread has seen a write, it sees no earlier write of the same variable.
  const Seen all = all_of({[](State& s) { s.x.store(1, relaxed), s.x.store(2, relaxed); },
                           [](State& s) { s.seen[0] = s.x.load(relaxed), s.seen[1] = s.x.load(relaxed); }});
  EXPECT_EQ(all, (Seen{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

TEST(Model, WritesOfTwoThreadsHaveOneOrderForEachVariableAlone) {
  // For each variable, the store of either thread may be the last one. It is even possible that the first stores of
  // both threads are the last ones.
  const Seen all = all_of({[](State& s) {
                             s.x.store(1, relaxed), s.y.store(2, relaxed);
                             s.seen[0] = s.y.load(relaxed);
                           },
                           [](State& s) {
                             s.y.store(1, relaxed), s.x.store(2, relaxed);
                             s.seen[1] = s.x.load(relaxed);
                           }});
  EXPECT_TRUE(has(all, {1, 1}));
  EXPECT_TRUE(has(all, {2, 2}));
}

Seen independent_reads(std::memory_order store, std::memory_order load) {
  return all_of({[=](State& s) { s.x.store(1, store), s.y.store(1, store); },
                 [=](State& s) { s.seen[0] = s.x.load(load), s.seen[1] = s.y.load(load); },
                 [=](State& s) { s.seen[2] = s.y.load(load), s.seen[3] = s.x.load(load); }});
}

TEST(Model, ThreadsSeeWritesInDifferentOrders) {
  EXPECT_TRUE(has(independent_reads(relaxed, relaxed), {1, 0, 1, 0}));
  EXPECT_FALSE(has(independent_reads(release, acquire), {0, 1, 1, 0}));
  // Repeats the test with two writers.
  const auto of_two = [](std::memory_order store, std::memory_order load) {
    return all_of({[=](State& s) { s.x.store(1, store), s.seen[0] = s.y.load(load); },
                   [=](State& s) { s.y.store(1, store); },
                   [=](State& s) { s.seen[1] = s.y.load(load), s.seen[2] = s.x.load(load); }});
  };
  EXPECT_TRUE(has(of_two(release, acquire), {0, 1, 0}));
  EXPECT_FALSE(has(of_two(seq_cst, seq_cst), {0, 1, 0}));
}

TEST(Model, ExchangesPassOnWhatWasReleased) {
  const auto pass = [](std::memory_order middle) {
    return all_of({[](State& s) { s.x.store(1, relaxed), s.y.store(1, release); },
                   [=](State& s) { s.y.fetch_add(1, middle); },
                   [](State& s) { s.seen[0] = s.y.load(acquire), s.seen[1] = s.x.load(relaxed); }});
  };
  const Seen all = pass(relaxed);
  EXPECT_TRUE(has(all, {2, 1}));
  EXPECT_FALSE(has(all, {2, 0}));
  // A plain store does not continue a release sequence, even if the same thread makes it.
  const Seen stores = all_of({[](State& s) { s.x.store(1, relaxed), s.y.store(1, release), s.y.store(2, relaxed); },
                              [](State& s) { s.seen[0] = s.y.load(acquire), s.seen[1] = s.x.load(relaxed); }});
  EXPECT_TRUE(has(stores, {2, 0}));
}

TEST(Model, ExchangesSeeOneAnother) {
  const Seen all = all_of({[](State& s) { s.seen[0] = s.x.fetch_add(1, relaxed); },
                           [](State& s) { s.seen[1] = s.x.fetch_add(1, relaxed); },
                           [](State& s) { s.seen[2] = s.x.fetch_add(1, relaxed); }});
  EXPECT_EQ(all.size(), 6U);
  for (const auto& seen : all) EXPECT_EQ((std::set{seen[0], seen[1], seen[2]}), (std::set{0, 1, 2}));
}

TEST(Model, CompareExchangeFailsOnStaleValuesToo) {
  const Seen all = all_of({[](State& s) { s.x.store(1, relaxed); },
                           [](State& s) {
                             int expected = 1;
                             s.seen[0] = s.x.compare_exchange_strong(expected, 2, acq_rel);
                             s.seen[1] = expected;
                           }});
  EXPECT_EQ(all, (Seen{{0, 0}, {1, 1}}));
}

struct Shared {
  data<int> plain{0};
  atomic<bool> flag{false};
  atomic<bool> other{false};
  semaphore wake{0};
};

Outcome outcome_of(const std::vector<std::function<void(Shared&)>>& parts) {
  return explore([&] {
    auto state = std::make_shared<Shared>();
    Scenario scenario;
    for (const auto& part : parts) scenario.threads.emplace_back([state, part] { part(*state); });
    return scenario;
  });
}

TEST(Model, DataRaces) {
  const auto published = [](std::memory_order store, std::memory_order load) {
    return outcome_of({[=](Shared& s) { s.plain = 1, s.flag.store(true, store); },
                       [=](Shared& s) {
                         if (s.flag.load(load)) check(s.plain == 1, "it was published");
                       }});
  };
  EXPECT_EQ(published(release, acquire).violation, "");
  EXPECT_NE(published(relaxed, acquire).violation, "");
  EXPECT_NE(published(release, relaxed).violation, "");
  EXPECT_NE(published(release, relaxed).trace, "");
  const auto read = [](Shared& s) { static_cast<void>(static_cast<int>(s.plain)); };
  EXPECT_EQ(outcome_of({read, read}).violation, "");
  EXPECT_NE(outcome_of({read, [](Shared& s) { s.plain = 1; }}).violation, "");
  EXPECT_NE(outcome_of({[](Shared& s) { s.plain = 1; }, [](Shared& s) { s.plain = 2; }}).violation, "");
}

TEST(Model, WaitsThatNeverEnd) {
  const auto wait_for = [](atomic<bool> Shared::*flag) {
    return [flag](Shared& s) {
      policy::spinner spinner;
      while (!(s.*flag).load(acquire)) spinner.rest();
    };
  };
  const auto set = [](Shared& s) { s.flag.store(true, release); };
  EXPECT_EQ(outcome_of({wait_for(&Shared::flag), set}).violation, "");
  EXPECT_EQ(outcome_of({wait_for(&Shared::other), set}).violation, "all threads are blocked");
  const auto toggle = [](Shared& s) { s.flag.store(true, release), s.flag.store(false, release); };
  EXPECT_EQ(outcome_of({wait_for(&Shared::flag), toggle}).violation, "all threads are blocked");
  EXPECT_EQ(outcome_of({[](Shared& s) { s.wake.acquire(); }, [](Shared& s) { s.wake.release(); }}).violation, "");
  EXPECT_EQ(outcome_of({[](Shared& s) { s.wake.acquire(); }}).violation, "all threads are blocked");
  EXPECT_NE(outcome_of({[](Shared& s) { s.wake.release(), s.wake.release(); }}).violation, "");
}

TEST(Model, LivesOfVariables) {
  struct Published {
    atomic<atomic<int>*> where{nullptr};
  };
  const auto outcome = [](std::memory_order store, bool waits) {
    return explore([=] {
      auto state = std::make_shared<Published>();
      return Scenario{.threads = {[=] {
                                    atomic<int> own{1};
                                    state->where.store(&own, store);
                                    policy::spinner spinner;
                                    while (waits && own.load(acquire) == 1) spinner.rest();
                                  },
                                  [=] {
                                    if (atomic<int>* const found = state->where.load(acquire)) found->store(2, release);
                                  }}};
    });
  };
  EXPECT_NE(outcome(release, false).violation, "") << "gone";
  EXPECT_NE(outcome(relaxed, true).violation, "") << "not constructed for the other";
}

TEST(Model, SitesCanBeWeakened) {
  const auto make = [] {
    auto state = std::make_shared<Shared>();
    return Scenario{.threads = {[state] { state->plain = 1, state->flag.store(true, release); },
                                [state] {
                                  if (state->flag.load(acquire)) check(state->plain == 1, "it was published");
                                }}};
  };
  const Outcome right = explore(make);
  EXPECT_EQ(right.violation, "");
  ASSERT_EQ(right.sites.size(), 2U);
  for (const Site& site : right.sites) EXPECT_NE(explore(make, {.weakened = &site}).violation, "") << text(site);
}

}  // namespace
}  // namespace gradus::model
