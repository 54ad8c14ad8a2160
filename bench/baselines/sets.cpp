// Compares Gradus' concurrent sets with the sets of libcds, xenium, oneTBB and Abseil in one process. The program
// shares job, verification, keys, mixes and clocks with `gradus bench sets` (src/sets/job.hpp). bench/baselines/sets.py
// compiles and runs it.
//
//   sets THREADS REPEATS SCALE [WORD,...]      prints a line of JSON for each subject of each line of the table
#include <absl/container/flat_hash_set.h>
#include <cds/container/lazy_list_hp.h>
#include <cds/container/lazy_list_rcu.h>
#include <cds/container/michael_list_hp.h>
#include <cds/container/michael_list_rcu.h>
#include <cds/container/skip_list_set_hp.h>
#include <cds/container/skip_list_set_rcu.h>
#include <cds/container/split_list_set.h>
#include <cds/container/split_list_set_rcu.h>
#include <cds/gc/hp.h>
#include <cds/init.h>
#include <cds/urcu/general_buffered.h>
#include <tbb/concurrent_set.h>
#include <tbb/concurrent_unordered_set.h>
#include <tbb/scalable_allocator.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#include <xenium/harris_michael_hash_map.hpp>
#include <xenium/harris_michael_list_based_set.hpp>
#include <xenium/reclamation/generic_epoch_based.hpp>
#include <xenium/reclamation/hazard_pointer.hpp>

#include "gradus/sets.hpp"
#include "sets/cases.hpp"
#include "sets/job.hpp"

namespace gradus::sets_detail {

namespace {

using Key = std::int64_t;
using Rcu = cds::urcu::gc<cds::urcu::general_buffered<>>;

/// Key range of the current job. If a set has no iterators, the program looks up every key in this range.
std::int64_t range_of_keys = 0;

/// Adapts a baseline to the interface that the job needs.
template <class Set>
class Adapted {
 public:
  bool insert(Key key) { return set_.insert(key); }
  bool erase(Key key) { return set_.erase(key); }
  bool contains(Key key) { return set_.contains(key); }
  /// Returns the number of keys that the last call of begin() found. Looking up every key again would be slow.
  std::size_t size() const { return found_.size(); }
  auto begin() {
    std::vector<char> is_there(static_cast<std::size_t>(range_of_keys));
#pragma omp parallel for schedule(static)
    for (Key key = 0; key < range_of_keys; ++key) is_there[static_cast<std::size_t>(key)] = contains(key);
    found_.clear();
    for (Key key = 0; key < range_of_keys; ++key)
      if (is_there[static_cast<std::size_t>(key)] != 0) found_.push_back(key);
    return found_.begin();
  }
  auto end() { return found_.end(); }

 private:
  Set set_;
  Keys found_;
};

// --- libcds: threads have to attach ---------------------------------------------------------------------------------

void attach() {
  struct Attached {
    Attached() { cds::threading::Manager::attachThread(); }
    ~Attached() { cds::threading::Manager::detachThread(); }
  };
  static thread_local const Attached attached;
  (void)attached;
}

struct Less {
  bool operator()(Key one, Key other) const { return one < other; }
};
struct ListTraits : cds::container::michael_list::traits {
  using less = Less;
};
struct LazyTraits : cds::container::lazy_list::traits {
  using less = Less;
};
struct SkipTraits : cds::container::skip_list::traits {
  using less = Less;
};
struct SplitTraits : cds::container::split_list::traits {
  using ordered_list = cds::container::michael_list_tag;
  using hash = std::hash<Key>;
  struct ordered_list_traits : cds::container::michael_list::traits {
    using less = Less;
  };
};

template <class Set>
class Cds {
 public:
  Cds() : set_(made()) {}
  bool insert(Key key) {
    attach();
    return set_->insert(key);
  }
  bool erase(Key key) {
    attach();
    return set_->erase(key);
  }
  bool contains(Key key) {
    attach();
    return set_->contains(key);
  }

 private:
  static std::unique_ptr<Set> made() {
    attach();
    if constexpr (std::is_constructible_v<Set, std::size_t, std::size_t>)
      return std::make_unique<Set>(static_cast<std::size_t>(range_of_keys / 2), std::size_t{1});
    else return std::make_unique<Set>();
  }
  std::unique_ptr<Set> set_;
};

// --- the others -----------------------------------------------------------------------------------------------------

template <class Set>
class Xenium {
 public:
  bool insert(Key key) { return set_.emplace(key); }
  bool erase(Key key) { return set_.erase(key); }
  bool contains(Key key) { return set_.contains(key); }

