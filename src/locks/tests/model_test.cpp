// Runs every lock in the model checker, which explores all orders of events and all values that C++ lets a load return
// (tests/model/model.hpp). The test runs the production code with two and three threads. Then it weakens each memory
// order in turn, and each weakening must cause a violation.
#include "tests/model/model.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "gradus/locks.hpp"
#include "locks/tests/faulty_clh.hpp"

namespace gradus::locks_detail {
namespace {

using model::Outcome;
using model::Scenario;
using model::Site;

enum class Taking { locks, one_tries, two_give_up };

struct Job {
  std::size_t threads;
  int rounds;
  Taking taking;
};
std::string text(const Job& job) {
  return std::to_string(job.threads) + " threads, " + std::to_string(job.rounds) + " rounds, mode " +
         std::to_string(static_cast<int>(job.taking));
}

/// Threads that increment a counter under the lock.
template <class Lock>
Scenario additions(const Job& job) {
  struct State {
    Lock lock;
    model::data<int> count{0};
    int entered = 0;
  };
  auto state = std::make_shared<State>();
  Scenario scenario;
  for (std::size_t thread = 0; thread < job.threads; ++thread)
    scenario.threads.push_back([state, job, thread] {
      Lock& lock = state->lock;
      for (int round = 0; round < job.rounds; ++round) {
        if (job.taking == Taking::one_tries && thread == 0) {
          if (!lock.try_lock()) continue;
        } else if (job.taking == Taking::two_give_up && thread < 2) {
          // In the checker, a timed wait may time out or not, whatever its duration.
          if constexpr (requires(Lock other) { other.try_lock_for(std::chrono::hours(1)); }) {
            if (!lock.try_lock_for(std::chrono::hours(1))) continue;
          } else {
            if (!lock.try_lock()) continue;
          }
        } else {
          lock.lock();
        }
        state->count = state->count + 1;
        ++state->entered;
        lock.unlock();
      }
    });
  scenario.after = [state, job] {
    model::check(state->count == state->entered, "an update was lost");
    model::check(job.taking != Taking::locks || state->entered == static_cast<int>(job.threads) * job.rounds,
                 "not all came in");
    model::check(state->lock.try_lock(), "the lock is not free at the end");
    state->lock.unlock();
  };
  return scenario;
}

const std::vector<Job>& usual_jobs() {
  static const std::vector<Job> jobs = {{2, 1, Taking::locks}, {2, 2, Taking::locks},     {2, 2, Taking::one_tries},
                                        {3, 1, Taking::locks}, {3, 1, Taking::one_tries}, {3, 1, Taking::two_give_up}};
  return jobs;
}

using Make = std::function<Scenario()>;

/// Checks that no execution has a violation. Then weakens one memory order after another, and checks that each
/// weakening causes a violation. If `only_file` is given, weakens only the memory orders in that file.
void check_all(const std::vector<std::pair<std::string, Make>>& scenarios, const std::string& only_file = "") {
  std::set<Site> sites;
  for (const auto& [name, make] : scenarios) {
    const Outcome outcome = model::explore(make);
    EXPECT_EQ(outcome.violation, "") << name << "\n" << outcome.trace;
    EXPECT_TRUE(outcome.complete) << name;
    std::printf("%s: %lld executions, %lld states\n", name.c_str(), static_cast<long long>(outcome.executions),
                static_cast<long long>(outcome.states));
    sites.insert(outcome.sites.begin(), outcome.sites.end());
  }
  EXPECT_FALSE(sites.empty());
  for (const Site& site : sites) {
    if (!only_file.empty() && site.file != only_file) continue;
    std::vector<std::memory_order> weaker = {std::memory_order_relaxed};
    if (site.order == std::memory_order_acq_rel) weaker = {std::memory_order_acquire, std::memory_order_release};
    for (const std::memory_order order : weaker) {
      std::string violation;
      for (const auto& [name, make] : scenarios)
        if (violation.empty()) violation = model::explore(make, {.weakened = &site, .weaker_order = order}).violation;
      EXPECT_NE(violation, "") << model::text(site) << " could be weaker";
    }
  }
}

template <class Lock>
void check_lock(const std::vector<Job>& jobs, const std::string& only_file = "") {
  std::vector<std::pair<std::string, Make>> scenarios;
  for (const Job& job : jobs) scenarios.emplace_back(text(job), [job] { return additions<Lock>(job); });
  check_all(scenarios, only_file);
}

TEST(LocksModel, Tas) { check_lock<basic_tas_lock<model::policy>>(usual_jobs()); }
TEST(LocksModel, Ttas) { check_lock<basic_ttas_lock<model::policy>>(usual_jobs()); }
TEST(LocksModel, Ticket) { check_lock<basic_ticket_lock<model::policy>>(usual_jobs()); }
TEST(LocksModel, Array) { check_lock<basic_array_lock<4, model::policy>>(usual_jobs()); }
TEST(LocksModel, ArrayOfFewerSlotsThanThreads) { check_lock<basic_array_lock<2, model::policy>>(usual_jobs()); }
TEST(LocksModel, ArrayOfOneSlot) { check_lock<basic_array_lock<1, model::policy>>(usual_jobs()); }
// The node pool has a separate, more demanding test.
TEST(LocksModel, Clh) { check_lock<basic_clh_lock<model::policy>>(usual_jobs(), "clh_lock.hpp"); }
TEST(LocksModel, Mcs) { check_lock<basic_mcs_lock<model::policy>>(usual_jobs()); }
TEST(LocksModel, Cna) { check_lock<basic_cna_lock<model::policy>>(usual_jobs()); }
TEST(LocksModel, Park) { check_lock<basic_park_lock<model::policy>>(usual_jobs()); }

// The first and the third thread are on the same NUMA node. If the second thread waits in front of the third thread,
// the third thread may overtake the second thread, but only once.
TEST(LocksModel, CnaPassesThreadsOfOtherNodes) {
  std::set<std::vector<int>> orders;
  using Lock = basic_cna_lock<model::policy>;
  const Outcome outcome = model::explore([&orders] {
    struct State {
      Lock lock;
      model::data<int> count{0};
      std::vector<int> order;
      model::atomic<int> waiting{0};
    };
    auto state = std::make_shared<State>();
    Scenario scenario;
    for (int thread = 0; thread < 3; ++thread)
      scenario.threads.push_back([state, thread] {
        state->lock.lock();
        state->count = state->count + 1;
        state->order.push_back(thread);
        state->lock.unlock();
      });
    scenario.after = [state, &orders] { orders.insert(state->order); };
    return scenario;
  });
  EXPECT_EQ(outcome.violation, "") << outcome.trace;
  EXPECT_EQ(orders.size(), 6U);
}

// Tests the node pool of clh_lock. The first chunk has two nodes, so several chunks are needed.
TEST(LocksModel, NodePool) {
  using Pool = lock_node_pool<model::policy>;
  // In each round, thread i takes threads[i] nodes at once and returns them. Initially, `on_stack` free nodes are on
  // the stack.
  const auto make = [](std::vector<int> threads, int rounds, int on_stack = 1) -> Make {
    return [=] {
      struct State {
        Pool pool;
        std::array<model::data<int>, 8> owner{};
      };
      auto state = std::make_shared<State>();
      for (int node = 0; node < on_stack; ++node) state->pool.give(state->pool.take_used());
      Scenario scenario;
      for (const int count : threads)
        scenario.threads.push_back([state, count, rounds] {
          Pool& pool = state->pool;
          for (int round = 0; round < rounds; ++round) {
            std::array<Pool::word, 2> words{};
            for (int at = 0; at < count; ++at) {
              words[static_cast<std::size_t>(at)] = Pool::next_use(pool.take_used());
              // This write is a data race if two threads have the same node.
              state->owner[words[static_cast<std::size_t>(at)] % 8] = model::thread_index();
            }
            for (int at = 0; at < count; ++at) {
              const Pool::word word = words[static_cast<std::size_t>(at)];
              model::check(state->owner[word % 8] == model::thread_index(), "a node has two owners");
              pool.at(word).released.store(word, std::memory_order_relaxed);
              pool.give(word);
            }
          }
        });
      return scenario;
    };
  };
  check_all({{"1, 1, of none", make({1, 1}, 1, 0)},
             {"1, 1", make({1, 1}, 1)},
             {"1, 2", make({1, 2}, 1)},
             {"1, 1 twice", make({1, 1}, 2)},
             {"1, 1, 1", make({1, 1, 1}, 1)}});
}

// --- negative controls: planted faults that must be found
// ---------------------------------------------------------------------

template <Fault fault>
Outcome faulty(bool only_interleavings) {
  return model::explore(
      [] {
        struct State {
          FaultyClh<model::policy, fault> lock{2};
          model::data<int> count{0};
        };
        auto state = std::make_shared<State>();
        Scenario scenario;
        for (std::size_t thread = 0; thread < 2; ++thread)
          scenario.threads.push_back([state, thread] {
            for (int round = 0; round < 2; ++round) {
              state->lock.lock(thread);
              state->count = state->count + 1;
              state->lock.unlock(thread);
            }
          });
        return scenario;
      },
      {.only_interleavings = only_interleavings});
}

TEST(LocksModel, FindsNothingWhereThereIsNothing) {
  const Outcome outcome = faulty<Fault::none>(false);
  EXPECT_EQ(outcome.violation, "") << outcome.trace;
  EXPECT_TRUE(outcome.complete);
}
TEST(LocksModel, FindsTheLogicFaultBySchedules) { EXPECT_NE(faulty<Fault::late_flag>(true).violation, ""); }
TEST(LocksModel, FindsTheWeakOrder) { EXPECT_NE(faulty<Fault::weak_order>(false).violation, ""); }

}  // namespace
}  // namespace gradus::locks_detail
