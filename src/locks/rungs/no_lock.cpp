// no_lock: no lock at all. Threads overwrite each other's updates.
//
// The shared counter is read, incremented and written back without synchronisation, so two threads that read the same
// value lose an update. This rung shows the problem that all other rungs solve. The time of this rung is a lower bound
// for all other rungs, because no thread waits. The variables are relaxed atomics, because a data race on plain
// variables is undefined behaviour in C++.
//
// Cost: none. Memory: none.
// Limits: UNSAFE. No thread is excluded; `gradus bench locks` reports the number of lost updates.
// Source: E. W. Dijkstra, "Solution of a problem in concurrent programming control" (1965), for the problem.
#include "locks/contend.hpp"
#include "locks/problem.hpp"

namespace gradus::locks_detail {

namespace {

struct Nothing {
  void lock() {}
  bool try_lock() { return true; }
  void unlock() {}
};

}  // namespace

Result no_lock(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  return contend<Nothing, false>(problem, execution, phases);
}

extern constinit const Variant no_lock_rung{
    .name = "no_lock",
    .summary = "no lock at all: threads overwrite each other's updates",
    .contract = {.kind = core::Contract::invariants, .of = "nothing: updates are lost"},
    .backend = core::Backend::openmp,
    .deterministic = false,
    .supports = only_plainly,
    .facts = {.excludes = false},
    .run = {no_lock},
};

}  // namespace gradus::locks_detail