 private:
  Set set_;
};
/// A hash table of xenium. It does not grow, so it is created with as many buckets as keys.
template <class Reclaimer>
class XeniumHash {
 public:
  bool insert(Key key) { return map_.emplace(key, char{}); }
  bool erase(Key key) { return map_.erase(key); }
  bool contains(Key key) { return map_.contains(key); }

 private:
  xenium::harris_michael_hash_map<Key, char, xenium::policy::reclaimer<Reclaimer>,
                                  xenium::policy::buckets<std::size_t{1} << 20>>
      map_;
};

/// An oneTBB set. It does not support concurrent erasure.
template <class Set>
class Tbb {
 public:
  bool insert(Key key) { return set_.insert(key).second; }
  bool erase(Key) { std::abort(); }
  bool contains(Key key) { return set_.find(key) != set_.end(); }

 private:
  Set set_;
};

class Striped {
  static constexpr std::size_t stripes = 256;
  struct alignas(128) Stripe {
    std::mutex lock;
    absl::flat_hash_set<Key> keys;
  };

 public:
  bool insert(Key key) {
    return at(key, [&](auto& keys) { return keys.insert(key).second; });
  }
  bool erase(Key key) {
    return at(key, [&](auto& keys) { return keys.erase(key) == 1; });
  }
  bool contains(Key key) {
    return at(key, [&](auto& keys) { return keys.contains(key); });
  }

