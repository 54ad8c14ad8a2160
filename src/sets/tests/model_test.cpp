// Runs sets and their reclamation in the model checker, which explores all orders of events and all values that C++
// lets a load return (tests/model/model.hpp). The code under test is the production code. The checker must also find
// memory orders that are too weak.
#include "tests/model/model.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/sets.hpp"

namespace gradus::sets_detail {
namespace {

using model::Outcome;
using model::Scenario;
using model::Site;

/// A key that detects reads which are not synchronised with its construction.
struct Key {
  Key(int number) : value(number) {}
  Key(const Key& other) : value(static_cast<int>(other.value)) {}
  Key& operator=(const Key&) = delete;
  model::data<int> value;
  friend bool operator<(const Key& one, const Key& other) {
    return static_cast<int>(one.value) < static_cast<int>(other.value);
  }
  friend bool operator<(const Key& one, int other) { return static_cast<int>(one.value) < other; }
  friend bool operator<(int one, const Key& other) { return one < static_cast<int>(other.value); }
};

/// The policy of the checked sets. Counters are plain atomics and cause no events, because no decision and no
/// synchronisation depends on them.
struct Policy : set_policy {
  template <class T>
  using atomic = std::conditional_t<std::is_same_v<T, std::int64_t>, std::atomic<T>, model::atomic<T>>;
  using spinner = model::policy::spinner;
  // Limits and sizes are small, so that there are few executions and rare events happen early.
  static constexpr unsigned records_of_block = 2;
  static constexpr unsigned retired_between_looks = 1;
  static constexpr std::uint64_t first_buckets = 2;
  static std::uint64_t random() noexcept { return 2; }  // gives each node of a skip list two levels
  template <class Link>
  static void fetch_target(const Link&) noexcept {}  // does nothing, because prefetching affects only timing
};

/// A reclamation that keeps removed nodes to the end and causes no events.
struct KeepAll {
  using policy = Policy;
  static constexpr bool walks_past_removed = true;
  static constexpr std::memory_order unlink_order = std::memory_order_release;
  struct domain {
    domain(void* of_set, free_function by, std::size_t /*distance*/ = 0) : set(of_set), free(by) {}
    domain(const domain&) = delete;
    domain& operator=(const domain&) = delete;
    ~domain() {
      for (reclaimable* node : removed) free(set, node);
    }
    void* set;
    free_function free;
    std::vector<reclaimable*> removed;
  };
  struct guard {
    explicit guard(domain& of) : of_set(of) {}
    template <class Link>
    word protect(unsigned, const Link& link, std::memory_order order) const {
      return link.load(order);
    }
    void retire(reclaimable* node) { of_set.removed.push_back(node); }
    domain& of_set;
  };
};

using Make = std::function<Scenario()>;
using Scenarios = std::vector<std::pair<std::string, Make>>;

template <class Set>
struct State {
  Set set;
  bool answers[6] = {};
};
template <class Set>
std::shared_ptr<State<Set>> with_keys(std::initializer_list<int> keys) {
  auto state = std::make_shared<State<Set>>();
  for (const int key : keys) state->set.insert(Key(key));
  return state;
}

template <class Set>
Scenarios scenarios_of() {
  return {
      {"two insert at different links and look up each other's key",
       [] {
         auto state = with_keys<Set>({2});
         bool* found = state->answers;
         return Scenario{.threads = {[state, found] {
                                       state->set.insert(Key(1));
                                       found[0] = state->set.contains(Key(3));
                                     },
                                     [state, found] {
                                       state->set.insert(Key(3));
                                       found[1] = state->set.contains(Key(1));
                                     }},
                         .after = [state, found] {
                           model::check(found[0] || found[1], "both miss what the other has inserted");
                           model::check(state->set.contains(Key(1)) && state->set.contains(Key(3)), "a key is lost");
                         }};
       }},
      {"one inserts behind what another erases",
       [] {
         auto state = with_keys<Set>({1});
         return Scenario{
             .threads = {[state] { model::check(state->set.erase(Key(1)), "a key that is there is not erased"); },
                         [state] { model::check(state->set.insert(Key(2)), "a new key is refused"); }},
             .after = [state] {
               model::check(!state->set.contains(Key(1)) && state->set.contains(Key(2)), "a key is lost or stays");
             }};
       }},
      {"two insert the same key",
       [] {
         auto state = with_keys<Set>({});
         bool* answers = state->answers;
         return Scenario{.threads = {[state, answers] { answers[0] = state->set.insert(Key(1)); },
                                     [state, answers] { answers[1] = state->set.insert(Key(1)); }},
                         .after = [state, answers] {
                           model::check(answers[0] != answers[1], "not just one has inserted it");
                           model::check(state->set.erase(Key(1)) && !state->set.contains(Key(1)),
                                        "it is not there just once");
                         }};
       }},
      {"one erases, another looks twice",
       [] {
         auto state = with_keys<Set>({1});
         bool* found = state->answers;
         return Scenario{
             .threads = {[state] { model::check(state->set.erase(Key(1)), "a key that is there is not erased"); },
                         [state, found] {
                           found[0] = state->set.contains(Key(1));
                           found[1] = state->set.contains(Key(1));
                         }},
             .after = [state, found] {
               model::check(found[0] || !found[1], "an erased key is seen again");
               model::check(!state->set.contains(Key(1)), "an erased key is there");
             }};
       }},
  };
}

/// Checks that no execution has a violation. Returns the places in the code at which the executions used a memory
/// order.
std::set<Site> expect_none(const Scenarios& scenarios) {
  std::set<Site> sites;
  for (const auto& [name, make] : scenarios) {
    const Outcome outcome = model::explore(make);
    EXPECT_EQ(outcome.violation, "") << name << "\n" << outcome.trace;
    EXPECT_TRUE(outcome.complete) << name;
    std::printf("%s: %lld executions, %lld states\n", name.c_str(), static_cast<long long>(outcome.executions),
                static_cast<long long>(outcome.states));
    sites.insert(outcome.sites.begin(), outcome.sites.end());
  }
  return sites;
}

/// Weakens each memory order of the file in turn. Returns the kinds of weakening that cause a violation: "relaxed", "no
/// longer seq_cst".
std::set<std::string> faults_found(const Make& make, const std::set<Site>& sites, const std::string& file) {
  std::set<std::string> found;
  for (const Site& site : sites)
    for (const auto& [order, name] :
         {std::pair(std::memory_order_relaxed, "relaxed"), std::pair(std::memory_order_acq_rel, "no longer seq_cst")}) {
      if (site.file != file || site.of_failure || site.order == order) continue;
      if (model::explore(make, {.weakened = &site, .weaker_order = order}).violation.empty()) continue;
      std::printf("found: %s made %s\n", model::text(site).c_str(), name);
      found.insert(name);
    }
  return found;
}

/// Checks a set. As a negative control, also checks that weakened memory orders are detected. For this check, the first
/// scenario suffices. If a link is published by a relaxed write, readers may see keys that were never written. If a
/// link is not seq_cst, two threads may miss each other's keys.
template <class Set>
void check_set(const std::string& file, const std::set<std::string>& kinds = {"relaxed", "no longer seq_cst"}) {
  const Scenarios scenarios = scenarios_of<Set>();
  const std::set<Site> sites = expect_none(scenarios);
  const std::set<std::string> found = faults_found(scenarios.front().second, sites, file);
  EXPECT_EQ(found, kinds);
}

// --- reclamation -----------------------------------------------------------------------------------------------------

/// A node whose key is overwritten when the node is freed. Every read of the key must happen before this write.
struct Node : reclaimable {
  explicit Node(int number) : key(number) {}
  model::data<int> key;
};

/// A link to a node that will be removed. All other nodes are retired without ever having been linked.
template <template <class> class Reclamation>
struct Slot {
  using Guard = typename Reclamation<Policy>::guard;
  std::vector<std::unique_ptr<Node>> nodes;
  int freed = 0;
  typename Reclamation<Policy>::domain domain{this, [](void* of, reclaimable* node) noexcept {
                                                static_cast<Node*>(node)->key = -1;
                                                ++static_cast<Slot*>(of)->freed;
                                              }};
  model::atomic<word> link{0};

