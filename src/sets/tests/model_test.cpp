// The lazy and the lock-free list under the checker that tries out all orders of events and all values that C++ lets a
// load see (tests/model/model.hpp): the code that programs use. And with one memory order of each operation too weak,
// which must be found.
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

/// Whoever reads it has to know that it was written.
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

/// Counts order nothing and decide nothing: they are left out of the events.
struct Policy {
  template <class T>
  using atomic = std::conditional_t<std::is_same_v<T, std::int64_t>, std::atomic<T>, model::atomic<T>>;
  using spinner = model::policy::spinner;
};

/// Keeps removed nodes to the end, likewise without events.
struct Kept {
  using policy = Policy;
  static constexpr bool walks_past_removed = true;
  static constexpr std::memory_order unlink_order = std::memory_order_release;
  struct domain {
    domain(void* of_set, free_function by) : set(of_set), free(by) {}
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
    explicit guard(domain& of) : domain_(of) {}
    template <class Link>
    word protect(unsigned, const Link& link, std::memory_order order) const {
      return link.load(order);
    }
    void retire(reclaimable* node) { domain_.removed.push_back(node); }
    domain& domain_;
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
      {"two insert at different links and look for each other's key",
       [] {
         auto state = with_keys<Set>({2});
         bool* found = state->answers;
         return Scenario{.threads = {[state, found] {
                                       state->set.insert(Key(1));
                                       found[0] = state->set.contains(3);
                                     },
                                     [state, found] {
                                       state->set.insert(Key(3));
                                       found[1] = state->set.contains(1);
                                     }},
                         .after = [state, found] {
                           model::check(found[0] || found[1], "both miss what the other has inserted");
                           model::check(state->set.contains(1) && state->set.contains(3), "a key is lost");
                         }};
       }},
      {"one inserts behind what another erases",
       [] {
         auto state = with_keys<Set>({1});
         return Scenario{
             .threads = {[state] { model::check(state->set.erase(1), "a key that is there is not erased"); },
                         [state] { model::check(state->set.insert(Key(2)), "a new key is refused"); }},
             .after = [state] {
               model::check(!state->set.contains(1) && state->set.contains(2), "a key is lost or stays");
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
                           model::check(state->set.erase(1) && !state->set.contains(1), "it is not there just once");
                         }};
       }},
      {"one erases, another looks twice",
       [] {
         auto state = with_keys<Set>({1});
         bool* found = state->answers;
         return Scenario{
             .threads = {[state] { model::check(state->set.erase(1), "a key that is there is not erased"); },
                         [state, found] {
                           found[0] = state->set.contains(1);
                           found[1] = state->set.contains(1);
                         }},
             .after = [state, found] {
               model::check(found[0] || !found[1], "an erased key is seen again");
               model::check(!state->set.contains(1), "an erased key is there");
             }};
       }},
  };
}

/// No execution has a violation.
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

/// With each order of the file made weaker, one after the other: which of these are found, as "line: order".
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

/// The control: lists with an order too weak, in whichever way the checker can find by its quickest scenario. A link
/// that publishes nothing leads to keys that nobody has written; one that is not seq_cst lets two threads miss each
/// other.
template <class Set>
void check_set(const std::string& file) {
  const Scenarios scenarios = scenarios_of<Set>();
  const std::set<Site> sites = expect_none(scenarios);
  const std::set<std::string> found = faults_found(scenarios.front().second, sites, file);
  EXPECT_TRUE(found.contains("relaxed"));
  EXPECT_TRUE(found.contains("no longer seq_cst"));
}

TEST(SetsModel, LazyList) { check_set<lazy_list_set<Key, Kept>>("lazy_list_set.hpp"); }
TEST(SetsModel, LockFreeList) { check_set<lock_free_list_set<Key, Kept>>("lock_free_list_set.hpp"); }

}  // namespace
}  // namespace gradus::sets_detail