 private:
  template <class Work>
  bool at(Key key, const Work& work) {
    Stripe& stripe = all_[static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15 >> 56];
    const std::lock_guard hold(stripe.lock);
    return work(stripe.keys);
  }
  std::vector<Stripe> all_{stripes};
};

// --- the table ------------------------------------------------------------------------------------------------------

using Run = Outcome (*)(const Problem&, const Execution&, std::vector<Phase>&);
struct Subject {
  const char* name;
  Run run;
};
template <class Set>
Outcome baseline(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  range_of_keys = problem.range;
  return run_job<Adapted<Set>>(problem, execution, phases, true);
}
/// Runs a Gradus set that is not a variant.
template <class Set>
Outcome own(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return run_job<Set>(problem, execution, phases, true);
}
Run ours(std::string_view variant) { return core::find_variant(variants(), variant, Room::name).run.run; }

struct Line {
  std::string name;
  std::int64_t size;
  Mix mix;
  std::vector<Subject> subjects;
};

std::vector<Line> table() {
  namespace container = cds::container;
  using xenium::reclamation::epoch_based;
  using XeniumHazards = xenium::reclamation::hazard_pointer<>::with<
      xenium::policy::allocation_strategy<xenium::reclamation::hp_allocation::dynamic_strategy<3>>>;
  const std::vector<Subject> lists = {
      {"gradus lazy_list_hazard_pointers", ours("lazy_list_hazard_pointers")},
      {"gradus lock_free_list_hazard_pointers", ours("lock_free_list_hazard_pointers")},
      {"libcds LazyList HP", baseline<Cds<container::LazyList<cds::gc::HP, Key, LazyTraits>>>},
      {"libcds MichaelList HP", baseline<Cds<container::MichaelList<cds::gc::HP, Key, ListTraits>>>},
      {"xenium list HP",
       baseline<Xenium<xenium::harris_michael_list_based_set<Key, xenium::policy::reclaimer<XeniumHazards>>>>},
      {"gradus lazy_list_epoch", ours("lazy_list_epoch")},
      {"gradus lock_free_list_epoch", ours("lock_free_list_epoch")},
      {"libcds LazyList RCU", baseline<Cds<container::LazyList<Rcu, Key, LazyTraits>>>},
      {"libcds MichaelList RCU", baseline<Cds<container::MichaelList<Rcu, Key, ListTraits>>>},
      {"xenium list epoch",
       baseline<Xenium<xenium::harris_michael_list_based_set<Key, xenium::policy::reclaimer<epoch_based<>>>>>},
  };
  std::vector<Line> lines;
  for (const std::int64_t size : {1024, 8192})
    for (const Mix& mix : {Mix{100, 0, 0}, Mix{80, 10, 10}, Mix{20, 40, 40}, Mix{0, 50, 50}})
      lines.push_back({"list " + std::to_string(size) + " " + std::to_string(mix.contains) + "/" +
                           std::to_string(mix.insert) + "/" + std::to_string(mix.erase),
                       size, mix, lists});
  const std::vector<Subject> skip_lists = {
      {"gradus skip_list_hazard_pointers", ours("skip_list_hazard_pointers")},
      {"libcds SkipListSet HP", baseline<Cds<container::SkipListSet<cds::gc::HP, Key, SkipTraits>>>},
      {"gradus skip_list_epoch", ours("skip_list_epoch")},
      {"libcds SkipListSet RCU", baseline<Cds<container::SkipListSet<Rcu, Key, SkipTraits>>>},
  };
  const std::vector<Subject> hash_sets = {
      {"gradus split_ordered_hazard_pointers", ours("split_ordered_hazard_pointers")},
      {"libcds SplitListSet HP", baseline<Cds<container::SplitListSet<cds::gc::HP, Key, SplitTraits>>>},
      {"xenium hash map HP", baseline<XeniumHash<XeniumHazards>>},
      {"gradus split_ordered_epoch", ours("split_ordered_epoch")},
      {"libcds SplitListSet RCU", baseline<Cds<container::SplitListSet<Rcu, Key, SplitTraits>>>},
      {"xenium hash map epoch", baseline<XeniumHash<epoch_based<>>>},
      {"striped absl::flat_hash_set", baseline<Striped>},
  };
  lines.push_back({"skip list 90/5/5", 1000000, {90, 5, 5}, skip_lists});
  lines.push_back({"skip list 90/10/0", 1000000, {90, 10, 0}, skip_lists});
  lines.back().subjects.push_back({"gradus skip_list_leak", ours("skip_list_leak")});
  // For the comparison with oneTBB's set, our set also uses oneTBB's allocator, which places nodes more densely than
  // malloc.
  lines.back().subjects.push_back({"gradus skip_list_leak, oneTBB's allocator",
                                   own<skip_list_set<Key, leak, std::less<>, tbb::scalable_allocator<Key>>>});
  lines.back().subjects.push_back({"tbb::concurrent_set", baseline<Tbb<tbb::concurrent_set<Key>>>});
  lines.push_back({"hash set 90/5/5", 1000000, {90, 5, 5}, hash_sets});
  lines.push_back({"hash set 90/10/0", 1000000, {90, 10, 0}, hash_sets});
  lines.back().subjects.push_back({"gradus split_ordered_leak", ours("split_ordered_leak")});
  lines.back().subjects.push_back({"tbb::concurrent_unordered_set", baseline<Tbb<tbb::concurrent_unordered_set<Key>>>});
  return lines;
}

bool is_wanted(const std::string& name, const std::string& words) {
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    if (name.find(words.substr(begin, end - begin)) != std::string::npos) return true;
    begin = end + 1;
  }
  return false;
}

int measure(int threads, int repeats, double scale, const std::string& words) {
  for (const Line& line : table()) {
    if (!is_wanted(line.name, words)) continue;
    const auto size = std::max<std::int64_t>(16, static_cast<std::int64_t>(scale * static_cast<double>(line.size)));
    Problem problem{.range = 2 * size, .operations = line.size < 10000 ? 200000 : 4000000, .mix = line.mix, .stop = {}};
    problem.operations =
        std::max<std::int64_t>(1000, static_cast<std::int64_t>(scale * static_cast<double>(problem.operations)));
    Execution execution;
    execution.threads = threads;
    std::vector<std::vector<double>> seconds(line.subjects.size());
    for (int turn = 0; turn <= repeats; ++turn)  // the first turn is a warm-up
      for (std::size_t at = 0; at < line.subjects.size(); ++at) {
        std::vector<Phase> phases;
        problem.seed = static_cast<std::uint64_t>(turn + 1);
        const Outcome outcome = line.subjects[at].run(problem, execution, phases);
        if (const std::string fault = find_fault(problem, outcome); !fault.empty()) {
          std::fprintf(stderr, "%s: %s: %s\n", line.name.c_str(), line.subjects[at].name, fault.c_str());
          return 5;
        }
        if (turn > 0) seconds[at].push_back(outcome.seconds);
      }
    for (std::size_t at = 0; at < line.subjects.size(); ++at) {
      std::printf(R"({"line": "%s", "size": %lld, "operations": %lld, "subject": "%s", "seconds": [)",
                  line.name.c_str(), static_cast<long long>(size), static_cast<long long>(problem.operations),
                  line.subjects[at].name);
      for (std::size_t one = 0; one < seconds[at].size(); ++one)
        std::printf("%s%.6g", one > 0 ? ", " : "", seconds[at][one]);
      std::printf("]}\n");
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace

}  // namespace gradus::sets_detail

int main(int count, char** words) {
  if (count < 4) return 2;
  cds::Initialize();
  const cds::gc::HP hazards(128, 256);  // libcds's skip list needs more than two hazard pointers per level
  const cds::urcu::gc<cds::urcu::general_buffered<>> rcu;
  const int status = gradus::sets_detail::measure(std::atoi(words[1]), std::atoi(words[2]), std::atof(words[3]),
                                                  count > 4 ? words[4] : "");
  std::fflush(nullptr);
  std::_Exit(status);  // skips libcds's shutdown, because OpenMP threads are still attached
}