  explicit Slot(int count) {
    for (int number = 0; number < count; ++number) nodes.push_back(std::make_unique<Node>(number));
    link.store(word_of(nodes.front().get()), std::memory_order_relaxed);
  }
  void read() {
    Guard hold(domain);
    const word seen = hold.protect(0, link, std::memory_order_acquire);
    if (seen != 0) model::check(node_at<Node>(seen)->key >= 0, "a freed node is read");
  }
  /// Unlinks and retires node 0, or only retires another node.
  void remove(std::size_t number) {
    Guard hold(domain);
    if (number == 0) link.store(0, Reclamation<Policy>::unlink_order);
    hold.retire(nodes[number].get());
  }
};

/// One thread reads the link while another thread unlinks the node. The second thread then removes further nodes, until
/// the first node may be freed.
template <template <class> class Reclamation>
Make reading(int removals) {
  return [removals] {
    auto slot = std::make_shared<Slot<Reclamation>>(removals);
    return Scenario{.threads = {[slot] { slot->read(); },
                                [slot, removals] {
                                  for (int number = 0; number < removals; ++number)
                                    slot->remove(static_cast<std::size_t>(number));
                                }},
                    .after = [slot] { slot->link.store(0, std::memory_order_relaxed); }};
  };
}

/// A memory order in a file, and a weaker order that replaces it.
struct Weakening {
  std::string file;
  std::memory_order order;
  std::memory_order weaker;
};

/// Checks that no execution reads freed memory. Then weakens the given orders, one site at a time. For each given
/// order, the number of sites whose weakening causes a violation must equal the given number.
void check_reclamation(const Make& make, const std::vector<std::pair<Weakening, int>>& needed) {
  const Outcome outcome = model::explore(make);
  EXPECT_EQ(outcome.violation, "") << outcome.trace;
  EXPECT_TRUE(outcome.complete);
  std::printf("%lld executions, %lld states\n", static_cast<long long>(outcome.executions),
              static_cast<long long>(outcome.states));
  for (const auto& [weakening, times] : needed) {
    int found = 0;
    for (const Site& site : outcome.sites) {
      if (site.file != weakening.file || site.order != weakening.order || site.of_failure) continue;
      const Outcome weak = model::explore(make, {.weakened = &site, .weaker_order = weakening.weaker});
      std::printf("%s: %s\n", model::text(site).c_str(), weak.violation.empty() ? "-" : weak.violation.c_str());
      found += weak.violation.empty() ? 0 : 1;
    }
    EXPECT_EQ(found, times) << weakening.file;
  }
}

struct KeyHash {
  std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(static_cast<int>(key.value)); }
};
struct KeyEqual {
  bool operator()(const Key& one, const Key& other) const {
    return static_cast<int>(one.value) == static_cast<int>(other.value);
  }
};
constexpr std::memory_order relaxed = std::memory_order_relaxed;
constexpr std::memory_order release = std::memory_order_release;
constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

TEST(SetsModel, HazardPointers) {
  // The orders that are weakened belong to these accesses: first, publishing a hazard, reading the link again, and
  // scanning the hazards; second, unlinking (in this test); third, clearing a hazard.
  check_reclamation(reading<basic_hazard_pointers>(1), {{{"hazard_pointers.hpp", seq_cst, acq_rel}, 3},
                                                        {{"model_test.cpp", seq_cst, acq_rel}, 1},
                                                        {{"hazard_pointers.hpp", release, relaxed}, 1}});
}
TEST(SetsModel, Epochs) {
  // Node 0 is freed at the earliest when the third node, node 2, is retired. The orders that are weakened belong to the
  // scan of all records, the announcement, and leaving a record. All other orders matter only with a third thread.
  check_reclamation(reading<basic_epoch>(3), {{{"epoch.hpp", acq_rel, relaxed}, 1},
                                              {{"records.hpp", acq_rel, relaxed}, 1},
                                              {{"records.hpp", release, relaxed}, 1}});
}

TEST(SetsModel, LazyList) { check_set<lazy_list_set<Key, KeepAll>>("lazy_list_set.hpp"); }
TEST(SetsModel, LockFreeList) { check_set<lock_free_list_set<Key, KeepAll>>("lock_free_list_set.hpp"); }
TEST(SetsModel, HashSet) {
  // Opening a bucket uses exchanges with such strong orders that weakening a single seq_cst order causes no violation.
  check_set<split_ordered_set<Key, KeepAll, KeyHash, KeyEqual>>("split_ordered_set.hpp", {"relaxed"});
}
struct SameHash {
  std::size_t operator()(const Key&) const { return 1; }
};
TEST(SetsModel, HashSetWhoseHashesAgree) {
  expect_none(scenarios_of<split_ordered_set<Key, KeepAll, SameHash, KeyEqual>>());
}
// The nodes are on two levels. The other scenarios would have too many executions.
TEST(SetsModel, SkipList) { expect_none({scenarios_of<skip_list_set<Key, KeepAll>>()[2]}); }
TEST(SetsModel, LockFreeListUnderHazardPointers) {
  expect_none({scenarios_of<lock_free_list_set<Key, basic_hazard_pointers<Policy>>>()[2]});
}

}  // namespace
}  // namespace gradus::sets_detail
